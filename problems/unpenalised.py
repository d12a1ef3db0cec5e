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
from dataclasses import dataclass

import numpy as np

from pianobench.problems.kernels import dual, second_order
from pianobench.problems.penalties import Array
from pianobench.problems.problem import Problem
from pianobench.problems.rows import Field

CORRECTIONS = 4
NEWTON_STEPS = 12
SMALLEST_FACTOR = 1e-4  # of Q in one correction
ROUNDING = 1e-12  # largest residual, relative to the sum of its terms' absolute values, that passes for rounding
DISTANCE = 10.0  # of W from W*, in lengths of the Newton step at W


def bound_without_penalty(problem: Problem, W: Array) -> float:
    """A lower bound on F*, or 0 where none was found: far from the optimum, or on separable data."""
    metric = _metric(problem)
    if metric is None:
        return 0.0
    f, G = problem.smooth(W)
    for _ in range(NEWTON_STEPS):
        bound, V = _corrected(problem, W, metric)
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


@dataclass(frozen=True)
class _Metric:
    """``K = X.T (a X)`` (p, p) and its pseudo-inverse: the metric in which X's units and correlations do not matter."""

    K: Array
    inverse: Array

    def length(self, V: Array) -> float:
        """``|X V|`` with the weights a."""
        return math.sqrt(max(float(np.sum(V * (self.K @ V))), 0.0))

    def dual_length(self, R: Array) -> float:
        """Largest ``R . V`` over V of length 1."""
        return math.sqrt(max(float(np.sum(R * (self.inverse @ R))), 0.0))


def _metric(problem: Problem) -> _Metric | None:
    """None where a square overflows."""
    K = problem.gram(problem.weights())
    if not np.isfinite(K).all():
        return None
    size = np.sqrt(np.diag(K))
    size = np.where(size > 0, size, 1.0)
    eigenvalues, E = np.linalg.eigh(K / size / size[:, None])  # a column of small numbers is not a dependent one
    kept = eigenvalues > max(eigenvalues[-1], 0.0) * problem.p * np.finfo(np.float64).eps
    half = (E[:, kept] / np.sqrt(eigenvalues[kept])) / size[:, None]
    return _Metric(K, half @ half.T)


def _corrected(problem: Problem, W: Array, metric: _Metric) -> tuple[float | None, Array]:
    """D(Q) with the residual's share, None if Q is not feasible; and the Newton step at W."""
    Q = problem.field(problem.m, dtype=np.float64)
    problem.home.reduce(second_order.probabilities, W, fields=(Q,))
    R, size = problem.home.reduce(dual.residual_of, fields=(Q,))
    newton = np.zeros_like(W)
    for _ in range(CORRECTIONS):
        V = _solve(problem, Q, -problem.only_active(R), metric)
        newton += V
        (negative,) = problem.home.reduce(dual.correct, V, fields=(Q,), largest=True)
        if not -negative[0] > SMALLEST_FACTOR:
            return None, newton
        R, size = problem.home.reduce(dual.residual_of, fields=(Q,))
        R = problem.only_active(R)
        if (np.abs(R) <= 1e-15 * size).all():
            break
    if not (np.abs(R) <= ROUNDING * size).all():
        return None, newton
    (H,) = problem.home.reduce(dual.entropy_of, fields=(Q,))
    bound = float(H) + float(np.sum(R * W)) - DISTANCE * metric.dual_length(R) * metric.length(newton)
    return bound, newton


def _solve(problem: Problem, P: Field, R: Array, metric: _Metric, most: int = 500) -> Array:
    """Conjugate gradients on ``H(P) V = R``, preconditioned by the inverse Gram matrix; H may be singular."""

    def inside(V: Array) -> Array:
        """Without what H cannot see: one vector added to all classes. Rounding would grow along it without bound."""
        V = problem.only_active(V)
        whole = np.ones((problem.p, 1), bool) if problem.active is None else problem.active.all(axis=1, keepdims=True)
        return np.where(whole, V - V.mean(axis=1, keepdims=True), V)

    V, r = np.zeros_like(R), inside(R)
    z = inside(metric.inverse @ r)
    d, rz = z.copy(), float(np.sum(r * z))
    goal = 1e-14 * math.sqrt(max(rz, 0.0))
    for _ in range(most):
        if math.sqrt(max(rz, 0.0)) <= goal:
            break
        (Hd,) = problem.home.reduce(second_order.hessian_product, d, fields=(P,))
        curvature = float(np.sum(d * Hd))
        if not curvature > 0.0:
            break
        step = rz / curvature
        V += step * d
        r -= step * inside(Hd)
        z = inside(metric.inverse @ r)
        rz, old = float(np.sum(r * z)), rz
        d = z + (rz / old) * d
    return V
