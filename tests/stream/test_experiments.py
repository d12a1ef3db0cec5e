"""The experiments on streams: rows with a known law, Table 2's arms, what is made of the tables, and the page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pianobench.algorithms.stream import Log, Score
from pianobench.algorithms.stream.rules import CumulativeRise
from pianobench.datasets.kdd12.named import prepared
from pianobench.datasets.registry import load, size
from pianobench.experiments.streams import arm, draws, drift, flaws, known, measure, other, page, table2
from pianobench.experiments.streams.arm import of_model
from pianobench.experiments.streams.rows import STRENGTH, Stream, weights
from pianobench.plots import streams as plots
from pianobench.problems import L2, Problem
from pianobench.problems.kernels.compiled import threads

NAME = "kdd12:rows=500,rate=0.2,interaction=1"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PIANOBENCH_CACHE", str(tmp_path / "cache"))
    with threads.limit(1):  # a process of its own has no need to set it back
        yield


# rows -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.03, 0.3])
def test_the_law_turns_and_keeps_rate_and_length(rate: float) -> None:
    stream = Stream("sudden", rate, 2.0, seed=3)
    (before, _), (after, _) = stream.law(stream.change - 1), stream.law(stream.change)
    assert before @ after / STRENGTH**2 == pytest.approx(1 / math.sqrt(5))
    assert np.linalg.norm(before) == pytest.approx(STRENGTH) == np.linalg.norm(after)
    for t in (0, stream.change):
        X, y = stream.batch(t, 40_000)
        assert y.mean() == pytest.approx(rate, abs=5 * math.sqrt(rate / 40_000))
        right, wrong = (Score.of(Problem(X, y), weights(*stream.law(one))).log_loss for one in (t, stream.change - t))
        assert right < wrong


def test_drift_by_degrees_and_none() -> None:
    gradual = replace(Stream("gradual", 0.3, 1.0, 0), change=4)
    assert [gradual.turned(t) for t in range(8)] == [0.0, 0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    assert Stream("none", 0.3, 1.0, 0).turned(99) == 0.0
    X, _ = gradual.batch(2)
    np.testing.assert_array_equal(X, gradual.batch(2)[0])
    assert not np.array_equal(X, gradual.batch(2, part=2)[0])
    with pytest.raises(ValueError, match=r"rate=1\.0"):
        Stream("none", 1.0, 0.0, 0)


# table 2 --------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("cache")
def test_all_arms_of_table_2(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = (prepared(of_model(NAME, k)) for k in (1, 2))
    where = arm.places(old, new)
    w = np.random.default_rng(0).normal(size=old.recipe.d + 1)
    wide = np.zeros(new.recipe.d + 1)
    wide[where] = w
    np.testing.assert_allclose(new.test.matrix() @ wide[:-1], old.test.matrix() @ w[:-1])
    other_rows = prepared(of_model(NAME.replace("interaction=1", "seed=1"), 2))
    with pytest.raises(ValueError, match="not the same"):
        arm.places(old, other_rows)

    monkeypatch.setattr(table2, "process", arm.measure)  # in this process, for a start of each takes seconds
    monkeypatch.setattr(table2, "SHARES", (0.5,))
    lines = pd.DataFrame(table2.run(NAME, table2.Plan(lam=10.0, repeats=1, methods=arm.OURS))).set_index("method")
    assert set(lines.index) == {"model-1", *arm.OURS}
    stopped = lines.index.str.endswith("-10") | (lines.index == "keep")
    assert (lines.loc[~stopped, "gap"] <= 1e-4).all()
    assert (lines.loc[lines.index.str.startswith("full"), "full_gap"] <= 1e-4).all()
    assert lines.loc["keep", "area"] == pytest.approx(lines.loc["model-1", "area"], abs=1e-12)
    assert lines.loc["keep", "full_gap"] > 1e-4
    assert lines.loc["sa-lbfgs", "sample"] == round(0.5 * lines.loc["full-cold", "sample"])
    assert lines.loc["full-warm", "steps"] < lines.loc["full-cold", "steps"]
    assert lines.loc["sa-lbfgs-10", "steps"] == 10
    # without the pairs the first step is another one
    assert lines.loc["sa-lbfgs-10", "objective"] != lines.loc["subsample-warm-10", "objective"]
    text = table2.table(lines.reset_index())
    assert text.count("SA L-BFGS") == 2


def test_an_arm_is_told_what_it_is_against_full_retraining() -> None:
    common = {"data": "log", "share": 1.0, "arrived": True, "gap": 1e-5, "full_gap": 1e-5, "area": 0.70, "error": 0.01}
    full = [
        {
            **common,
            "method": "full-cold",
            "seconds": s,
            "cpu_seconds": 3 * s,
            "steps": 10,
            "rows_read": 2000,
            "sample": 100,
        }
        for s in (1.0, 2.0, 30.0)
    ]
    few = {**full[0], "method": "sa-lbfgs", "share": 0.1, "seconds": 0.1, "cpu_seconds": 0.2, "rows_read": 50}
    kept = {**full[0], "method": "keep", "seconds": 0.0, "cpu_seconds": 0.0, "rows_read": 0, "sample": 0}
    _, sa, keep = table2.summary(pd.DataFrame([*full, {**few, "sample": 10, "area": 0.69}, kept]))
    assert sa["speed_up"] == pytest.approx(20.0)  # of the medians
    assert sa["cpu_speed_up"] == pytest.approx(30.0)
    assert (sa["fewer_rows"], sa["fewer_passes"]) == (10.0, 4.0)
    assert sa["loss"] == pytest.approx(0.01)
    assert math.isinf(keep["speed_up"])
    assert table2.file_name("kdd12:rows=2e6,interaction=1") == "table2_kdd12-rows=2e6-interaction=1"


# streams --------------------------------------------------------------------------------------------------------------


def test_a_stream_is_told_batch_by_batch() -> None:
    stream = Stream("sudden", 0.3, 2.0, seed=1, rows=1000, change=4)
    lines = pd.DataFrame(drift.run(stream, ("keep", "sa-lbfgs-repaired", "full-cold"), batches=6))
    assert lines.groupby("learner").size().tolist() == [6, 6, 6]
    keep, repaired, full = (
        lines[lines["learner"] == key].reset_index() for key in ("keep", "sa-lbfgs-repaired", "full-cold")
    )
    assert keep["updated"].tolist() == [1, 0, 0, 0, 0, 0]
    assert repaired["updated"].iloc[4] == 1
    assert repaired["area"].iloc[5] > keep["area"].iloc[5] + 0.05
    assert (keep["area"].iloc[1:] == keep["area_before"].iloc[1:]).all()
    assert full["rows_read"].iloc[5] > repaired["rows_read"].iloc[5]
    assert len(drift.streams()) == 2 * (8 * 5 + 5)


def test_what_comes_after_a_drift_is_measured_against_full_retraining() -> None:
    base = {"kind": "sudden", "rate": 0.3, "size": 1.0, "seed": 0, "updated": 1, "held_out": 0.5}
    lines = [
        {**base, "learner": key, "batch": batch, "cpu_seconds": cpu, "rows_read": rows, "area": area}
        for key, cpu, rows, area in (("full-cold", 4.0, 100, 0.8), ("keep", 0.5, 0, 0.7))
        for batch in (0, Stream.change, Stream.change + 1)
    ]
    found = drift.after(pd.DataFrame(lines)).set_index("learner")
    assert found.loc["keep", "speed_up"] == 8.0
    assert math.isinf(found.loc["keep", "rows_ratio"])
    assert found.loc["keep", "area_lost"] == pytest.approx(0.1)
    assert found.loc["full-cold", "rows_ratio"] == 1.0
    assert found.loc["full-cold", "rows_read"] == 200  # the batch before the change is left out


def test_flaws_draws_and_anchor() -> None:
    lines = pd.DataFrame(flaws.blind((0.3,), range(2), times=(3, 40)))
    fired = lines[lines["drift"] == 1].groupby(["rule", "t"])["fired"].mean()
    assert fired["as written", 3] > fired["as written", 40]
    assert fired["repaired"].min() == 1.0
    models = pd.DataFrame(flaws.fit((0.03,), range(1))).set_index("model")
    assert models.loc["reversed", "error"] < 1.1 * models.loc["true", "error"]
    assert models.loc["reversed", "log_loss"] > 1.5 * models.loc["true", "log_loss"]
    counted = pd.DataFrame(flaws.cost((100, 1000), repeats=1))
    assert counted["flops"].iloc[1] == 10 * counted["flops"].iloc[0] > 0
    spread = pd.DataFrame(draws.spread((0.3,), range(1), draws=2)).drop_duplicates("newest").set_index("newest")
    assert spread["flagged"].to_dict() == {"ordinary": 0, "turned": 1, "flipped": 1}
    assert spread.loc["flipped", "area_spread"] > 10 * spread.loc["ordinary", "area_spread"]
    anchored = pd.DataFrame(draws.anchor((0.3,), range(1))).set_index("mu")
    assert anchored.loc[math.inf, "old_rows"] == 0
    assert anchored.loc[1.0, "log_loss_old"] < anchored.loc[math.inf, "log_loss_old"]
    paid = pd.DataFrame(other.regret(range(1), (1000, 4000)))
    assert (paid["regret"] > 0).all()


def test_a_known_model_stays_and_its_rule_is_asked() -> None:
    stream = Stream("sudden", 0.3, 1.0, 0, rows=500, change=1)
    log, W = Log([0, 1], L2(1.0)), weights(*stream.law(0))
    log.add(*stream.batch(0))
    learner, before = known.begun(log, W, {}, CumulativeRise())
    log.add(*stream.batch(1))
    after = learner.step(log, before)
    assert after.W is W
    assert after.last.updated == 0
    assert after.last.rise > after.last.spread == 0.0  # it would have fired
    problem, *sizes = draws.NewAlone(300).choose(log, 5.0, np.random.default_rng(0))
    assert (problem.n, *sizes) == (300, 300, 0)


# page -----------------------------------------------------------------------------------------------------------------


def test_the_page_is_in_step_with_the_stored_tables() -> None:
    text = page.PAGE.read_text("utf-8")
    assert text == page.filled(text), "run python -m pianobench.experiments.streams.page"
    assert all(f"<!-- {name} -->" in text for name in page.TABLES)
    for name in page.figures():
        assert 0 < (page.DOCS / f"{name}.png").stat().st_size <= 120_000
        assert f"({name}.png)" in text


def test_a_stored_table_is_read_as_it_was(tmp_path: Path) -> None:
    lines = pd.DataFrame({"a": [1.0, math.inf, math.nan], "b": ["x", "y", "z"]})
    for name in ("streams", "fit"):
        measure.store(name, lines, {"about": "a test"}, tmp_path)
        pd.testing.assert_frame_equal(measure.read(name, tmp_path), lines)
    packed = measure.file_of("streams", tmp_path).read_bytes()
    assert packed[4:8] == bytes(4)  # no time in it: equal tables make equal bytes


def test_samples_drawn_stand_on_the_map() -> None:
    common: dict[str, Any] = {"learner": "sa-lbfgs", "rate": 0.3, "updated": 1, "spread": 0.1}
    lines = [{**common, "batch": 0, "rise": math.nan, "new_rows": 500, "old_rows": 0}]  # the first is no sample
    lines += [{**common, "batch": 4, "rise": 0.2, "new_rows": 800, "old_rows": 200}]
    figure = plots.sample_sizes(pd.DataFrame(lines), 1000)
    new, old, *points = figure.axes[0].lines
    assert np.interp(2.0, new.get_xdata(), new.get_ydata()) == pytest.approx(800, rel=1e-3)
    assert np.interp(2.0, old.get_xdata(), old.get_ydata()) == pytest.approx(200, rel=1e-2)
    assert [(p.get_xdata().tolist(), p.get_ydata().tolist()) for p in points] == [([2.0], [800]), ([2.0], [200])]


def test_a_turning_data_set_is_the_batches_of_its_stream() -> None:
    plain, turned, flipped = (load(f"turning{rest}") for rest in ("", ":drift=1,seed=2", ":flipped=1"))
    assert (plain.n, plain.d, plain.m) == (size("turning:rate=0.1").n, 20, 2) == (20_000, 20, 2)
    X, y = Stream("sudden", 0.3, 1.0, 2).batch(7)
    np.testing.assert_array_equal(turned.X[7 * 2000 : 8 * 2000], X)
    np.testing.assert_array_equal(turned.y[7 * 2000 : 8 * 2000], y)
    ninth = slice(8 * 2000, 9 * 2000)
    assert np.flatnonzero(flipped.y != plain.y).tolist() == list(range(ninth.start, ninth.stop))
    assert turned.name == "turning:drift=1,seed=2"
    with pytest.raises(ValueError, match="turning has no parameter 'drfit': did you mean drift"):
        load("turning:drfit=1")
