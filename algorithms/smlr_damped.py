"""Damped SMLR: all elements at once on Böhning's bound [Kri05, Böh92], the steps divided by the number of conflicts.

Minimises F(W) = l(W) + l2/2 |W|^2 + l1 |W|_1, either strength may be 0. Ours, to try the claim of [JB20] that SMLR
cannot be parallelised. With c_j the number of non-zeros of row j (an intercept counts), the Hessian H of l satisfies

    v' H v <= 1/2 sum_i sum_j a_j (x_j . v_i)^2                [Böh92]: diag(p) - p p' <= (I - 11'/m)/2 <= I/2
           <= 1/2 sum_i sum_j a_j c_j sum_l x_jl^2 v_li^2      Cauchy and Schwarz over the c_j terms that are not 0

so the curvature of each element may be taken, for all of them at once, as

(1) B_l = 1/2 sum_j a_j c_j x_jl^2 + l2
(2) W <- soft(W - G / B, l1 / B)     G the gradient of l(W) + l2/2 |W|^2

SMLR's own curvature is (1 - 1/m)/2 sum_j a_j x_jl^2: its step is divided by the weighted mean of c_j over the rows that
feature l is in, at most the largest number of features that share a sample, and by m/(m - 1) for the classes. The
quadratic model majorises F, so F never rises; the rate is that of a proximal gradient step, linear where F is strongly
convex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pianobench.algorithms.contract import State
from pianobench.problems import Problem
from pianobench.problems.penalties import Array, soft


@dataclass(kw_only=True)
class SmlrDampedState(State):
    """State of damped SMLR."""

    B: Array  # (p, 1) curvature, 0 where a column is dead


@dataclass(frozen=True)
class SmlrDamped:
    """Damped SMLR."""

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l1", "l2", "elasticnet"})
    needs: ClassVar[frozenset[str]] = frozenset()
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one update of all p*m elements at once"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return 5 * p * m * itemsize

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> SmlrDampedState:
        return SmlrDampedState(W=W0.copy(), B=0.5 * problem.squares(crowded=True) + problem.pen.l2)  # (1)

    def step(self, problem: Problem, state: SmlrDampedState) -> SmlrDampedState:
        _, G = problem.smooth(state.W)
        W = soft_step(problem, state.W, G, state.B)  # (2)
        empty = (state.B == 0.0) & (np.asarray(problem.pen.l1) > 0.0)  # of F there is l1 |w| alone in these weights
        return SmlrDampedState(W=np.where(empty, W.dtype.type(0), W), rejected=state.rejected, B=state.B)


def soft_step(problem: Problem, W: Array, G: Array, h: Array) -> Array:
    """``soft(W - G / h, l1 / h)`` (p, m), element by element; W where h (p, 1) or (p, m) is 0."""
    h = np.where(h > 0.0, h, np.inf)
    return soft(W - G / h, problem.pen.l1 / h).astype(W.dtype)
