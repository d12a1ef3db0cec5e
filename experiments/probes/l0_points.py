"""Whether PIANO comes to rest under l0, and how exactly: one more step from where it ended, from three starts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pianobench.algorithms.l0_path import STARTS, start
from pianobench.algorithms.loop import iterate
from pianobench.algorithms.piano import Piano
from pianobench.experiments.probes.setting import Number, OutOfTime, Setting, Unmeasured
from pianobench.problems import Problem, separability
from pianobench.problems.penalties import Array

AT_REST = 1e-8  # residual at which it rests; the rule asks for 1e-6
ENOUGH = 1e-6
STANDS_STILL = 0.99  # least residual of the second half of the steps over that of the first: above, it stands still
LOOK = 10  # steps between two looks
LARGEST = 200_000  # entries of X times classes up to which it is asked whether a run can come to rest at all


def l0_points(setting: Setting) -> Iterator[Number]:
    """`fixed-point residual`: the largest over the starts of max |change of W by one more step| / max |W|.

    Raises
    ------
    OutOfTime
        A run comes ever nearer to rest when its time is over.
    Unmeasured
        No start leads to a point that can be rested at.
    """
    problem, found = setting.problem, []
    for number, name in enumerate(STARTS, 1):
        W, residual, steps, falls = rest(problem, start(problem, name), setting, 0.9 * number / len(STARTS))
        if residual > ENOUGH and falls:
            small = problem.nnz * problem.m <= LARGEST
            if small and separability(problem.restrict(W != 0)) in ("complete", "quasi"):
                continue  # on these weights F falls for ever: there is no point to rest at
            raise OutOfTime(f"from {name} PIANO is on its way after {steps} steps, at a residual of {residual:.2g}")
        found.append(residual)
    if not found:
        raise Unmeasured("the classes are separable on the weights that are kept: no start leads to a point of rest")
    yield Number("fixed-point residual", "piano", max(found))


def rest(problem: Problem, W0: Array, setting: Setting, share: float) -> tuple[Array, float, int, bool]:
    """Where PIANO is when it rests or when a share of the seconds is over: W, residual, steps, whether that fell."""
    found: list[float] = []
    last = W0.astype(np.float64)
    step = 0
    for step, state in enumerate(iterate(Piano(), problem, last)):
        if step % LOOK == 1:
            found.append(change(state.W, last))
            if found[-1] <= AT_REST or not setting.left(share):
                last = state.W
                break
        last = state.W
    half = len(found) // 2
    falls = half == 0 or min(found[half:]) < STANDS_STILL * min(found[:half])
    return last, found[-1], step, falls


def change(W: Array, last: Array) -> float:
    """Largest difference over the largest weight; infinite where all weights have just become 0."""
    moved, largest = float(np.max(np.abs(W - last))), float(np.max(np.abs(W)))
    return 0.0 if moved == 0.0 else moved / largest if largest else float("inf")
