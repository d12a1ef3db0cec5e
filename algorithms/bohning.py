"""Böhning's method for multinomial logistic regression [Böh92], a majorisation and minimisation [HL04].

Minimises F(W) = l(W) + l2/2 |W|^2 (l2 may be 0): monotone, linear rate. One curvature bounds the Hessian at every W,

(1) H(W) <= B = 1/2 (I - 11'/m) (x) X' (a X)
(2) W <- W - B^+ G,    B^+ = 2 (I - 11'/m) (x) (X' (a X))^+

and as the rows of G add up to 0, I - 11'/m leaves G alone: (2) needs a p x p matrix only, decomposed once,

(3) W <- W - (1/2 X' (a X) + l2)^+ (G + l2 W).

With l2, (3) is (2) for B + l2 I where the rows of W add up to 0, as they do from W = 0 on; elsewhere its quadratic
still lies above F, a little further.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pianobench.algorithms.contract import Breakdown, State, check_squares
from pianobench.problems import Problem
from pianobench.problems.cost import Cost
from pianobench.problems.penalties import Array


@dataclass(kw_only=True)
class BohningState(State):
    """State of Böhning's method."""

    factor: Array  # (p, r) R with R R' = (1/2 X' (a X) + l2)^+


@dataclass(frozen=True)
class Bohning:
    """Böhning's method in its collapsed form (3); it has no hyper-parameters."""

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l2"})
    needs: ClassVar[frozenset[str]] = frozenset({"fields", "gram"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one gradient times the fixed inverse"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return 5 * p * p * 8 + 4 * p * m * 8

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> BohningState:
        if problem.active is not None and not problem.active.all():
            raise Breakdown("(3) moves all weights of a row: a sub-problem that holds some of them is beyond it")
        K = problem.gram(problem.weights())
        check_squares(K, K.dtype)
        M = 0.5 * K + np.diag(np.broadcast_to(problem.pen.l2, (problem.p, 1))[:, 0])
        problem.meter.charge(Cost(flops=9.0 * problem.p**3, depth=problem.p))  # no call of the problem decomposes
        return BohningState(W=W0.copy(), factor=inverse_factor(M))

    def step(self, problem: Problem, state: BohningState) -> BohningState:
        R = state.factor
        _, G = problem.smooth(state.W)
        problem.meter.charge(Cost(flops=4.0 * R.size * problem.m))
        return replace(state, W=(state.W - R @ (R.T @ G)).astype(G.dtype))  # (3)


def inverse_factor(M: Array) -> Array:
    """R (p, r) with ``R R' g`` a solution of ``M x = g`` for g in the range of M (p, p), semidefinite of rank r."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(M), np.finfo(np.float64).tiny))  # or a small column passes for a null one
    e, E = np.linalg.eigh(scale[:, None] * M * scale)
    kept = e > e[-1] * len(M) * np.finfo(np.float64).eps
    return np.asarray(scale[:, None] * E[:, kept] / np.sqrt(e[kept]))
