"""l0 from several starts and along a path of strengths, with a report of what a point is. Drivers over `solve`.

F(W) = l(W) + lam |W|_0 is not convex, and PIANO's fixed points are many: they depend on where one starts, and on the S
of the surrogate, as a larger S lets fewer weights enter and fewer leave. So each problem is solved from three starts
[JB20 has no word on any]:

zero    W = 0. A weight enters only if its gain in the surrogate, about G^2 / (2 S (A + B)), exceeds lam.
dense   the solution without a penalty, or with a weak l2, which has a minimiser also where the classes are separable.
l1      of the solutions along a path of l1 strengths the one whose F under l0 is least.

A path goes down from the largest strength and up from the smallest, each point warm from the one before: down weights
enter, up they leave.

Adding one vector to the weights of a feature over all classes leaves the loss alone. A feature of which no weight is 0
thus has one too many: `shifted` puts one to 0, and F falls by lam. PIANO cannot, for each of its updates sees one
weight only; with two classes it keeps two weights a feature where one would do.

Nothing here is called optimal: a gap is not known for l0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.loop import solve
from pianobench.algorithms.registry import make_solver
from pianobench.algorithms.result import Result
from pianobench.problems import L0, L1, L2, Problem, kkt_residual
from pianobench.problems.certificates import with_best_intercept
from pianobench.problems.penalties import Array

STARTS = ("zero", "dense", "l1")
L1_FACTORS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005)  # of lambda_max: the l1 path that a start is taken from
WEAK = 1e-3  # weak l2, as a share of the mean of sum_j a_j x_jl^2: a unit of W^-2, so that units of X do not matter


@dataclass(frozen=True)
class Stationarity:
    """What is known of a point of an l0 problem: whether the method rests there, and nothing about the minimum.

    Attributes
    ----------
    objective : float
        F at W.
    fixed_point_residual : float
        ``max_li S |d_li|`` of one step of PIANO from W; 0 where the surrogate's minimiser is W itself.
    kkt_residual : float
        Largest slope of the loss over the weights that are not 0 and the intercept, over its largest at W = 0. The
        penalty has no part in it: it is constant there.
    support : array (d, m) of bool
        Weights that are not 0, the intercept left out.
    S : array (1, m) or (1, 1)
        The surrogate's constant that the fixed point belongs to; in a restricted problem one a class.
    """

    objective: float
    fixed_point_residual: float
    kkt_residual: float
    support: NDArray[np.bool_]
    S: Array

    @property
    def nnz(self) -> int:
        """Size of the support."""
        return int(np.count_nonzero(self.support))

    def within(self, tol: float) -> bool:
        """Whether both residuals are at most `tol`: the point is stationary, which is not to say optimal."""
        return max(self.fixed_point_residual, self.kkt_residual) <= tol

    def __str__(self) -> str:
        return (
            f"fixed point of PIANO's surrogate to {self.fixed_point_residual:.2g} (S = {float(self.S.max()):.4g}), KKT "
            f"residual {self.kkt_residual:.2g} on its {self.nnz} weights: stationary at best, no bound on the minimum"
        )


@dataclass(frozen=True)
class PathPoint:
    """One solve of a path.

    Attributes
    ----------
    lam : float
    way : {"down", "up"}
    result : Result
        Its status is "stationary" where the method came to rest.
    report : Stationarity
    """

    lam: float
    way: str
    result: Result
    report: Stationarity


def stationarity(problem: Problem, W: Array) -> Stationarity:
    """The report of W (p, m), in float64 and off the clock.

    Raises
    ------
    ValueError
        The penalty of the problem is not l0, or W has another shape.
    """
    _check_l0(problem)
    if W.shape != (problem.p, problem.m):
        raise ValueError(f"W has shape {W.shape}: {(problem.p, problem.m)} is expected")
    own, W = problem.off_the_clock(), W.astype(np.float64)
    piano = make_solver("piano")
    rng = np.random.default_rng(0)  # PIANO draws nothing from it
    state = piano.step(own, piano.init(own, W, rng))
    support = (W[: own.d] if own.fit_intercept else W) != 0
    return Stationarity(own.value(W), float(state.change), kkt_residual(own, W), support, own.reach)


def start(problem: Problem, name: str, *, tol: float = 1e-6, weak: float = WEAK, max_steps: int = 2_000) -> Array:
    """One of the three starts (p, m).

    Parameters
    ----------
    problem : Problem
        With an l0 penalty.
    name : {"zero", "dense", "l1"}
    tol : float
        Certified gap of the convex solutions.
    weak : float
        Strength of the dense start's l2, as a share of the mean of ``sum_j a_j x_jl^2``; 0 for none, which is then
        ended by `max_steps` where the classes are separable.
    max_steps : int
        Of each convex solve.

    Raises
    ------
    ValueError
        The penalty is not l0, or there is no such start.
    """
    _check_l0(problem)
    if name == "zero":
        return problem.zeros()
    if name == "dense":
        if not weak >= 0.0:
            raise ValueError(f"weak = {weak}: 0 or more is expected, a share of the mean square of a column")
        strength = weak * float(problem.off_the_clock().squares()[: problem.d].mean())
        easier = problem.with_penalty(L2(strength) if strength > 0.0 else None)
        return solve(make_solver("lbfgs"), easier, tol=tol, max_steps=max_steps).W
    if name == "l1":
        best, F, W = problem.zeros(), np.inf, None
        judge, top = problem.off_the_clock(), problem.lambda_max
        for factor in L1_FACTORS if top > 0.0 else ():
            easier = problem.with_penalty(L1(factor * top))
            W = solve(make_solver("prox-newton"), easier, W0=W, tol=tol, max_steps=max_steps).W
            value = judge.value(W)
            if value < F:
                best, F = W, value
        return best
    raise ValueError(f"start {name!r} is unknown: one of {', '.join(STARTS)} is expected")


def shifted(problem: Problem, W: Array) -> Array:
    """W (p, m) with a 0 in each penalised row that has none, by a shift over the classes; F falls by lam for each.

    Of a row the weight that is nearest to 0 goes there. Ours, not PIANO's: the loss is the same, to rounding.
    """
    _check_l0(problem)
    full = (W != 0).all(axis=1) & (np.broadcast_to(problem.pen.l0, (problem.p, 1))[:, 0] > 0)
    nearest = np.take_along_axis(W, np.abs(W).argmin(axis=1)[:, None], axis=1)
    return np.where(full[:, None], W - nearest, W)


def from_starts(
    problem: Problem,
    names: Sequence[str] = STARTS,
    *,
    shift: bool = False,
    tol: float = 1e-6,
    max_steps: int = 20_000,
    **options: Any,
) -> dict[str, tuple[Result, Stationarity]]:
    """PIANO from each start: how it ended, and the report of where.

    Parameters
    ----------
    problem : Problem
        With an l0 penalty.
    names : sequence of str
        Of `STARTS`.
    shift : bool
        Whether PIANO goes on from its fixed point, `shifted`, for as long as that has a row to shift. The result is
        that of the last time.
    tol : float
        Fixed-point residual at which PIANO rests.
    max_steps : int
        Of PIANO, from each start.
    **options
        Of `start`, but for its `tol` and `max_steps`.
    """
    found = {}
    for name in names:
        W0 = start(problem, name, **options)
        result = solve(make_solver("piano"), problem, W0=W0, tol=tol, max_steps=max_steps)
        while shift and np.any((better := shifted(problem, result.W)) != result.W):  # F falls by lam each time
            result = solve(make_solver("piano"), problem, W0=better, tol=tol, max_steps=max_steps)
        found[name] = result, stationarity(problem, result.W)
    return found


def strengths(problem: Problem, count: int = 20, ratio: float = 1e-3) -> Array:
    """Strengths (count,) of a path, falling by equal factors over `ratio` from the largest that is of interest.

    That is F of the best point without a weight (the intercept alone): a weight costs lam, and no point brings more
    than F is, so that at any larger strength no weight at all is optimal.
    """
    if count < 1 or not 0.0 < ratio < 1.0:
        raise ValueError(f"count = {count}, ratio = {ratio}: count of 1 or more and a ratio in (0, 1) are expected")
    W = np.zeros((problem.p, problem.m))
    free = problem.off_the_clock().with_penalty(None)
    top = free.value(with_best_intercept(free, W) if problem.fit_intercept else W)
    return np.asarray(top * np.geomspace(1.0, ratio, count))


def path(
    problem: Problem,
    lams: Iterable[float] | None = None,
    *,
    ways: Sequence[str] = ("down", "up"),
    tol: float = 1e-6,
    max_steps: int = 20_000,
) -> list[PathPoint]:
    """Fixed points along strengths of l0, each warm from the one before; down from W = 0, up from the dense start.

    Parameters
    ----------
    problem : Problem
        Its own penalty is not used.
    lams : iterable of float, optional
        Strengths in any order; `strengths` of the problem by default.
    ways : sequence of {"down", "up"}
        Which ways to go.
    tol, max_steps
        Of each solve.

    Returns
    -------
    list of PathPoint
        Way by way, in the order in which they were solved; `best` takes the lower of both at each strength.

    Raises
    ------
    ValueError
        A strength is not above 0, or a way is unknown.
    """
    falling = sorted((float(lam) for lam in (strengths(problem) if lams is None else lams)), reverse=True)
    if not falling:
        raise ValueError("lams is empty: one strength or more is expected, or None for `strengths`")
    points = []
    for way in ways:
        if way not in ("down", "up"):
            raise ValueError(f"way {way!r} is unknown: 'down' or 'up' is expected")
        ordered = falling if way == "down" else falling[::-1]
        W = start(problem.with_penalty(L0(ordered[0])), "zero" if way == "down" else "dense")
        for lam in ordered:
            one = problem.with_penalty(L0(lam))
            result = solve(make_solver("piano"), one, W0=W, tol=tol, max_steps=max_steps)
            W = result.W
            points.append(PathPoint(lam, way, result, stationarity(one, W)))
    return points


def best(points: Iterable[PathPoint]) -> list[PathPoint]:
    """Of the points at each strength the one of least F, strengths falling. The least that was found, no more."""
    lowest: dict[float, PathPoint] = {}
    for point in points:
        other = lowest.get(point.lam)
        if other is None or point.report.objective < other.report.objective:
            lowest[point.lam] = point
    return [lowest[lam] for lam in sorted(lowest, reverse=True)]


def _check_l0(problem: Problem) -> None:
    if problem.pen.kind != "l0":
        raise ValueError(f"the penalty of the problem is {problem.pen.kind}: L0(lam) is expected")
