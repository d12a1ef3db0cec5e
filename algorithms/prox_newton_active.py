"""Proximal Newton on a working set: exact Hessian of few weights, coordinate descent, lambda in stages [LSS14; FHT10].

Minimises F(W) = f(W) + l1 |W|_1 (l1 or elastic net): monotone. With G the gradient of f at W^k and c >= 1 the stage,

(1) S = {W != 0} + {no l1} + {|G| > near c l1}, of those at 0 the nearest to entering          working set of weights
(2) D minimises G.D + 1/2 D.H_S D + c l1 |W + D|_1 over S, nearly                              see `Quadratic`
(3) W^{k+1} = W^k + t D, t = 1, 1/2, ... until f + c l1 |.| falls by sigma t [G.D + c l1 |W + D| - c l1 |W|]
(4) c = max(1, c / 4) once no weight is further than c l1 / 2 from its KKT condition           from |G|_max / (4 l1) on

A stage that would raise F itself is over. D comes from the matrix H_S or from the margins X D, whichever takes fewer
operations; where X is sparse from the margins, until the last model took more of them than a matrix would. The matrix
is made of random rows, `rows_each` and more for each weight, in early stages an eighth of that. It is kept while S
holds all that (1) must have, learns from each step by BFGS, and is made anew where a step has brought too little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.centring import centred
from pianobench.algorithms.contract import State
from pianobench.algorithms.line_search import falls_enough
from pianobench.problems import Problem
from pianobench.problems.oracles import Line
from pianobench.problems.penalties import Array
from pianobench.problems.quadratic import Quadratic, is_cheap, is_small
from pianobench.problems.rows import Field

DIVIDED = 4.0  # stages: what l1 is divided by from one to the next
TRIALS, DAMPINGS = 40, 8  # of a step; the first ones with ever more damping, the others with half the length
DAMPED, LEAST, GOOD = 4.0, 1.0 / 256.0, 0.1  # growth and least value of it; share of the promise that needs no more
SETTLED = 2.0  # of l1, by which the KKT conditions of a stage may be missed at its end
SLOW = 0.3  # share of the last promised decrease above which a kept matrix is made anew
PASSES = 100  # passes over S that a model is expected to take: how its two forms are compared
LOOSE = 16.0  # operations of a matrix product in the time of one of coordinate descent
GATHERED = 150.0  # and in that of one along a sparse column
MOST = 4000  # weights of a matrix: 128 MB
NEAREST = 0.95  # `near` at least where a matrix is cheap: it is then made anew for whatever else comes in
EARLY = 8.0  # what `rows_each` is divided by in the stages before the last


@dataclass(kw_only=True)
class ProxNewtonActiveState(State):
    """The state of proximal Newton on a working set; k weights are in its set."""

    f: float  # smooth part of F at W
    G: Array  # (p, m) its gradient
    XW: Field  # (n, m) margins
    stage: float  # c
    seed: int  # of the rows drawn
    draws: int = 0  # matrices made
    damping: float = 0.0  # mu
    promised: float = 0.0  # decrease that the last model promised
    chosen: NDArray[np.intp] | None = None  # (k,) numbers i p + l of the kept matrix's weights, ascending
    H: Array | None = None  # (k, k) the kept matrix
    labour: float = 0.0  # multiply-adds of the last model that was minimised by margins


@dataclass(frozen=True)
class ProxNewtonActive:
    """Proximal Newton on a working set.

    Parameters
    ----------
    near : float
        Share of l1 that a slope must have for a weight at 0 to be in the set.
    eta : float
        Accuracy of a model's minimum, as a share of the steps of the first pass over it.
    passes : int
        Passes over a model at most.
    rows_each : int
        Random rows for each weight of the set, over the number of classes among which a row is undecided.
    sigma : float
        Share of the promised decrease that a step must bring.
    """

    near: float = 0.85
    eta: float = 0.05
    passes: int = 1000
    rows_each: int = 24
    sigma: float = 1e-4

    penalties: ClassVar[frozenset[str]] = frozenset({"l1", "elasticnet"})
    needs: ClassVar[frozenset[str]] = frozenset({"columns"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one quadratic model in a working set, with its line search"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        k = min(p * m, 8 * n)  # weights of a set, about the most there are
        if nnz < n * p - n:  # by margins: P, X D and what the intercept does for each weight
            matrix = 32 * min(k, MOST) ** 2  # at most, with its copies
            return (8 * n * m + 3 * k * m) * 8 + 8 * p * m * itemsize + matrix
        columns = 8 * n * p
        return 6 * n * m * 8 + 8 * p * m * itemsize + columns + min(8 * k * k, 4 * columns + (1 << 20))

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> ProxNewtonActiveState:
        # departs: coordinates cannot follow a common shift of the classes, which the loss does not see
        W0 = centred(W0, problem.pen, problem.active)
        if W0.any():  # a column without entries has its weights at 0, which no model would see
            W0 = np.where((problem.squares() == 0.0) & (np.broadcast_to(problem.pen.l1, (problem.p, 1)) > 0), 0, W0)
        XW = problem.scores(W0) if W0.any() else problem.field(problem.m, dtype=W0.dtype)
        f, G = Line(problem, W0, np.zeros_like(W0), XW, XW).smooth(0.0)
        seed = int(rng.integers(1 << 32))
        return ProxNewtonActiveState(W=W0.copy(), f=f, G=G, XW=XW, stage=first_stage(problem, W0, G), seed=seed)

    def step(self, problem: Problem, state: ProxNewtonActiveState) -> ProxNewtonActiveState:
        W, G, c = state.W, state.G, state.stage
        l1 = c * np.broadcast_to(np.asarray(problem.pen.l1, np.float64), (problem.p, 1))
        wanted, needed = self._working_set(problem, W, G, l1)  # (1)
        state = self._with_matrix(problem, state, wanted, needed, l1)
        chosen = wanted if state.chosen is None else state.chosen
        mu, t = state.damping, 1.0
        for tried in range(TRIALS):
            if tried <= DAMPINGS:
                model = Quadratic(problem, W, G, state.XW, chosen, l1, self.eta, self.passes, mu)
                w, XD = model.by_margins() if state.H is None else model.by_matrix(state.H)  # (2)
                target = model.at(w)
                w = model.of(target)  # as W's type has it
                line = Line(problem, W, target - W, state.XW, XD)
                R, F = model.l1_of(model.w), state.f + model.l1_of(model.w)
                noise = 4.0 * float(np.finfo(W.dtype).eps) * abs(F)
                promised = float(model.g @ (w - model.w)) + model.rise(w)
            else:
                t *= 0.5
            if promised >= 0.0:
                break
            W_t = target if t == 1.0 else line.take(t)
            w_t = model.of(W_t)
            share = max(self.sigma, GOOD if tried < DAMPINGS else 0.0)
            R_t = model.l1_of(w_t)
            if (tried > 0 or mu > 0.0) and line(t)[0] + R_t > F + share * t * promised + noise:
                mu = max(DAMPED * mu, LEAST)
                continue
            f, G_t = line.smooth(t)
            change = 0.5 * float((model.g + model.of(G_t)) @ (w_t - model.w)) + model.rise(w_t)
            if not falls_enough(F, f + R_t, share * t * promised, change, noise):  # (3)
                mu = max(DAMPED * mu, LEAST)
                continue
            if c > 1.0 and f + R_t / c > state.f + R / c:
                return replace(state, rejected=state.rejected + 1, stage=max(1.0, c / DIVIDED))
            calmer = mu / DAMPED if mu > LEAST else 0.0
            moved = replace(state, W=W_t, f=f, G=G_t, XW=line.margins(t), promised=promised)
            moved = replace(moved, labour=model.labour or state.labour)
            moved = replace(moved, damping=mu if tried else calmer, stage=next_stage(problem, moved))
            if promised < min(SLOW * state.promised, -noise) and state.promised and moved.stage == c:
                return replace(moved, chosen=None, H=None)
            return learnt(moved, w_t - model.w, model.of(G_t) - model.g)
        return replace(state, rejected=state.rejected + 1, stage=1.0, promised=0.0, damping=0.0, chosen=None, H=None)

    def continued(self, before: Problem, problem: Problem, state: ProxNewtonActiveState) -> ProxNewtonActiveState:
        """The state of a run on `before` as one on `problem`, which differs in its strengths alone."""
        W, change = state.W, np.asarray(problem.pen.l2) - np.asarray(before.pen.l2)
        state = replace(state, labour=0.0)
        if state.H is not None and is_cheap(problem, len(state.H)):
            state = replace(state, chosen=None, H=None)
        if not np.any(change):
            return replace(state, stage=1.0, promised=0.0)
        f = state.f + problem.pen.quadratic(W) - before.pen.quadratic(W)
        G = (state.G + change * W).astype(W.dtype)
        return replace(state, f=f, G=problem.only_active(G), stage=1.0, promised=0.0, chosen=None, H=None)

    def moved(self, problem: Problem, state: ProxNewtonActiveState, W: Array) -> ProxNewtonActiveState:
        """The state at another W, with the matrix that it has."""
        XW = problem.scores(W)
        f, G = Line(problem, W, W, XW, XW).smooth(0.0)
        return replace(state, W=W, f=f, G=G, XW=XW)

    def narrowed(self, inside: Problem, kept: NDArray[np.intp], state: ProxNewtonActiveState) -> ProxNewtonActiveState:
        """The state on a problem restricted to the rows `kept` of W."""
        W, G = inside.project(state.W), inside.project(state.G)
        chosen, H = state.chosen, state.H
        if chosen is not None:
            classes, columns = np.divmod(chosen, state.W.shape[0])
            place = np.minimum(np.searchsorted(kept, columns), kept.size - 1)
            if (kept[place] == columns).all():
                chosen = classes * kept.size + place
            else:
                chosen, H = None, None
        return replace(state, W=W, G=G, chosen=chosen, H=H)

    def widened(
        self, problem: Problem, inside: Problem, kept: NDArray[np.intp], state: ProxNewtonActiveState
    ) -> ProxNewtonActiveState:
        """The state of a restricted problem on the whole one: its gradient, for half the products of `smooth`."""
        W, chosen = inside.lift(state.W), state.chosen
        f, G = Line(problem, W, W, state.XW, state.XW).smooth(0.0)
        if chosen is not None:
            classes, columns = np.divmod(chosen, kept.size)
            chosen = classes * problem.p + kept[columns]
        return replace(state, W=W, f=f, G=G, chosen=chosen)

    def _working_set(
        self, problem: Problem, W: Array, G: Array, l1: Array
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Numbers of the weights to be in the set, and of those that have to be."""
        support = (W != 0) | (l1 == 0.0)
        if problem.active is not None:
            support &= problem.active
        near = max(self.near, NEAREST) if is_cheap(problem, 2 * int(np.count_nonzero(support))) else self.near
        held = np.where(l1 > 0.0, near * l1, np.inf).astype(W.dtype)
        outside = np.abs(G) > held
        outside &= ~support
        if problem.active is not None:
            outside &= problem.active
        inside, entering = np.flatnonzero(support), np.flatnonzero(outside)
        beyond = np.abs(G.ravel()[entering]) / l1[entering // W.shape[1], 0]
        most = max(2 * inside.size, 10 * problem.m, 400)
        if entering.size > most:
            best = np.argpartition(-beyond, most)[:most]
            entering, beyond = entering[best], beyond[best]
        p, m = W.shape
        wanted = np.concatenate([inside, entering])
        needed = np.concatenate([inside, entering[beyond > 1.0]])
        return np.sort(wanted % m * p + wanted // m), np.sort(needed % m * p + needed // m)

    def _with_matrix(
        self,
        problem: Problem,
        state: ProxNewtonActiveState,
        wanted: NDArray[np.intp],
        needed: NDArray[np.intp],
        l1: Array,
    ) -> ProxNewtonActiveState:
        """The state with a matrix that serves this step, kept or new; with none where margins are better."""
        if state.H is not None and state.chosen is not None and _has(state.chosen, needed):
            return state
        n, k, m = problem.n, wanted.size, problem.m
        product, passes = 0.5 * n * k * (k + k / m), PASSES * 2.0 * k * k
        # Where X is sparse few rows have an entry in a column, which a lot may miss: in the end all rows are taken.
        # Where calls are all that takes time nothing hangs on n: rows that stand twice go the way of one of weight 2.
        small = is_small(n, k, m)
        whole = problem.layout == "csr" and (small or state.stage == 1.0)
        if problem.layout == "csr":
            dearer = product * (2.0 if whole else 1.0) + passes * GATHERED / LOOSE > GATHERED * state.labour
        else:
            dearer = product + LOOSE * passes > LOOSE * PASSES * 4.0 * n * k
        if (dearer and not small) or k > MOST:
            return replace(state, chosen=None, H=None)
        rng = np.random.default_rng([state.seed, state.draws])
        each = self.rows_each / (EARLY if state.stage > 1.0 else 1.0)
        model = Quadratic(problem, state.W, state.G, state.XW, wanted, l1, self.eta, self.passes)
        return replace(state, chosen=wanted, H=model.hessian(each, None if whole else rng), draws=state.draws + 1)


def first_stage(problem: Problem, W: Array, G: Array) -> float:
    """c at W with gradient G (p, m): a quarter of what holds all weights at 0 that are there, at least 1."""
    l1 = np.broadcast_to(np.asarray(problem.pen.l1, np.float64), W.shape)
    held = problem.only_active(np.abs(G))
    ratio = np.divide(held, l1, out=np.zeros(W.shape), where=(l1 > 0) & (W == 0))
    return max(1.0, float(ratio.max(initial=0.0)) / DIVIDED)


def next_stage(problem: Problem, state: ProxNewtonActiveState) -> float:
    """c after a step: divided if its KKT conditions are nearly met."""
    if state.stage == 1.0:
        return 1.0
    W, G = state.W, problem.only_active(state.G)
    l1 = state.stage * np.broadcast_to(np.asarray(problem.pen.l1, np.float64), (W.shape[0], 1))[:, 0]
    allowed = SETTLED * np.where(l1 > 0.0, l1, l1.max())
    missed = bool((np.maximum(G.max(axis=1), -G.min(axis=1)) > allowed + l1).any())
    l, i = np.nonzero(W)
    missed |= bool((np.abs(G[l, i] + l1[l] * np.sign(W[l, i])) > allowed[l]).any())
    return state.stage if missed else max(1.0, state.stage / DIVIDED)


def learnt(state: ProxNewtonActiveState, s: Array, y: Array) -> ProxNewtonActiveState:
    """The state with its matrix brought by BFGS to what a step s (k,) with the change y of the gradient has shown."""
    if state.H is None:
        return state
    Hs = state.H @ s
    bent, sy = float(s @ Hs), float(s @ y)
    if bent <= 0.0 or sy <= 1e-3 * bent:
        return replace(state, chosen=None, H=None)
    H = np.column_stack([y / sy, Hs / -bent]) @ np.vstack([y, Hs])
    H += state.H
    return replace(state, H=H)


def _has(chosen: NDArray[np.intp], needed: NDArray[np.intp]) -> bool:
    """Whether all numbers needed are among the chosen, both ascending."""
    place = np.searchsorted(chosen, needed)
    return bool(chosen.size) and bool((chosen[np.minimum(place, chosen.size - 1)] == needed).all())
