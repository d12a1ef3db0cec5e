"""Online methods: their log loss on held-out rows beside that of the minimiser, and how much they pay on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pianobench.algorithms.adagrad import AdaGrad
from pianobench.algorithms.lbfgs import Lbfgs
from pianobench.algorithms.loop import solve
from pianobench.algorithms.ogd import Ogd
from pianobench.algorithms.stream.scores import Score
from pianobench.datasets.kdd12.kinds import KINDS
from pianobench.datasets.kdd12.named import prepared
from pianobench.experiments.probes.setting import Number, Setting, check_arrived
from pianobench.problems import Penalty, Problem
from pianobench.problems.penalties import Array

RATES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # eta that are tried
GAP = 1e-6
TUNED_ON, HELD_OUT = 5, 3  # one row in so many is kept from the rows of a rate that is tried, and from all methods


@dataclass(frozen=True)
class Rows:
    """Rows with weights."""

    X: Any
    y: Any
    weight: Array

    def some(self, which: Any) -> Rows:
        """Those numbered so."""
        return Rows(self.X[which], self.y[which], self.weight[which])

    def problem(self, classes: Any, penalty: Penalty | None) -> Problem:
        """Without an intercept."""
        return Problem(self.X, self.y, sample_weight=self.weight, penalty=penalty, classes=classes, fit_intercept=False)


def held_out(setting: Setting) -> Iterator[Number]:
    """`held-out log loss` of L-BFGS at the minimum, and after one pass of online gradient descent and of AdaGrad.

    The rate of each is the best of some on a part of the training rows; the seed decides which, and the orders.
    """
    classes, penalty, rng = setting.problem.classes, setting.problem.penalty, setting.rng()
    train, test = split(setting, rng)
    whole, judge = train.problem(classes, penalty), test.problem(classes, None)
    batch = solve(Lbfgs(), whole, tol=GAP, max_seconds=setting.left(0.5), few=True)
    check_arrived(batch, "L-BFGS has not arrived")
    yield Number("held-out log loss", "lbfgs", Score.of(judge, batch.W).log_loss)
    order = rng.permutation(len(train.y))
    cut = len(order) // TUNED_ON
    inner, outer = (train.some(part).problem(classes, which) for part, which in _parts(order, cut, penalty))
    for arm, method in (("ogd", Ogd()), ("adagrad", AdaGrad())):
        forms = [replace(method, eta=eta) for eta in RATES]
        best = min(forms, key=lambda form: Score.of(outer, passed(form, inner, setting.seed)[0]).log_loss)
        yield Number("held-out log loss", arm, Score.of(judge, passed(best, whole, setting.seed)[0]).log_loss)


def _parts(order: Any, cut: int, penalty: Penalty | None) -> tuple[tuple[Any, Penalty | None], ...]:
    return (np.sort(order[cut:]), penalty), (np.sort(order[:cut]), None)


def split(setting: Setting, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Training and held-out rows: a click log's own with its views as weights, of other data a third by chance."""
    if setting.dataset.partition(":")[0] in KINDS:
        log = prepared(setting.dataset)
        train, test = (part.labelled("grouped") for part in (log.train, log.test))
        return Rows(train.X, train.y, train.weight), Rows(test.X, test.y, test.weight)
    rows, order = Rows(setting.X, setting.y, np.ones(len(setting.y))), rng.permutation(len(setting.y))
    cut = len(order) // HELD_OUT
    return rows.some(np.sort(order[cut:])), rows.some(np.sort(order[:cut]))


def regret(setting: Setting) -> Iterator[Number]:
    """`regret` after one pass: losses paid by AdaGrad, and by online gradient descent, less those of the best weights.

    Without a penalty: what is paid are losses.
    """
    problem = setting.problem.with_penalty(None)
    best = solve(Lbfgs(), problem, tol=GAP, max_seconds=setting.left(0.8))
    check_arrived(best, "the best fixed weights are not known")
    for arm, method in (("adagrad", AdaGrad()), ("ogd", Ogd())):
        paid = passed(method, problem, setting.seed)[1]
        yield Number("regret", arm, paid - best.certificate.objective)


def passed(method: Any, problem: Problem, seed: int) -> tuple[Array, float]:
    """W after one pass from 0, and the losses paid on the way."""
    state = method.init(problem, problem.zeros(), np.random.default_rng(seed))
    state = method.step(problem, state)
    return state.W, float(state.paid)
