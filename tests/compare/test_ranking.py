"""Rankings from planted tables: places, undecided neighbours, what was not reached, refused or failed, repeats."""

import math

import pandas as pd
import planted_tables as planted
import pytest
from planted_tables import outside, run

from pianobench.results.overall import CHARGE, over_problems
from pianobench.results.ranking import COLUMNS, by_problem, method_titles, without_title
from pianobench.results.store import Tables


def ranked(tables: Tables, level: float = 1e-6) -> pd.DataFrame:
    table = by_problem(tables.rows, tables.curves)
    return table[table["level"] == level].set_index("solver")


def overall(tables: Tables, level: float = 1e-6) -> pd.DataFrame:
    table = over_problems(tables.rows, tables.curves)
    return table[table["level"] == level].set_index("solver")


def test_the_fastest_is_first_and_times_are_those_of_the_checkpoints() -> None:
    table = ranked(planted.tables([run("piano", 4.0), run("lbfgs", 0.1), run("fista", 1.0)]))
    assert list(table.index) == ["lbfgs", "fista", "piano"]
    assert list(table["place"]) == list(table["last_place"]) == [1, 2, 3]
    assert list(table["seconds"]) == [0.1, 1.0, 4.0]
    assert list(table["gradient_equivalents"]) == [10.0, 100.0, 400.0]
    assert list(table["seconds_with_compile"]) == [0.2, 1.1, 4.1]
    assert (table["outcome"] == "reached").all()
    assert (table["note"] == "").all()


def test_the_looser_gap_has_its_own_times() -> None:
    tables = planted.tables([run("lbfgs", 0.1), run("piano", None, level=5e-4)])
    table = ranked(tables, level=1e-3)
    assert list(table["seconds"]) == [0.05, 5.0]
    assert list(table["outcome"]) == ["reached", "reached"]
    strict = planted.tables([run("lbfgs", 0.1, tolerance=1e-3)])
    assert list(by_problem(strict.rows, strict.curves)["level"]) == [1e-3]


def test_neighbours_that_cannot_be_told_apart_share_places() -> None:
    table = ranked(planted.tables([run("piano", 1.0), run("lbfgs", 1.3), run("fista", 1.6), run("gd", 9.0)]))
    # 1.0 and 1.3, and 1.3 and 1.6, are undecided; 1.0 and 1.6 are not.
    assert table[["place", "last_place"]].to_numpy().tolist() == [[1, 2], [1, 3], [2, 3], [4, 4]]
    assert list(table["undecided"]) == ["L-BFGS", "PIANO, FISTA", "L-BFGS", ""]
    assert table.loc["piano", "note"] == "undecided: L-BFGS"


def test_ties_are_undecided() -> None:
    table = ranked(planted.tables([run("piano", 1.0), run("lbfgs", 1.0)]))
    assert table[["place", "last_place"]].to_numpy().tolist() == [[1, 2], [1, 2]]


def test_compiling_can_change_the_order_and_is_told_apart() -> None:
    table = ranked(planted.tables([run("piano", 1.0, warmup_seconds=9.0), run("lbfgs", 2.0, warmup_seconds=0.0)]))
    assert list(table["place"]) == [1, 2]
    assert list(table["place_with_compile"]) == [2, 1]


def test_not_reached_is_last_with_its_gap_and_undecided_near_the_budget() -> None:
    table = ranked(
        planted.tables([run("gd", None, level=1e-2), run("lbfgs", 0.1), run("piano", None, level=1e-4), run("lc", 4.0)])
    )
    assert list(table.index) == ["lbfgs", "lc", "piano", "gd"]
    assert table.loc["piano", "outcome"] == "not reached"
    assert table.loc["piano", "note"] == "not reached (gap 1.0e-04 at the end; timeout); undecided: LC"
    assert math.isnan(table.loc["piano", "seconds"])
    # After 4 s of 5 nobody knows whether the others would have come at 5.1.
    assert table[["place", "last_place"]].to_numpy().tolist() == [[1, 1], [2, 4], [2, 4], [2, 4]]
    assert table.loc["lc", "undecided"] == "piano".upper()


def test_a_method_that_stalled_is_behind_even_if_it_took_no_time() -> None:
    stalled = run("gd", None, level=1e-3, status="stalled", used=0.01)
    table = ranked(planted.tables([stalled, run("lbfgs", 4.9)]))
    assert list(table["place"]) == [1, 2]
    assert "stalled" in table.loc["gd", "note"]


def test_where_no_method_arrives_none_has_a_place() -> None:
    tables = planted.tables([run("gd", None, level=1e-2), run("piano", None, level=1e-4)])
    assert list(ranked(tables).index) == ["piano", "gd"]
    assert ranked(tables)["place"].isna().all()
    assert overall(tables)["place"].isna().all()


def test_refused_and_failed_methods_have_no_place_and_say_why() -> None:
    table = ranked(
        planted.tables([
            outside("lbfgs", "skipped", "L-BFGS takes l2, not l1"),
            outside("flexa", "crashed", "the process died of SIGSEGV"),
            outside("lc", "interrupted", "not started"),
            run("piano", 1.0),
        ])
    )  # fmt: skip
    assert list(table["outcome"]) == ["reached", "refused", "failed", "failed"]
    assert table.loc["lbfgs", "note"] == "L-BFGS takes l2, not l1"
    assert table.loc["flexa", "note"] == "crashed: the process died of SIGSEGV"
    assert table["place"].isna().sum() == 3


def test_repeats_give_medians_intervals_and_decisions() -> None:
    quick = [run("piano", s, seed=i) for i, s in enumerate((1.0, 1.01, 0.99, 1.02, 0.98))]
    slow = [run("lbfgs", s, seed=i) for i, s in enumerate((1.2, 1.21, 1.22, 1.19, 1.2))]
    table = ranked(planted.tables([*slow, *quick]))
    assert list(table["place"]) == [1, 2]
    assert table.loc["piano", "seconds"] == 1.0
    assert 0.98 <= table.loc["piano", "seconds_low"] <= 1.0 <= table.loc["piano", "seconds_high"] <= 1.02
    assert list(table["runs"]) == [5, 5]


def test_a_method_that_arrives_in_some_repeats_says_so() -> None:
    runs = [run("piano", 1.0, seed=0), run("piano", None, level=1e-4, seed=1), run("piano", 1.1, seed=2)]
    table = ranked(planted.tables([*runs, run("lbfgs", 0.1)]))
    assert table.loc["piano", "runs_reached"] == 2
    assert table.loc["piano", "seconds"] == 1.1
    assert "not reached in 1 of 3 runs" in table.loc["piano", "note"]


def test_parameters_make_methods_of_their_own() -> None:
    runs = [run("lbfgs", 1.0, params='{"memory": 5}'), run("lbfgs", 3.0), run("piano", 9.0)]
    tables = planted.tables(runs)
    assert list(method_titles(tables.rows).values()) == ["L-BFGS [lbfgs(memory=5)]", "L-BFGS [lbfgs]", "PIANO"]
    assert list(by_problem(tables.rows, tables.curves).query("level == 1e-6")["method"]) == [
        "lbfgs(memory=5)",
        "lbfgs",
        "piano",
    ]


def test_held_out_scores_are_medians() -> None:
    runs = [run("lbfgs", 1.0, seed=i, test_accuracy=a, test_log_loss=1 - a) for i, a in enumerate((0.8, 0.9, 0.7))]
    table = ranked(planted.tables(runs))
    assert table.loc["lbfgs", ["test_accuracy", "test_log_loss"]].tolist() == pytest.approx([0.8, 0.2])


def problems(times: dict[str, tuple[float | None, ...]], penalty: str = "l2") -> list[object]:
    return [
        run(solver, seconds, level=1e-3, problem=f"{penalty}:{i}", penalty=penalty)
        for solver, row in times.items()
        for i, seconds in enumerate(row)
    ]


def test_overall_the_geometric_mean_gives_the_order_and_worst_and_median_stand_before() -> None:
    tables = planted.tables(problems({"piano": (1.0, 4.0, 1.0), "lbfgs": (0.1, 0.1, 4.0)}))
    table = overall(tables)
    assert list(table.index) == ["lbfgs", "piano"]
    assert table.loc["piano", ["worst", "median"]].tolist() == pytest.approx([40.0, 10.0])
    assert table.loc["piano", "mean"] == pytest.approx((10 * 40) ** (1 / 3))
    assert table.loc["lbfgs", "mean"] == pytest.approx(4 ** (1 / 3))
    assert list(table.columns).index("worst") < list(table.columns).index("median") < list(table.columns).index("mean")
    # Faster on two of three problems is not four fifths of them.
    assert table[["place", "last_place"]].to_numpy().tolist() == [[1, 2], [1, 2]]
    assert list(table["undecided"]) == ["PIANO", "L-BFGS"]


def test_overall_four_of_five_decide() -> None:
    tables = planted.tables(problems({"piano": (1.0,) * 4 + (0.1,), "lbfgs": (0.1,) * 5}))
    assert list(overall(tables)["place"]) == [1, 2]


def test_overall_a_gap_not_reached_is_charged() -> None:
    tables = planted.tables(problems({"piano": (None, 1.0), "lbfgs": (0.5, 1.0)}))
    assert overall(tables).loc["piano", "worst"] == CHARGE * 5.0 / 0.5
    assert overall(tables).loc["piano", "reached"] == 1


def test_overall_problems_that_nobody_solves_are_left_out() -> None:
    table = overall(planted.tables(problems({"piano": (None, 1.0), "lbfgs": (None, 0.1)})))
    assert list(table["of"]) == [1, 1]
    assert table.loc["lbfgs", "worst"] == 1.0


def test_overall_is_for_each_penalty_and_refusals_are_named() -> None:
    refused = [
        outside("lbfgs", "skipped", "L-BFGS takes l2, not l1", penalty="l1", problem=f"l1:{i}") for i in range(2)
    ]
    tables = planted.tables(
        [*problems({"piano": (1.0, 1.0), "lbfgs": (0.1, 0.1)}), *problems({"piano": (1.0, 1.0)}, "l1"), *refused]
    )
    table = over_problems(tables.rows, tables.curves).query("level == 1e-6")
    assert table.groupby("penalty")["solver"].first().to_dict() == {"l1": "piano", "l2": "lbfgs"}
    (left,) = table[table["place"].isna()].to_dict("records")
    assert (left["solver"], left["note"]) == ("lbfgs", "refused: L-BFGS takes l2, not l1")


def test_overall_who_failed_on_a_problem_comes_after_those_with_all() -> None:
    failed = outside("lbfgs", "out-of-memory", "killed at 9 GiB", problem="l2:1")
    tables = planted.tables([*problems({"piano": (1.0, 1.0), "lbfgs": (0.1,)}), failed])
    assert list(overall(tables).index) == ["piano", "lbfgs"]
    assert overall(tables).loc["lbfgs", "note"] == "failed: out-of-memory: killed at 9 GiB"


def test_reasons_stand_beside_names_without_repeating_them() -> None:
    assert without_title("L-BFGS takes l2, not l1", "L-BFGS") == "takes l2, not l1"
    assert without_title("scikit-learn sag takes l2", "scikit-learn sag (default)") == "takes l2"
    assert without_title("crashed: SIGSEGV", "L-BFGS") == "crashed: SIGSEGV"


def test_all_columns_are_explained_and_tables_are_left_alone() -> None:
    tables = planted.tables(problems({"piano": (None, 1.0), "lbfgs": (0.1, 0.1)}))
    rows, curves = tables.rows.copy(deep=True), tables.curves.copy(deep=True)
    assert list(by_problem(tables.rows, tables.curves).columns) == list(COLUMNS)
    over_problems(tables.rows, tables.curves)
    assert tables.rows.equals(rows)
    assert tables.curves.equals(curves)
