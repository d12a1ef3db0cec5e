"""Verdict logic on numbers written by hand: intervals, censored runs, Holm, counting and combining."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

from pianobench.results.judging import Times
from pianobench.results.schema import CURVES, PROBES, ROWS, frame
from pianobench.results.verdicts import Ask, Evidence, Rival, RuleError, Unit, Verdict, judge, quantities
from pianobench.results.verdicts.interval import UNKNOWN, of_pair, slope, trend
from pianobench.results.verdicts.verdict import combined

KNOWN = quantities({"area": ("area under the curve", False)})
RATIO = Ask("seconds", "a", ("x",), "ratio", above=1.1, against=(Rival("b"),), gaps=(1e-6,))
INF = math.inf


def units(count: int, evidence: str = "real", experiment: str = "x") -> list[Unit]:
    return [Unit(experiment, f"d{i}", "l2:1", 1, evidence, "l2", 100, 5 + i, 3) for i in range(count)]


def runs(unit: Unit, arm: str, seconds: list[float], **changes: Any) -> tuple[list[Any], list[Any]]:
    """Runs that reach 1e-6 after so many seconds; inf is a run that was cut at 5 seconds, -1 one that gave up."""
    rows, curves = [], []
    about = {
        name: getattr(unit, name) for name in ("experiment", "dataset", "problem", "evidence", "penalty", "n", "d", "m")
    }
    for repeat, value in enumerate(seconds):
        key = f"{unit.experiment}{unit.dataset}{arm}{repeat}"
        reached = 0 <= value < INF
        rows.append(
            {
                **about, "threads_asked": 1, "key": key, "label": key, "solver": arm, "params": json.dumps({}),
                "repeat": repeat, "seed": 0, "max_seconds": 5.0, "seconds": value if reached else 5.0,
                "status": "converged" if reached else "timeout" if value > 0 else "stalled",
                "measured_at": f"2026-01-0{1 + repeat % 9}T00:00:00Z",
                **changes,
            }
        )  # fmt: skip
        points = [(0.001, 1.0), (value if reached else 5.0, 1e-7 if reached else 1e-2)]
        curves += [
            {"key": key, "step": i, "seconds": s, "gap": g, "gradient_equivalents": 10 * s, "objective": 1 - i / 9}
            for i, (s, g) in enumerate(points)
        ]
    return rows, curves


def verdict(measured: list[tuple[list[Any], list[Any]]], grid: list[Unit], *asks: Ask, **more: Any) -> Verdict:
    rows = frame([row for one, _ in measured for row in one], ROWS)
    curves = frame([point for _, one in measured for point in one], CURVES)
    return judge(asks or (RATIO,), KNOWN, grid, Evidence(rows, curves, frame([], PROBES)), **more)


def five(seconds: float, scatter: float = 0.02) -> list[float]:
    return [seconds * (1 + scatter * k) for k in (-2, -1, 0, 1, 2)]


@pytest.mark.parametrize(
    ("mine", "other", "word"),
    [
        (five(1), five(2), "reproduced"),
        (five(2), five(1), "contradicted"),
        (five(1), five(1), "contradicted"),  # alike is not faster
        (five(1), five(1.1), "undecided"),  # on the margin
        (five(1, 0.2), five(1.5, 0.2), "undecided"),  # too noisy
        ([1.0] * 4, [2.0] * 4, "undecided"),  # four runs are too few
        (five(1), [INF] * 5, "reproduced"),  # cut at 5 s: at least 5 times as long
        (five(4.9), [INF] * 5, "undecided"),  # at least 1.02 times as long says nothing
        ([INF] * 5, five(1), "contradicted"),
        ([INF] * 5, [INF] * 5, "undecided"),
        (five(4.9), [-1.0] * 5, "reproduced"),  # it gave up: never
        ([-1.0] * 5, [INF] * 5, "undecided"),  # nobody knows when the other would have
        ([-1.0] * 5, five(4), "contradicted"),
    ],
)
def test_one_cell(mine: list[float], other: list[float], word: str) -> None:
    (unit,) = grid = units(1)
    assert verdict([runs(unit, "a", mine), runs(unit, "b", other)], grid).word == word


def cells(sides: str) -> Verdict:
    """One cell for each letter: for, against, open, missing."""
    grid, measured = units(len(sides)), []
    for unit, side in zip(grid, sides, strict=True):
        other = {"f": five(3), "a": five(0.3), "o": five(1.1)}.get(side)
        if other:
            measured += [runs(unit, "a", five(1)), runs(unit, "b", other)]
    return verdict(measured, grid)


@pytest.mark.parametrize(
    ("sides", "word"),
    [
        ("ffffffff", "reproduced"),
        ("ffffffffoo", "reproduced"),  # 80 %
        ("fffffffooo", "undecided"),
        ("fffffffmmm", "undecided"),  # what was not measured counts as cells
        ("aaaaaaaaff", "contradicted"),
        ("aaaaaaaaoo", "contradicted"),
        ("fffffaaaaa", "partly"),
        ("fffaaaoooo", "partly"),  # however the rest turns out, neither has 80 %
        ("ffaaoooooo", "undecided"),
        ("aaaooooooo", "undecided"),
        ("mmmm", "undecided"),
    ],
)
def test_the_share_of_the_cells(sides: str, word: str) -> None:
    found = cells(sides)
    assert found.word == word
    (part,) = found.parts
    assert part.counts == {
        "for": sides.count("f"), "against": sides.count("a"), "open": sides.count("o"), "missing": sides.count("m"),
    }  # fmt: skip


def test_holm_asks_more_of_many_than_of_one() -> None:
    """A ratio that one cell alone may show is not shown in one of thirty, where chance has thirty tries."""
    grid = units(30)
    scatter = [0.96, 0.99, 1.0, 1.02, 1.03]
    other = [1.25 * k for k in scatter[::-1]]
    alone = verdict([runs(grid[0], "a", scatter), runs(grid[0], "b", other)], grid[:1])
    assert alone.word == "reproduced", alone.parts[0].places
    many = [run for unit in grid for run in (runs(unit, "a", scatter), runs(unit, "b", other))]
    assert verdict(many, grid).word == "undecided"


def test_counts_are_exact_and_need_one_run() -> None:
    ask = dataclasses.replace(RATIO, of="gradient equivalents")
    (unit,) = grid = units(1)
    assert verdict([runs(unit, "a", [1.0]), runs(unit, "b", [1.2])], grid, ask).word == "reproduced"
    assert verdict([runs(unit, "a", [1.0]), runs(unit, "b", [1.05])], grid, ask).word == "contradicted"


def test_synthetic_data_alone_are_partly_at_most_and_both_kinds_must_agree() -> None:
    def both(real: float | None, planted: float) -> str:
        grid = [*(units(1) if real else []), *units(1, "planted", "y")]
        ask = dataclasses.replace(RATIO, within=("x", "y"))
        values = [real, planted] if real else [planted]
        measured = [
            run
            for unit, value in zip(grid, values, strict=True)
            for run in (runs(unit, "a", five(1)), runs(unit, "b", five(value or 0)))
        ]
        return verdict(measured, grid, ask).word

    assert both(None, 3) == "partly"
    assert both(None, 0.3) == "contradicted"
    assert both(3, 3) == "reproduced"
    assert both(0.3, 3) == "partly"


def test_an_ask_without_a_cell_leaves_the_claim_open() -> None:
    """A tier may have the grid of one ask and not that of another: half a rule gives no verdict, unless it refutes."""
    (unit,) = grid = units(1)
    other = dataclasses.replace(RATIO, within=("elsewhere",))
    won = [runs(unit, "a", five(1)), runs(unit, "b", five(3))]
    lost = [runs(unit, "a", five(3)), runs(unit, "b", five(1))]
    assert verdict(won, grid, RATIO).word == "reproduced"
    assert verdict(won, grid, RATIO, other).word == "undecided"
    assert verdict(lost, grid, RATIO, other).word == "undecided"
    assert verdict(lost, grid, RATIO, other, universal=True).word == "contradicted"
    assert verdict(won, [], RATIO).reasons == ("its grid has no cell in this tier",)


def test_oldest_is_that_of_the_rows_that_were_used() -> None:
    (unit,) = grid = units(1)
    found = verdict(
        [runs(unit, "a", five(1)), runs(unit, "b", five(2)), runs(unit, "c", [1.0], measured_at="2020")], grid
    )
    assert found.oldest == "2026-01-01T00:00:00Z"


def test_runs_that_say_nothing_of_the_method_are_as_if_they_were_not() -> None:
    (unit,) = grid = units(1)
    ask = Ask("steps", "a", ("x",), gaps=(1e-6,), reached=True, share=1.0)
    assert verdict([runs(unit, "a", [-1.0])], grid, ask).word == "contradicted"
    assert verdict([runs(unit, "a", [INF])], grid, ask).word == "undecided"
    for status in ("interrupted", "lost", "error"):
        assert verdict([runs(unit, "a", [-1.0], status=status)], grid, ask).word == "undecided"
    never = dataclasses.replace(ask, reached=False)
    assert verdict([runs(unit, "a", [-1.0])], grid, never).word == "reproduced"
    assert verdict([runs(unit, "a", [1.0])], grid, never, universal=True).word == "contradicted"
    assert verdict([runs(unit, "a", [-1.0])], grid, never, refutable=True).word == "undecided"


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["reproduced", "reproduced"], "reproduced"),
        (["reproduced", "contradicted"], "partly"),
        (["reproduced", "undecided"], "undecided"),
        (["contradicted", "undecided"], "undecided"),
        (["reproduced", "contradicted", "undecided"], "partly"),
        (["partly", "undecided"], "partly"),
        (["contradicted", "contradicted"], "contradicted"),
        ([], "undecided"),
    ],
)
def test_parts_must_all_hold(words: list[str], word: str) -> None:
    assert combined(words) == word
    assert combined(words, universal=True) == ("contradicted" if "contradicted" in words else word)


def test_a_slope_has_the_interval_of_its_scatter() -> None:
    x = [10.0, 20.0, 40.0, 80.0, 160.0]
    exact = slope(x, [Times((a**1.7,), (a**1.7,)) for a in x])
    assert exact.low < 1.7 < exact.high
    assert exact.high - exact.low < 0.1
    rough = slope(x, [Times((a * k,), (a * k,)) for a, k in zip(x, (1, 3, 0.5, 2, 1), strict=True)])
    assert rough.low < 0.5 < 1.5 < rough.high
    assert slope(x[:3], [Times((a,), (a,)) for a in x[:3]]) is UNKNOWN
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(200):
        values = [a * math.exp(rng.normal(0, 0.1)) for a in x]
        found = slope(x, [Times((v,), (v,)) for v in values])
        inside += found.low <= 1 <= found.high
    assert inside >= 180, "a 95 % interval"


def test_a_trend_is_seen_or_excluded() -> None:
    x = [0.0, 0.25, 0.5, 1.0, 2.0]
    falling = trend(x, [Times((9 - a, 9.01 - a), (0.0, 0.0)) for a in x])
    assert falling.high < -0.3
    rng = np.random.default_rng(0)
    none = trend(x, [Times(tuple(rng.normal(size=6)), (0.0,) * 6) for _ in x])
    assert -0.3 < none.low < none.high < 0.5
    assert trend(x[:3], [Times((1.0,), (1.0,))] * 3) is UNKNOWN


def test_a_difference_is_paired_by_seed() -> None:
    ask = Ask("area", "a", ("x",), "difference", above=0.001, against=(Rival("b"),))
    mine, other = (0.70, 0.80, 0.75), (0.695, 0.795, 0.745)
    found = of_pair(ask, False, Times(mine, mine), Times(other, other))
    assert found.low == pytest.approx(0.005)
    assert found.high == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"of": "speed"}, "of = 'speed': there is no such quantity"),
        ({"gaps": ()}, "gaps = \\(\\): quantities to a gap need gaps"),
        ({"against": ()}, "ratio and difference need rivals"),
        ({"above": None}, "a bound is needed"),
        ({"below": 1.0}, "an interval from the smaller to the larger"),
        ({"along": "n"}, "slope and trend need an axis"),
        ({"share": 0.5}, "more than a half and at most 1"),
        ({"reached": True}, "in place of above and below"),
        ({"within": ()}, "the experiments whose rows count"),
    ],
)
def test_a_rule_that_cannot_be_asked_is_refused(changes: dict[str, Any], message: str) -> None:
    RATIO.check(KNOWN)
    with pytest.raises(RuleError, match=message):
        dataclasses.replace(RATIO, **changes).check(KNOWN)
