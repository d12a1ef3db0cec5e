"""OWL-QN, the orthant-wise limited-memory quasi-Newton method [AG07, section 3].

Minimises F(W) = f(W) + l1 |W|_1, f smooth (l1 or elastic net). F falls in every step; no rate is proven. Inside an
orthant F is smooth, so pairs of f's gradients G serve a two-loop recursion on the pseudo-gradient:

(1) PG = G + l1 sign(W), at W = 0 soft(G, l1)                       F's minimum-norm subgradient
(2) D  = -H PG, with 0 for each element that does not oppose PG's   D = pi(H v; v), v = -PG
(3) xi = sign(W), at W = 0 sign(-PG)                                the orthant
(4) W^{k+1} = pi(W + t D; xi), 0 for each element that left it      t = 1, 1/2, 1/4, ... until F falls enough

The rows that l1 does not touch (the intercept) have no orthant: (2) and (4) leave their elements alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pianobench.algorithms.contract import Breakdown, State
from pianobench.algorithms.lbfgs import cauchy_length, dot, two_loop, with_pair
from pianobench.algorithms.line_search import falls_enough
from pianobench.problems import Penalty, Problem
from pianobench.problems.penalties import Array, soft


@dataclass(kw_only=True)
class OwlQnState(State):
    """OWL-QN's state; k <= memory pairs, the oldest first."""

    f: float  # smooth part of F at W
    G: Array  # (p, m) its gradient
    pairs_s: Array  # (k, p, m) s_i = W_{i+1} - W_i
    pairs_y: Array  # (k, p, m) y_i = G_{i+1} - G_i
    gamma: float  # H0 = gamma I


@dataclass(frozen=True)
class OwlQn:
    """OWL-QN.

    Parameters
    ----------
    memory_pairs : int
        Curvature pairs kept.
    sufficient : float
        Share of the decrease that PG promises, ``gamma`` in the paper.
    """

    memory_pairs: int = 10
    sufficient: float = 1e-4

    penalties: ClassVar[frozenset[str]] = frozenset({"l1", "elasticnet"})
    needs: ClassVar[frozenset[str]] = frozenset({"curvature"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one line search"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return (2 * self.memory_pairs + 9) * p * m * itemsize  # pairs, both W, G, PG, D, xi and temporaries

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> OwlQnState:
        f, G = problem.smooth(W0)
        none = np.zeros((0, *W0.shape), W0.dtype)
        # departs: the first t is 1/|PG| in the paper; the exact step of the quadratic model is right at any scale of X
        gamma = cauchy_length(problem, W0, pseudo_gradient(W0, G, problem.pen))
        return OwlQnState(W=W0.copy(), f=f, G=G, pairs_s=none, pairs_y=none, gamma=gamma)

    def step(self, problem: Problem, state: OwlQnState) -> OwlQnState:
        W, pen = state.W, problem.pen
        PG = problem.only_active(pseudo_gradient(W, state.G, pen))  # (1)
        if not PG.any():
            raise Breakdown("the pseudo-gradient is zero to rounding: no direction descends")
        D = two_loop(PG, state.pairs_s, state.pairs_y, state.gamma)
        free = np.asarray(pen.l1) == 0  # rows without an orthant
        D = np.where(free | (D * PG < 0), D, D.dtype.type(0))  # (2)
        xi = np.where(W != 0, np.sign(W), np.sign(-PG))  # (3)
        F = state.f + pen.nonsmooth(W)
        noise = 4.0 * float(np.finfo(W.dtype).eps) * abs(F)
        t = 1.0
        for _ in range(40):
            W_t = W + W.dtype.type(t) * D
            W_t = np.where(free | (W_t * xi > 0), W_t, W.dtype.type(0))  # (4)
            f, G = problem.smooth(W_t)
            S = W_t - W
            promised = dot(PG, S)
            # within one orthant F has the slope PG . S at W and the one below at W_t
            slope = dot(G, S) + float(np.sum(pen.l1 * xi * S, dtype=np.float64))
            if promised < 0.0 and falls_enough(
                F, f + pen.nonsmooth(W_t), self.sufficient * promised, 0.5 * (promised + slope), noise
            ):
                pairs_s, pairs_y, gamma = with_pair(
                    state.pairs_s, state.pairs_y, state.gamma, S, G - state.G, self.memory_pairs
                )
                return OwlQnState(
                    W=W_t, rejected=state.rejected, f=f, G=G, pairs_s=pairs_s, pairs_y=pairs_y, gamma=gamma
                )
            t *= 0.5
        if not len(state.pairs_s):
            raise Breakdown("no step along the pseudo-gradient lowers F by more than its rounding error")
        none, gamma = state.pairs_s[:0], cauchy_length(problem, W, PG)  # a spoilt memory: begin again, W unchanged
        return replace(state, rejected=state.rejected + 1, pairs_s=none, pairs_y=none, gamma=gamma)


def pseudo_gradient(W: Array, G: Array, pen: Penalty) -> Array:
    """Minimum-norm subgradient (p, m) of ``f + l1 |W|`` where f has the gradient G."""
    return np.where(W != 0, G + pen.l1 * np.sign(W), soft(G, pen.l1)).astype(G.dtype, copy=False)
