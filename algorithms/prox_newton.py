"""Proximal Newton for l1, with an inexact inner solve by accelerated proximal gradients [LSS14; BNO16].

Minimises F(W) = f(W) + l1 |W|_1 (l1 or elastic net): monotone; linear rate for a fixed eta. With G, H gradient and
Hessian of f at W^k and D = W - W^k,

(1) q(W) = G.D + 1/2 D.HD + l1 |W|_1                            H is multiplied by and never formed
(2) stop where |r_q(W)| <= eta |r_F(W^k)| and q(W) < q(W^k)     r: residuals of a proximal gradient step
(3) W^{k+1} = W^k + t D, t = 1, 1/2, ... until F falls by sigma t [G.D + l1 |W^k + D| - l1 |W^k|]

The inner steps on q are in the metric M = diag(H), in which no unit of a feature matters, and so is r (in the papers
in the plain one):

(4) W_i = prox(V - (L M)^{-1} q'(V)),  V = W_i + (j - 1)/(j + 2) (W_i - W_{i-1})    FISTA [BT09], j from 1
(5) L doubles until D.HD <= L D.MD for the step's D; j = 1 anew where (V - W_{i+1}).M(W_{i+1} - W_i) > 0
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pianobench.algorithms.contract import State
from pianobench.algorithms.lbfgs import dot
from pianobench.algorithms.line_search import falls_enough
from pianobench.problems import Problem
from pianobench.problems.penalties import Array, Strength, soft

FLAT = 1e-12  # smallest element of M, as a share of the largest: a column without entries has none


@dataclass(kw_only=True)
class ProxNewtonState(State):
    """Proximal Newton's state."""

    f: float  # smooth part of F at W
    G: Array  # (p, m) its gradient
    L: float = 1.0  # bound on H in the metric M that held last
    products: int = 0  # Hessian products so far


@dataclass(frozen=True)
class ProxNewton:
    """Proximal Newton.

    Parameters
    ----------
    eta : float
        Inner residual, as a share of the outer one.
    inner_steps : int
        Hessian products at most in one step.
    sigma : float
        Share of the promised decrease that a step must bring.
    """

    eta: float = 0.1
    inner_steps: int = 500
    sigma: float = 1e-4

    penalties: ClassVar[frozenset[str]] = frozenset({"l1", "elasticnet"})
    needs: ClassVar[frozenset[str]] = frozenset({"curvature"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one quadratic model, solved inexactly, with its line search"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return (2 * n * m + 16 * p * m) * itemsize  # P and a product's field; the inner iterates and their products

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> ProxNewtonState:
        f, G = problem.smooth(W0)
        return ProxNewtonState(W=W0.copy(), f=f, G=G)

    def step(self, problem: Problem, state: ProxNewtonState) -> ProxNewtonState:
        W, pen, number = state.W, problem.pen, state.W.dtype.type
        target, L, products = self._minimised(problem, state)  # (1), (2)
        products += state.products
        D = target - W
        F = state.f + pen.nonsmooth(W)
        noise = 4.0 * float(np.finfo(W.dtype).eps) * abs(F)
        promised, t = dot(state.G, D) + _rise(pen.l1, W, target), 1.0
        for _ in range(40 if promised < 0.0 else 0):
            W_t = W + number(t) * D if t < 1.0 else target
            f, G = problem.smooth(W_t)
            change = 0.5 * (dot(state.G, W_t - W) + dot(G, W_t - W)) + _rise(pen.l1, W, W_t)
            if falls_enough(F, f + pen.nonsmooth(W_t), self.sigma * t * promised, change, noise):  # (3)
                return replace(state, W=W_t, f=f, G=G, L=0.5 * L, products=products)
            t *= 0.5
        return replace(state, rejected=state.rejected + 1, products=products)  # F has no digits left to fall by

    def _minimised(self, problem: Problem, state: ProxNewtonState) -> tuple[Array, float, int]:
        """W (p, m) with (2), the L that held, and the Hessian products made."""
        W0, G, l1, number = state.W, state.G, problem.pen.l1, state.W.dtype.type
        H = problem.curvature(W0)
        M = H.diag()
        M = np.maximum(M, number(FLAT) * M.max(initial=0.0) or number(1.0))
        outer, rounding = _residual(W0, G, M, l1), 4.0 * float(np.finfo(W0.dtype).eps) * math.sqrt(dot(W0, M * W0))
        if outer <= rounding:
            return W0, state.L, 0
        enough = max(self.eta * outer, rounding)
        W, HD = W0, np.zeros_like(W0)  # HD: H (W - W0)
        V, HV, L, j, products = W, HD, state.L, 1, 0
        while products < self.inner_steps:
            W_new = soft(V - (G + HV) / (number(L) * M), l1 / (L * M))  # (4)
            HD_new = H @ (W_new - W0)
            products += 1
            S = W_new - V
            if dot(S, HD_new - HV) > (1.0 + 1e-6) * L * dot(S, M * S):  # (5)
                L *= 2.0
                continue
            restart = dot(V - W_new, M * (W_new - W)) > 0.0
            beta = number(0.0 if restart else (j - 1.0) / (j + 2.0))
            j = 1 if restart else j + 1
            V, HV = W_new + beta * (W_new - W), HD_new + beta * (HD_new - HD)
            W, HD = W_new, HD_new
            lower = dot(G, W - W0) + 0.5 * dot(W - W0, HD) + _rise(l1, W0, W) < 0.0
            if lower and _residual(W, G + HD, M, l1) <= enough:
                break
        return W, L, products


def _residual(W: Array, G: Array, M: Array, l1: Strength) -> float:
    """Length in the metric M of a proximal gradient step from W, where the gradient is G."""
    S = soft(W - G / M, l1 / M) - W
    return math.sqrt(dot(S, M * S))


def _rise(l1: Strength, W: Array, target: Array) -> float:
    """``l1 |target| - l1 |W|``, without the rounding of either."""
    return float(np.sum(l1 * (np.abs(target) - np.abs(W)), dtype=np.float64))
