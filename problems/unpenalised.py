"""The certificate where no penalty acts: then Q must satisfy ``X.T (a (Y - Q)) = 0`` exactly.

With V the Newton step at W, ``Q = P + P * (U - rowsum(P * U))``, U = X V, satisfies it, and its changes are in
proportion to P, so that Q stays positive near the optimum. Repeating the correction on Q itself removes what rounding
left. Where Q leaves the simplex, a few Newton steps go to a point where it does not; they are off the clock, and the
bound they give is as good for W as for any other point.

Rounding leaves a residual r, and ``F* >= sum_j a_j H(q_j) + r . W*`` with W* unknown: r . W is exact, and the distance
to W* is taken as `DISTANCE` Newton steps. On separable data there is no W*, and no Q: it would have to vanish where a
margin can grow. There r is a sum of terms of one sign along the direction that separates, however small they are. So a
Q is refused if some of its factors nearly vanish, or if r is not small beside its terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pianobench.problems.kernels import dual, second_order
from pianobench.problems.penalties import Array
from pianobench.problems.problem import Problem
from pianobench.problems.rows import Field

CORRECTIONS = 4
NEWTON_STEPS = 12
ENOUGH = 1e-10  # relative gap below which a bound needs no other step
SMALLEST_FACTOR = 1e-4  # of Q in one correction
ROUNDING = 1e-12  # largest length of a residual that is left, relative to what it would be if no terms cancelled
EPS = float(np.finfo(np.float64).eps)
STAGNATION = 20  # conjugate gradient steps without a smaller residual: rounding is all that is left
DISTANCE = 10.0  # of W from W*, in lengths of the Newton step at W


@dataclass(frozen=True)
class _Frame:
    """Coordinates U of ``V = T U`` in which neither units nor correlations of the columns matter.

    Parameters
    ----------
    T : array (p, k)
        ``T.T X.T (a X) T = I``: dependent columns leave no null vector. In a sub-problem diagonal, so that T U is 0
        where U is.
    size : array (p,)
        Weighted norms of the columns.
    E : array (p, k)
        Orthonormal basis of the columns of T times their sizes.
    rounding : float
        Of a sum over the rows, relative to the sum of its terms' absolute values.
    """

    T: Array
    size: Array
    E: Array
    rounding: float

    def misses(self, R: Array, terms: Array) -> bool:
        """Whether R has more than rounding where T does not reach: along columns too nearly dependent to be told apart.

        `terms` (p, m) are the sums of the absolute values of what R is a sum of.
        """
        inside = R / self.size[:, None]
        outside = inside - self.E @ (self.E.T @ inside)
        allowed = self.rounding * (terms / self.size[:, None]).max(axis=0, initial=0.0)
        return bool((np.abs(outside) > allowed).any())


def bound_without_penalty(problem: Problem, W: Array, most_steps: int = NEWTON_STEPS) -> float:
    """A lower bound on F*, or 0 where none was found: far from the optimum, or on separable data.

    The best of those at W and after up to `most_steps` Newton steps.
    """
    frame = _frame(problem)
    if frame is None:
        return 0.0
    best, (f, G) = 0.0, problem.smooth(W)
    for step in range(most_steps + 1):
        bound, V = _corrected(problem, W, frame)
        best = max(best, bound or 0.0)
        if step == most_steps or f - best <= ENOUGH * f:
            break
        line = problem.line(W, V)
        slope, t = float(np.sum(G * V)), 1.0
        while not line(t)[0] <= f + 1e-4 * t * slope:
            t *= 0.5
            if t < 1e-8:
                return best
        W = line.take(t)
        f, G = problem.smooth(W)
        if not math.isfinite(f):
            break
    return best


def _frame(problem: Problem) -> _Frame | None:
    """None where a square overflows."""
    K = problem.gram(problem.weights())
    if not np.isfinite(K).all():
        return None
    size = np.sqrt(np.diag(K))
    size = np.where(size > 0, size, 1.0)
    rounding = EPS * (16.0 + 4.0 * math.sqrt(problem.n))
    if problem.active is not None:
        return _Frame(np.diag(1.0 / size), size, np.eye(problem.p), rounding)
    eigenvalues, E = np.linalg.eigh(K / size / size[:, None])  # a column of small numbers is not a dependent one
    kept = eigenvalues > max(eigenvalues[-1], 0.0) * problem.p * EPS
    return _Frame((E[:, kept] / np.sqrt(eigenvalues[kept])) / size[:, None], size, E[:, kept], rounding)


def _corrected(problem: Problem, W: Array, frame: _Frame) -> tuple[float | None, Array]:
    """D(Q) with the residual's share, None if Q is not feasible; and the Newton step at W."""
    T = frame.T
    Q = problem.field(problem.m, dtype=np.float64)
    problem.home.reduce(second_order.probabilities, W, fields=(Q,))
    R, terms, square = problem.home.reduce(dual.residual_of, fields=(Q,))
    newton = np.zeros((T.shape[1], problem.m))
    for _ in range(CORRECTIONS):
        U = _solve(problem, Q, -R, T)
        newton += U
        (negative,) = problem.home.reduce(dual.correct, T @ U, fields=(Q,), largest=True)
        if not -negative[0] > SMALLEST_FACTOR:
            return None, T @ newton
        R, terms, square = problem.home.reduce(dual.residual_of, fields=(Q,))
        R = problem.only_active(R)
        if (np.abs(R) <= 1e-15 * terms).all():
            break
    left = float(np.linalg.norm(T.T @ R))
    if square < float(np.finfo(np.float64).tiny):  # underflown: nothing is left to judge R by
        return None, T @ newton
    if left > ROUNDING * math.sqrt(square) or frame.misses(R, terms):
        return None, T @ newton
    (H,) = problem.home.reduce(dual.entropy_of, fields=(Q,))
    return float(H) + float(np.sum(R * W)) - DISTANCE * left * float(np.linalg.norm(newton)), T @ newton


def _solve(problem: Problem, P: Field, R: Array, T: Array, most: int = 500) -> Array:
    """U (k, m) of ``H(P) T U = R`` by conjugate gradients, the best of its points; H is singular."""
    active = problem.active
    shifts = np.ones((T.shape[1], 1), bool) if active is None else active.all(axis=1, keepdims=True)

    def inside(V: Array) -> Array:
        """Without what H cannot see: one vector added to all classes. Rounding would grow along it without bound."""
        V = problem.only_active(V) if active is not None else V
        return np.where(shifts, V - V.mean(axis=1, keepdims=True), V)

    r = inside(T.T @ R)
    U, d, rr = np.zeros_like(r), r.copy(), float(np.sum(r * r))
    best, least, since, goal = U, rr, 0, 1e-28 * rr
    for _ in range(min(most, 5 * r.size)):  # exact arithmetic needs r.size
        if rr <= goal or since > STAGNATION:
            break
        (Hd,) = problem.home.reduce(second_order.hessian_product, T @ d, fields=(P,))
        Hd = inside(T.T @ Hd)
        curvature = float(np.sum(d * Hd))
        if not curvature > 0.0:
            break
        U = U + (rr / curvature) * d
        r = r - (rr / curvature) * Hd
        rr, old = float(np.sum(r * r)), rr
        d = r + (rr / old) * d
        since += 1
        if rr < least:
            best, least, since = U, rr, 0
    return best
