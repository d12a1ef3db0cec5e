"""The loop every solver runs in: the clock, the checkpoints and the stop rules. Solvers know none of them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pianobench.algorithms.contract import Breakdown, Solver
from pianobench.algorithms.registry import solver_refusal
from pianobench.algorithms.result import Checkpoint, Result
from pianobench.problems import Certificate, Problem, certificate, separability
from pianobench.problems.penalties import Array

GROWTH = 1.15  # the next checkpoint is due when the work done has grown by this, and by one gradient equivalent
WAIT = 8  # with `few` the next checkpoint is due at the latest when the steps done have grown by this
PATIENCE = 10  # checkpoints without progress before a run is called stalled: the work has then grown fourfold
MOST_MEMORY = 0.8  # of the machine's, that a solver may ask for
LOWER, TIGHTER = 1e-13, 0.01  # relative decrease of F, or of the gap, that counts as progress


def iterate(
    solver: Solver, problem: Problem, W0: Array | None = None, rng: np.random.Generator | None = None
) -> Iterator[Any]:
    """The states of a solver, the one of `init` first, without end."""
    state = solver.init(problem, problem.zeros() if W0 is None else W0, rng or np.random.default_rng(0))
    while True:
        yield state
        state = solver.step(problem, state)


def solve(
    solver: Solver,
    problem: Problem,
    *,
    W0: Array | None = None,
    rng: np.random.Generator | None = None,
    tol: float = 1e-6,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    max_gradient_equivalents: float | None = None,
    reference: float | None = None,
    on_checkpoint: Callable[[Checkpoint], None] | None = None,
    few: bool = False,
) -> Result:
    """Run a solver until the certified relative gap is at most `tol`, or something else ends it.

    Parameters
    ----------
    solver : Solver
    problem : Problem
    W0 : array (p, m), optional
        Start, 0 by default; never written. Float64 on float32 rows too, which is then computed in float64.
    rng : numpy Generator, optional
        Source of a stochastic method's draws.
    tol : float
        Relative gap (F - L) / F to reach; for l0, whose gap is unknown, the fixed-point residual.
    max_steps, max_seconds, max_gradient_equivalents : optional
        Budgets. Seconds are those on the clock, tested after each step.
    reference : float, optional
        A lower bound on F* known from elsewhere.
    on_checkpoint : callable, optional
        Called with each `Checkpoint` as it is made, off the clock.
    few : bool
        Who wants the end and no curve: no checkpoint while a step still changes f by more than `tol` of it.

    Raises
    ------
    ValueError
        The solver cannot take the problem, or W0 has another shape or type.
    MemoryError
        It says that it needs more than this machine has.
    """
    refusal = solver_refusal(solver, problem)
    if refusal:
        raise ValueError(refusal)
    too_large = solver_refusal(solver, problem, int(MOST_MEMORY * _memory()))
    if too_large:
        raise MemoryError(f"not tried: {too_large}")
    _check_start(problem, W0)
    run = _Run(problem, tol, max_steps, max_seconds, max_gradient_equivalents, reference, on_checkpoint, few)
    states, state = iterate(solver, problem, W0, rng), None
    while run.ended is None:
        start = time.perf_counter()
        try:
            new, broken = next(states), None
        except Breakdown as breakdown:
            new, broken = state, str(breakdown)
        run.seconds += time.perf_counter() - start
        if new is None:
            raise ValueError(f"{type(solver).__name__} could not start: {broken}")
        state = new
        run.after_step(state, broken)
    return run.result(state)


def _memory() -> int:
    """Bytes of this machine's memory."""
    if hasattr(os, "sysconf"):
        return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    import psutil  # only where it is needed: a cell imports what it runs

    return int(psutil.virtual_memory().total)


def _check_start(problem: Problem, W0: Array | None) -> None:
    if W0 is not None and (W0.shape != (problem.p, problem.m) or W0.dtype not in (problem.dtype, np.float64)):
        raise ValueError(
            f"W0 is {W0.dtype} of shape {W0.shape}: {problem.dtype} of shape {(problem.p, problem.m)} is expected; "
            "problem.from_user(coef, b) makes one"
        )


class _Run:
    """Clock, checkpoints and stop rules of one run."""

    def __init__(
        self,
        problem: Problem,
        tol: float,
        max_steps: int | None,
        max_seconds: float | None,
        max_gradient_equivalents: float | None,
        reference: float | None,
        on_checkpoint: Callable[[Checkpoint], None] | None,
        few: bool,
    ) -> None:
        self.problem, self.tol, self.reference, self.on_checkpoint = problem, tol, reference, on_checkpoint
        self.budgets = (max_steps, max_seconds, max_gradient_equivalents)
        self.start = problem.meter.total
        self.steps, self.seconds, self.setup_seconds = -1, 0.0, 0.0
        self.due, self.best, self.best_gap, self.since_best = 0.0, math.inf, math.inf, 0
        self.least_change = math.inf
        self.few, self.f, self.due_step, self.last_step = few, math.inf, 0, 0
        self.checkpoints: list[Checkpoint] = []
        self.certificate: Certificate | None = None
        self.bound = 0.0
        self.ended: tuple[str, str] | None = None

    def after_step(self, state: Any, broken: str | None) -> None:
        """Judge the state where that is due, and decide whether it was the last."""
        if broken is None:
            self.steps += 1
        if self.steps == 0:
            self.setup_seconds = self.seconds
        spent = self._spent()
        waits = self._falls(state)  # which sees every step
        # With `few` steps count, not their work: rows that stand twice are then judged as one of weight 2 is.
        waits |= self.steps < self.due_step if self.few else self._work() < self.due
        if broken is None and spent is None and waits and not self._at_rest(state):
            return
        self._judge(state.W)
        self.ended = self._ending(state, broken, spent)

    def result(self, state: Any) -> Result:
        """How it ended."""
        assert self.ended is not None
        assert self.certificate is not None
        return Result(
            state.W,
            *self.ended,
            self.steps,
            self.setup_seconds,
            self.seconds,
            self.checkpoints,
            self.certificate,
            state,
        )

    def _work(self) -> float:
        return self.problem.gradient_equivalents(self.problem.meter.total) - self.problem.gradient_equivalents(
            self.start
        )

    def _spent(self) -> tuple[str, str] | None:
        max_steps, max_seconds, max_work = self.budgets
        if max_steps is not None and self.steps >= max_steps:
            return "budget", f"the {max_steps} steps allowed are done"
        if max_seconds is not None and self.seconds >= max_seconds:
            return "timeout", f"the {max_seconds:g} seconds allowed are over"
        if max_work is not None and self._work() >= max_work:
            return "budget", f"the {max_work:g} gradient equivalents allowed are done"
        return None

    def _judge(self, W: Array) -> None:
        work = self._work()
        self.due = max(GROWTH * work, work + 1.0)
        self.due_step = max(math.ceil(GROWTH * self.steps), self.steps + 1)
        self.last_step = WAIT * max(self.steps, 1)
        # A bound holds for every point, so the best so far serves all that follow. It is this run's own unless it is
        # the caller's reference.
        known = max(self.bound, self.reference or 0.0)
        c = certificate(self.problem, W, known or None, walk=not known)
        if c.kind == "reference" and self.bound >= known:
            c = replace(c, kind="dual")
        if c.kind == "dual":
            self.bound = max(self.bound, c.lower)
        self.certificate = c
        passes = (self.problem.meter.total.rows - self.start.rows) / self.problem.n
        point = Checkpoint(
            self.steps, self.seconds, work, passes, c.objective, c.lower, c.gap, c.kind, c.residual, c.nnz
        )
        self.checkpoints.append(point)
        if self.on_checkpoint is not None:
            self.on_checkpoint(point)

    def _falls(self, state: Any) -> bool:
        """Whether, with `few`, the gap need not be asked yet: f moves by more than it may be off by in the end."""
        before, self.f = self.f, float(getattr(state, "f", math.nan))
        return self.few and abs(before - self.f) > self.tol * abs(self.f) and self.steps < self.last_step

    def _at_rest(self, state: Any) -> bool:
        """Whether an l0 run stands at a fixed point of its surrogate."""
        return self.problem.pen.kind == "l0" and getattr(state, "change", math.inf) <= self.tol

    def _ending(self, state: Any, broken: str | None, spent: tuple[str, str] | None) -> tuple[str, str] | None:
        c = self.certificate
        assert c is not None
        if not math.isfinite(c.objective):
            return "diverged", f"F is {c.objective} after {self.steps} steps"
        if c.gap <= self.tol:
            return "converged", f"relative gap {c.gap:.2g} <= {self.tol:g}, certified ({c.kind})"
        if self._at_rest(state):
            return "stationary", (
                f"fixed point of the surrogate to {state.change:.2g} with {c.nnz} weights, KKT residual on them "
                f"{c.residual:.2g}; F is not convex, so this is no statement about the minimum"
            )
        # near the optimum F stands still to rounding while the gap, of first order in the gradient, still closes
        better = c.objective < self.best * (1.0 - LOWER) or c.gap < self.best_gap * (1.0 - TIGHTER)
        if self.problem.pen.kind == "l0":  # where F, which counts weights, may stand still or rise on the way to rest
            change = float(getattr(state, "change", math.inf))
            better |= change < self.least_change * (1.0 - TIGHTER)
            self.least_change = min(self.least_change, change)
        self.best, self.best_gap = min(self.best, c.objective), min(self.best_gap, c.gap)
        self.since_best = 0 if better else self.since_best + 1
        ending = ("breakdown", broken) if broken is not None else spent
        if ending is None and self.since_best >= PATIENCE:
            ending = (
                "stalled",
                f"neither F nor its gap fell for {PATIENCE} checkpoints; relative gap {c.gap:.2g} > {self.tol:g}",
            )
        if ending is not None and self.problem.pen.kind in ("none", "l0"):
            kind = separability(self.problem)
            if kind in ("complete", "quasi"):
                how = "completely" if kind == "complete" else "quasi-completely"
                return (
                    "no-minimiser",
                    f"the classes are {how} separable, so F falls for ever as W grows; ended by {ending[0]}",
                )
        return ending
