"""PIANO with centred classes: PIANO's step [JB20], then the best common shift of all classes in each penalised row.

Minimises F(W) = l(W) + R(W), R l1, l2 or elastic net. PIANO drifts along the shifts that leave l alone and comes back
at a rate set by the penalty's strength; here they are undone at once:

(1) V   = argmin_W g(W|W^k) + R(W)           PIANO's step, see `piano`
(2) W^{k+1} = V - 1 t',  t_l the mean (l2) or a median (l1) of row l

F falls in both. Without a penalty (2) changes nothing that F sees, and l0 rules out any shift of a row with zeros.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pianobench.algorithms.centring import centred
from pianobench.algorithms.piano import Piano, PianoState
from pianobench.problems import Problem
from pianobench.problems.penalties import Array


@dataclass(frozen=True)
class PianoCentred:
    """PIANO, centred.

    Parameters
    ----------
    cap : float
        PIANO's.
    """

    cap: float = 30.0

    penalties: ClassVar[frozenset[str]] = frozenset({"l1", "l2", "elasticnet"})
    needs: ClassVar[frozenset[str]] = Piano.needs
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one update of all p*m elements at once, and one shift a row"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return Piano(self.cap).memory(n, p, m, nnz, itemsize)

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> PianoState:
        return Piano(self.cap).init(problem, W0, rng)

    def step(self, problem: Problem, state: PianoState) -> PianoState:
        state = Piano(self.cap).step(problem, state)  # (1)
        return replace(state, W=centred(state.W, problem.pen, problem.active))  # (2)
