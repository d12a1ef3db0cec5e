"""What a second thread brings to a step."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

from pianobench.algorithms.lc import Lc
from pianobench.algorithms.loop import iterate
from pianobench.algorithms.piano import Piano
from pianobench.experiments.environment import available_cores
from pianobench.experiments.probes.setting import Number, OutOfTime, Setting
from pianobench.problems import Problem
from pianobench.problems.kernels.compiled import threads

ROUNDS = 9  # of one thread and two, each at most
LEAST = 3  # rounds that a median needs
SHORTEST = 0.02  # seconds of the steps that are timed together


def speed_up(setting: Setting) -> Iterator[Number]:
    """`speed-up at two threads`: seconds of PIANO's steps at one thread / at two; with two classes, of LC's as well.

    Raises
    ------
    RuntimeError
        The process may use one core only. That says nothing of the method: the cell is measured again next time.
    """
    if available_cores() < 2:
        raise RuntimeError("a speed-up at two threads needs two cores, and this process may use one")
    solvers: dict[str, Any] = {"piano": Piano()} | ({"lc": Lc()} if setting.problem.m == 2 else {})
    for number, (arm, solver) in enumerate(solvers.items(), 1):
        yield Number("speed-up at two threads", arm, measured(solver, setting, 0.9 * number / len(solvers)))


def measured(solver: Any, setting: Setting, share: float) -> float:
    """Ratio of the median seconds of the same steps from W = 0, taken in turns."""
    problem, steps = setting.problem, 1
    while (once := seconds(solver, problem, 1, steps)) < SHORTEST and steps < 1000:
        steps *= 2
    one, two = [once], [seconds(solver, problem, 2, steps)]
    while len(one) < ROUNDS and setting.left(share) > one[-1] + two[-1]:
        pair = ((1, one), (2, two))
        for count, kept in pair if len(one) % 2 else pair[::-1]:
            kept.append(seconds(solver, problem, count, steps))
    if len(one) < LEAST:
        raise OutOfTime(f"{len(one)} rounds of {one[-1]:.2g} s in the time there is: {LEAST} are needed")
    return statistics.median(one) / statistics.median(two)


def seconds(solver: Any, problem: Problem, count: int, steps: int) -> float:
    """Of so many steps from W = 0, without `init`."""
    with threads.limit(count):
        states = iterate(solver, problem)
        next(states)
        began = time.perf_counter()
        for _ in range(steps):
            next(states)
        return time.perf_counter() - began
