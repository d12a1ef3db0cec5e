"""Gradient descent with backtracking [NW06, algorithm 3.1].

Minimises a smooth F(W): no penalty or l2. Monotone; linear rate 1 - O(1/condition number).

(1) D = -G
(2) t = 2 t_last, halved until F(W + t D) <= F(W) + c t G.D
(3) W <- W + t D
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pianobench.algorithms.contract import Breakdown, State, check_squares
from pianobench.algorithms.lbfgs import cauchy_length, dot
from pianobench.algorithms.line_search import armijo
from pianobench.problems import Problem
from pianobench.problems.penalties import Array


@dataclass(kw_only=True)
class GdState(State):
    """State of gradient descent."""

    f: float  # F at W
    G: Array  # (p, m) its gradient
    t: float  # last step length


@dataclass(frozen=True)
class Gd:
    """Gradient descent.

    Parameters
    ----------
    sufficient : float
        c: share of the decrease promised by the slope that a step must bring.
    """

    sufficient: float = 0.3

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l2"})
    needs: ClassVar[frozenset[str]] = frozenset({"curvature", "line"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one line search along the gradient"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return (2 * n * m + 4 * p * m) * itemsize

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> GdState:
        f, G = problem.smooth(W0)
        check_squares(dot(G, G), W0.dtype)
        return GdState(W=W0.copy(), f=f, G=G, t=cauchy_length(problem, W0, G))

    def step(self, problem: Problem, state: GdState) -> GdState:
        line = problem.line(state.W, -state.G)  # (1)
        slope = -dot(state.G, state.G)
        if slope == 0.0:
            raise Breakdown("the gradient is zero to rounding: no direction descends")
        noise = 4.0 * float(np.finfo(state.W.dtype).eps) * abs(state.f)
        t = armijo(line, state.f, slope, 2.0 * state.t, sufficient=self.sufficient, noise=noise)  # (2)
        if t is None:
            raise Breakdown("no step along the gradient lowers F by more than its rounding error")
        f, G = line.smooth(t)
        return replace(state, W=line.take(t), f=f, G=G, t=t)  # (3)
