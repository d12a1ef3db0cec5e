"""Verdict logic on numbers written by hand: one cell, Holm, counting and combining."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from verdict_tables import INF, KNOWN, RATIO, five, of_probes, probed, runs, units, verdict

from pianobench.results.verdicts import Ask, Rival, RuleError, Verdict
from pianobench.results.verdicts.verdict import combined


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


@pytest.mark.parametrize("above", [True, False])
def test_the_best_form_of_a_rival_is_the_one_that_is_hardest_for_the_claim(above: bool) -> None:
    """Of a share that shall be large the largest rival counts, of a time the smallest."""
    (unit,) = grid = units(1)
    bound: dict[str, Any] = {"above": -0.05} if above else {"below": 0.05}
    ask = Ask("area", "a", ("x",), "difference", against=(Rival("b", ("c",)),), **bound)
    sign = 1 if above else -1
    values = [
        value for arm, area in (("a", 0.5), ("b", 0.4), ("c", 0.9)) for value in probed(unit, arm, {0: sign * area})
    ]
    assert of_probes(values, grid, ask).word == "partly"


def test_a_form_that_gave_up_does_not_hide_one_that_was_cut() -> None:
    ask = dataclasses.replace(RATIO, against=(Rival("b", ("c",)),))
    (unit,) = grid = units(1)
    arms = [runs(unit, "a", five(4.9)), runs(unit, "b", [-1.0] * 5), runs(unit, "c", [INF] * 5)]
    assert verdict(arms, grid, ask).word == "undecided"


def test_holm_counts_a_cell_in_which_the_arm_itself_was_cut() -> None:
    grid = units(40)
    other = [4.2, 5.3, 5.05, 5.35, 5.39]
    many = [run for unit in grid for run in (runs(unit, "a", [INF] * 5), runs(unit, "b", other))]
    found = [place.interval for place in verdict(many, grid).parts[0].places]
    assert all(interval is not None and interval.p(1.1) > 0 for interval in found)


def test_each_ask_needs_real_data_of_its_own() -> None:
    real, planted = units(1)[0], units(1, "planted", "y")[0]
    other = dataclasses.replace(RATIO, within=("y",))
    won = [run for unit in (real, planted) for run in (runs(unit, "a", five(1)), runs(unit, "b", five(3)))]
    assert verdict(won, [real, planted], RATIO, other).word == "partly"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"of": "speed"}, "of = 'speed': there is no such quantity"),
        ({"gaps": ()}, "gaps = \\(\\): quantities to a gap need gaps"),
        ({"against": ()}, "ratio and difference need rivals"),
        ({"below": 2.0, "against": (Rival("b", ("c",)),)}, "in an interval no form is best"),
        ({"above": None}, "a bound is needed"),
        ({"below": 1.0}, "an interval from the smaller to the larger"),
        ({"along": "n"}, "slope and trend need an axis"),
        ({"share": 0.5}, "more than a half and at most 1"),
        ({"reached": True}, "in place of above and below"),
        ({"statistic": "difference"}, "times are compared by their ratio"),
        ({"within": ()}, "the experiments whose rows count"),
    ],
)
def test_a_rule_that_cannot_be_asked_is_refused(changes: dict[str, Any], message: str) -> None:
    RATIO.check(KNOWN)
    with pytest.raises(RuleError, match=message):
        dataclasses.replace(RATIO, **changes).check(KNOWN)


def test_a_noisy_machine_is_said() -> None:
    (unit,) = grid = units(1)
    shared = [runs(unit, "a", five(1), disturbed="load 3.1"), runs(unit, "b", five(3))]
    assert "other work shared the machine during 5 of its timed runs" in verdict(shared, grid).reasons
    counted = dataclasses.replace(RATIO, of="gradient equivalents")
    assert not any("shared" in reason for reason in verdict(shared, grid, counted).reasons)
