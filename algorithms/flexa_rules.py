"""What FLEXA, inexact Gauss-Jacobi and GJ-FLEXA share: a model of one element, and rules for tau and gamma [FSS15].

F = f + l1 |W|_1 is replaced, in one element w_li, the others fixed, by a quadratic model with a closed-form minimiser,
the best response

(1) w^_li = soft(w_li - G_li / (h_li + tau), l1 / (h_li + tau))     G gradient of f, h diagonal of its Hessian
(2) merit = max_li |G_li - clip(G_li - w_li, -l1, l1)|               0 at a minimiser, and only there

tau starts at the mean of the diagonal of X' (a X) over 2m, (3). A step that raises F is thrown away and tau doubled,
(4); after ten falls of F in a row, or at a merit of 1e-3 or less, tau is halved, (5); a step's length goes down by

(6) gamma <- gamma (1 - min(1, 1e-4 / merit) theta gamma)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.contract import State, check_squares
from pianobench.algorithms.smlr_damped import soft_step
from pianobench.problems import Problem
from pianobench.problems.kernels.coordinate import Rule
from pianobench.problems.penalties import Array

CHANGES = 100  # of tau that are allowed
FALLS = 10  # of F in a row, after which tau is halved
NEAR = 1e-3  # merit at which tau is halved after every step; in the units of X, as published
MODELS = ("taylor", "bohning", "quarter")


@dataclass(kw_only=True)
class FlexaState(State):
    """State of the three methods."""

    F: float  # objective at W
    G: Array  # (p, m) gradient of f at W
    h: Array | None = None  # (p, m) diagonal of f's Hessian at W, where elements are selected
    tau: float
    gamma: float
    falls: int = 0  # of F in a row
    changes: int = 0  # of tau that count towards CHANGES

    def merit(self, problem: Problem) -> float:
        """(2)."""
        l1 = problem.pen.l1
        return float(np.max(np.abs(self.G - np.clip(self.G - self.W, -l1, l1))))


@dataclass(frozen=True, kw_only=True)
class FlexaRules:
    """Hyper-parameters of the three methods.

    Parameters
    ----------
    tau : {"converging", "published"} or float
        "published": (3), (4), (5) with 100 changes in all, after which F may rise unchecked. "converging": they limit
        (5) alone. A number: this tau for ever, and every step is taken.
    gamma : float
        Length of the first step, in (0, 1].
    theta : float
        Of (6); 0 keeps gamma.
    model : {"taylor", "bohning", "quarter"}
        h: the Hessian's diagonal, or one of the bounds of SMLR in its place.
    """

    tau: float | str = "converging"
    gamma: float = 0.9
    theta: float = 1e-7
    model: str = "taylor"

    def __post_init__(self) -> None:
        number = isinstance(self.tau, int | float) and 0.0 <= self.tau < math.inf
        if not number and self.tau not in ("converging", "published"):
            raise ValueError(f"tau={self.tau!r}: 'converging', 'published' or a number >= 0 is expected")
        if not 0.0 < self.gamma <= 1.0:
            raise ValueError(f"gamma={self.gamma!r}: a number in (0, 1] is expected")
        if self.model not in MODELS:
            raise ValueError(f"model={self.model!r}: one of {', '.join(MODELS)} is expected")

    def start(self, problem: Problem, W0: Array, selects: bool) -> FlexaState:
        """The state at W0; `selects` tells whether h is wanted."""
        f, G = problem.smooth(W0)
        tau = self.tau
        if isinstance(tau, str):
            tau = float(problem.squares().sum()) / (2.0 * W0.size)  # (3)
            check_squares(2.0 * W0.size * tau, W0.dtype)
        h = self.diagonal(problem, W0) if selects else None
        return FlexaState(W=W0.copy(), F=f + problem.pen.nonsmooth(W0), G=G, h=h, tau=tau, gamma=self.gamma)

    def diagonal(self, problem: Problem, W: Array) -> Array:
        """h (p, m) at W; the bounds are the same everywhere."""
        if self.model == "taylor":
            return problem.curvature(W).diag()
        factor = 0.25 if self.model == "quarter" else 0.5 * (1.0 - 1.0 / problem.m)
        return np.broadcast_to(factor * problem.squares() + problem.pen.l2, W.shape)

    def rule(self, tau: float) -> Rule:
        """The same model for a sweep."""
        return Rule(self.model, tau)  # type: ignore[arg-type]

    def selected(self, problem: Problem, state: FlexaState, sigma: float) -> tuple[Array, NDArray[np.bool_]]:
        """Best responses less W (p, m), and which of them are at least `sigma` times the largest."""
        assert state.h is not None
        D = soft_step(problem, state.W, state.G, state.h + state.tau) - state.W  # (1)
        E = np.abs(D)
        return D, sigma * E.max() <= E

    def judged(self, problem: Problem, state: FlexaState, W: Array) -> FlexaState:
        """The state after a step to W, or after throwing it away."""
        f, G = problem.smooth(W)
        F = f + problem.pen.nonsmooth(W)
        noise = float(np.finfo(W.dtype).eps) * abs(F)  # departs: less is no rise, or float32 would double tau for ever
        rises = not state.F + noise >= F  # true of NaN, too
        adapts = isinstance(self.tau, str)
        spent = state.changes >= CHANGES
        if adapts and rises and not (spent and self.tau == "published"):
            counted = self.tau == "published"  # departs: under "converging" doublings are free, or F rises at the end
            new = replace(
                state, tau=2.0 * state.tau, falls=0, changes=state.changes + counted, rejected=state.rejected + 1
            )  # (4)
        else:
            h = self.diagonal(problem, W) if self.model == "taylor" and state.h is not None else state.h
            new = replace(state, W=W, F=F, G=G, h=h, falls=state.falls + 1 if state.F > F else 0)
        merit = new.merit(problem)
        if adapts and new.W is W and not spent and (new.falls >= FALLS or merit <= NEAR):
            new = replace(new, tau=0.5 * new.tau, falls=0, changes=new.changes + 1)  # (5)
        slower = 1e-4 / merit if merit > 1e-4 else 1.0
        return replace(new, gamma=new.gamma * (1.0 - slower * self.theta * new.gamma))  # (6)
