"""The certificate where no penalty acts: then Q must satisfy ``X.T (a (Y - Q)) = 0`` exactly.

With V the Newton step at W, ``Q = P + P * (U - rowsum(P * U))``, U = X V, satisfies it, and its changes are in
proportion to P, so that Q stays positive near the optimum. Repeating the correction on Q itself removes what rounding
left. Where Q leaves the simplex, a few Newton steps go to a point where it does not; they are off the clock, and the
bound they give is as good for W as for any other point.

Rounding leaves a residual r, and ``F* >= sum_j a_j H(q_j) + r . W*`` with W* unknown: r . W is exact, and the distance
to W* is taken as `DISTANCE` Newton steps. On separable data Q must vanish where a margin can grow, so a Q some of whose
factors nearly vanish is refused: there is no W*.
"""

from __future__ import annotations

import math

import numpy as np

from pianobench.problems.kernels import dual, second_order
from pianobench.problems.penalties import Array
from pianobench.problems.problem import Problem
from pianobench.problems.rows import Field

CORRECTIONS = 4
NEWTON_STEPS = 12
SMALLEST_FACTOR = 1e-4  # of Q in one correction
ROUNDING = 1e-12  # largest residual, relative to the sum of its terms' absolute values, that passes for rounding
STAGNATION = 50  # conjugate gradient steps without a smaller residual: rounding is all that is left
DISTANCE = 10.0  # of W from W*, in lengths of the Newton step at W


def bound_without_penalty(problem: Problem, W: Array) -> float:
    """A lower bound on F*, or 0 where none was found: far from the optimum, or on separable data."""
    half = _half_inverse(problem)
    if half is None:
        return 0.0
    f, G = problem.smooth(W)
    for _ in range(NEWTON_STEPS):
        bound, V = _corrected(problem, W, half)
        if bound is not None:
            return bound
        line = problem.line(W, V)
        slope, t = float(np.sum(G * V)), 1.0
        while not line(t)[0] <= f + 1e-4 * t * slope:
            t *= 0.5
            if t < 1e-8:
                return 0.0
        W = line.take(t)
        f, G = problem.smooth(W)
        if not math.isfinite(f):
            return 0.0
    return 0.0


def _half_inverse(problem: Problem) -> Array | None:
    """T (p, k) with ``T.T X.T (a X) T = I``: in ``V = T U`` neither units nor correlations of the columns matter, and
    dependent columns leave no null vector. None where a square overflows.

    In a sub-problem T is diagonal, so that T U is 0 where U is.
    """
    K = problem.gram(problem.weights())
    if not np.isfinite(K).all():
        return None
    size = np.sqrt(np.diag(K))
    size = np.where(size > 0, size, 1.0)
    if problem.active is not None:
        return np.asarray(np.diag(1.0 / size))
    eigenvalues, E = np.linalg.eigh(K / size / size[:, None])  # a column of small numbers is not a dependent one
    kept = eigenvalues > max(eigenvalues[-1], 0.0) * problem.p * np.finfo(np.float64).eps
    return np.asarray((E[:, kept] / np.sqrt(eigenvalues[kept])) / size[:, None])


def _corrected(problem: Problem, W: Array, half: Array) -> tuple[float | None, Array]:
    """D(Q) with the residual's share, None if Q is not feasible; and the Newton step at W."""
    Q = problem.field(problem.m, dtype=np.float64)
    problem.home.reduce(second_order.probabilities, W, fields=(Q,))
    R, size = problem.home.reduce(dual.residual_of, fields=(Q,))
    newton = np.zeros((half.shape[1], problem.m))
    for _ in range(CORRECTIONS):
        U = _solve(problem, Q, -R, half)
        newton += U
        (negative,) = problem.home.reduce(dual.correct, half @ U, fields=(Q,), largest=True)
        if not -negative[0] > SMALLEST_FACTOR:
            return None, half @ newton
        R, size = problem.home.reduce(dual.residual_of, fields=(Q,))
        R = problem.only_active(R)
        if (np.abs(R) <= 1e-15 * size).all():
            break
    if not (np.abs(R) <= ROUNDING * size).all():
        return None, half @ newton
    (H,) = problem.home.reduce(dual.entropy_of, fields=(Q,))
    unknown = DISTANCE * float(np.linalg.norm(half.T @ R) * np.linalg.norm(newton))
    return float(H) + float(np.sum(R * W)) - unknown, half @ newton


def _solve(problem: Problem, P: Field, R: Array, half: Array, most: int = 500) -> Array:
    """U (k, m) of ``H(P) T U = R`` by conjugate gradients, the best of its points; H is singular."""
    active = problem.active
    shifts = np.ones((half.shape[1], 1), bool) if active is None else active.all(axis=1, keepdims=True)

    def inside(V: Array) -> Array:
        """Without what H cannot see: one vector added to all classes. Rounding would grow along it without bound."""
        V = problem.only_active(V) if active is not None else V
        return np.where(shifts, V - V.mean(axis=1, keepdims=True), V)

    r = inside(half.T @ R)
    U, d, rr = np.zeros_like(r), r.copy(), float(np.sum(r * r))
    best, least, since, goal = U, rr, 0, 1e-28 * rr
    for _ in range(most):
        if rr <= goal or since > STAGNATION:
            break
        (Hd,) = problem.home.reduce(second_order.hessian_product, half @ d, fields=(P,))
        Hd = inside(half.T @ Hd)
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
