"""The model with two classes against logistic regression, solved here by itself: one vector, its own Newton."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pianobench.algorithms.loop import solve
from pianobench.algorithms.newton_cg import NewtonCg
from pianobench.experiments.probes.setting import Number, Setting, Unmeasured
from pianobench.problems.penalties import Array

GAP = 1e-12
NEAR = 1e-10  # gap at which the minima are known well enough to be compared to 1e-9
STEPS = 200  # of Newton


def two_classes(setting: Setting) -> Iterator[Number]:
    """`difference from logistic regression`: of the minima, relative, and of the probabilities, the largest.

    ``w1 - w0 = z`` costs least at ``w1 = -w0 = z/2``, so that ``lam/2 (|w0|^2 + |w1|^2) = (lam/2)/2 |z|^2``.
    """
    problem = setting.problem
    if problem.m != 2 or problem.pen.kind not in ("none", "l2"):
        raise Unmeasured(f"{problem.m} classes under {problem.pen.kind}: two, under l2 or no penalty, are expected")
    result = solve(NewtonCg(), problem, tol=GAP, max_seconds=setting.left(0.6))
    if not result.certificate.gap <= NEAR:
        raise Unmeasured(f"the minimum is known to {result.certificate.gap:.1g} only: {result.reason}")
    coef, b = problem.to_user(result.W)
    X = setting.X if isinstance(setting.X, np.ndarray) else setting.X.toarray()
    is_second = setting.y == problem.classes[1]
    w, c = logistic(X, is_second, 0.5 * (setting.lam or 0.0), problem.fit_intercept)
    F, other = problem.off_the_clock().value(result.W), objective(X, is_second, w, c, 0.5 * (setting.lam or 0.0))
    P, Q = (sigmoid(scores) for scores in (X @ (coef[1] - coef[0]) + (b[1] - b[0]), X @ w + c))
    yield Number("difference from logistic regression", "objective", abs(F - other) / abs(other))
    yield Number("difference from logistic regression", "probabilities", float(np.max(np.abs(P - Q))))


def logistic(X: Array, is_second: Any, lam: float, intercept: bool) -> tuple[Array, float]:
    """Vector (d,) and intercept of least ``sum log(1 + exp(-s z)) + lam/2 |w|^2``, by Newton's method with halving."""
    A = np.column_stack([X, np.ones(len(X))]) if intercept else np.asarray(X, np.float64)
    bend = np.full(A.shape[1], lam)
    bend[X.shape[1] :] = 0.0

    def value(v: Array) -> float:
        return objective(A, is_second, v, 0.0, 0.0) + 0.5 * float(bend @ (v * v))

    v, F = np.zeros(A.shape[1]), value(np.zeros(A.shape[1]))
    for _ in range(STEPS):
        p = sigmoid(A @ v)
        H = A.T @ ((p * (1.0 - p))[:, None] * A) + np.diag(bend)
        d = -np.linalg.lstsq(H, A.T @ (p - is_second) + bend * v, rcond=None)[0]
        t = 1.0
        while t > 1e-10 and not value(v + t * d) < F:
            t *= 0.5
        if t <= 1e-10:  # no digits are left to fall by
            break
        v = v + t * d
        F = value(v)
    return v[: X.shape[1]], float(v[-1]) if intercept else 0.0


def objective(X: Array, is_second: Any, w: Array, c: float, lam: float) -> float:
    """Of logistic regression at w (d,) and c."""
    signed = np.where(is_second, 1.0, -1.0) * (X @ w + c)
    return float(np.sum(np.logaddexp(0.0, -signed))) + 0.5 * lam * float(w @ w)


def sigmoid(z: Array) -> Array:
    """``1 / (1 + exp(-z))``."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)))
