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
    kept: Any = None
    for value in values:
        penalty = _scaled(problem.penalty, value)
        here = problem.with_penalty(penalty)
        if kept is None or kind == "l2":
            result = solve(solver, here, W0=points[-1].W if points else None, tol=tol, few=True)
            kept = here, result.state, value
        else:
            result, state = _next(solver, here, value, kept, tol)
            kept = here, state, value
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


def _next(solver: Any, here: Problem, value: float, last: Any, tol: float) -> tuple[Result, Any]:
    """Solve for the next strength from the last problem, state and strength; the state is one of the whole problem."""
    before, state, strength = last
    carries = hasattr(solver, "continued")
    W, l1 = state.W, np.broadcast_to(np.asarray(here.pen.l1, np.float64), (here.p, 1))
    if carries:
        state = solver.continued(before, here, state)
        G = state.G
    else:
        G = here.smooth(W)[1]
    rows = (strong(G, l1, strength / value) | (W != 0) | (l1 == 0)).any(axis=1)
    steps, inner = 0, tol
    for _ in range(ROUNDS if here.active is None else 0):
        if rows.mean() > WORTHWHILE:
            break
        kept = np.flatnonzero(rows)
        inside = here.restrict(np.repeat(rows[:, None], here.m, axis=1))
        if carries:
            start = _From(solver, solver.narrowed(inside, kept, state))
            result = solve(cast("Solver", start), inside, tol=inner, few=True)
            state = solver.widened(here, inside, kept, result.state)
            W, G = state.W, state.G
        else:
            result = solve(solver, inside, W0=inside.project(W), tol=inner, few=True)
            W = inside.lift(result.W)
            G = here.smooth(W)[1]
            state = replace(result.state, W=W)
        here.meter.charge(inside.meter.total)
        steps += result.steps
        c = certificate(here, W)
        if c.gap <= tol:
            reason = f"relative gap {c.gap:.2g} <= {tol:g}, certified ({c.kind})"
            return replace(result, W=W, status="converged", reason=reason, steps=steps, certificate=c), state
        missing = (np.abs(G) > l1).any(axis=1) & ~rows
        rows |= missing
        inner *= 1.0 if missing.any() else 0.1
    if carries:
        result = solve(cast("Solver", _From(solver, state)), here, tol=tol, few=True)
    else:
        result = solve(solver, here, W0=W, tol=tol, few=True)
    return replace(result, steps=result.steps + steps), result.state
