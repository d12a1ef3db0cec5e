"""A path of solutions over descending strengths: each starts where the last one ended, and each is certified.

With an l1 term the sequential strong rule [TBF12] leaves features out: with G the loss's gradient at the last point and
s its strength, a row of W all of whose elements have ``|G| < 2 s_new - s`` is held at 0. The rule is a guess and can be
wrong (a safe one would hold for certain, and leaves less out). So each point is certified on the whole problem, and
features that its gradient finds missing are taken in until the gap is reached: nothing a point says rests on the guess.
Where the rule leaves little out all features stay. A solver with `continued` (`ProxNewtonActive`) goes on with all that
its state knows, margins, gradient and matrix; another one starts from the last W.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.contract import Solver
from pianobench.algorithms.loop import solve
from pianobench.algorithms.registry import make_solver
from pianobench.algorithms.result import Result
from pianobench.problems import Certificate, Penalty, Problem, certificate
from pianobench.problems.penalties import Array

DEFAULT = {"l1": "prox-newton-active", "elasticnet": "prox-newton-active", "l2": "lbfgs"}
ROUNDS = 20  # of taking features in
STEPS, STILL = 200, 10  # of one round at most, and those in which its expected gap does not fall
CLEARLY = 0.7  # share of tol that a gap is expected to be below before it is asked for
WIDER = 1.5  # times the rows wanted that a sub-problem may have and still be kept
WORTHWHILE = 0.5  # share of the features above which none is left out


@dataclass(frozen=True)
class PathPoint:
    """One solution of a path.

    Attributes
    ----------
    strength : float
        ``lam`` of l1 or l2; of an elastic net its l1, with l2 in the proportion that the problem has.
    penalty : Penalty
        The same as a penalty.
    W : array (p, m)
    certificate : Certificate
        Of the whole problem.
    status, reason : str
        How the solver ended; "converged" where the gap is at most `tol`.
    steps : int
    gradient_equivalents : float
        Work of this point, screening and its checks included and the certificates left out.
    """

    strength: float
    penalty: Penalty
    W: Array
    certificate: Certificate
    status: str
    reason: str
    steps: int
    gradient_equivalents: float


def path(
    problem: Problem,
    strengths: Sequence[float] | None = None,
    count: int = 50,
    smallest: float = 0.003,
    tol: float = 1e-6,
    solver: Solver | None = None,
) -> list[PathPoint]:
    """Solutions from the largest strength to the smallest.

    Parameters
    ----------
    problem : Problem
        With l1, l2 or an elastic net; its strength is not looked at but for the proportion of an elastic net's two.
    strengths : sequence of float, optional
        Descending. By default `count` values from `lambda_max`, in equal ratios.
    count : int
    smallest : float
        Last of the default values over the first.
    tol : float
        Certified relative gap of every point.
    solver : Solver, optional
        Proximal Newton on a working set by default, L-BFGS for l2.

    Returns
    -------
    list of PathPoint
        One a strength, in their order. A point that did not get to `tol` says so in its status.

    Raises
    ------
    ValueError
        The problem has no penalty with a strength, or the strengths are not positive, finite and descending.
    """
    kind = problem.pen.kind
    if kind not in DEFAULT:
        raise ValueError(
            f"the problem's penalty is {kind}: a path needs l1, l2 or an elastic net; give it one of any strength"
        )
    values = _values(problem, strengths, count, smallest)
    solver = make_solver(DEFAULT[kind]) if solver is None else solver
    points: list[PathPoint] = []
    last: _Place | None = None
    for value in values:
        penalty = _scaled(problem.penalty, value)
        here = problem.with_penalty(penalty)
        if last is None or kind == "l2":
            result = solve(solver, here, W0=points[-1].W if points else None, tol=tol, few=True)
            last = _Place(here, result.state, value)
        else:
            following = _continued if hasattr(solver, "continued") else _restarted
            result, last = following(solver, here, value, last, tol)
        problem.meter.charge(here.meter.total)
        work, c = here.gradient_equivalents(here.meter.total), result.certificate
        points.append(PathPoint(value, penalty, result.W, c, result.status, result.reason, result.steps, work))
    return points


def _values(problem: Problem, strengths: Sequence[float] | None, count: int, smallest: float) -> list[float]:
    if strengths is None:
        if count < 1 or not 0.0 < smallest < 1.0:
            raise ValueError(f"count={count}, smallest={smallest}: 1 or more values and a ratio in (0, 1) are expected")
        top = problem.lambda_max
        if not top > 0.0:
            raise ValueError("no strength to begin with: every feature is constant, so lambda_max is 0; give strengths")
        return [float(v) for v in top * np.geomspace(1.0, smallest, count)]
    values = [float(v) for v in strengths]
    if not values or not all(0.0 < v < np.inf for v in values):
        raise ValueError(f"strengths={values}: at least one, all finite and above 0, are expected")
    if any(b >= a for a, b in itertools.pairwise(values)):
        raise ValueError(f"strengths={values}: they must descend, since each solution starts from the one before")
    return values


def _scaled(penalty: Penalty | None, value: float) -> Penalty:
    """The penalty with its l1, or where it has none its l2, at `value`."""
    assert penalty is not None
    l1, l2 = float(penalty.l1), float(penalty.l2)
    return Penalty(l1=value, l2=value * (l2 / l1)) if l1 > 0.0 else Penalty(l2=value)


@dataclass(frozen=True)
class _Place:
    """Where a path stands."""

    problem: Problem
    state: Any
    strength: float
    inside: Problem | None = None  # sub-problem of the rows of W looked at
    rows: NDArray[np.bool_] | None = None  # (p,) which they are
    before: tuple[Array, float] | None = None  # W and strength of the point before


@dataclass(frozen=True)
class _From:
    """A solver that starts from a state."""

    wrapped: Any
    state: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wrapped, name)

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> Any:
        return self.state


def strong(G: Array, l1: Array, ratio: float) -> NDArray[np.bool_]:
    """Where the sequential strong rule keeps a weight (p, m) at 0 with the slope G; l1 was `ratio` times as large."""
    return np.asarray(np.abs(G) >= l1 * (2.0 - ratio))


def shortfall(problem: Problem, state: Any) -> float:
    """About the gap that a certificate at a state will have, without a pass over the rows.

    With G the gradient, e the largest ``|G| / l1 - 1`` and R = l1 |W|: the dual point is scaled by 1 / (1 + e), which
    costs e R and, of second order, about e^2 m f / 2; R + G.W is what the weights miss. With l2 nothing is scaled, and
    a slope s costs s^2 / (2 l2), in an intercept about s^2 m / (2 f).
    """
    W, G, pen, f = state.W, problem.only_active(state.G), problem.pen, float(state.f)
    l1 = np.broadcast_to(np.asarray(pen.l1, np.float64), (problem.p, 1))
    held = l1 > 0.0
    R = pen.nonsmooth(W)
    F = f + R
    if not 0.0 < F < np.inf:
        return 0.0  # nothing is known: a certificate has to say
    if np.any(pen.l2):
        slope = np.where(W == 0, np.maximum(np.abs(G) - l1, 0.0), G + l1 * np.sign(W))
        return float(np.sum(slope**2 / np.where(held, pen.l2, f / problem.m))) / 2.0 / F
    e = max(float((np.abs(G) / np.where(held, l1, l1.max()) - held).max()), 0.0)
    return (e * R + e * e * problem.m * f / 2.0 + abs(R + float(np.vdot(W * held, G)))) / F


def _restarted(solver: Solver, here: Problem, value: float, last: _Place, tol: float) -> tuple[Result, _Place]:
    """The next point by a solver that starts from the last W."""
    W, l1 = last.state.W, np.broadcast_to(np.asarray(here.pen.l1, np.float64), (here.p, 1))
    G = here.smooth(W)[1]
    rows = (strong(G, l1, last.strength / value) | (W != 0) | (l1 == 0)).any(axis=1)
    steps, inner = 0, tol
    for _ in range(ROUNDS if here.active is None else 0):
        if rows.mean() > WORTHWHILE:
            break
        inside = here.restrict(np.repeat(rows[:, None], here.m, axis=1))
        result = solve(solver, inside, W0=inside.project(W), tol=inner, few=True)
        W = inside.lift(result.W)
        G = here.smooth(W)[1]
        here.meter.charge(inside.meter.total)
        steps += result.steps
        c = certificate(here, W)
        if c.gap <= tol:
            return _certified(W, c, steps, tol), _Place(here, replace(result.state, W=W), value)
        missing = (np.abs(G) > l1).any(axis=1) & ~rows
        rows |= missing
        inner *= 1.0 if missing.any() else 0.1
    result = solve(solver, here, W0=W, tol=tol, few=True)
    return replace(result, steps=result.steps + steps), _Place(here, result.state, value)


def _continued(solver: Any, here: Problem, value: float, last: _Place, tol: float) -> tuple[Result, _Place]:
    """The next point by a solver that goes on from the last state.

    Steps are taken until by their own gradient the gap should be small enough, and only then a certificate is made.
    """
    state = solver.continued(last.problem, here, last.state)
    l1 = np.broadcast_to(np.asarray(here.pen.l1, np.float64), (here.p, 1))
    wanted = (strong(state.G, l1, last.strength / value) | (state.W != 0) | (l1 == 0)).any(axis=1)
    guess, steps, enough = _ahead(last, value), 0, CLEARLY * tol
    before = last.state.W, last.strength
    for _ in range(ROUNDS):
        inside, rows = _looked_at(here, wanted, last)
        kept = np.flatnonzero(rows)
        own = state if inside is here else solver.narrowed(inside, kept, state)
        if guess is not None:
            own, guess = _nearer(solver, inside, own, guess if inside is here else inside.project(guess)), None
        own, some, arrived = _settled(solver, inside, own, enough)
        steps += some
        if inside is here:
            state = own
        else:
            state = solver.widened(here, inside, kept, own)
            here.meter.charge(inside.meter.taken())
        last = _Place(here, state, value, None if inside is here else inside, rows, before)
        missing = (np.abs(state.G) > l1).any(axis=1) & ~rows
        if not missing.any() or shortfall(here, state) <= enough:
            c = certificate(here, state.W)
            if c.gap <= tol:
                return _certified(state.W, c, steps, tol), last
            if not arrived:
                break
            enough *= 0.25
        wanted = rows | missing
    result = solve(cast("Solver", _From(solver, state)), here, tol=tol, few=True)
    return replace(result, steps=result.steps + steps), _Place(here, result.state, value, None, None, before)


def _settled(solver: Any, problem: Problem, state: Any, enough: float) -> tuple[Any, int, bool]:
    """The state after as many steps as the gap needs to be about `enough`, how many they were, and whether it is."""
    least, still = np.inf, 0
    for done in range(STEPS):
        short = shortfall(problem, state)
        if short <= enough:
            return state, done, True
        least, still = (short, 0) if short < least else (least, still + 1)
        if still == STILL:
            return state, done, False
        state = solver.step(problem, state)
    return state, STEPS, False


def _looked_at(here: Problem, wanted: NDArray[np.bool_], last: _Place) -> tuple[Problem, NDArray[np.bool_]]:
    """The sub-problem of the rows of W wanted and which it has: the last one where that serves, all where most are."""
    if here.active is not None or wanted.mean() > WORTHWHILE:
        return here, np.ones(here.p, bool)
    if last.inside is not None and last.rows is not None:
        serves = not (wanted & ~last.rows).any() and last.rows.sum() <= WIDER * wanted.sum()
        if serves:
            return last.inside.under(here.pen.block(np.flatnonzero(last.rows))), last.rows
    return here.restrict(np.repeat(wanted[:, None], here.m, axis=1)), wanted


def _ahead(last: _Place, value: float) -> Array | None:
    """W at the next strength, by the last two in a straight line; a weight that would change its sign is 0."""
    if last.before is None:
        return None
    W, (older, strength) = last.state.W, last.before
    share = (value - last.strength) / (last.strength - strength)
    guess = W + W.dtype.type(share) * (W - older)
    return np.asarray(np.where((guess * W > 0) | (np.asarray(last.problem.pen.l1) == 0.0), guess, W.dtype.type(0)))


def _nearer(solver: Any, problem: Problem, state: Any, guess: Array) -> Any:
    """The state at a guess, if F is less there."""
    other = solver.moved(problem, state, guess)
    falls = other.f + problem.pen.nonsmooth(guess) < state.f + problem.pen.nonsmooth(state.W)
    return other if falls else state


def _certified(W: Array, c: Certificate, steps: int, tol: float) -> Result:
    reason = f"relative gap {c.gap:.2g} <= {tol:g}, certified ({c.kind})"
    return Result(W, "converged", reason, steps, 0.0, 0.0, [], c, None)
