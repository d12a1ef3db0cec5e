"""A path of solutions over descending strengths: each starts where the last one ended, and each is certified.

A solver with `continued` (as `ProxNewtonActive`) goes on with all that its state knows: margins, gradient, matrix; its
working set is the screening, and every step sees the gradient in all weights. For another solver and an l1 term the
sequential strong rule [TBF12] leaves features out: with G the loss's gradient at the last point and s its strength, a
row of W all of whose elements have ``|G| < 2 s_new - s`` is held at 0. The rule is a guess and can be wrong; so the
certificate is always that of the whole problem, and what it finds missing is taken in until the gap is reached. Nothing
a point says rests on the guess.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pianobench.algorithms.contract import Solver
from pianobench.algorithms.loop import Result, solve
from pianobench.algorithms.registry import make_solver
from pianobench.problems import Certificate, Penalty, Problem, certificate
from pianobench.problems.penalties import Array

DEFAULT = {"l1": "prox-newton-active", "elasticnet": "prox-newton-active", "l2": "lbfgs"}
ROUNDS = 20  # of taking features in
WORTHWHILE = 0.7  # share of the features above which none is left out


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
    walk = _continued if hasattr(solver, "continued") else _screened if kind != "l2" else _warm
    points: list[PathPoint] = []
    kept: Any = None
    for value in values:
        penalty = _scaled(problem.penalty, value)
        here = problem.with_penalty(penalty)
        result, W, kept = walk(solver, here, points, kept, tol)
        problem.meter.charge(here.meter.total)
        work = here.gradient_equivalents(here.meter.total)
        points.append(
            PathPoint(value, penalty, W, result.certificate, result.status, result.reason, result.steps, work)
        )
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


def _continued(solver: Any, here: Problem, _: list[PathPoint], kept: Any, tol: float) -> tuple[Result, Array, Any]:
    """Go on from the last point's problem and state."""
    if kept is None:
        result = solve(solver, here, tol=tol)
    else:
        before, state = kept
        result = solve(_From(solver, solver.continued(before, here, state)), here, tol=tol)
    return result, result.W, (here, result.state)


def _warm(solver: Any, here: Problem, points: list[PathPoint], _: Any, tol: float) -> tuple[Result, Array, Any]:
    """Start from the last point's W."""
    result = solve(solver, here, W0=points[-1].W if points else None, tol=tol)
    return result, result.W, None


def _screened(solver: Any, here: Problem, points: list[PathPoint], _: Any, tol: float) -> tuple[Result, Array, Any]:
    """Start from the last point's W in the features of the strong rule, and take in those that turn out to matter."""
    if here.active is not None or not points:
        return _warm(solver, here, points, None, tol)
    last = points[-1]
    W, (_, G) = last.W, here.smooth(last.W)  # where W is 0, G is the loss's own
    l1 = np.broadcast_to(np.asarray(here.pen.l1, np.float64), W.shape)
    assert here.penalty is not None
    threshold = l1 * (2.0 - last.strength / float(here.penalty.l1))
    rows = ((np.abs(G) >= threshold) | (W != 0) | (l1 == 0)).any(axis=1)
    result: Result | None = None
    for _round in range(ROUNDS):
        if rows.mean() > WORTHWHILE:
            break
        inside = here.restrict(np.repeat(rows[:, None], here.m, axis=1))
        result = solve(solver, inside, W0=inside.project(W), tol=0.5 * tol)
        here.meter.charge(inside.meter.total)
        W = inside.lift(result.W)
        c = certificate(here, W)
        if c.gap <= tol:
            reason = f"relative gap {c.gap:.2g} <= {tol:g}, certified ({c.kind}) on all features"
            return replace(result, certificate=c, status="converged", reason=reason), W, None
        _, G = here.smooth(W)
        missing = (np.abs(G) > l1).any(axis=1) & ~rows
        if not missing.any():
            break
        rows |= missing
    steps = 0 if result is None else result.steps
    result = solve(solver, here, W0=W, tol=tol)
    return replace(result, steps=result.steps + steps), result.W, None
