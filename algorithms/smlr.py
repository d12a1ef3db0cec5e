"""SMLR, sparse multinomial logistic regression by cyclic coordinate steps on Böhning's bound [Kri05, Böh92].

Minimises F(W) = l(W) + l2/2 |W|^2 + l1 |W|_1, either strength may be 0. The Hessian of l is bounded by
1/2 (I - 11'/m) (x) X' (a X), so that in one weight w_li, the others fixed,

(1) F(w) <= F(w_li) + G_li (w - w_li) + B_l/2 (w - w_li)^2 + l1 (|w| - |w_li|)     B_l = (1 - 1/m)/2 sum_j a_j x_jl^2
(2) w_li <- soft(w_li - G_li / B_l, l1 / B_l)                                       soft(v, t) = sign(v) max(|v| - t, 0)

One weight after another, each with the gradient at those before it: F never rises; W converges to a minimiser, at a
linear rate where F is strongly convex. l2 adds l2 w_li to G_li and l2 to B_l. In one weight p (1 - p) <= 1/4 holds too,
and is less than Böhning's bound for m > 2: the variant with curvature 0.25.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.contract import State
from pianobench.problems import Problem
from pianobench.problems.kernels.coordinate import Rule
from pianobench.problems.penalties import Array


@dataclass(frozen=True)
class Smlr:
    """SMLR.

    Parameters
    ----------
    curvature : {None, 0.25}
        B_l over sum_j a_j x_jl^2: (1 - 1/m)/2 as published, or 1/4.
    """

    curvature: float | None = None

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l1", "l2", "elasticnet"})
    needs: ClassVar[frozenset[str]] = frozenset({"columns"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one sweep over all p*m elements, one after another"

    def __post_init__(self) -> None:
        if self.curvature not in (None, 0.25):
            raise ValueError(f"curvature={self.curvature!r}: 0.25, or none for (1 - 1/m)/2, is expected")

    @property
    def rule(self) -> Rule:
        """B_l."""
        return Rule("bohning" if self.curvature is None else "quarter")

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return sweep_memory(n, p, m, nnz, itemsize)

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> State:
        return State(W0.copy())

    def step(self, problem: Problem, state: State) -> State:
        # departs: all m classes have weights; the paper fixes those of one at 0, which l1 and l2 do not leave alone
        W, _ = problem.sweep(self.rule, state.W, problem.scores(state.W), elements(problem))  # (2)
        return State(W, state.rejected)


def elements(problem: Problem) -> NDArray[np.intp]:
    """Numbers l m + i of the elements of W that may differ from 0, in order."""
    return np.arange(problem.p * problem.m) if problem.active is None else np.flatnonzero(problem.active)


def sweep_memory(n: int, p: int, m: int, nnz: int, itemsize: int, groups: int = 1) -> int:
    """Bytes of a sweep: X by columns, margins, scores and probabilities, twice more a group if there are several."""
    fields = 2 if groups == 1 else 3 + 2 * groups
    return nnz * (itemsize + 4) + n * m * (itemsize + 8 * fields) + 3 * p * m * itemsize
