"""Memory that IRLS takes, above what the same process takes for a small problem."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pianobench.algorithms.irls import Irls
from pianobench.algorithms.loop import iterate
from pianobench.experiments.measure import peak_bytes
from pianobench.experiments.probes.setting import Number, Setting
from pianobench.problems import Problem

STEPS = 2  # from the second on each has the first one's memory
ROWS, COLUMNS, CLASSES = 20, 2, 2  # of the small problem


def memory(setting: Setting) -> Iterator[Number]:
    """`bytes above a small problem`: peak resident bytes of two steps of IRLS, less those on the small problem.

    The data lie in memory during both, so their bytes are added.
    """
    X, y = setting.X, setting.y
    parts = (X,) if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr)
    less = peak(small(setting))
    yield Number(
        "bytes above a small problem",
        "irls",
        float(peak(setting.problem) - less + sum(part.nbytes for part in (*parts, y))),
    )


def small(setting: Setting) -> Problem:
    """Noise of the small size under the same penalty."""
    rng, problem = setting.rng(), setting.problem
    X, y = rng.normal(size=(ROWS, COLUMNS)), np.arange(ROWS) % CLASSES
    return Problem(X, y, penalty=problem.penalty, fit_intercept=problem.fit_intercept)


def peak(problem: Problem) -> int:
    """Largest resident memory of the process during some steps.

    Raises
    ------
    OSError
        The system has no such number that can be set back.
    """
    Path("/proc/self/clear_refs").write_text("5")  # the peak becomes what is resident now
    states = iterate(Irls(), problem)
    for _ in range(STEPS + 1):
        next(states)
    found = peak_bytes()
    if found is None:
        raise OSError("this system does not tell the peak of a process's memory")
    return found
