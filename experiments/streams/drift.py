"""Every learner along streams with drift: what it decides, how it predicts, what it reads and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from pianobench.algorithms.stream import STREAMS, Log, Score, StreamState, make_stream
from pianobench.datasets.kdd12.auc import auc
from pianobench.experiments.streams.rows import Stream
from pianobench.problems import L2, Problem
from pianobench.problems.penalties import Array

BATCHES, HELD_OUT, SAMPLE = 10, 10_000, 2_000
RATES = (0.03, 0.3)
SIZES = (0.0, 0.25, 0.5, 1.0, 2.0)
SEEDS, GRADUAL = range(8), range(5)
# another solver for the same decisions is no other method here
LEARNERS = tuple(key for key in STREAMS if key != "sa-auto")


def streams(seeds: range = SEEDS) -> list[Stream]:
    """No drift, a sudden one of growing size, and a gradual one, at each click rate."""
    found = []
    for rate in RATES:
        for seed in seeds:
            found += [Stream("sudden" if size else "none", rate, size, seed) for size in SIZES]
            found += [Stream("gradual", rate, 1.0, seed)] if seed in GRADUAL else []
    return found


def run(stream: Stream, keys: tuple[str, ...] = LEARNERS, batches: int = BATCHES) -> Iterator[dict[str, Any]]:
    """A line for each learner and batch.

    ``area_before`` and ``area`` are of the models before and after the batch on rows held out of the batch's law, as
    is ``held_out``, the log loss of the one after. ``cpu_seconds`` are those of a step: score, decision, sample and
    training, its own certificates included.
    """
    rows = [stream.batch(t) for t in range(batches)]
    tests = [_held_out(stream, t) for t in range(batches)]
    for key in keys:
        learner, log = make_stream(key, rows=SAMPLE), Log([0, 1], L2(1.0))
        state: StreamState | None = None
        for t, (X, y) in enumerate(rows):
            log.add(X, y)
            before = state
            begun = time.process_time()
            state = learner.init(log, stream.seed) if state is None else learner.step(log, state)
            seconds = time.process_time() - begun
            yield {
                **{"kind": stream.kind, "rate": stream.rate, "size": stream.size, "seed": stream.seed},
                **{"learner": key, "batch": t, **asdict(state.last), "cpu_seconds": seconds},
                "area_before": float("nan") if before is None else area(tests[t], before.W),
                "area": area(tests[t], state.W),
                "held_out": Score.of(tests[t][0], state.W).log_loss,
            }


def _held_out(stream: Stream, t: int) -> tuple[Problem, Array, Array]:
    X, y = stream.batch(t, HELD_OUT, part=2)
    return Problem(X, y, classes=[0, 1]), X, y


def area(test: tuple[Problem, Array, Array], W: Array) -> float:
    """Area under the ROC curve of W (D + 1, 2) on rows held out."""
    _, X, y = test
    return auc(X @ (W[:-1, 1] - W[:-1, 0]), y == 1, y == 0).area


def after(streams: Any) -> Any:
    """What each learner does from the change on, against full retraining from 0: a line for each stream and learner.

    Parameters
    ----------
    streams : DataFrame
        Lines of `run`, those of streams without drift or with a sudden one are used.

    Returns
    -------
    DataFrame
        ``speed_up``: processor seconds of full retraining over its own, all batches from the change on. ``rows_ratio``:
        the same of rows read in training, endless where none was. ``area_lost``: mean area of full retraining minus its
        own, after each of these batches.
    """
    import pandas as pd

    late = streams[(streams["batch"] >= Stream.change) & (streams["kind"] != "gradual")]
    by = ["rate", "size", "seed", "learner"]
    sums = late.groupby(by).agg(
        cpu_seconds=("cpu_seconds", "sum"),
        rows_read=("rows_read", "sum"),
        updates=("updated", "sum"),
        area=("area", "mean"),
        held_out=("held_out", "mean"),
    )
    full = sums.xs("full-cold", level="learner").reindex(sums.index.droplevel("learner"))
    ratio = [
        many / one if one else float("inf") for many, one in zip(full["rows_read"], sums["rows_read"], strict=True)
    ]
    sums["speed_up"] = full["cpu_seconds"].to_numpy() / sums["cpu_seconds"]
    sums["rows_ratio"] = ratio
    sums["area_lost"] = full["area"].to_numpy() - sums["area"]
    return pd.DataFrame(sums.reset_index())
