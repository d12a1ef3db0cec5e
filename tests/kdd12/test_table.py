"""Table 1: the baseline, times at equal objective, and the table of planted lines."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pianobench.algorithms.peers import PEERS
from pianobench.datasets.kdd12.auc import auc
from pianobench.datasets.kdd12.clicks import Clicks
from pianobench.datasets.kdd12.layout import Some, joined
from pianobench.datasets.kdd12.named import prepared
from pianobench.experiments.clicks import arm, table
from pianobench.experiments.clicks.arm import Order
from pianobench.experiments.clicks.baseline import mean_rate
from pianobench.problems.kernels.compiled import threads

NAME = "kdd12:rows=1000,rate=0.2"
VW = PEERS["vw-bfgs"].available()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PIANOBENCH_CACHE", str(tmp_path / "cache"))
    with threads.limit(1):  # a process of its own has no need to set it back
        yield


def test_the_baseline_is_the_mean_rate_of_each_advertisement() -> None:
    source = Clicks(rows=1000, rate=0.2)
    train, test = (joined(Some(source, low, low + 1000).blocks()) for low in (0, 1000))
    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for ad, clicks, views in zip(train["ad"].tolist(), train.clicks.tolist(), train.views.tolist(), strict=True):
        counts[ad][0] += clicks
        counts[ad][1] += views
    overall = train.clicks.sum() / train.views.sum()
    scores = [counts[ad][0] / counts[ad][1] if ad in counts else overall for ad in test["ad"].tolist()]
    assert len({ad for ad in test["ad"].tolist() if ad not in counts}) > 50
    assert mean_rate(Some(source, 0, 1000), Some(source, 1000, 2000)) == auc(
        scores, test.clicks, test.views - test.clicks
    )


def order(method: str, **rest: Any) -> Order:
    least = arm.measure(Order(NAME, 1.0, "reference"))
    assert least["gap"] <= arm.REFERENCE
    return Order(NAME, 1.0, method, 1, (1e-2, 1e-4), least["lower"], **rest)


def test_a_time_is_that_of_the_first_point_near_enough() -> None:
    wanted = order("lbfgs", most=200)
    near, nearer = arm.measure(wanted)["reached"]
    assert 1e-4 < near["gap"] <= 1e-2
    assert near["arrived"]
    assert nearer["gap"] <= 1e-4
    assert near["step"] < nearer["step"]
    assert near["seconds"] < nearer["seconds"]
    assert near["passes"] >= near["step"]
    # one step less is not near enough, and is told as what it is
    for entry in (near, nearer):
        cut = arm.measure(Order(**{**vars(wanted), "targets": (entry["target"],), "most": entry["step"] - 1}))
        (before,) = cut["reached"]
        assert (before["arrived"], before["step"]) == (False, entry["step"] - 1)
        assert before["gap"] > entry["target"]


def test_rows_are_ranked_by_all_their_columns() -> None:
    problem, test = arm.problem_of(NAME, 1.0), prepared(NAME).test
    W = np.random.default_rng(0).normal(size=(problem.p, 2))
    scores = test.matrix() @ (W[:-1, 1] - W[:-1, 0])  # the intercept ranks nothing
    found = arm.area(problem, W, test)
    assert (found.area, found.positives) == (pytest.approx(auc(scores, *test.weights).area), test.clicks.sum())


def test_all_lines_of_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "process", arm.measure)  # in this process, for a start of each takes seconds
    monkeypatch.setattr(table, "OURS", ("lbfgs",))
    monkeypatch.setattr(table, "ONLINE", ("adagrad",))
    monkeypatch.setattr(table.environment, "available_cores", lambda: 1)
    lines = pd.DataFrame(table.run(NAME, table.Plan(1.0, 1, 1, 12, (1,))))
    ours = lines[lines["method"] == "lbfgs"]
    assert ours["arrived"].tolist() == [True, True, True]
    assert ours["target"].tolist() == list(table.TARGETS)
    assert set(lines["method"]) == {"mean rate per ad", "lbfgs", "adagrad", *table.THEIRS}
    if VW is None:
        theirs = lines[lines["method"] == "vw-bfgs-best"].iloc[0]
        assert theirs["step"] == 12
        assert 0.0 < theirs["gap"] < 0.1
        assert abs(theirs["area"] - ours["area"].iloc[-1]) < 0.05  # the same labels on the same side
    text = table.table(lines)
    assert text.count("mean rate per ad") == 1
    assert f"{ours['area'].iloc[0]:.4f} ±" in text


def test_lines_are_summed_up_by_medians() -> None:
    common = {"data": "log", "target": 1e-4, "arrived": True, "gap": 1e-5, "area": 0.7, "error": 0.01, "passes": 3.0}
    common |= {"step": 3, "peak_bytes": 1e6, "before_bytes": 1e6, "cpu_seconds": 1.0, "lam": 1.0, "train": 10}
    common |= {"test": 10, "rows": 11, "columns": 4, "objective": 1.0}
    own = [{**common, "method": "lbfgs", "threads": 1, "seconds": seconds} for seconds in (1.0, 2.0, 30.0)]
    slow = [{**common, "method": "vw-bfgs-best", "threads": 2, "seconds": 40.0}]
    fast = [{**common, "method": "vw-bfgs-best", "threads": 1, "seconds": seconds} for seconds in (9.0, 10.0, 10.5)]
    late = [{**common, "method": "vw-online-bfgs-best", "threads": 1, "seconds": 1.0, "arrived": False}]
    lines = pd.DataFrame([*own, *slow, *fast, *late])
    first, second, *_ = table.summary(lines)
    assert first["seconds"] == 2.0
    assert first["vw-bfgs-best / it"] == 5.0  # to the faster of the two numbers of threads
    assert math.isnan(first["vw-online-bfgs-best / it"])  # it has not arrived
    assert second["vw-bfgs-best / it"] == 0.25
    assert "not reached: 1.0e-05" in table.table(lines)
    absent = pd.DataFrame([*own, {**common, "method": "vw-bfgs-best", "remark": "not installed", "target": math.nan}])
    assert "| vw-bfgs-best | not installed |" in table.table(absent)


def test_a_process_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"PATH": "", "PYTHONHOME": f"{sys.prefix}-absent"}
    monkeypatch.setattr(table.environment, "for_cell", lambda *_: broken)
    with pytest.raises(RuntimeError, match=f"lbfgs on {NAME} ended with code"):
        table.process(Order(NAME, 1.0, "lbfgs"))
