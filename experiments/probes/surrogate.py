"""Whether PIANO's surrogate lies above the objective, and touches it at the iterate.

Both are put together from the moments that the method itself is given, in float64: the surrogate by its formula, F by
the problem's own value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pianobench.algorithms.loop import iterate
from pianobench.algorithms.piano import Piano
from pianobench.algorithms.piano import surrogate as elements
from pianobench.experiments.probes.setting import Number, Setting
from pianobench.problems import Penalty, Problem
from pianobench.problems.penalties import Array

STEPS = (0, 1, 10, 100)  # of PIANO, at whose iterates the surrogate is looked at
POINTS = 25  # at each of them: 100 in all
LARGEST = 10.0  # S times the largest element of W - W^k; beyond it exponentials are all that is left of either


def surrogate(setting: Setting) -> Iterator[Number]:
    """The largest (F - g) / F over random points, g the surrogate with the penalty, and |g - F| / F at iterates."""
    problem, rng = setting.problem.off_the_clock(), setting.rng()
    above, off = [], []
    states = iterate(Piano(), problem, np.zeros((problem.p, problem.m)))
    for step in range(max(STEPS) + 1):
        W = next(states).W
        if step not in STEPS:
            continue
        g = Surrogate(problem, W)
        off.append(abs(g(W) - problem.value(W)) / problem.value(W))
        for point in _around(W, g.S, rng):
            F = problem.value(point)
            above.append((F - g(point)) / F)
    yield Number("objective above surrogate", "piano", float(np.max(above)))
    yield Number("surrogate off at iterate", "piano", float(np.max(off)))


def _around(W: Array, S: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Points near and far: along all weights or a few, zeros among them; and along those of one class.

    By Jensen's inequality the bound is nearest where the weights of a class move alike.
    """
    for number in range(POINTS):
        length = LARGEST * 10.0 ** rng.uniform(-4.0, 0.0)
        if number % 2:
            direction, zeros = np.zeros(W.shape), np.zeros(W.shape, bool)
            direction[:, rng.integers(W.shape[1])] = rng.choice([-1.0, 1.0])
        else:
            direction, zeros = rng.normal(size=W.shape), rng.random(W.shape) < 0.1
            direction[rng.random(W.shape) >= rng.uniform(0.1, 1.0)] = 0.0
        V = W + direction * (length / (np.max(np.abs(direction)) or 1.0)) / S
        yield np.where(zeros, 0.0, V)


class Surrogate:
    """``g(.|W) + R`` of the problem at W, by PIANO's formula.

    Attributes
    ----------
    moments : tuple of arrays
        A, B, C (p, m) and S.
    S : array (1, m) or (1, 1)
    """

    def __init__(self, problem: Problem, W: Array) -> None:
        self._problem, self._W = problem, W
        kept: list[Any] = []

        def look(W: Array, A: Array, B: Array, C: Array, S: Array, _pen: Penalty) -> Array:
            kept.append((A, B, C, S))
            return W

        _, f = problem.moments_map(W, look)
        (self.moments,) = kept  # all classes are one block here
        self.S = self.moments[3]
        self._loss = f - problem.pen.quadratic(W)

    def __call__(self, V: Array) -> float:
        """Its value at V (p, m)."""
        return self._loss + float(np.sum(elements(V - self._W, *self.moments))) + self._problem.pen.value(V)
