"""One fit: a problem, a solver, the loop that all share, and what came of it in the caller's units."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pianobench.algorithms import l0_path
from pianobench.algorithms.centring import centred
from pianobench.algorithms.contract import Solver
from pianobench.algorithms.estimators.training import Training
from pianobench.algorithms.loop import solve
from pianobench.algorithms.registry import make_solver
from pianobench.algorithms.result import Checkpoint, Result
from pianobench.problems import Penalty, Problem, certificate
from pianobench.problems.engines.memory import MemoryRows
from pianobench.problems.kernels.compiled import threads
from pianobench.problems.penalties import Array

IN_FLOAT32 = 1e-4  # relative gap that arithmetic in float32 is trusted with; the rest is done in float64
NEVER = 746.0  # a class whose score is lower than the others by this has the probability 0 in float64
SMALL = 2000  # columns up to which a Gram matrix is made for a last bound


@dataclass(frozen=True)
class Fitted:
    """A minimiser and what is known of it.

    Parameters
    ----------
    coef : array (m, d)
        In the type of X.
    intercept : array (m,)
        In float64: beside columns far from 0 rounding it to float32 would undo it.
    objective, lower, gap : float
        F, a certified bound below its minimum, and (F - L) / F.
    status, reason : str
        As `Result` has them.
    n_iter : int
    history : dict of str to array
        The certified checkpoints, a column each.
    """

    coef: Array
    intercept: Array
    objective: float
    lower: float
    gap: float
    status: str
    reason: str
    n_iter: int
    history: dict[str, Any]

    def warn(self) -> None:
        """A `ConvergenceWarning` with the gap, if the tolerance was not reached."""
        if self.status not in ("converged", "stationary"):
            warnings.warn(
                f"ended as {self.status}: {self.reason}. The certified relative gap is {self.gap:.2g}"
                + _remedy(self.status),
                ConvergenceWarning,
                stacklevel=3,
            )


def _remedy(status: str) -> str:
    if status == "no-minimiser":
        return "; give a penalty, for example penalty='l2'"
    if status == "timeout":
        return "; raise max_seconds or tol"
    return "; raise tol, or give another solver"


@contextmanager
def thread_limit(count: int | None) -> Iterator[None]:
    """So many threads for the kernels, None for what they have; one for BLAS, whose sums depend on their number."""
    with threads.one_blas_thread(), nullcontext() if count is None else threads.limit(int(count)):
        yield


def choose_solver(solver: Any, problem: Problem, tol: float) -> Solver:
    """The solver of a key, of "auto", or the one given."""
    if isinstance(solver, str) and solver == "auto":
        from pianobench.algorithms.auto import choose

        return choose(problem, tol)
    if isinstance(solver, str):
        return make_solver(solver)
    if not (hasattr(solver, "init") and hasattr(solver, "step")):
        raise ValueError(f"solver={solver!r}: 'auto', a key of the registry or a solver is expected")
    return solver  # type: ignore[no-any-return]


@np.errstate(all="ignore")  # what is not finite in the end is refused below, and nothing else need be said
def minimise(
    data: Training,
    penalty: Penalty | None,
    solver: Any,
    *,
    tol: float,
    max_seconds: float | None,
    rng: np.random.Generator,
    start: tuple[Array, Array] | None = None,
) -> Fitted:
    """Fit.

    Parameters
    ----------
    data : Training
    penalty : Penalty or None
    solver : str or Solver
    tol : float
    max_seconds : float or None
    rng : numpy Generator
    start : pair of arrays (m, d) and (m,), optional
        Coefficients and intercept to start from.

    Raises
    ------
    ValueError
        The solver does not take the problem, or the numbers left their range.
    """
    if data.present.size == 1:
        return _alone(data)
    problem = data.problem(penalty)
    W0 = None if start is None else _start(problem, data, *start)
    if W0 is None and problem.pen.kind == "l0":  # from 0 often no weight enters
        W0 = l0_path.start(problem, "l1")
    chosen = choose_solver(solver, problem, tol)
    rough = max(tol, IN_FLOAT32) if problem.dtype == np.float32 else tol
    result = solve(chosen, problem, W0=W0, rng=rng, tol=rough, max_seconds=max_seconds, few=True)
    if rough > tol and result.status not in ("timeout", "stationary", "diverged"):
        left = None if max_seconds is None else max(max_seconds - result.seconds, 1e-3)
        fine = solve(
            chosen, _wide(problem), W0=_balanced(problem, result.W), rng=rng, tol=tol, max_seconds=left, few=True
        )
        fine.checkpoints = result.checkpoints + fine.checkpoints
        fine.steps += result.steps
        result = fine
    return _fitted(data, problem, result, tol)


def _balanced(problem: Problem, W: Array) -> Array:
    """W (p, m) in float64, each row shifted to cost least: the loss does not see it, and rounding had left it open."""
    W = W.astype(np.float64)
    return centred(W, problem.pen) if problem.pen.kind in ("l1", "elasticnet") else W


@dataclass(frozen=True)
class WideRows(MemoryRows):
    """Rows in float32 on which all is computed in float64."""

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    def each(self, change: Any, *parameters: Any) -> WideRows:
        return WideRows(tuple(change(part, *parameters) for part in self.parts))


def _wide(problem: Problem) -> Problem:
    """The problem with weights and fields in float64; X is not copied."""
    wide = problem.off_the_clock()
    assert isinstance(problem.home, MemoryRows)
    wide.home = WideRows(problem.home.parts)
    return wide


def _start(problem: Problem, data: Training, coef: Array, intercept: Array) -> Array | None:
    with np.errstate(all="ignore"):
        W0 = problem.from_user(coef[data.present], intercept[data.present] if data.fit_intercept else None)
    return W0 if np.isfinite(W0).all() else None


def _fitted(data: Training, problem: Problem, result: Result, tol: float) -> Fitted:
    W, status, reason = result.W, result.status, result.reason
    with np.errstate(all="ignore"):
        coef, b = problem.to_user(W)
        rounded = coef.astype(problem.dtype)
        if problem.dtype == np.float32:  # what is returned is judged, and its intercept is made for it
            W = problem.from_user(rounded, b).astype(np.float64)
            W[problem.d :] = result.W[problem.d :]
            _, b = problem.to_user(W)
    if not (np.isfinite(rounded).all() and np.isfinite(b).all() and math.isfinite(result.certificate.objective)):
        raise ValueError(
            f"the fit left the range of {problem.dtype} ({status}: {reason}): scale the columns of X and the weights "
            "nearer to 1, or give X in float64"
        )
    F, lower = result.certificate.objective, result.certificate.lower
    if problem.dtype == np.float32:
        F = problem.off_the_clock().value(W)
    gap = _gap(F, lower)
    if gap > tol and problem.pen.kind not in ("none", "l0") and problem.p <= SMALL:
        # F is at least the loss alone: where the penalty hardly acts only this bound is near
        lower = max(lower, certificate(problem.with_penalty(None), W).lower)
        gap = _gap(F, lower)
        if gap <= tol:
            status, reason = "converged", f"relative gap {gap:.2g} <= {tol:g}, certified (dual, without the penalty)"
    if F == 0.0 and problem.pen.kind == "none":  # which no finite weights give but for rounding
        status, reason = "no-minimiser", "the classes are separable, so F falls for ever as W grows; it has come to 0"
    m = data.classes.size
    whole, intercept = np.zeros((m, problem.d), problem.dtype), np.zeros(m)
    whole[data.present], intercept[data.present] = rounded, b
    absent = np.setdiff1d(np.arange(m), data.present)
    if absent.size:
        intercept[absent] = _lowest(problem, W) - NEVER
    return Fitted(
        whole,
        intercept,
        F * data.unit,
        lower * data.unit,
        gap,
        status,
        reason,
        result.steps,
        history(result.checkpoints, data.unit),
    )


def _gap(F: float, lower: float) -> float:
    return 0.0 if F <= 0.0 else min(max((F - lower) / F, 0.0), 1.0)


def _lowest(problem: Problem, W: Array) -> float:
    """The smallest of the rows' largest scores: a class that stays below has nowhere a chance."""
    (minus,) = problem.home.reduce(lowest_of_best, W.astype(np.float64), largest=True)
    return -float(minus)


def lowest_of_best(part: Any, W: Array) -> tuple[float]:
    """Minus the smallest, over the rows of positive weight, of the largest score."""
    best = math.inf
    for _, block in part.blocks():
        scores = block.design.dot(W).max(axis=1)
        best = min(best, float(scores[block.weights > 0].min(initial=math.inf)))
    return (-best,)


def _alone(data: Training) -> Fitted:
    """All weight is in one class: it is certain, F is 0, and no weight is needed for that."""
    m = data.classes.size
    intercept = np.full(m, -NEVER)
    intercept[data.present] = 0.0
    return Fitted(
        np.zeros((m, data.rows.d), data.rows.dtype),
        intercept,
        0.0,
        0.0,
        0.0,
        "converged",
        "one class has all the weight: it is certain",
        0,
        history([], 1.0),
    )


def history(checkpoints: list[Checkpoint], unit: float) -> dict[str, Any]:
    """The checkpoints by column; F and its bound in the caller's units."""
    table: dict[str, Any] = {}
    for name in Checkpoint.__dataclass_fields__:
        values = np.array([asdict(point)[name] for point in checkpoints])
        table[name] = values * unit if name in ("objective", "lower") else values
    return table
