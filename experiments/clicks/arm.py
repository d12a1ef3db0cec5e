"""One method on one click log, in a process of its own: when it came near the optimum, how it ranks, what it took.

Started by `table` as ``python -m``, with the path of an order and that of the answer, both JSON. Points are judged
between the steps, off the clock.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pianobench.algorithms.loop import iterate, solve
from pianobench.algorithms.registry import make_solver
from pianobench.datasets.kdd12.auc import Area, auc
from pianobench.datasets.kdd12.encoded import Encoded
from pianobench.datasets.kdd12.named import prepared
from pianobench.experiments.measure import peak_bytes
from pianobench.problems import L2, Problem
from pianobench.problems.kernels.compiled import threads
from pianobench.problems.penalties import Array

WARMUP_STEPS = 2
REFERENCE = 1e-9  # relative gap at which the optimum counts as known


@dataclass(frozen=True)
class Order:
    """What is to be measured.

    Attributes
    ----------
    data : str
        Name of a click log.
    lam : float
        Of ``lam/2 |W|^2``, beside a sum over the views.
    method : str
        Key of a solver, of Vowpal Wabbit, or "reference".
    threads : int
    targets : tuple of float
        Relative gaps ``(F - L) / F``, descending.
    lower : float
        L, the certified bound.
    most : int
        Steps at most.
    cache : str
        File of Vowpal Wabbit's rows; "" for others.
    """

    data: str
    lam: float
    method: str
    threads: int = 1
    targets: tuple[float, ...] = ()
    lower: float = 0.0
    most: int = 0
    cache: str = ""


@dataclass(frozen=True)
class Point:
    """Where a method was.

    Attributes
    ----------
    step : int
    seconds, cpu_seconds, passes : float
        So far, from the start of training; passes are rows read over rows there are.
    W : array (p, 2)
    """

    step: int
    seconds: float
    cpu_seconds: float
    passes: float
    W: Array


def problem_of(data: str, lam: float) -> Problem:
    """The weighted logistic problem of the training rows."""
    rows = prepared(data).train.labelled("grouped")
    return Problem(rows.X, rows.y, sample_weight=rows.weight, penalty=L2(lam))


def area(problem: Problem, W: Array, rows: Encoded) -> Area:
    """How W (p, 2) ranks rows."""
    coef, _ = problem.to_user(W)
    v = coef[1] - coef[0]
    block = 200_000
    scores = [v[rows.columns[low : low + block]].sum(axis=1) for low in range(0, len(rows), block)]
    return auc(np.concatenate(scores), *rows.weights)


def measure(order: Order) -> dict[str, Any]:
    """What the method did: ``reached``, one entry a target, and peak memory."""
    threads.set_count(order.threads)
    with threadpool_limits(order.threads):
        problem = problem_of(order.data, order.lam)
        if order.method == "reference":
            found = solve(make_solver("lbfgs-preconditioned"), problem, tol=REFERENCE)
            c = found.certificate
            return {"objective": c.objective, "lower": c.lower, "gap": c.gap, "rows": problem.n, "columns": problem.d}
        told: dict[str, Any] = {}
        points = _theirs(order, problem, told) if order.cache else _ours(order, problem, told)
        judge, test = problem.off_the_clock(), prepared(order.data).test
        reached: list[dict[str, Any]] = []
        ahead = list(order.targets)
        last, gap = None, 1.0
        for point in points:
            F = judge.value(point.W)
            last, gap = point, (F - order.lower) / F
            while ahead and gap <= ahead[0]:
                reached.append({"target": ahead.pop(0), "gap": gap, "arrived": True, "point": point})
            if not ahead:
                break
        points.close()
        assert last is not None
        reached += [{"target": target, "gap": gap, "arrived": False, "point": last} for target in ahead]
        for entry in reached:  # after the peak of memory has been read
            at = entry.pop("point")
            found_area = area(problem, at.W, test)
            entry.update(step=at.step, seconds=at.seconds, cpu_seconds=at.cpu_seconds, passes=at.passes)
            entry.update(area=found_area.area, error=found_area.error)
        return {"reached": reached, **told}


def _ours(order: Order, problem: Problem, told: dict[str, Any]) -> Generator[Point]:
    solver = make_solver(order.method)
    solve(solver, problem.tiny(), max_steps=WARMUP_STEPS, tol=0.0)
    told["before_bytes"] = _forget_peak()
    before, seconds, cpu_seconds = problem.meter.total.rows, 0.0, 0.0
    states = iterate(solver, problem, rng=np.random.default_rng(0))
    try:
        for step in range(order.most + 1):
            cpu, start = time.process_time(), time.perf_counter()
            state = next(states)
            seconds += time.perf_counter() - start
            cpu_seconds += time.process_time() - cpu
            yield Point(step, seconds, cpu_seconds, (problem.meter.total.rows - before) / problem.n, state.W)
    finally:
        told["peak_bytes"] = peak_bytes()


def _theirs(order: Order, problem: Problem, told: dict[str, Any]) -> Generator[Point]:
    from pianobench.algorithms.peers import make_peer

    box: Any = make_peer(order.method)  # whose passes alone end it
    with Path(order.cache).open("rb") as file:
        native = pickle.load(file)  # written by `table` a moment ago
    passes, info = box.passes(native, order.most, order.threads)
    told["peak_bytes"] = info["peak_bytes"]
    for k, one in enumerate(passes, start=1):
        share = info["cpu_seconds"] * (k + box.online) / (len(passes) + box.online)  # it tells that of all passes
        yield Point(k, one.seconds, share, k + box.online, problem.from_user(one.coef, one.b))


def _forget_peak() -> int | None:
    """Set this process's peak memory to what it holds now, where the system can; returns that peak."""
    try:
        Path("/proc/self/clear_refs").write_text("5", "ascii")
    except OSError:
        return None
    return peak_bytes()


def main(order: str, answer: str) -> None:
    """Carry out an order."""
    said = json.loads(Path(order).read_text("utf-8"))
    told = measure(Order(**{**said, "targets": tuple(said["targets"])}))
    Path(answer).write_text(json.dumps(told), "utf-8")


def written(order: Order) -> str:
    """The order as `main` reads it."""
    return json.dumps(asdict(order))


if __name__ == "__main__":
    main(*sys.argv[1:])
