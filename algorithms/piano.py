"""PIANO, the parallel iterative algorithm for multinomial and sparse multinomial logistic regression [JB20].

Minimises F(W) = l(W) + R(W) for R none, l1, l2, elastic net or l0, by majorisation and minimisation: linear rate for
strongly convex F. The text of [JB20] that is public ends before its update; what follows is our derivation. Two
majorisers at W^k, with d = W - W^k:

(1) log u <= log u0 + u/u0 - 1 on the softmax's denominator: classes separate.
        l(W) <= l(W^k) + sum_j a_j sum_i P_ji (exp(d_i . x_j) - 1) - sum_li C_li d_li
(2) Jensen on the exponent with weights |x_jl| / S, S = max_j sum_l |x_jl|: features separate.
        g(W|W^k) = l(W^k) + sum_li [ A_li/S (e^{S d_li} - 1) + B_li/S (e^{-S d_li} - 1) - C_li d_li ]
        A = X+' (a P), B = X-' (a P), C = X' (a Y), A - B - C = the gradient of l at W^k

Every element of W is then alone, with a minimiser in closed form (a short Newton search if a quadratic penalty acts).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pianobench.algorithms.contract import State
from pianobench.problems import Penalty, Problem
from pianobench.problems.penalties import Array


@dataclass
class PianoState(State):
    """PIANO's state."""

    f: float = np.inf  # smooth part of F at the W before the last step, which the step computes on its way
    change: float = np.inf  # max_li S |d_li| of the last step: the surrogate's fixed-point residual


@dataclass(frozen=True)
class Piano:
    """PIANO.

    Parameters
    ----------
    cap : float
        Largest S |d_li| in one step. A shorter step towards the surrogate's minimiser still descends; without a cap a
        class without mass in a feature would jump to infinity.
    """

    cap: float = 30.0

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l1", "l2", "elasticnet", "l0"})
    needs: ClassVar[frozenset[str]] = frozenset({"moments"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one update of all p*m elements at once"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return 12 * p * m * itemsize  # W, A, B, C and the temporaries of the update

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> PianoState:
        return PianoState(W0.copy())

    def step(self, problem: Problem, state: PianoState) -> PianoState:
        change = 0.0

        def update(W: Array, A: Array, B: Array, C: Array, S: Array, pen: Penalty) -> Array:
            nonlocal change
            W_new = minimiser(W, A, B, C, S, pen, self.cap)
            change = max(change, float(np.max(S * np.abs(W_new - W))))
            return W_new

        W, f = problem.moments_map(state.W, update)
        return PianoState(W, state.rejected, f, change)


def surrogate(D: Array, A: Array, B: Array, C: Array, S: Array) -> Array:
    """(p, m) elements of ``g(W^k + D | W^k) - l(W^k)``."""
    with np.errstate(over="ignore", invalid="ignore"):  # an infinite value is one
        rising, falling = _times(A, np.expm1(S * D)), _times(B, np.expm1(-S * D))
        return np.asarray((rising + falling) / S - C * D)


def minimiser(W: Array, A: Array, B: Array, C: Array, S: Array, pen: Penalty, cap: float) -> Array:
    """Minimiser of ``g(.|W) + R``, element by element, cut to ``S |d| <= cap``; in float64, as exponentials are.

    Parameters
    ----------
    W, A, B, C : arrays (p, m)
        Point and moments.
    S : array (1, m) or (1, 1)
    pen : Penalty
        Strengths (p, 1).
    cap : float
    """
    W, A, B, C = (V.astype(np.float64, copy=False) for V in (W, A, B, C))
    limit = cap / S
    with np.errstate(all="ignore"):  # log 0 and 1/0 are limits that the cap cuts
        if pen.kind in ("l1", "elasticnet"):
            # slope of the smooth part at w = 0: within l1 the minimiser is 0, else it has the opposite sign
            q = _times(A, np.exp(-S * W)) - _times(B, np.exp(S * W)) - C
            sign = np.where(np.abs(q) <= pen.l1, 0.0, -np.sign(q))
            V = W + _root(W, A, B, C - pen.l1 * sign, S, pen.l2, limit)
            one_sided = np.where(sign > 0, np.maximum(V, 0.0), np.where(sign < 0, np.minimum(V, 0.0), 0.0))
            return np.where(np.asarray(pen.l1) > 0, one_sided, V)  # the intercept may have either sign
        V = W + _root(W, A, B, C, S, pen.l2, limit)
        if pen.kind == "l0":
            l0 = np.asarray(pen.l0)
            keep = surrogate(V - W, A, B, C, S) + l0 * (V != 0) < surrogate(-W, A, B, C, S)
            V = np.where(keep | (l0 == 0), V, 0.0)
        return np.asarray(V)


def _root(W: Array, A: Array, B: Array, c: Array, S: Array, l2: float | Array, limit: Array) -> Array:
    """d with ``A e^{Sd} - B e^{-Sd} - c + l2 (W + d) = 0``, cut to the limit."""
    d = np.clip(_log_root(A, B, c - l2 * W) / S, -limit, limit)
    if not np.any(l2):
        return np.asarray(d)
    # With l2 the left side h rises faster, so its zero lies between 0 and d: Newton, kept inside the bracket.
    low, high = np.minimum(d, 0.0), np.maximum(d, 0.0)
    for _ in range(60):
        up, down = _times(A, np.exp(S * d)), _times(B, np.exp(-S * d))
        h = up - down - c + l2 * (W + d)
        low, high = np.where(h < 0, np.maximum(d, low), low), np.where(h > 0, np.minimum(d, high), high)
        newton = d - h / (S * (up + down) + l2)
        middle = 0.5 * (low + high)
        new = np.where((newton >= low) & (newton <= high), newton, middle)
        moved = np.abs(S * (new - d))
        d = np.where(h == 0, d, new)
        if np.all(moved <= 1e-15 + 4e-16 * np.abs(S * d)):  # S d is what is exponentiated
            break
    return np.asarray(d)


def _log_root(A: Array, B: Array, c: Array) -> Array:
    """log of the positive z with ``A z - B / z = c``; infinite where the limit is, 0 where A = B = c = 0."""
    size = np.hypot(c, 2.0 * np.sqrt(A) * np.sqrt(B))  # sqrt(c^2 + 4AB) without overflow
    z = np.where(c >= 0, (c + size) / (2.0 * A), 2.0 * B / (size - c))  # the same root, without cancellation
    z = np.where((A == 0) & (c >= 0), np.inf, z)
    return np.asarray(np.where((A == 0) & (B == 0), np.where(c == 0, 0.0, np.sign(c) * np.inf), np.log(z)))


def _times(A: Array, factor: Array) -> Array:
    """``A * factor`` with 0 * inf = 0."""
    return np.where(A > 0, A * factor, 0.0)
