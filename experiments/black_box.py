"""Peers in a cell: other people's solvers, fitted anew with growing budgets where ours take steps.

The same questions as of a solver of ours (make, refuse, warm up, solve), so that `measure` asks both alike.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pianobench.algorithms.peers import make_peer, rerun, warm_up
from pianobench.algorithms.peers.rerun import WALL

SHARE = 0.7  # of the seconds that the process may take beyond those of one fit, for all the other fits


def make(key: str, _file: str | None, params: dict[str, Any]) -> Any:
    """The black box with its settings."""
    return make_peer(key, **params)


def refusal(box: Any, problem: Any) -> str | None:
    """Why it cannot take the problem, or None."""
    reason: str | None = box.refusal(problem)
    return reason


def warm(box: Any, problem: Any, threads: int) -> None:
    """Its imports and first calls, on a few rows."""
    warm_up(box, problem, threads)


def solve(box: Any, problem: Any, spec: dict[str, Any], rng: np.random.Generator, note: Callable[[Any], None]) -> Any:
    """As `pianobench.algorithms.solve`; seconds are those of one fit."""
    return rerun(
        box,
        problem,
        rng=rng,
        tol=spec["tolerance"],
        max_budget=spec["max_steps"],
        max_seconds=spec["max_seconds"],
        max_wall=min(WALL * spec["max_seconds"], spec["max_seconds"] + SHARE * spec["allowance"]),
        threads=spec["threads"],
        on_checkpoint=note,
    )
