"""L-BFGS with a strong Wolfe line search [NW06, algorithms 7.4 and 7.5, section 3.5].

Minimises a smooth F(W): no penalty or l2. Locally linear rate; each step costs one `smooth` for every trial of the line
search, nearly always one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from pianobench.algorithms.contract import Breakdown, State
from pianobench.algorithms.line_search import strong_wolfe
from pianobench.problems.penalties import Array


class Smooth(Protocol):
    """A smooth convex function of W (p, m); a `Problem` is one."""

    def smooth(self, W: Array, /) -> tuple[float, Array]:
        """Value and gradient."""
        ...

    def curvature(self, W: Array, /) -> Any:
        """The Hessian at W, which multiplies by ``@``."""
        ...


@dataclass(kw_only=True)
class LbfgsState(State):
    """L-BFGS's state; k <= memory pairs, the oldest first."""

    f: float  # F at W
    G: Array  # (p, m) its gradient
    pairs_s: Array  # (k, p, m) s_i = W_{i+1} - W_i
    pairs_y: Array  # (k, p, m) y_i = G_{i+1} - G_i
    gamma: float  # H0 = gamma I


@dataclass(frozen=True)
class Lbfgs:
    """L-BFGS. Of a problem it asks `Smooth` alone, so that it also serves as an inner solver.

    Parameters
    ----------
    memory_pairs : int
        Curvature pairs kept.
    sufficient, curvature : float
        Constants c1 < c2 of the strong Wolfe conditions.
    """

    memory_pairs: int = 10
    sufficient: float = 1e-4
    curvature: float = 0.9

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l2"})
    needs: ClassVar[frozenset[str]] = frozenset({"curvature"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one line search"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return (2 * self.memory_pairs + 6) * p * m * itemsize

    def init(self, problem: Smooth, W0: Array, rng: np.random.Generator) -> LbfgsState:
        f, G = problem.smooth(W0)
        none = np.zeros((0, *W0.shape), W0.dtype)
        return LbfgsState(W=W0.copy(), f=f, G=G, pairs_s=none, pairs_y=none, gamma=cauchy_length(problem, W0, G))

    def step(self, problem: Smooth, state: LbfgsState) -> LbfgsState:
        W, f, G = state.W, state.f, state.G
        D = two_loop(G, state.pairs_s, state.pairs_y, state.gamma)
        slope = dot(G, D)
        if slope == 0.0:
            raise Breakdown("the gradient is zero to rounding: no direction descends")
        trial = line_searched(problem, W, f, D, slope, self.sufficient, self.curvature)
        if trial is None:  # a memory spoilt by rounding: begin again with the gradient, W unchanged
            if not len(state.pairs_s):
                raise Breakdown("no step along the gradient lowers F by more than its rounding error")
            none, gamma = state.pairs_s[:0], cauchy_length(problem, W, G)
            return replace(state, rejected=state.rejected + 1, pairs_s=none, pairs_y=none, gamma=gamma)
        W_new, f_new, G_new = trial
        pairs_s, pairs_y, gamma = with_pair(
            state.pairs_s, state.pairs_y, state.gamma, W_new - W, G_new - G, self.memory_pairs
        )
        return LbfgsState(
            W=W_new, rejected=state.rejected, f=f_new, G=G_new, pairs_s=pairs_s, pairs_y=pairs_y, gamma=gamma
        )


def line_searched(
    problem: Smooth, W: Array, f: float, D: Array, slope: float, sufficient: float, curvature: float
) -> tuple[Array, float, Array] | None:
    """Point (p, m) on the line from W along D that meets the strong Wolfe conditions, with its value and gradient.

    None where there is none: D does not descend, or F has no digits left to fall by. Length 1 is tried first.
    """
    trial: tuple[Array, float, Array] | None = None

    def phi(t: float) -> tuple[float, float]:
        nonlocal trial
        W_t = W + W.dtype.type(t) * D
        trial = (W_t, *problem.smooth(W_t))
        return trial[1], dot(trial[2], D)

    noise = 4.0 * float(np.finfo(W.dtype).eps) * abs(f)
    if not slope < 0.0:
        return None
    found = strong_wolfe(phi, f, slope, 1.0, sufficient=sufficient, curvature=curvature, noise=noise)
    return trial if found else None


def usable(s: Array, y: Array) -> bool:
    """Whether a pair keeps H positive definite. Where F falls to zero, ``|y|^2`` does before ``s.y``."""
    yy = dot(y, y)
    return yy > 0.0 and dot(s, y) > 1e-10 * np.sqrt(dot(s, s) * yy)


def with_pair(
    pairs_s: Array, pairs_y: Array, gamma: float, s: Array, y: Array, most: int
) -> tuple[Array, Array, float]:
    """The pairs (k, p, m) with s, y (p, m) as the newest of at most `most`, and gamma of ``H0 = gamma I``."""
    if not usable(s, y):
        return pairs_s, pairs_y, gamma
    first = max(0, len(pairs_s) + 1 - most)
    pairs_s, pairs_y = (np.concatenate([old, new[None]])[first:] for old, new in ((pairs_s, s), (pairs_y, y)))
    return pairs_s, pairs_y, dot(s, y) / dot(y, y)  # (7.20)


def two_loop(G: Array, pairs_s: Array, pairs_y: Array, gamma: float) -> Array:
    """``-H G`` (p, m), H the inverse Hessian of the pairs (k, p, m) and H0 = gamma I: algorithm 7.4."""
    q, kept = G.copy(), []
    for s, y in zip(pairs_s[::-1], pairs_y[::-1], strict=True):
        rho = 1.0 / dot(y, s)
        alpha = rho * dot(s, q)
        q -= G.dtype.type(alpha) * y
        kept.append((rho, alpha))
    q *= G.dtype.type(gamma)
    for (s, y), (rho, alpha) in zip(zip(pairs_s, pairs_y, strict=True), kept[::-1], strict=True):
        q += G.dtype.type(alpha - rho * dot(y, q)) * s
    return -q


def cauchy_length(problem: Smooth, W: Array, G: Array) -> float:
    """``G.G / G.HG`` at W with gradient G (p, m): the step along -G to the quadratic model's minimum."""
    size = np.sqrt(dot(G, G))
    U = G / G.dtype.type(size or 1.0)  # or the products overflow where the steps do not
    bent = dot(U, problem.curvature(W) @ U)
    length = 1.0 / bent if bent > 0.0 else np.inf
    return length if length < np.inf else 1.0 / (size or 1.0)


def dot(U: Array, V: Array) -> float:
    """Inner product in float64."""
    return float(np.vdot(U.astype(np.float64, copy=False), V.astype(np.float64, copy=False)))


def norm(U: Array) -> float:
    """Euclidean norm in float64."""
    return float(np.sqrt(dot(U, U)))
