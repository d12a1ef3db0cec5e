"""From rows, curves and probes to the number of a cell: endings, pairs, starts, slopes and trends."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
from verdict_tables import INF, RATIO, cut_at, five, of_probes, probed, runs, units, verdict

from pianobench.results.judging import Times
from pianobench.results.verdicts import Ask, Rival
from pianobench.results.verdicts.interval import UNKNOWN, of_pair, slope, trend


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


def test_a_slope_leaves_no_point_out() -> None:
    """A regret below zero has no logarithm; without it the line through the others would say another thing."""
    x = [10.0, 20.0, 40.0, 80.0, 160.0]
    for odd in (0.0, -1.0, INF):
        assert slope(x, [*(Times((a,), (a,)) for a in x[:4]), Times((odd,), (odd,))]) is UNKNOWN


def test_a_trend_is_seen_or_excluded() -> None:
    x = [0.0, 0.25, 0.5, 1.0, 2.0] * 4
    falling = trend(x, [Times((9 - a + 0.01 * k,), (0.0,)) for k, a in enumerate(x)])
    assert falling.high < -0.3
    rng = np.random.default_rng(0)
    none = trend(x, [Times((float(rng.normal()),), (0.0,)) for _ in x])
    assert -0.5 < none.low < none.high < 0.6
    assert trend(x[:3] * 4, [Times((1.0,), (1.0,))] * 12) is UNKNOWN
    assert trend([math.nan, *x[1:]], [Times((1.0,), (1.0,))] * 20) is UNKNOWN


def test_repeats_of_a_cell_are_no_further_cells_of_a_trend() -> None:
    """Five streams in falling order are one chance in 120, however often each is timed."""
    assert trend([1.0, 2.0, 3.0, 4.0, 5.0], [Times((9.0 - k,) * 10, (0.0,) * 10) for k in range(5)]) is UNKNOWN


def test_a_difference_is_paired_by_seed() -> None:
    ask = Ask("area", "a", ("x",), "difference", above=0.001, against=(Rival("b"),))
    mine, other = (0.70, 0.80, 0.75), (0.695, 0.795, 0.745)
    found = of_pair(ask, False, Times(mine, mine), Times(other, other))
    assert found.low == pytest.approx(0.005)
    assert found.high == pytest.approx(0.005)
    grid = [dataclasses.replace(units(1)[0], runs=3)]
    mine_by_seed = {0: 0.70, 1: 0.80, 2: 0.75, 3: 0.60}
    other_by_seed = {4: 0.90, 3: 0.595, 2: 0.745, 1: 0.795}
    values = probed(grid[0], "a", mine_by_seed) + probed(grid[0], "b", other_by_seed)
    verdict = of_probes(values, grid, ask)
    assert verdict.word == "reproduced"
    interval = verdict.parts[0].places[0].interval
    assert interval is not None
    assert interval.low == pytest.approx(0.005)
    del other_by_seed[1]
    values = probed(grid[0], "a", mine_by_seed) + probed(grid[0], "b", other_by_seed)
    assert of_probes(values, grid, ask).word == "undecided", "two pairs, and three are planned"


def test_fewer_runs_than_planned_decide_nothing() -> None:
    ask = Ask("area", "a", ("x",), above=0.5)
    grid = [dataclasses.replace(units(1)[0], runs=2)]
    assert of_probes(probed(grid[0], "a", {0: 0.9, 1: 0.8}), grid, ask).word == "reproduced"
    assert of_probes(probed(grid[0], "a", {0: 0.9}), grid, ask).word == "undecided"


@pytest.mark.parametrize(
    ("mine", "other", "word"),
    [
        (0.0, 0.0, "undecided"),  # at the start already: nobody is faster
        (0.0, 1.0, "reproduced"),
        (1.0, 0.0, "contradicted"),
    ],
)
def test_a_gap_that_is_reached_without_a_step(mine: float, other: float, word: str) -> None:
    (unit,) = grid = units(1)
    arms = [runs(unit, "a", [mine]), runs(unit, "b", [other])]
    ask = dataclasses.replace(RATIO, of="gradient equivalents")
    assert verdict(arms, grid, ask).word == word


def test_a_cut_run_needs_what_it_used_at_the_least_and_not_what_it_was_allowed() -> None:
    """A process that is killed at its deadline may have spent its time on certificates, off the method's clock."""
    (unit,) = grid = units(1)
    killed = cut_at(0.5, None, runs(unit, "b", [INF] * 5))
    assert verdict([runs(unit, "a", five(1)), killed], grid).word == "undecided"


def test_a_run_that_stopped_at_a_looser_gap_may_have_reached_this_one() -> None:
    (unit,) = grid = units(1)
    loose = cut_at(1.0, 1.0, runs(unit, "b", [INF] * 5, status="converged"))
    assert verdict([runs(unit, "a", five(2)), loose], grid).word == "undecided"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"status": "crashed"}, False),
        ({"status": "out-of-memory"}, False),
        ({"status": "no-minimiser"}, False),
        ({"status": "skipped"}, False),
        ({"status": "stalled", "certificate": "zero"}, False),  # no bound: the gap is not known
        ({"status": "breakdown", "certificate": "zero"}, False),
        ({"status": "stalled", "certificate": "dual"}, True),
        ({"status": "diverged"}, True),
        ({"status": "breakdown"}, True),
    ],
)
def test_endings_that_are_a_word_on_the_method(changes: dict[str, Any], says: bool) -> None:
    (unit,) = grid = units(1)
    reaches = Ask("steps", "a", ("x",), gaps=(1e-6,), reached=True, share=1.0)
    assert verdict([runs(unit, "a", [-1.0], **changes)], grid, reaches).word == (
        "contradicted" if says else "undecided"
    )
    beaten = [runs(unit, "a", five(1)), runs(unit, "b", [-1.0] * 5, **changes)]
    assert verdict(beaten, grid).word == ("reproduced" if says else "undecided")


def test_a_refusal_is_a_miss_where_that_is_asked() -> None:
    (unit,) = grid = units(1)
    never = Ask("steps", "a", ("x",), gaps=(1e-6,), reached=False, share=1.0)
    assert verdict([runs(unit, "a", [-1.0], status="skipped")], grid, never).word == "reproduced"
    planned = [dataclasses.replace(unit, runs=2)]
    assert verdict([runs(unit, "a", [1.0])], planned, never).word == "undecided"


def test_an_objective_that_is_not_finite_has_risen() -> None:
    (unit,) = grid = units(1)
    ask = Ask("rise", "a", ("x",), below=1e-12, share=1.0)
    fell = runs(unit, "a", [1.0])
    assert verdict([fell], grid, ask).word == "reproduced"
    for value in (math.nan, INF):
        fell[1][-1]["objective"] = value
        assert verdict([fell], grid, ask).word == "contradicted"


def test_sparsity_is_that_of_a_solution() -> None:
    (unit,) = grid = units(1)
    ask = Ask("non-zero share", "a", ("x",), below=0.5)
    for gap, status, word in (
        (1e-4, "timeout", "reproduced"),
        (0.3, "timeout", "undecided"),
        (None, "stationary", "reproduced"),
    ):
        assert verdict([runs(unit, "a", [INF], nnz=1, gap=gap, status=status)], grid, ask).word == word


def test_an_arm_has_its_parameters_and_no_others() -> None:
    (unit,) = grid = units(1)
    ask = dataclasses.replace(RATIO, against=(Rival("b(c=1)"),))
    slow, fast = five(3), five(0.3)
    for params, word in (({"c": 1}, "reproduced"), ({"c": 1, "e": 2}, "undecided"), ({}, "undecided")):
        rows, curves = runs(unit, "b", slow, params=json.dumps(params))
        assert verdict([runs(unit, "a", five(1)), (rows, curves)], grid, ask).word == word
    tuned = runs(unit, "a", fast, params=json.dumps({"c": 1}))
    assert verdict([tuned, runs(unit, "b", slow)], grid).word == "undecided"
