"""I, the error function of SA L-BFGS as written: what it says of parameters that fit and of worse ones; its time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import numpy as np

from pianobench.algorithms.lbfgs import Lbfgs
from pianobench.algorithms.loop import solve
from pianobench.algorithms.stream.scores import Score
from pianobench.experiments.probes.online import split
from pianobench.experiments.probes.setting import Number, Setting, check_arrived
from pianobench.problems import Problem
from pianobench.problems.penalties import Array

GAP = 1e-3
MOST, LEAST = 50, 5  # evaluations that are timed


def fit(setting: Setting) -> Iterator[Number]:
    """`I as written`: the share of wrong predictions on held-out rows; of a click log, of its views.

    Of weights that were fitted to the others, of those with reversed signs, and of the best constant; with an
    intercept, without which there is no constant.
    """
    train, rest = split(setting, setting.rng())
    classes, penalty = setting.problem.classes, setting.problem.penalty
    problem = Problem(train.X, train.y, sample_weight=train.weight, penalty=penalty, classes=classes)
    result = solve(Lbfgs(), problem, tol=GAP, max_seconds=setting.left(0.7), few=True)
    check_arrived(result, "nothing that fits is known")
    judge = Problem(rest.X, rest.y, sample_weight=rest.weight, classes=classes)
    for arm, W in arms(problem, result.W, train.y, train.weight).items():
        yield Number("I as written", arm, Score.of(judge, W).error)


def arms(problem: Problem, W: Array, y: Array, weight: Array) -> dict[str, Array]:
    """Weights that fit, a constant model, and the fitting ones with reversed signs, the intercept as it is."""
    constant, reversed_ = problem.zeros(), W.copy()
    shares = np.array([weight[y == one].sum() / weight.sum() for one in problem.classes])
    constant[-1] = np.log(np.maximum(shares, 1e-300))
    reversed_[:-1] *= -1.0
    return {"fitting": W, "constant": constant, "reversed": reversed_}


def cost(setting: Setting) -> Iterator[Number]:
    """`seconds of I`: the median of some evaluations on all rows."""
    problem = setting.problem
    W = setting.rng().normal(size=(problem.p, problem.m))
    Score.of(problem, W)
    taken: list[float] = []
    while len(taken) < MOST and (len(taken) < LEAST or setting.left(0.5)):
        began = time.perf_counter()
        Score.of(problem, W)
        taken.append(time.perf_counter() - began)
    yield Number("seconds of I", "I", statistics.median(taken))
