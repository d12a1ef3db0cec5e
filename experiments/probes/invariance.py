"""Whether the weights of PIANO depend on threads, or on the order of rows, features and classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pianobench.algorithms.loop import iterate
from pianobench.algorithms.piano import Piano
from pianobench.experiments.probes.setting import Number, Setting
from pianobench.problems import Problem
from pianobench.problems.kernels.compiled import threads
from pianobench.problems.penalties import Array

STEPS = 25
PERMUTATIONS = 2


def invariance(setting: Setting) -> Iterator[Number]:
    """`largest change of W` after 25 steps, over the largest weight: of two threads, and of two permutations."""
    problem = setting.problem
    with threads.limit(1):
        W = after(problem)
    with threads.limit(2):
        yield Number("largest change of W", "threads", difference(after(problem), W))
    rng = setting.rng()
    worst = max(difference(permuted(setting, rng), W) for _ in range(PERMUTATIONS))
    yield Number("largest change of W", "permutations", worst)


def after(problem: Problem, steps: int = STEPS) -> Array:
    """PIANO's W after some steps from 0, in float64."""
    states = iterate(Piano(), problem, np.zeros((problem.p, problem.m)))
    return np.asarray([next(states) for _ in range(steps + 1)][-1].W)


def permuted(setting: Setting, rng: np.random.Generator) -> Array:
    """The same of the data in another order, brought back into this one."""
    X, problem = setting.X, setting.problem
    rows, columns, codes = (rng.permutation(size) for size in (problem.n, problem.d, problem.m))
    _, y = np.unique(setting.y, return_inverse=True)
    other = Problem(
        X[rows][:, columns],
        codes[y[rows]],
        penalty=problem.penalty,
        fit_intercept=problem.fit_intercept,
        conditioning=problem.conditioning,
    )
    V, W = after(other), np.zeros((problem.p, problem.m))
    places = np.append(columns, problem.d)[: problem.p]  # an intercept stays last
    W[places] = V[:, codes]
    return W


def difference(V: Array, W: Array) -> float:
    """Largest difference over the largest weight."""
    return float(np.max(np.abs(V - W)) / (np.max(np.abs(W)) or 1.0))
