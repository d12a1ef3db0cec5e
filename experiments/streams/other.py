"""Two claims beside the stream: what zeros by l1 take and cost, and how the regret of AdaGrad grows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from pianobench.algorithms.loop import solve
from pianobench.algorithms.registry import make_solver
from pianobench.datasets.kdd12.named import prepared
from pianobench.experiments.clicks.arm import area
from pianobench.experiments.streams.arm import of_model
from pianobench.experiments.streams.rows import Stream
from pianobench.problems import L1, L2, Problem

LOGS = ("kdd12_small",)
STRENGTHS = (2.0, 5.0, 10.0, 20.0, 50.0)
ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)
TOL = 1e-3


def sparse(logs: tuple[str, ...] = LOGS, strengths: tuple[float, ...] = STRENGTHS) -> Iterator[dict[str, Any]]:
    """Model 2 under l2 of 1 and under l1 of growing strength: seconds, weights that are not 0, area on the test rows.

    ``kept`` counts the columns of which some class has a weight other than 0.
    """
    for name in logs:
        encoded = prepared(of_model(name, 2))
        rows = encoded.train.labelled("grouped")
        for penalty, solver in [(L2(1.0), "lbfgs"), *((L1(strength), "owl-qn") for strength in strengths)]:
            problem = Problem(rows.X, rows.y, sample_weight=rows.weight, penalty=penalty)
            solve(make_solver(solver), problem.tiny(), max_steps=2, tol=0.0)
            begun = time.process_time()
            found = solve(make_solver(solver), problem, tol=TOL, few=True, max_steps=2000)
            seconds, kept = time.process_time() - begun, int(np.any(found.W[:-1], axis=1).sum())
            at = area(problem, found.W, encoded.test)
            yield {
                "data": name,
                "penalty": penalty.kind,
                "strength": penalty.l1 or penalty.l2,
                "cpu_seconds": seconds,
                "steps": found.steps,
                "gap": found.certificate.gap,
                "columns": problem.d,
                "kept": kept,
                "area": at.area,
                "error": at.error,
            }


def regret(seeds: range, sizes: tuple[int, ...] = ROWS) -> Iterator[dict[str, Any]]:
    """Losses that AdaGrad and gradient descent pay in a pass over the rows, and that of the best fixed weights."""
    for seed in seeds:
        for n in sizes:
            X, y = Stream("none", 0.3, 0.0, seed).batch(0, n)
            problem = Problem(X, y, classes=[0, 1])
            best = solve(make_solver("lbfgs"), problem, tol=1e-8).certificate.objective
            for key in ("adagrad", "ogd"):
                method = make_solver(key)
                state = method.init(problem, problem.zeros(), np.random.default_rng(seed))
                paid = method.step(problem, state).paid
                yield {"seed": seed, "rows": n, "method": key, "paid": paid, "best": best, "regret": paid - best}
