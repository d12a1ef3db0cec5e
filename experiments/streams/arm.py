"""One method of Table 2 in a process of its own: what it makes of the new features, how long it takes, what it reads.

Started by `table2` as ``python -m``, with the path of an order and that of the answer, both JSON. Rows are in memory
before the clock starts; drawing a sample is on the clock, judging a point is not.
"""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pianobench.algorithms.loop import iterate, solve
from pianobench.algorithms.registry import make_solver
from pianobench.algorithms.stream import Log, Score, StreamState, widened
from pianobench.algorithms.stream.trainers import LbfgsRun
from pianobench.datasets.kdd12.named import prepared
from pianobench.datasets.kdd12.prepared import Prepared
from pianobench.experiments.clicks.arm import area
from pianobench.experiments.streams.known import begun
from pianobench.problems import L2, Problem
from pianobench.problems.kernels.compiled import threads
from pianobench.problems.penalties import Array

WARMUP_STEPS = 2
REFERENCE = 1e-7  # relative gap at which the optimum counts as known
MOST = 1000  # steps
FEW = 10  # steps of the methods whose names end so: from a model that is near, on rows that are few
BEST = "-preconditioned"  # the methods whose names end so: L-BFGS in its best form
SAMPLES = ("sa-lbfgs", "subsample-warm", "subsample-cold", f"subsample-warm{BEST}", "sa-lbfgs-10", "subsample-warm-10")
FULL = ("full-cold", "full-warm", "full-warm-pairs", f"full-cold{BEST}", f"full-warm{BEST}")
OURS = (*FULL, *SAMPLES, "keep")


@dataclass(frozen=True)
class Order:
    """What is to be measured.

    Attributes
    ----------
    data : str
        Name of a click log without its model: that of `of_model`.
    lam : float
        Of ``lam/2 |W|^2``, beside a sum over the views.
    method : str
        One of `OURS`, "model-1", or "reference-1" and "reference-2" for the optimum of a model.
    target : float
        Relative gap ``(F - L) / F`` on the rows that the method trains on.
    lower : float
        L of all rows, the certified bound.
    share : float
        Of the rows, that a sample has.
    seed : int
        Of the sample.
    model : str
        File that "model-1" writes, and the others read.
    """

    data: str
    lam: float
    method: str
    target: float = 1e-4
    lower: float = 0.0
    share: float = 1.0
    seed: int = 0
    model: str = ""


def of_model(data: str, model: int) -> str:
    """Name of a click log with another model."""
    family, _, text = data.partition(":")
    rest = [word for word in text.split(",") if word and not word.startswith("model=")]
    return f"{family}:{','.join([*rest, f'model={model}'])}"


def log_of(encoded: Prepared, lam: float) -> Log:
    """The weighted training rows as one batch."""
    rows = encoded.train.labelled("grouped")
    log = Log([0, 1], L2(lam))
    log.add(rows.X, rows.y, rows.weight)
    return log


def places(before: Prepared, after: Prepared) -> NDArray[np.intp]:
    """Where the weights of a model go in one of more features, its intercept included; see `widened`.

    Raises
    ------
    ValueError
        The two are not of the same rows in the same order, or the old features have other values.
    """
    number = {name: column for column, name in enumerate(after.recipe.names)}
    where = np.array([number[name] for name in before.recipe.names], np.intp)
    for part, rows in before.parts.items():
        other = after.parts[part]
        if not (np.array_equal(rows.clicks, other.clicks) and np.array_equal(rows.views, other.views)):
            raise ValueError(f"the {part} rows of the two models are not the same: encode both from one log")
        old = where[rows.columns]
        found = np.isin(other.columns, where)
        if not np.array_equal(np.sort(old, axis=1), other.columns[found].reshape(old.shape)):
            raise ValueError(f"the {part} rows have other values in the features that both models have")
    return np.append(where, after.recipe.d)


def measure(order: Order) -> dict[str, Any]:
    """What the method did, one entry for the table."""
    threads.set_count(1)
    with threadpool_limits(1):
        if order.method.startswith("reference-"):
            return _reference(order)
        new = prepared(of_model(order.data, 1 if order.method == "model-1" else 2))
        log = log_of(new, order.lam)
        known = None if order.method == "model-1" else _widened(order, new)
        warm_up(log)
        told, W = _trained(order, log, known)
        whole = log.whole_problem()
        found, F = area(whole, W, new.test), whole.value(W)
        told |= {"area": found.area, "error": found.error, "objective": F, "full_gap": (F - order.lower) / F}
        if known is not None:
            told |= _scored(whole, known.W)
        return told


def _reference(order: Order) -> dict[str, Any]:
    encoded = prepared(of_model(order.data, int(order.method[-1])))
    problem = log_of(encoded, order.lam).whole_problem()
    c = solve(make_solver("lbfgs-preconditioned"), problem, tol=REFERENCE).certificate
    sizes = {"rows": problem.n, "columns": problem.d, "train": len(encoded.train), "test": len(encoded.test)}
    return {"objective": c.objective, "lower": c.lower, "gap": c.gap, **sizes}


def _widened(order: Order, new: Prepared) -> StreamState:
    """Model 1 with a weight of 0 for each feature that is new, and 0 in its pairs."""
    old = prepared(of_model(order.data, 1))
    with np.load(order.model) as saved:
        memory = {name: saved[name] for name in ("pairs_s", "pairs_y")}
        W = saved["W"]
    log = Log([0, 1], L2(order.lam))
    log.add(old.train.rows(slice(0, 2)).matrix(), [0, 1])  # of Model 1's columns
    _, state = begun(log, W, memory)
    return widened(state, places(old, new), new.recipe.d + 1)


def warm_up(log: Log) -> None:
    """Everything is compiled."""
    problem = log.sample(64, 0, np.random.default_rng(0))
    for key in ("lbfgs", "lbfgs-preconditioned"):
        solve(make_solver(key), problem, max_steps=WARMUP_STEPS, tol=0.0)
    Score.of(problem, problem.zeros())


class Clock:
    """Adds up the seconds of what runs within it."""

    def __init__(self) -> None:
        self.seconds, self.cpu_seconds = 0.0, 0.0

    def __enter__(self) -> None:
        self._begun = time.process_time(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._begun[1]
        self.cpu_seconds += time.process_time() - self._begun[0]


def _trained(order: Order, log: Log, known: StreamState | None) -> tuple[dict[str, Any], Array]:
    clock, whole = Clock(), log.whole_problem()
    if order.method == "keep":
        assert known is not None
        nothing = {"sample": 0, "steps": 0, "rows_read": 0.0, "gap": math.nan, "arrived": True}
        return {"seconds": 0.0, "cpu_seconds": 0.0, **nothing}, known.W
    problem, lower, rng = whole, order.lower, np.random.default_rng([order.seed, 1])
    if order.method in SAMPLES:
        with clock:
            problem = log.sample(round(order.share * log.rows), 0, rng)
        lower = solve(make_solver("lbfgs-preconditioned"), problem.off_the_clock(), tol=REFERENCE).certificate.lower
    warm = known is not None and "-cold" not in order.method
    W0 = known.W if warm and known is not None else problem.zeros()
    carries = order.method.startswith("sa-lbfgs") or order.method == "full-warm-pairs"
    pairs = known.memory if carries and known is not None else {}
    most = FEW if order.method.endswith("-10") else MOST
    trainer = LbfgsRun(order.target)
    before = problem.meter.total.rows
    best = order.method.endswith(BEST)
    method = make_solver("lbfgs-preconditioned") if best else trainer.method(problem, pairs)
    states = iterate(method, problem, W0, rng)
    steps, gap = -1, math.inf
    while gap > order.target and steps < most:
        with clock:
            state = next(states)
        steps, gap = steps + 1, (state.f - lower) / state.f  # f is F where the penalty is l2
    if order.method == "model-1":
        saved: dict[str, Any] = {"W": state.W, **trainer.memory(problem, state)}
        np.savez(order.model, **saved)
    return {
        "seconds": clock.seconds,
        "cpu_seconds": clock.cpu_seconds,
        "sample": problem.n,
        "steps": steps,
        "rows_read": problem.meter.total.rows - before,
        "gap": gap,
        "arrived": bool(gap <= order.target),
    }, state.W


def _scored(whole: Problem, W: Array) -> dict[str, Any]:
    """I of the model before, on all rows: what saying whether it still fits would take."""
    clock = Clock()
    with clock:
        score = Score.of(whole.off_the_clock(), W)
    return {
        "score_seconds": clock.seconds,
        "score_cpu_seconds": clock.cpu_seconds,
        "score_error": score.error,
        "score_log_loss": score.log_loss,
    }


def main(order: str, answer: str) -> None:
    """Carry out an order."""
    told = measure(Order(**json.loads(Path(order).read_text("utf-8"))))
    Path(answer).write_text(json.dumps(told), "utf-8")


def written(order: Order) -> str:
    """The order as `main` reads it."""
    return json.dumps(asdict(order))


if __name__ == "__main__":
    main(*sys.argv[1:])
