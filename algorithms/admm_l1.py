"""ADMM for l1, split by the penalty [Boyd11, sections 6.3 and 3.4].

Minimises F(W) = f(W) + l1 |W|_1 (l1 or elastic net, whose quadratic part is in f) as

    min  f(V) + l1 |W|_1   subject to  V = W            V, W the paper's x and z; U the scaled dual

(1) V <- argmin f(V) + rho/2 |V - W + U|^2             by L-BFGS from the last V, inexactly
(2) V_hat = alpha V + (1 - alpha) W                    over-relaxation, section 3.4.3
(3) W <- soft(V_hat + U, l1 / rho)
(4) U <- U + V_hat - W

The rows that l1 does not touch (the intercept) are not split: W is V there, and rho acts on the others. Converges for
any rho and 0 < alpha < 2 where the errors of (1) have a finite sum [EB92, theorem 8]; not monotone in F(W). W is
judged, being the sparse one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.contract import Breakdown, State, check_squares
from pianobench.algorithms.lbfgs import Lbfgs, LbfgsState, cauchy_length, dot, norm
from pianobench.problems import Problem
from pianobench.problems.oracles import Curvature
from pianobench.problems.penalties import Array


@dataclass(kw_only=True)
class AdmmL1State(State):
    """State of ADMM; the paper's z is W."""

    V: Array  # (p, m) x
    U: Array  # (p, m) scaled dual
    f: float  # f at V
    G: Array  # (p, m) its gradient
    pairs_s: Array  # (k, p, m) L-BFGS's pairs of (1)
    pairs_y: Array  # (k, p, m)
    gamma: float  # its H0 = gamma I
    rho: float
    first: float  # |G| at the start
    steps: int = 0
    primal: float = math.inf  # |V - W|
    dual: float = math.inf  # rho |W - W_old|


@dataclass(frozen=True)
class AdmmL1:
    """ADMM for l1.

    Parameters
    ----------
    rho : float
        Weight of the split at the start, in units of f's curvature along its gradient.
    alpha : float
        Over-relaxation.
    balance_steps : int
        First steps in which rho is doubled or halved when one residual is ten times the other (section 3.4.1).
    inner_share : float
        Step k solves (1) to a gradient of this share of the larger residual before it, and of |G| at the start / k^2.
    inner_steps : int
        L-BFGS steps at most.
    """

    rho: float = 0.1
    alpha: float = 1.6
    balance_steps: int = 100
    inner_share: float = 0.5
    inner_steps: int = 50

    penalties: ClassVar[frozenset[str]] = frozenset({"l1", "elasticnet"})
    needs: ClassVar[frozenset[str]] = Lbfgs.needs
    monotone: ClassVar[bool] = False
    step_is: ClassVar[str] = "one update of V, W and U"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return Lbfgs().memory(n, p, m, nnz, itemsize) + 14 * p * m * itemsize  # the pairs of f, V, W, U, G

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> AdmmL1State:
        f, G = problem.smooth(W0)
        check_squares(dot(G, G), W0.dtype)
        none = np.zeros((0, *W0.shape), W0.dtype)
        length = cauchy_length(problem, W0, G)
        rho = self.rho / length
        return AdmmL1State(
            W=W0.copy(),
            V=W0.copy(),
            U=np.zeros_like(W0),
            f=f,
            G=G,
            pairs_s=none,
            pairs_y=none,
            gamma=1.0 / (1.0 / length + rho),
            rho=rho,
            first=norm(G),
        )

    def step(self, problem: Problem, state: AdmmL1State) -> AdmmL1State:
        kept = np.asarray(problem.pen.l1) > 0  # a row without l1 needs no split: W is V there
        state, number = self._balanced(state, kept), state.W.dtype.type
        W, U, rho = state.W, state.U, state.rho
        split = Augmented(problem, W - U, rho * kept)
        inner = self._v_step(split, state)  # (1)
        V, (f, G) = inner.W, split.without(inner)
        V_hat = number(self.alpha) * V + number(1.0 - self.alpha) * W  # (2)
        W_new = np.where(kept, problem.prox(V_hat + U, 1.0 / rho), V)  # (3)
        return replace(
            state,
            W=W_new,
            V=V,
            U=np.where(kept, U + V_hat - W_new, U),  # (4)
            f=f,
            G=G,
            pairs_s=inner.pairs_s,
            pairs_y=inner.pairs_y,
            gamma=inner.gamma,
            steps=state.steps + 1,
            primal=norm(V - W_new),
            dual=rho * norm(kept * (W_new - W)),
        )

    def _balanced(self, state: AdmmL1State, kept: NDArray[np.bool_]) -> AdmmL1State:
        """The state with rho changed if that is due; the scaled dual and L-BFGS's pairs change with it."""
        primal, dual = state.primal, state.dual
        # departs: relative residuals, section 3.3.1's, for the absolute ones are in different units
        primal /= max(norm(state.V), norm(state.W)) or 1.0
        dual /= state.rho * norm(state.U) or 1.0
        if not 0 < state.steps <= self.balance_steps or max(primal, dual) <= 10.0 * min(primal, dual):
            return state
        rho = state.rho * (2.0 if primal > dual else 0.5)
        more = rho - state.rho
        return replace(
            state,
            rho=rho,
            U=state.U * state.U.dtype.type(state.rho / rho),
            pairs_y=state.pairs_y + (more * kept * state.pairs_s).astype(state.pairs_y.dtype),
            gamma=1.0 / (1.0 / state.gamma + more),
        )

    def _v_step(self, split: Augmented, state: AdmmL1State) -> LbfgsState:
        """L-BFGS's state where the gradient of (1) is small enough."""
        solver = Lbfgs()
        inner = split.start(state)
        residual = max(state.rho * state.primal, state.dual)  # as gradients
        accuracy = self.inner_share * min(state.first / (state.steps + 1) ** 2, residual)
        for _ in range(self.inner_steps):
            if norm(inner.G) <= accuracy:
                break
            try:
                inner = solver.step(split, inner)
            except Breakdown:  # as near as rounding allows
                break
        return inner


@dataclass(frozen=True)
class Augmented:
    """``f(V) + sum rho/2 (V - T)^2``, for L-BFGS.

    Parameters
    ----------
    problem : Problem
    T : array (p, m)
    rho : array (p, 1)
    """

    problem: Problem
    T: Array
    rho: Array

    def smooth(self, V: Array) -> tuple[float, Array]:
        """Value and gradient (p, m)."""
        return self._added(*self.problem.smooth(V), V)

    def curvature(self, V: Array) -> AugmentedCurvature:
        """Its Hessian at V."""
        return AugmentedCurvature(self.problem.curvature(V), self.rho)

    def start(self, state: AdmmL1State) -> LbfgsState:
        """L-BFGS's state at the last V, whose f and G are known."""
        f, G = self._added(state.f, state.G, state.V)
        return LbfgsState(W=state.V, f=f, G=G, pairs_s=state.pairs_s, pairs_y=state.pairs_y, gamma=state.gamma)

    def without(self, inner: LbfgsState) -> tuple[float, Array]:
        """f and its gradient where L-BFGS is."""
        f, G = self._added(0.0, np.zeros_like(inner.G), inner.W)
        return inner.f - f, inner.G - G

    def _added(self, f: float, G: Array, V: Array) -> tuple[float, Array]:
        D = V - self.T
        E = (self.rho * D).astype(D.dtype)
        return f + 0.5 * dot(D, E), G + E


@dataclass(frozen=True)
class AugmentedCurvature:
    """Hessian of f plus diag(rho)."""

    H: Curvature
    rho: Array

    def __matmul__(self, U: Array) -> Array:
        return np.asarray(self.H @ U + (self.rho * U).astype(U.dtype))
