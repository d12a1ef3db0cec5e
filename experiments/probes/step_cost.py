"""What l1 and l0 cost in a step of PIANO."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

from pianobench.algorithms.loop import iterate
from pianobench.algorithms.piano import Piano
from pianobench.experiments.probes.setting import Number, Setting, Unmeasured
from pianobench.problems import L0, L1, Problem
from pianobench.problems.penalties import Array

BEFORE = 3  # plain steps, which leave no weight at 0: from there all three start
MOST, LEAST = 200, 5  # rounds


def step_cost(setting: Setting) -> Iterator[Number]:
    """Seconds and flops of a step under l1, and under l0 of the same strength, over those of a plain one.

    A step of each in turn from the same W; the ratio is that of the medians.
    """
    if setting.lam is None:
        raise Unmeasured("the problem has no strength")
    plain = setting.problem.with_penalty(None)
    states = iterate(Piano(), plain)
    W = [next(states) for _ in range(BEFORE + 1)][-1].W
    penalties = {"plain": None, "l1": L1(setting.lam), "l0": L0(setting.lam)}
    problems = {arm: plain.with_penalty(penalty) for arm, penalty in penalties.items()}
    for problem in problems.values():  # a sum that the problem keeps is charged to the first step
        step(problem, W)
    taken: dict[str, list[tuple[float, float]]] = {arm: [] for arm in problems}
    rounds = 0
    while rounds < MOST and (rounds < LEAST or setting.left(0.6)):
        for arm, problem in problems.items():
            taken[arm].append(step(problem, W))
        rounds += 1
    seconds, flops = ({arm: statistics.median(one[i] for one in of) for arm, of in taken.items()} for i in (0, 1))
    for arm in ("l1", "l0"):
        yield Number("seconds of a step over the plain one", arm, seconds[arm] / seconds["plain"])
        yield Number("flops of a step over the plain one", arm, flops[arm] / flops["plain"])


def step(problem: Problem, W: Array) -> tuple[float, float]:
    """Seconds and flops of one step from W."""
    solver: Any = Piano()
    state, before = solver.init(problem, W, None), problem.meter.total.flops
    began = time.perf_counter()
    solver.step(problem, state)
    return time.perf_counter() - began, problem.meter.total.flops - before
