"""One way to run whatever a key stands for: a solver in our loop, or a black box fitted anew and anew.

The loop of the boxes is imported by name when a box is run, so that it decides the keys of their cells alone.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

import numpy as np

from pianobench.algorithms.loop import Checkpoint, Result, solve
from pianobench.algorithms.registry import solver_refusal
from pianobench.problems import Problem

BOXES = "pianobench.algorithms.peers"


def refusal(method: Any, problem: Problem) -> str | None:
    """Why a solver or a black box cannot take the problem, in one sentence, or None."""
    return cast("str | None", method.refusal(problem)) if is_box(method) else solver_refusal(method, problem)


def warm_up(method: Any, problem: Problem, *, rng: np.random.Generator, tol: float, steps: int, threads: int) -> None:
    """Imports, compilation and first calls, on some of the rows; off every clock."""
    if is_box(method):
        import_module(f"{BOXES}.fits").warm_up(method, problem, threads)
    else:
        solve(method, problem.tiny(), rng=rng, tol=tol, max_steps=steps)


def run(
    method: Any,
    problem: Problem,
    *,
    rng: np.random.Generator,
    tol: float,
    max_steps: int | None,
    max_seconds: float,
    max_wall: float,
    threads: int,
    on_checkpoint: Callable[[Checkpoint], None],
) -> Result:
    """`solve`, or `rerun` with `max_steps` as the largest budget and `max_wall` seconds for all of its fits."""
    if not is_box(method):
        return solve(
            method,
            problem,
            rng=rng,
            tol=tol,
            max_steps=max_steps,
            max_seconds=max_seconds,
            on_checkpoint=on_checkpoint,
        )
    result = import_module(f"{BOXES}.rerun").rerun(
        method,
        problem,
        rng=rng,
        tol=tol,
        max_budget=max_steps,
        max_seconds=max_seconds,
        max_wall=max_wall,
        threads=threads,
        on_checkpoint=on_checkpoint,
    )
    return cast("Result", result)


def is_box(method: Any) -> bool:
    """Whether it is a `BlackBox`: a `Solver` converts nothing."""
    return hasattr(method, "convert")
