"""PIANO, accelerated: Anderson's extrapolation [WN11] over the step of PIANO [JB20], with a safeguard.

Minimises F(W) = l(W) + R(W) for R none, l1, l2, elastic net or l0. T(W) is PIANO's step from W (see `piano`), its
classes centred (see `centring`; not under l0), and h = S (A + B) + l2 the surrogate's curvature, element by element:

(1) gamma = argmin | R^k - sum_i gamma_i r_i |_h,    R^k = T(W^k) - W^k, over the elements that T does not put to 0
(2) V = T(W^k) - sum_i gamma_i (w_i + r_i),          w_i = W^{i+1} - W^i, r_i = R^{i+1} - R^i of the last steps
(3) V = 0 where l1 or l0 acts and T(W^k) is 0 or of the other sign
(4) W^{k+1} = V if F(V) <= F(W^k) - 1/2 [F(W^k) - g(T(W^k)|W^k) - R(T(W^k))], else T(W^k) and no w_i, r_i from before

So F falls in each step by half of what PIANO's surrogate promises at least, which drives the surrogate's fixed-point
residual to 0, as in PIANO itself. The metric h makes (1) blind to the units of features. A step costs one update, two
where (4) refuses V. Not in [JB20].
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from pianobench.algorithms.centring import centred
from pianobench.algorithms.contract import State
from pianobench.algorithms.lbfgs import dot
from pianobench.algorithms.line_search import falls_enough
from pianobench.algorithms.piano import minimiser, surrogate
from pianobench.problems import Penalty, Problem
from pianobench.problems.penalties import Array

RIDGE = 1e-12  # added to the unit diagonal of (1)'s normal equations, or parallel r_i would make them singular


@dataclass(kw_only=True)
class Mapped(State):
    """A point with PIANO's step from it."""

    f: float  # smooth part of F at W
    G: Array  # (p, m) its gradient
    T: Array  # (p, m) T(W)
    h: Array  # (p, m) the surrogate's curvature at W
    promised: float  # g(T|W) + R(T) - F(W) <= 0
    change: float  # max_li S |T - W|: the surrogate's fixed-point residual


@dataclass(kw_only=True)
class PianoAcceleratedState(Mapped):
    """State of accelerated PIANO; k <= memory pairs, the oldest first."""

    pairs_w: Array  # (k, p, m) w_i
    pairs_r: Array  # (k, p, m) r_i
    updates: int  # of all elements so far: steps, and what (4) refused


@dataclass(frozen=True)
class PianoAccelerated:
    """PIANO, accelerated and centred.

    Parameters
    ----------
    memory_pairs : int
        Differences w_i, r_i kept.
    cap : float
        PIANO's.
    """

    memory_pairs: int = 20
    cap: float = 30.0

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l1", "l2", "elasticnet", "l0"})
    needs: ClassVar[frozenset[str]] = frozenset({"moments"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one extrapolated update of all p*m elements at once"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return (2 * self.memory_pairs + 16) * p * m * itemsize + (self.memory_pairs + 4) * p * m * 8

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> PianoAcceleratedState:
        none = np.zeros((0, *W0.shape), W0.dtype)
        return _with_pairs(mapped(problem, W0.copy(), self.cap), none, none, 0, 1)

    def step(self, problem: Problem, state: PianoAcceleratedState) -> PianoAcceleratedState:
        pairs_w, pairs_r, new, rejected, updates = state.pairs_w, state.pairs_r, None, state.rejected, state.updates
        if len(pairs_w):
            new = mapped(problem, extrapolated(state, problem.pen), self.cap)
            updates += 1
            if not _falls(state, new, problem.pen):  # (4)
                new, pairs_w, pairs_r, rejected = None, pairs_w[:0], pairs_r[:0], rejected + 1
        if new is None:
            new = mapped(problem, state.T, self.cap)
            updates += 1
        w = new.W - state.W
        r = (new.T - new.W) - (state.T - state.W)
        first = max(0, len(pairs_w) + 1 - self.memory_pairs)
        pairs_w, pairs_r = (np.concatenate([old, d[None]])[first:] for old, d in ((pairs_w, w), (pairs_r, r)))
        return _with_pairs(new, pairs_w, pairs_r, rejected, updates)


@np.errstate(all="ignore")  # an extrapolation too far has an infinite F, which (4) refuses
def mapped(problem: Problem, W: Array, cap: float) -> Mapped:
    """W (p, m) with PIANO's centred step from it."""
    blocks: list[tuple[Array, Array]] = []
    change = fall = 0.0

    def update(W: Array, A: Array, B: Array, C: Array, S: Array, pen: Penalty) -> Array:
        nonlocal change, fall
        V = minimiser(W, A, B, C, S, pen, cap)
        change = max(change, float(np.max(S * np.abs(V - W))))
        fall += float(np.sum(surrogate(V - W, A, B, C, S)))
        blocks.append((A - B - C + pen.l2 * W, S * (A + B) + pen.l2))
        return V

    T, f = problem.moments_map(W, update)
    if problem.pen.kind != "l0":
        T = centred(T, problem.pen, problem.active)
    G, h = (np.concatenate(parts, axis=1).astype(W.dtype) for parts in zip(*blocks, strict=True))
    promised = fall + problem.pen.value(T) - problem.pen.value(W)
    return Mapped(W=W, f=f, G=problem.only_active(G), T=T, h=h, promised=min(promised, 0.0), change=change)


def extrapolated(state: PianoAcceleratedState, pen: Penalty) -> Array:
    """V (p, m) of (1) to (3)."""
    T = state.T
    sparse = np.broadcast_to(np.asarray(pen.l1) + pen.l0 > 0, T.shape)
    scale = np.where(sparse & (T == 0), 0.0, np.sqrt(state.h.astype(np.float64)))
    D = (scale * state.pairs_r).reshape(len(state.pairs_r), -1)
    M, b = D @ D.T, D @ (scale * (T - state.W)).ravel()
    unit = np.sqrt(np.diag(M))
    unit = np.where(unit > 0, unit, 1.0)
    gamma = np.linalg.solve(M / unit / unit[:, None] + RIDGE * np.eye(len(M)), b / unit) / unit  # (1)
    V = T - np.tensordot(gamma.astype(T.dtype), state.pairs_w + state.pairs_r, 1)  # (2)
    return np.where(sparse & ~(V * T > 0), T.dtype.type(0), V)  # (3)


def _falls(state: Mapped, new: Mapped, pen: Penalty) -> bool:
    """Whether F falls by half of what the surrogate promised; where F differs by rounding alone the slopes decide."""
    before, after, D = state.f + pen.nonsmooth(state.W), new.f + pen.nonsmooth(new.W), new.W - state.W
    rise = pen.l1 * (np.abs(new.W) - np.abs(state.W)) + pen.l0 * ((new.W != 0) * 1.0 - (state.W != 0))
    estimate = 0.5 * (dot(state.G, D) + dot(new.G, D)) + float(np.sum(rise, dtype=np.float64))
    noise = 4.0 * float(np.finfo(D.dtype).eps) * abs(before)
    return falls_enough(before, after, 0.5 * state.promised, estimate, noise)


def _with_pairs(point: Mapped, pairs_w: Array, pairs_r: Array, rejected: int, updates: int) -> PianoAcceleratedState:
    known = {f.name: getattr(point, f.name) for f in fields(point)} | {"rejected": rejected}
    return PianoAcceleratedState(**known, pairs_w=pairs_w, pairs_r=pairs_r, updates=updates)
