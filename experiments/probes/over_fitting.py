"""Accuracy on held-out samples with almost no penalty, and with the l1 strength that inner folds choose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.loop import solve
from pianobench.algorithms.path import path
from pianobench.algorithms.prox_newton_active import ProxNewtonActive
from pianobench.experiments.probes.setting import Number, Setting, Unmeasured, check_arrived
from pianobench.problems import L1, Problem
from pianobench.problems.penalties import Array

HELD_OUT = 3  # of each class one sample in so many, rounded down, is held out
FOLDS = 5
FACTORS = tuple(np.geomspace(0.9, 0.005, 15))  # of each part's own lambda_max, falling
GAP = 1e-3
WEAKEST_GAP = 0.05  # with almost no penalty, where F is nearly 0 and a twentieth of it moves no prediction


@dataclass(frozen=True)
class Part:
    """Some rows."""

    X: Any
    y: NDArray[np.intp]

    def rows(self, index: NDArray[np.intp]) -> Part:
        """Some of them."""
        return Part(self.X[index], self.y[index])


def over_fitting(setting: Setting) -> Iterator[Number]:
    """Accuracy lost on held-out samples where no penalty counts, and held-out accuracy there and with a penalty.

    The seed decides which samples are held out.
    """
    if setting.lam_factor is None:
        raise Unmeasured("the strength must be given as a share of lambda_max")
    rng, m = setting.rng(), setting.problem.m
    _, y = np.unique(setting.y, return_inverse=True)
    whole = Part(setting.X, y)
    train_rows, test_rows = split(y, HELD_OUT, rng)[0]
    train, test = whole.rows(train_rows), whole.rows(test_rows)
    W = almost_free(train, m, setting.lam_factor, setting.left(0.5))
    outside = accuracy(W, test)
    yield Number("accuracy lost on held-out samples", "almost no penalty", accuracy(W, train) - outside)
    yield Number("held-out accuracy", "almost no penalty", outside)
    scores = np.zeros(len(FACTORS))
    for kept, left_out in split(train.y, FOLDS, rng):
        part = train.rows(left_out)
        scores += [accuracy(W, part) * len(left_out) for W in fitted(train.rows(kept), m, FACTORS)]
    best = int(np.argmax(scores))  # of equals the strongest
    W = fitted(train, m, FACTORS[: best + 1])[-1]
    yield Number("held-out accuracy", "l1 by inner folds", accuracy(W, test))


def split(y: NDArray[np.intp], parts: int, rng: np.random.Generator) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows kept and rows left out, `parts` times, each row left out once; classes are spread evenly over the parts.

    The first leaves out the least of each class: of one with fewer rows than parts none.
    """
    place = np.empty(len(y), np.intp)
    for code in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == code))
        place[rows] = parts - 1 - np.arange(len(rows)) % parts
    return [(np.flatnonzero(place != part), np.flatnonzero(place == part)) for part in range(parts)]


def fitted(part: Part, m: int, factors: Sequence[float]) -> list[Array]:
    """W (d, m) of l1 at these multiples of the part's lambda_max, which fall."""
    problem, top = of(part, m)
    return [point.W for point in path(problem, [float(factor) * top for factor in factors], tol=GAP)]


def almost_free(part: Part, m: int, factor: float, seconds: float) -> Array:
    """W (d, m) of l1 at a very small multiple of lambda_max."""
    problem, top = of(part, m)
    result = solve(ProxNewtonActive(), problem.with_penalty(L1(factor * top)), tol=WEAKEST_GAP, max_seconds=seconds)
    check_arrived(result, "no fit with almost no penalty")
    return result.W


def of(part: Part, m: int) -> tuple[Problem, float]:
    """The problem under l1 of some strength, and its lambda_max."""
    problem = Problem(part.X, part.y, penalty=L1(1.0), classes=np.arange(m), fit_intercept=False)
    return problem, problem.lambda_max


def accuracy(W: Array, part: Part) -> float:
    """Share of the rows whose largest score is that of their class."""
    return float(np.mean(np.argmax(part.X @ W, axis=1) == part.y))
