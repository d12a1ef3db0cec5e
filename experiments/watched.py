"""Solvers of the contract in a cell, under watch: each W must be a point of the problem, and the start stay as it was.

`make`, `refusal`, `warm` and `solve` are what `measure` asks of a solver; a black box answers them in its own way.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pianobench.algorithms import Breakdown, solver_refusal
from pianobench.algorithms import solve as run_loop
from pianobench.experiments.solver_choice import make

__all__ = ["ContractBroken", "CouldNotStart", "Watched", "make", "refusal", "solve", "warm"]

WARMUP_STEPS = 2


def refusal(solver: Any, problem: Any) -> str | None:
    """Why the solver cannot take the problem, or None."""
    return solver_refusal(solver, problem)


def warm(solver: Any, problem: Any, threads: int) -> None:
    """First calls, which may compile, on a few rows of the problem."""
    del threads  # they are set for the whole process
    _run(solver, problem.tiny(), max_steps=WARMUP_STEPS)


def solve(
    solver: Any, problem: Any, spec: dict[str, Any], rng: np.random.Generator, note: Callable[[Any], None]
) -> Any:
    """The loop's `Result`, within the limits of a cell.

    Raises
    ------
    MemoryError
        The solver says that it needs more than the cell may have.
    """
    too_large = solver_refusal(solver, problem, spec["memory"])
    if too_large is not None:
        raise MemoryError(f"not tried: {too_large}")
    limits = {"tol": spec["tolerance"], "max_steps": spec["max_steps"], "max_seconds": spec["max_seconds"]}
    return _run(solver, problem, rng=rng, on_checkpoint=note, **limits)


def _run(solver: Any, problem: Any, **limits: Any) -> Any:
    watched: Any = Watched(solver)
    W0 = problem.zeros()
    before = W0.copy()
    result = run_loop(watched, problem, W0=W0, **limits)
    # It is not handed over read-only: Numba would compile each kernel a second time for such an array.
    if not np.array_equal(W0, before):
        raise ContractBroken(f"{watched.name} wrote to W0, which belongs to the caller: it must work on a copy")
    return result


class ContractBroken(Exception):
    """A solver returned or did what no solver may; the message names it and says what was expected."""


class CouldNotStart(Exception):
    """The method itself said, in its `init`, that it cannot start."""


class Watched:
    """A solver that does what the given one does; the shape and dtype of each W are looked at on the way.

    Looking costs a fraction of a microsecond. A W of another shape must not go on to the certificate, which
    NumPy's broadcasting might let pass with a wrong number.
    """

    def __init__(self, solver: Any) -> None:
        self.wrapped = solver
        self.name = type(solver).__name__

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wrapped, name)

    def init(self, problem: Any, W0: Any, rng: np.random.Generator) -> Any:
        """State at W0."""
        try:
            state = self.wrapped.init(problem, W0, rng)
        except Breakdown as breakdown:
            raise CouldNotStart(f"{self.name} could not start: {breakdown}") from breakdown
        _check_point(self.name, problem, state.W)
        return state

    def step(self, problem: Any, state: Any) -> Any:
        """State after one iteration."""
        state = self.wrapped.step(problem, state)
        _check_point(self.name, problem, state.W)
        return state


def _check_point(name: str, problem: Any, W: Any) -> None:
    """Raise `ContractBroken` unless W has the shape and dtype of the problem's points."""
    shape, dtype = getattr(W, "shape", None), getattr(W, "dtype", None)
    if shape != (problem.p, problem.m) or dtype != problem.dtype:
        found = f"{dtype} of shape {shape}" if shape is not None else f"a {type(W).__name__}"
        raise ContractBroken(
            f"{name} returned W as {found}: {problem.dtype} of shape {(problem.p, problem.m)} is expected"
        )
