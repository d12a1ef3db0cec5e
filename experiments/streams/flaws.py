"""Where the rule of SA L-BFGS goes blind, what its I says of a model, and what scoring I takes.

The models here are fixed, so that all that differs is the rule.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from pianobench.algorithms.loop import solve
from pianobench.algorithms.registry import make_solver
from pianobench.algorithms.stream import Log, Score
from pianobench.algorithms.stream.contract import Rule
from pianobench.algorithms.stream.rules import BatchRise, CumulativeRise
from pianobench.datasets.kdd12.auc import auc
from pianobench.experiments.streams.known import begun
from pianobench.experiments.streams.rows import STRENGTH, D, Stream, intercept, weights
from pianobench.problems import L2, Problem
from pianobench.problems.penalties import Array

TIMES = (3, 10, 40, 160)
DRIFT = 1.0  # s of the batch that has turned
TRAINED_ON = 10_000
RULES: dict[str, Rule] = {
    "as written": CumulativeRise("error"),
    "as written, of log loss": CumulativeRise("log_loss"),
    "repaired, of errors": BatchRise("error"),
    "repaired": BatchRise("log_loss"),
}
SIZES = (3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def blind(
    rates: tuple[float, ...], seeds: range, rows: int = 2000, times: tuple[int, ...] = TIMES
) -> Iterator[dict[str, Any]]:
    """Whether each rule fires at batch t, where the law turns and where it does not, after t batches without drift."""
    for rate in rates:
        for seed in seeds:
            stream = Stream("sudden", rate, DRIFT, seed, rows, change=max(times) + 1)
            W = _fitted(*stream.batch(0, TRAINED_ON, part=3))
            turned = _score(W, *stream.batch(max(times) + 1))
            for name, rule in RULES.items():
                log = Log([0, 1], L2(1.0), capacity=1)  # no old row is asked for
                log.add(*stream.batch(0))
                learner, state = begun(log, W, {}, rule)
                for t in range(1, max(times) + 1):
                    batch = stream.batch(t)
                    if t in times:
                        for drift, score in ((0, _score(W, *batch)), (1, turned)):
                            rise, spread = rule.judge(state, score)
                            fired = int(rule.fires(rise, spread))
                            line = {"rate": rate, "rows": rows, "seed": seed, "rule": name, "t": t, "drift": drift}
                            yield {**line, "rise": rise, "spread": spread, "fired": fired}
                    log.add(*batch)
                    state = learner.step(log, state)


def _fitted(X: Array, y: Array) -> Array:
    return solve(make_solver("lbfgs"), Problem(X, y, penalty=L2(1.0), classes=[0, 1]), tol=1e-6).W


def _score(W: Array, X: Array, y: Array) -> Score:
    return Score.of(Problem(X, y, classes=[0, 1]), W)


def fit(rates: tuple[float, ...], seeds: range, rows: int = 20_000) -> Iterator[dict[str, Any]]:
    """I, log loss and area of the law itself, of a model without features, and of one whose weights are reversed."""
    for rate in rates:
        for seed in seeds:
            stream = Stream("none", rate, 0.0, seed)
            X, y = stream.batch(0, rows)
            (w, b), zero = stream.law(0), np.zeros(D)
            mean = float(np.log(y.mean() / (1.0 - y.mean())))
            for name, W in (("true", weights(w, b)), ("constant", weights(zero, mean)), ("reversed", weights(-w, b))):
                score = _score(W, X, y)
                area = auc(X @ (W[:-1, 1] - W[:-1, 0]), y == 1, y == 0).area
                line = {"rate": rate, "seed": seed, "model": name, "clicked": float(y.mean())}
                yield {**line, "error": score.error, "log_loss": score.log_loss, "area": area}


def cost(sizes: tuple[int, ...] = SIZES, repeats: int = 7) -> Iterator[dict[str, Any]]:
    """Processor seconds of one evaluation of I, the rows and flops that it is charged, by the number of rows."""
    rng = np.random.default_rng(0)
    W = weights(rng.normal(size=D) * STRENGTH / np.sqrt(D), intercept(0.3))
    for rows in sizes:
        X = rng.normal(size=(rows, D))
        problem = Problem(X, (rng.random(rows) < 0.3).astype(int), classes=[0, 1])
        Score.of(problem, W)
        for repeat in range(repeats):
            before, begun = problem.meter.total, time.process_time()
            Score.of(problem, W)
            seconds, after = time.process_time() - begun, problem.meter.total
            charged = {"rows_read": after.rows - before.rows, "flops": after.flops - before.flops}
            yield {"rows": rows, "repeat": repeat, "cpu_seconds": seconds, **charged}
