"""What LC spends on its inner problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pianobench.algorithms.lc import Lc
from pianobench.algorithms.loop import iterate
from pianobench.experiments.probes.setting import Number, Setting
from pianobench.problems import Problem

STEPS = 100  # at most
NEAR = 1e-9  # relative decrease of F in a step: where it is less there is nothing left to do


def inner(setting: Setting) -> Iterator[Number]:
    """`share of inner flops`: flops of LC's inner L-BFGS / all flops of its steps, for as long as F falls."""
    yield Number("share of inner flops", "lc", share(Lc(), setting))


def share(lc: Lc, setting: Setting) -> float:
    """Of the flops of its steps what a step without an inner one does not have."""
    problem, judge = setting.problem.off_the_clock(), setting.problem.off_the_clock()
    problem.class_sums  # noqa: B018  (kept by the problem, and so no part of a step)
    outer = next(flops(replace(lc, inner_steps=0), problem))[1]
    spent, F = [], float("inf")
    for W, one in flops(lc, problem):
        spent.append(one)
        before, F = F, judge.value(W)
        if len(spent) == STEPS or before - F < NEAR * F or not setting.left(0.7):
            break
    return 1.0 - len(spent) * outer / sum(spent)


def flops(lc: Lc, problem: Problem) -> Iterator[tuple[Any, float]]:
    """W after each step, and the flops of that step."""
    states = iterate(lc, problem)
    next(states)
    while True:
        before = problem.meter.total.flops
        W = next(states).W
        yield W, problem.meter.total.flops - before
