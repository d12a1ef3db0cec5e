"""FISTA with backtracking [BT09, section 4] and adaptive restart [OC15].

Minimises F(W) = f(W) + R(W), f smooth (the loss and a quadratic penalty), R convex with a proximal point: no penalty,
l1, l2, elastic net. F - F* falls as 2 L |W0 - W*|^2 / (k + 1)^2, and with restarts linearly near a strongly convex
optimum; not monotone.

(1) W <- p_L(V) = prox_{R/L}(V - grad f(V) / L),  L the first of L, 2 L, 4 L, ... with F(p_L(V)) <= Q_L(p_L(V), V)
    Q_L(W, V) = f(V) + <W - V, grad f(V)> + L/2 |W - V|^2 + R(W)
(2) t_new = (1 + sqrt(1 + 4 t^2)) / 2
(3) V <- W + (t - 1) / t_new (W - W_old)
(4) restart, t = 1 and V = W, where <V - W, W - W_old> > 0: the momentum points uphill
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pianobench.algorithms.contract import Breakdown, State, check_squares
from pianobench.algorithms.lbfgs import cauchy_length, dot
from pianobench.problems import Problem
from pianobench.problems.penalties import Array


@dataclass(kw_only=True)
class FistaState(State):
    """State of FISTA."""

    V: Array  # (p, m) point from which the next step is taken
    t: float  # momentum
    L: float  # estimate of the gradient's Lipschitz constant, never smaller than before
    restarts: int = 0


@dataclass(frozen=True)
class Fista:
    """FISTA.

    Parameters
    ----------
    growth : float
        Factor by which L grows until the quadratic lies above F.
    """

    growth: float = 2.0

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l1", "l2", "elasticnet"})
    needs: ClassVar[frozenset[str]] = frozenset({"curvature"})
    monotone: ClassVar[bool] = False
    step_is: ClassVar[str] = "one proximal gradient step from the extrapolated point"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return 7 * p * m * itemsize

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> FistaState:
        _, G = problem.smooth(W0)
        check_squares(dot(G, G), W0.dtype)
        return FistaState(W=W0.copy(), V=W0.copy(), t=1.0, L=1.0 / cauchy_length(problem, W0, G))

    def step(self, problem: Problem, state: FistaState) -> FistaState:
        V, L = state.V, state.L
        f, G = problem.smooth(V)
        noise = 4.0 * float(np.finfo(V.dtype).eps) * abs(f)
        for _ in range(100):
            W = problem.prox(V - V.dtype.type(1.0 / L) * G, 1.0 / L)
            D = W - V
            Q = f + dot(D, G) + 0.5 * L * dot(D, D) + problem.pen.nonsmooth(W)
            if problem.value(W) <= Q + noise:  # (1)
                break
            L *= self.growth
        else:
            raise Breakdown(f"no quadratic of curvature up to {L:.1g} lies above F")
        t_new = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * state.t**2))  # (2)
        moved = W - state.W
        if -dot(D, moved) > 0.0:  # (4)
            return FistaState(W=W, V=W, t=1.0, L=L, restarts=state.restarts + 1)
        V = W + W.dtype.type((state.t - 1.0) / t_new) * moved  # (3)
        return FistaState(W=W, V=V, t=t_new, L=L, restarts=state.restarts)
