"""What l1 and l0 cost in a step of PIANO."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from pianobench.algorithms.loop import iterate
from pianobench.algorithms.piano import Piano
from pianobench.experiments.probes.setting import Number, Setting, Unmeasured
from pianobench.problems import L0, L1, Penalty, Problem
from pianobench.problems.cost import EXP_FLOPS
from pianobench.problems.penalties import Array

BEFORE = 3  # plain steps, which leave no weight at 0: from there all three start
MOST, LEAST = 200, 5  # rounds
DEAR = {np.exp: EXP_FLOPS, np.expm1: EXP_FLOPS, np.log: EXP_FLOPS, np.sqrt: 4.0, np.hypot: 8.0}


def step_cost(setting: Setting) -> Iterator[Number]:
    """Seconds and flops of a step under l1, and under l0 of the same strength, over those of a plain one.

    A step of each in turn from the same W; the ratio is that of the medians. The flops are those charged, which are of
    the products with X, and those of the element-wise update, counted here: it alone knows the penalty.
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
    seconds, charged = ({arm: statistics.median(one[i] for one in of) for arm, of in taken.items()} for i in (0, 1))
    flops = {arm: charged[arm] + of_the_update(problem, W) for arm, problem in problems.items()}
    for arm in ("l1", "l0"):
        yield Number("seconds of a step over the plain one", arm, seconds[arm] / seconds["plain"])
        yield Number("flops of a step over the plain one", arm, flops[arm] / flops["plain"])


def step(problem: Problem, W: Array) -> tuple[float, float]:
    """Seconds and flops charged of one step from W."""
    solver: Any = Piano()
    state, before = solver.init(problem, W, None), problem.meter.total.flops
    began = time.perf_counter()
    solver.step(problem, state)
    return time.perf_counter() - began, problem.meter.total.flops - before


def of_the_update(problem: Problem, W: Array) -> float:
    """Flops of the element-wise part of one step from W: each operation one an element, an exponential as elsewhere."""
    solver: Any = Piano()
    flops = 0.0

    def update_of(W: Array) -> Any:
        look: Any = SimpleNamespace(moments_map=lambda _, update: (update, 0.0))
        return solver.step(look, solver.init(problem, W, None)).W

    def counting(W: Array, A: Array, B: Array, C: Array, S: Array, pen: Penalty) -> Array:
        nonlocal flops
        before = Counted.flops
        found = update_of(W)(*map(_counted, (W, A, B, C, S)), pen)
        flops = Counted.flops - before
        return np.asarray(_bare(found))

    problem.off_the_clock().moments_map(W, counting)
    return flops


class Counted(np.ndarray[Any, Any]):
    """An array whose operations are counted, as are those on what comes of them."""

    flops: ClassVar[float] = 0.0  # of all of them so far

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        found = getattr(ufunc, method)(*map(_bare, inputs), **options)
        Counted.flops += DEAR.get(ufunc, 1.0) * max(np.size(_bare(one)) for one in inputs)
        return _counted(found)

    def __array_function__(self, function: Any, types: Any, given: Any, options: Any) -> Any:
        found = function(*map(_bare, given), **options)
        Counted.flops += max(np.size(_bare(one)) for one in given)
        return _counted(found)


def _bare(one: Any) -> Any:
    return one.view(np.ndarray) if isinstance(one, Counted) else one


def _counted(one: Any) -> Any:
    return np.asarray(one).view(Counted)
