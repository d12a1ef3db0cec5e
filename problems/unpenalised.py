"""The certificate where no penalty acts: then Q must satisfy ``X.T (a (Y - Q)) = 0`` exactly.

With V the Newton step at W, ``Q = P + P * (U - rowsum(P * U))``, U = X V, satisfies it to first order, and its
changes are in proportion to P, so that Q stays positive near the optimum. Repeating the correction on Q itself removes
what is left. Where Q leaves the simplex, a few Newton steps go to a point where it does not; they are off the clock, and
the bound they give is as good for W as for any other point.
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


def bound_without_penalty(problem: Problem, W: Array) -> float:
    """A lower bound on F*, or 0 where none was found: far from the optimum, or on separable data.

    Notes
    -----
    The residual r that rounding leaves enters as ``|r| . |W|``: exact would be the minimiser in place of W.
    """
    inverse = _inverse_gram(problem)
    f, G = problem.smooth(W)
    for _ in range(NEWTON_STEPS):
        bound = _corrected(problem, W, inverse)
        if bound is not None:
            return bound
        V = _newton_direction(problem, W, G, inverse)
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


def _corrected(problem: Problem, W: Array, inverse: Array) -> float | None:
    """D(Q) minus the residual's share, or None if Q leaves the simplex."""
    Q = problem.field(problem.m, dtype=np.float64)
    problem.home.reduce(second_order.probabilities, W, fields=(Q,))
    (R,) = problem.home.reduce(dual.residual_of, fields=(Q,))
    scale = np.abs(R).max()
    for _ in range(CORRECTIONS):
        V = _solve(problem, Q, -R, inverse)
        (negative,) = problem.home.reduce(dual.correct, V, fields=(Q,), largest=True)
        if not negative[0] < 0.0:
            return None
        (R,) = problem.home.reduce(dual.residual_of, fields=(Q,))
        if np.abs(R).max() <= 1e-15 * scale:
            break
    (H,) = problem.home.reduce(dual.entropy_of, fields=(Q,))
    return float(H) - float(np.sum(np.abs(R) * np.abs(W)))


def _newton_direction(problem: Problem, W: Array, G: Array, inverse: Array) -> Array:
    P = problem.field(problem.m, dtype=np.float64)
    problem.home.reduce(second_order.probabilities, W, fields=(P,))
    return _solve(problem, P, -G, inverse)


def _solve(problem: Problem, P: Field, R: Array, inverse: Array, most: int = 500) -> Array:
    """Conjugate gradients on ``H(P) V = R``, preconditioned by the inverse Gram matrix; H may be singular."""
    V, r = np.zeros_like(R), R.copy()
    z = inverse @ r
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
        r -= step * Hd
        z = inverse @ r
        rz, old = float(np.sum(r * z)), rz
        d = z + (rz / old) * d
    return V


def _inverse_gram(problem: Problem) -> Array:
    """(p, p) pseudo-inverse of ``X.T (a X)``; its scale does not matter."""
    weights = problem.weights()
    eigenvalues, E = np.linalg.eigh(problem.gram(weights))
    kept = eigenvalues > eigenvalues[-1] * problem.p * np.finfo(np.float64).eps
    return np.asarray((E[:, kept] / eigenvalues[kept]) @ E[:, kept].T)
