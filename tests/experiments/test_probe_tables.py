"""Tables 1 and 2 and the streams as probes: lines of the experiments become the numbers that the rules ask for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from probing import of, setting

from pianobench.datasets.turning import Stream
from pianobench.experiments.clicks import table as clicks
from pianobench.experiments.probes import table_1, table_2, turning
from pianobench.experiments.probes.setting import Number, Setting, Unmeasured
from pianobench.experiments.streams import draws, table2
from pianobench.problems import L2


def log(name: str = "kdd12_small") -> Setting:
    return setting(L2(1.0), 1.0, "two classes", dataset=name)


def until_it_stops(numbers: Iterator[Number]) -> tuple[list[Number], str]:
    """What was told before the end, and the reason of the end."""
    found = []
    try:
        for number in numbers:
            found.append(number)
    except Unmeasured as reason:
        return found, str(reason)
    return found, ""


# Table 1 --------------------------------------------------------------------------------------------------------------


def lines_of_table_1(data: str, plan: clicks.Plan) -> Iterator[dict[str, Any]]:
    assert (data, plan.lam, plan.threads, plan.vw_threads) == ("kdd12_small", 1.0, (1,), (1,))
    common = {"target": plan.targets[0], "arrived": True, "gap": 1e-6, "step": 9, "remark": math.nan}
    yield {"method": "mean rate per ad", "area": 0.5}
    for method, seconds in (("lbfgs", 2.0), ("vw-bfgs-best", 8.0), ("vw-online-bfgs-best", 4.0)):
        if method in plan.methods:
            yield {**common, "method": method, "seconds": seconds, "peak_bytes": 10 * seconds, "area": 0.7 + seconds}


def test_times_memory_and_areas_of_table_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_1, "run", lines_of_table_1)
    wabbit = ("vowpal-wabbit", "vowpal-wabbit-online-first")
    assert of("table-1", log()) == {
        (quantity, arm): factor * seconds
        for quantity, factor in (("seconds to equal objective", 1), ("peak memory of training", 10))
        for arm, seconds in zip(("lbfgs", *wabbit), (2.0, 8.0, 4.0), strict=True)
    }
    found = of("table-1-areas", log())
    assert [found["area under the curve", arm] for arm in ("mean-rate", "lbfgs", wabbit[0])] == [0.5, 2.7, 8.7]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"remark": "pylibvw is not installed"}, "vowpal-wabbit: pylibvw is not installed"),
        ({"arrived": False, "gap": 0.25}, "vowpal-wabbit: at a gap of 0.25 after 9 steps"),
    ],
)
def test_an_arm_that_is_missing_has_no_number_and_a_reason(
    change: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoilt(data: str, plan: clicks.Plan) -> Iterator[dict[str, Any]]:
        for line in lines_of_table_1(data, plan):
            yield line | change if line["method"] == "vw-bfgs-best" else line

    monkeypatch.setattr(table_1, "run", spoilt)
    found, told = until_it_stops(table_1.areas(log()))
    assert [number.arm for number in found] == ["mean-rate", "lbfgs"]
    assert told.startswith(reason)
    with pytest.raises(Unmeasured, match="iris under l2: a click log under l2 is expected"):
        next(table_1.times(log("iris")))


# Table 2 --------------------------------------------------------------------------------------------------------------

FULL = {"seconds": 8.0, "cpu_seconds": 7.0, "steps": 100, "sample": 2000, "area": 0.7, "arrived": True, "gap": 1e-5}
SCORED = {**FULL, "score_seconds": 0.5, "score_cpu_seconds": 0.25}
OTHERS = {
    "model-1": {"area": 0.69},
    "full-cold": {},
    "full-warm": {"seconds": 4.0},
    "vw-bfgs-best": {"seconds": 80.0, "area": 0.7005},
    "sa-lbfgs": {"seconds": 1.5, "cpu_seconds": 1.0, "steps": 50, "sample": 100, "area": 0.69},
    "subsample-cold": {"seconds": 1.0, "area": 0.6995},
    "subsample-warm": {"seconds": 0.5, "area": 0.5},
    "keep": {"seconds": 0.0, "area": 0.699001},
}


def lines_of_table_2(data: str, plan: table2.Plan) -> Iterator[dict[str, Any]]:
    assert (data, plan.repeats, plan.shares) == ("kdd12_small", 1, (table_2.SHARE,))
    for method, change in OTHERS.items():
        if method in (*plan.methods, "model-1"):
            yield {**SCORED, **change, "method": method}


def test_seconds_of_an_update_and_what_explains_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_2, "run", lines_of_table_2)
    found = of("table-2", log())
    arms = list(table_2.ARMS.values())
    assert [found["seconds of an update", arm] for arm in arms] == [8.0, 4.0, 80.0, 2.0, 1.0, 0.5, 0.0]
    assert found["processor seconds of an update", "sa-lbfgs"] == 1.25, "I is to be asked"
    accurate = [found["seconds of an accurate update", arm] for arm in arms]
    assert accurate == [8.0, 4.0, 80.0, math.inf, 1.0, math.inf, 0.0]
    assert found["speed-up over its two factors", "sa-lbfgs"] == (8.0 / 2.0) / (2 * 20)
    monkeypatch.setitem(OTHERS, "full-cold", {"remark": "its process failed"})
    rest, told = until_it_stops(table_2.times(log()))
    assert {number.quantity for number in rest} == {"seconds of an update", "processor seconds of an update"}
    assert told == "full: its process failed"


def test_areas_of_an_update(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = [
        {"kept": 400, "area": 0.9},
        {"kept": 201, "area": 0.8},
        {"kept": 200, "area": 0.6},
        {"kept": 9, "area": 0},
    ]
    monkeypatch.setattr(table_2, "run", lines_of_table_2)
    monkeypatch.setattr(table_2.other, "sparse", lambda *_: iter(sparse))
    found = of("table-2-areas", log())
    arms = ("model-1", "model-2", "full", "vowpal-wabbit", "sa-lbfgs", "l1")
    assert [found["area after an update", arm] for arm in arms] == [0.69, 0.7, 0.7, 0.7005, 0.69, 0.6]
    with pytest.raises(Unmeasured, match="l1 of 100 keeps more than half of the 400 weights"):
        table_2.half_of_the_weights(iter(sparse[:2]))


# streams --------------------------------------------------------------------------------------------------------------


def test_the_speed_up_along_a_drift_or_a_label(monkeypatch: pytest.MonkeyPatch) -> None:
    def along(stream: Stream, keys: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        about = {"kind": stream.kind, "rate": stream.rate, "size": stream.size, "seed": stream.seed}
        for key in keys:
            for batch in range(10):
                cpu = (1.0 if key == "full-cold" else 0.1) if batch >= Stream.change else 50.0
                yield {**about, "learner": key, "batch": batch, "cpu_seconds": cpu} | dict.fromkeys(
                    ("rows_read", "updated", "area", "held_out"), 1
                )

    monkeypatch.setattr(turning.streams, "run", along)
    for name, x in (("turning:drift=2,seed=3", 2.0), ("turning:drift=0,seed=3", 0.0), ("turning:seed=3", 3.0)):
        assert of("drift", log(name))["speed-up over full retraining", "sa-lbfgs"] == pytest.approx(10.0)
        (number,) = turning.drift(log(name))
        assert (number.axis, number.x) == ("drift", x)
    with pytest.raises(Unmeasured, match="kdd12_small: rows of turning are expected"):
        list(turning.drift(log()))


def test_updates_are_those_of_the_rule_and_old_rows_anchor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turning, "STREAMS", 1)
    found = of("updates", log("turning:rate=0.3,drift=2"))
    assert found["share of batches with an update", "no drift"] < 0.3
    assert found["share of batches with an update", "sudden drift"] == 1.0
    kept, lost = (found["log loss on old rows", f"{arm} old sample"] for arm in ("with", "without"))
    assert kept < 0.98 * lost
    assert turning.mu({"rise": 0.3, "spread": 0.1}) == pytest.approx(3.0)
    assert turning.mu({"rise": -0.3, "spread": 0.1}) == turning.mu({"rise": 1.0, "spread": 0.0}) == 1.0
    old_rows = draws.ByRise.choose  # as many as new ones, where there should be none
    monkeypatch.setattr(draws.NewAlone, "choose", lambda own, log, _, rng: old_rows(own, log, 1.0, rng))
    found = of("updates", log("turning:rate=0.3,drift=2"))
    kept, lost = (found["log loss on old rows", f"{arm} old sample"] for arm in ("with", "without"))
    assert kept > 0.98 * lost


def test_shares_are_of_the_batches_that_are_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    def along(stream: Stream) -> list[dict[str, Any]]:
        calm, turns = stream.kind == "none", [t for t in range(10) if stream.turned(t) != stream.turned(t - 1)]
        fired = [0, 3] if calm else turns  # the first batch is always trained on
        return [{"updated": int(t in fired), "rise": 0.4 if t in turns else 9.0, "spread": 0.1} for t in range(10)]

    def anchor(_: Any, seeds: tuple[int, ...], mus: tuple[float, ...], size: float) -> Iterator[dict[str, Any]]:
        assert (mus, size) == ((pytest.approx(4.0),), 2.0)
        yield from ({"log_loss_old": loss + seeds[0]} for loss in (0.5, 0.75))

    monkeypatch.setattr(turning, "_along", along)
    monkeypatch.setattr(turning.draws, "anchor", anchor)
    found = of("updates", log("turning:rate=0.3,drift=2,seed=1"))
    assert found["share of batches with an update", "no drift"] == pytest.approx(1 / 9)
    assert found["share of batches with an update", "sudden drift"] == 1.0
    assert found["log loss on old rows", "with old sample"] == 0.5 + 11.5, "seeds 8 to 15"
    assert found["log loss on old rows", "without old sample"] == 0.75 + 11.5


def test_a_flipped_batch_spreads_the_draws_and_another_one_does_not() -> None:
    quantity = "spread over draws, with the batch over without", "flipped batch"
    assert of("draws", log("turning:flipped=1"))[quantity] > 10.0
    assert 0.1 < of("draws", log("turning"))[quantity] < 10.0
