"""The loop of black boxes: fit anew with a growing budget, and certify each point that comes back.

A fit cannot be looked into or stopped. So each has a clock of its own, its time is predicted before it starts, and the
curve of a box is (time of a whole fit, certified gap of its result), one checkpoint a fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pianobench.algorithms.loop import LOWER, TIGHTER
from pianobench.algorithms.peers.contract import BlackBox
from pianobench.algorithms.peers.fits import Fit, Fitter, Raised
from pianobench.algorithms.result import Checkpoint, Result
from pianobench.problems import Problem, separability

GROWTH = 1.5  # of the budget from fit to fit: all fits together take about three times as long as the last
WALL = 4.0  # seconds of everything, over the seconds of one fit
WORTHWHILE = 1.1  # least growth for which a last fit is made; a budget that reached tol is narrowed to this
PATIENCE = 4  # fits without progress: the budget has then grown fivefold


def rerun(
    box: BlackBox,
    problem: Problem,
    *,
    tol: float = 1e-6,
    max_seconds: float | None = None,
    max_budget: int | None = None,
    max_wall: float | None = None,
    threads: int = 1,
    rng: np.random.Generator | None = None,
    reference: float | None = None,
    on_checkpoint: Callable[[Checkpoint], None] | None = None,
) -> Result:
    """Fit until the certified relative gap is at most `tol`, or something else ends it.

    A box with a `max_iter` of its own is fitted once. Otherwise budgets grow by half; when one reaches `tol`, smaller
    ones are tried until it is known to a tenth.

    Parameters
    ----------
    box : BlackBox
    problem : Problem
    tol : float
        Relative gap (F - L) / F to reach.
    max_seconds : float, optional
        Of one fit. None is started that is predicted to take longer; one that does all the same is not stopped.
    max_budget : int, optional
        Largest budget.
    max_wall : float, optional
        Seconds of everything, certificates included; four times `max_seconds` by default.
    threads : int
        Of BLAS, OpenMP and the library.
    rng : numpy Generator, optional
        Source of the one seed of all fits.
    reference : float, optional
        A lower bound on F* known from elsewhere.
    on_checkpoint : callable, optional
        Called with each `Checkpoint`, in the order of the budgets.

    Returns
    -------
    Result
        Its seconds, and those of the checkpoints, are of one fit; its steps are the budget, or the iterations of a box
        with its own limit. What a box computes is not known: gradient equivalents and passes are NaN.

    Raises
    ------
    ValueError
        The box cannot take the problem.
    """
    refusal = box.refusal(problem)
    if refusal:
        raise ValueError(refusal)
    seed = int((rng or np.random.default_rng(0)).integers(2**31 - 1))
    fitter = Fitter(box, problem, threads, seed, reference)
    run = _Run(fitter, tol, max_seconds, max_wall, max_budget, on_checkpoint)
    return run.once(box.max_iter) if box.max_iter is not None else run.grow()


class _Run:
    """The rules for all fits of one box to one problem."""

    def __init__(
        self,
        fitter: Fitter,
        tol: float,
        max_seconds: float | None,
        max_wall: float | None,
        max_budget: int | None,
        on_checkpoint: Callable[[Checkpoint], None] | None,
    ) -> None:
        self.fitter, self.tol, self.max_budget, self.on_checkpoint = fitter, tol, max_budget, on_checkpoint
        self.max_seconds = math.inf if max_seconds is None else max_seconds
        self.max_wall = WALL * self.max_seconds if max_wall is None else max_wall
        self.checkpoints: list[Checkpoint] = []
        self.cut = False  # whether time has cut a budget, which is then the last

    def once(self, max_iter: int) -> Result:
        """The one fit of a box with a limit of its own."""
        limit = max_iter if self.max_budget is None else min(max_iter, self.max_budget)
        try:
            fit = self.fitter.fit(limit)
        except Raised as error:
            return self._broken(None, error)
        fit = replace(fit, budget=int(fit.info.get("iterations", limit)))
        self._note(fit)
        ending = self._reached(fit) or self._gone(fit)
        if ending is None and fit.seconds > self.max_seconds:
            ending = "timeout", f"its one fit took {fit.seconds:.3g} s of the {self.max_seconds:g} s allowed"
        if ending is None:
            # its own limit is its own end: with more time it would do no more, unlike one that we have cut
            own = limit == max_iter
            whose, status = ("its documented limit", "stalled") if own else ("the limit", "budget")
            ending = status, f"stopped at {whose} of {limit} iterations, {self._gap(fit)}"
        return self._result(fit, ending)

    def grow(self) -> Result:
        """Fits with growing budgets."""
        last: Fit | None = None
        budget = 1
        best, best_gap, since = math.inf, math.inf, 0
        while True:
            try:
                fit = self.fitter.fit(budget)
            except Raised as error:
                return self._broken(last, error)
            if last is not None and self._reached(fit):
                fit = self._narrow(last, fit)
            self._note(fit)
            ending = self._reached(fit) or self._gone(fit)
            c = fit.certificate
            better = c.objective < best * (1.0 - LOWER) or c.gap < best_gap * (1.0 - TIGHTER)
            best, best_gap, since = min(best, c.objective), min(best_gap, c.gap), 0 if better else since + 1
            if ending is None and since >= PATIENCE:
                ending = "stalled", f"neither F nor its gap fell for {PATIENCE} fits, {self._gap(fit)}"
            if ending is None:
                budget, ending = self._next(last, fit)
            if ending is not None:
                return self._result(fit, ending)
            last = fit

    def _narrow(self, low: Fit, high: Fit) -> Fit:
        """The fit of the smallest budget that reaches tol, between one that does not and one that does."""
        while high.budget > max(low.budget + 1, WORTHWHILE * low.budget):
            if self.fitter.wall + high.seconds > self.max_wall:
                break
            try:
                fit = self.fitter.fit((low.budget + high.budget) // 2)
            except Raised:
                break
            if self._reached(fit):
                high = fit
            else:
                self._note(fit)
                low = fit
        return high

    def _next(self, before: Fit | None, fit: Fit) -> tuple[int, tuple[str, str] | None]:
        """The next budget, and why it is not tried: it must be predicted to keep within all limits."""
        wanted = max(fit.budget + 1, math.ceil(GROWTH * fit.budget))
        if self.max_budget is not None:
            if fit.budget >= self.max_budget:
                return wanted, ("budget", f"the {self.max_budget} iterations allowed are done, {self._gap(fit)}")
            wanted = min(wanted, self.max_budget)
        each = max(fit.seconds, 1e-9) / fit.budget  # of an iteration, at most: iterations may become dearer
        if before is not None:
            each = max(each, (fit.seconds - before.seconds) / (fit.budget - before.budget))
        room = min(self.max_seconds, self.max_wall - self.fitter.wall) - fit.seconds
        if each * (wanted - fit.budget) <= room and not self.cut:
            return wanted, None
        shorter = fit.budget + math.floor(max(room, 0.0) / each)
        if shorter >= WORTHWHILE * fit.budget and not self.cut:
            self.cut = True
            return shorter, None
        seconds = fit.seconds + each * (wanted - fit.budget)
        limits = f"{self.max_seconds:g} s a fit and {self.max_wall:g} s in all are allowed"
        return wanted, (
            "timeout",
            f"a fit of {wanted} iterations would take about {seconds:.2g} s, and {self.fitter.wall:.2g} s are over; "
            f"{limits}; {self._gap(fit)}",
        )

    def _reached(self, fit: Fit) -> tuple[str, str] | None:
        c = fit.certificate
        if math.isfinite(c.objective) and c.gap <= self.tol:
            return "converged", f"relative gap {c.gap:.2g} <= {self.tol:g}, certified ({c.kind})"
        return None

    def _gone(self, fit: Fit) -> tuple[str, str] | None:
        """Whether more budget would change nothing: it stopped by itself, or ran away."""
        if not math.isfinite(fit.certificate.objective):
            return "diverged", f"F is {fit.certificate.objective} after {fit.budget} iterations"
        if not fit.info.get("ended"):
            return None
        count, said = fit.info.get("iterations", fit.budget), fit.info["warnings"]
        if said:
            return "stalled", f"gives up after {count} iterations, {self._gap(fit)}; it says {_brief(said[-1])!r}"
        return "stalled", f"reports success after {count} iterations, {self._gap(fit)}"

    def _gap(self, fit: Fit) -> str:
        return f"at relative gap {fit.certificate.gap:.2g} > {self.tol:g}"

    def _note(self, fit: Fit) -> None:
        c = fit.certificate
        point = Checkpoint(
            fit.budget, fit.seconds, math.nan, math.nan, c.objective, c.lower, c.gap, c.kind, c.residual, c.nnz
        )
        self.checkpoints.append(point)
        if self.on_checkpoint is not None:
            self.on_checkpoint(point)

    def _broken(self, last: Fit | None, error: Raised) -> Result:
        """The library raised: the point before stays good, W = 0 if there is none."""
        return self._result(
            last or self.fitter.nothing(), ("breakdown", f"{self.fitter.box.title} raised {_brief(str(error))}")
        )

    def _result(self, fit: Fit, ending: tuple[str, str]) -> Result:
        record, problem = self.fitter.record, self.fitter.problem
        record.wall_seconds = self.fitter.wall
        kind = separability(problem) if ending[0] != "converged" and problem.pen.kind == "none" else "overlap"
        if kind in ("complete", "quasi"):
            how = "completely" if kind == "complete" else "quasi-completely"
            text = f"the classes are {how} separable, so F falls for ever as W grows; ended by {ending[0]}"
            ending = "no-minimiser", text
        return Result(fit.W, *ending, fit.budget, 0.0, fit.seconds, self.checkpoints, fit.certificate, record)


def _brief(text: str) -> str:
    """The first line, cut where it is long."""
    line = text.strip().splitlines()[0] if text.strip() else text
    return line if len(line) <= 120 else f"{line[:119]}…"
