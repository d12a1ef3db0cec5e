"""One online pass, then L-BFGS [ACDL14, algorithms 1 and 2, on one machine].

The online method comes near fast and then slowly nearer; L-BFGS begins slowly and ends fast. So L-BFGS starts from

(1) W_1, where a pass of AdaGrad over the rows ends        algorithm 1, a step length a weight

On many machines W_1 would be the average of theirs, weighted by the sums of squares of (1); here is one. `init` is (1)
and the gradient there, a `step` is one of L-BFGS. So F never rises from state to state, but (1) may end above F(W0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pianobench.algorithms.adagrad import AdaGrad
from pianobench.algorithms.lbfgs import Lbfgs, LbfgsState
from pianobench.problems import Problem
from pianobench.problems.penalties import Array


@dataclass(frozen=True)
class OnlineLbfgs:
    """One online pass, then L-BFGS.

    Parameters
    ----------
    eta, eps, batch
        Of `AdaGrad`.
    memory_pairs : int
        Of `Lbfgs`.
    """

    eta: float = 1.0
    eps: float = 1.0
    batch: int = 1
    memory_pairs: int = 10

    penalties: ClassVar[frozenset[str]] = AdaGrad.penalties & Lbfgs.penalties
    needs: ClassVar[frozenset[str]] = AdaGrad.needs | Lbfgs.needs
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one line search; the start is one pass over the rows, batch after batch"

    def __post_init__(self) -> None:
        self.first()

    def first(self) -> AdaGrad:
        """The online method."""
        return AdaGrad(eta=self.eta, eps=self.eps, batch=self.batch)

    def then(self) -> Lbfgs:
        """The other."""
        return Lbfgs(memory_pairs=self.memory_pairs)

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return max(method.memory(n, p, m, nnz, itemsize) for method in (self.first(), self.then()))

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> LbfgsState:
        online = self.first()
        W1 = online.step(problem, online.init(problem, W0, rng)).W  # (1)
        # departs: plain L-BFGS; theirs has a diagonal preconditioner
        return self.then().init(problem, W1, rng)

    def step(self, problem: Problem, state: LbfgsState) -> LbfgsState:
        return self.then().step(problem, state)
