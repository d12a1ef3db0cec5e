"""PIANO beside generalised iterative scaling [DR72] on non-negative features, step by step.

Iterative scaling asks for features of one sum in all rows. So X is divided by its largest row sum, and a column takes
what is left to 1. The method is written here by itself, as it was published: factors multiplied by ratios of sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pianobench.algorithms.loop import iterate
from pianobench.algorithms.piano import Piano
from pianobench.experiments.probes.setting import Number, Setting, Unmeasured
from pianobench.problems import Problem
from pianobench.problems.penalties import Array

STEPS = 100


def iterative_scaling(setting: Setting) -> Iterator[Number]:
    """`difference from iterative scaling`: largest absolute difference of W over 100 steps / largest weight."""
    X = setting.X if isinstance(setting.X, np.ndarray) else setting.X.toarray()
    if X.min() < 0.0:
        raise Unmeasured(f"a feature is {X.min():g}: iterative scaling takes numbers of 0 and above")
    X = scaled(X)
    classes, y = np.unique(setting.y, return_inverse=True)
    yield Number("difference from iterative scaling", "piano", difference(Piano(), X, y, len(classes)))


def scaled(X: Array) -> Array:
    """X (n, d) over its largest row sum, and a column (n, d + 1) that makes the sum of each row 1."""
    X = np.asarray(X, np.float64)
    X = X / (X.sum(axis=1).max() or 1.0)
    return np.column_stack([X, np.maximum(0.0, 1.0 - X.sum(axis=1))])


def difference(solver: Any, X: Array, y: Any, m: int) -> float:
    """Of the iterates of a solver from those of iterative scaling, in the weights that this one moves at all.

    A class without mass in a feature has the factor 0 at once, the limit of what a method may step to: such weights are
    left out.
    """
    problem = Problem(X, y, fit_intercept=False)
    empirical = X.T @ np.eye(m)[y]
    finite = empirical > 0.0
    states = iterate(solver, problem)
    next(states)
    worst, largest = 0.0, 0.0
    for factors in scaling(X, empirical):
        W, V = next(states).W[finite], np.log(factors[finite])
        worst, largest = max(worst, float(np.max(np.abs(W - V)))), float(np.max(np.abs(V)))
    return worst / (largest or 1.0)


def scaling(X: Array, empirical: Array) -> Iterator[Array]:
    """Factors (d, m), which are exponentials of weights, after each of the steps."""
    factors = np.ones(empirical.shape)
    for _ in range(STEPS):
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 to the power of 0 is 1
            products = np.prod(factors[None] ** X[:, :, None], axis=1) if X.shape[1] < 8 else _products(X, factors)
            expected = X.T @ (products / products.sum(axis=1, keepdims=True))
            factors = factors * np.where(expected > 0.0, empirical / expected, 1.0)
        yield factors


def _products(X: Array, factors: Array) -> Array:
    return np.asarray(np.stack([np.prod(column[None] ** X, axis=1) for column in factors.T], axis=1))
