"""LC for l1: the log-concavity bound of [GY13] with proximal gradient steps inside.

Minimises F(W) = l(W) + l1 |W|_1 (and l2/2 |W|^2 in an elastic net): monotone. [GY13] has no such form; only its inner
solver asks for a smooth objective, and this one does not:

(1) u_j = 1 / sum_i exp(w_i . x_j)                                                 see `lc`
(2) w_i = argmin_w sum_j a_j [u_j exp(w . x_j) - y_ji w . x_j] + l2/2 |w|^2 + l1 |w|_1      each class alone, by
(3)     d = soft(w - (alpha M)^{-1} g, (alpha M)^{-1} l1) - w,   alpha = s.y / s.Ms of the step before  [WNF09]
(4)     w <- w + t d,  t = 1, 1/2, ... until the class's value falls by c t (g . d + l1 |w + d| - l1 |w|)
(5) each penalised row of W shifted by a median of its classes (elastic net: see `centring`), as LC needs it

The classes take their steps together, each with its own alpha and t. M is the diagonal of f's Hessian at the step's
start, a metric in which no unit of a feature matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pianobench.algorithms.centring import centred
from pianobench.algorithms.contract import State, check_squares
from pianobench.algorithms.lc import Classes, dots
from pianobench.problems import Problem
from pianobench.problems.penalties import Array, soft

FLAT = 1e-6  # smallest element of M, as a share of its class's largest: a column without entries has none


@dataclass(kw_only=True)
class LcProximalState(State):
    """State of LC for l1."""

    alpha: Array  # (m,) curvature along each class's last step, in the metric M
    inner: int = 0  # proximal steps so far


@dataclass(frozen=True)
class LcProximal:
    """LC with a proximal inner step.

    Parameters
    ----------
    inner_steps : int
        Steps (3) at most.
    inner_accuracy : float
        A class has done its part of (2) once its proximal step is so much shorter than at the start of (2).
    sufficient : float
        c.
    """

    inner_steps: int = 10
    inner_accuracy: float = 0.1
    sufficient: float = 1e-4

    penalties: ClassVar[frozenset[str]] = frozenset({"l1", "elasticnet"})
    needs: ClassVar[frozenset[str]] = frozenset({"fields", "curvature"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one update of u and of all classes by proximal gradient steps, and one shift a row"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return (5 * n * m + 14 * p * m) * itemsize

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> LcProximalState:
        return LcProximalState(W=W0.copy(), alpha=np.ones(problem.m))

    def step(self, problem: Problem, state: LcProximalState) -> LcProximalState:
        classes, l1 = Classes(problem, state.W, self.sufficient), problem.pen.l1  # (1)
        M = problem.curvature(state.W).diag()
        check_squares(M, M.dtype)
        M = np.maximum(M, M.dtype.type(FLAT) * M.max(axis=0) + np.finfo(M.dtype).tiny)
        start, alpha, inner = state.alpha, state.alpha, 0
        first: Array = np.zeros(problem.m)
        while inner < self.inner_steps:  # (2)
            W, G = classes.W, classes.G
            R = soft(W - (G / (start * M)).astype(W.dtype), l1 / (start * M)) - W
            first = dots(R, M * R) if inner == 0 else first
            done = dots(R, M * R) <= (self.inner_accuracy**2 if inner else 0.0) * first
            if done.all():
                break
            D = soft(W - (G / (alpha * M)).astype(W.dtype), l1 / (alpha * M)) - W  # (3)
            S = classes.move(np.where(done, W.dtype.type(0), D), newton=False)  # (4)
            classes.gradient()
            ss, sy = dots(S, M * S), dots(S, classes.G - G)
            curved = sy > 1e-10 * ss
            alpha = np.where(curved, sy / np.where(curved, ss, 1.0), alpha)
            inner += 1
        W = centred(classes.W, problem.pen, problem.active)  # (5)
        return LcProximalState(W=W, rejected=state.rejected, alpha=alpha, inner=state.inner + inner)
