"""The stored table of the automatic choice, its page and its figure: in step, and counted from rows alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pianobench.algorithms import SOLVERS
from pianobench.algorithms.peers.registry import PEERS
from pianobench.datasets import load
from pianobench.experiments import config, fastest_page, fastest_table, suite
from pianobench.plots.fastest import fastest as draw
from pianobench.results import fastest, fastest_ratios
from pianobench.results.schema import STATUSES
from pianobench.results.store import Store, StoreError

DOCS = Path(__file__).resolve().parents[2] / "docs"
WANTED = {"l2": ["a-best", "b-best"], "l1": ["a-best"]}


def _row(solver: str, seconds: float, dataset: str = "x", *, status: str = "converged", **facts: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "experiment": "fastest",
        "threads": 1,
        "dataset": dataset,
        "penalty": "l2",
        "lam_factor": 0.3,
        "solver": solver,
        "chosen": "lbfgs" if solver == "auto" else None,
        "status": status,
        "seconds": seconds,
        "to_1e_6": seconds if status == "converged" else math.nan,
        "measured_at": "2030-01-01T00:00:00Z",
        "commit": "0123456789abcdef",
    }
    return known | facts


def _ratio(*rows: dict[str, Any]) -> Any:
    (record,) = fastest_ratios.ratios(fastest.merged(rows), WANTED, "to_1e_6").to_dict("records")
    return record


def test_the_page_is_what_the_table_makes() -> None:
    assert fastest_page.page() == (DOCS / "fastest.md").read_text("utf-8"), (
        "python -m pianobench.experiments.fastest_page writes it anew"
    )


def test_the_stored_table_is_of_the_configurations() -> None:
    rows = fastest.read()
    assert not rows.duplicated(fastest.IDENTITY).any()
    for experiment, some in rows.groupby("experiment"):
        asked = config.read(config.locate(str(experiment)))
        assert set(some["solver"]) <= {choice.key for choice in asked.solvers}
        assert set(some["dataset"]) <= {name for grid in asked.problems for name in grid.sources}
        assert set(some["tolerance"]) == {asked.tolerance}
    assert set(rows["status"]) <= set(STATUSES) - fastest.UNSAID
    assert set(rows.loc[rows["solver"] == "auto", "chosen"]) <= set(SOLVERS)
    assert fastest.record()["machine"]["cpu"]
    assert sum(path.stat().st_size for path in fastest.FOLDER.iterdir()) < 1_000_000


def test_a_ratio_where_both_arrived_is_of_the_fastest_peer() -> None:
    found = _ratio(_row("auto", 2.0), _row("a-best", 5.0), _row("b-best", 4.0))
    assert (found["kind"], found["ratio"], found["peer"], found["word"]) == ("both", 2.0, "b-best", "faster")
    assert _ratio(_row("auto", 2.0), _row("a-best", 2.6), _row("b-best", 4.0))["word"] == "undecided"
    assert _ratio(_row("auto", 0.004), _row("a-best", 0.012), _row("b-best", 4.0))["word"] == "undecided"  # 8 ms
    assert _ratio(_row("auto", 2.0), _row("a-best", 1.0), _row("b-best", 4.0))["word"] == "slower"


def test_what_was_not_reached_is_a_bound_and_not_dropped() -> None:
    late, given_up = _row("a-best", 12.0, status="timeout"), _row("b-best", 1.0, status="stalled")
    found = _ratio(_row("auto", 2.0), late, given_up)
    assert (found["kind"], found["ratio"], found["word"]) == ("ours only", 6.0, "faster")
    assert _ratio(_row("auto", 2.0), {**late, "seconds": 1.5}, given_up)["word"] == "undecided"
    assert _ratio(_row("auto", 2.0), given_up, {**late, "status": "stalled"})["ratio"] == math.inf
    found = _ratio(_row("auto", 20.0, status="timeout"), _row("a-best", 5.0), late | {"solver": "b-best"})
    assert (found["kind"], found["ratio"], found["word"]) == ("theirs only", 0.25, "slower")
    found = _ratio(_row("auto", 20.0, status="timeout"), late, given_up)
    assert (found["kind"], found["word"]) == ("neither", "undecided")
    assert math.isnan(found["ratio"])


def test_a_cell_that_lacks_a_run_is_not_measured() -> None:
    assert _ratio(_row("auto", 2.0), _row("a-best", 5.0))["kind"] == "not measured"
    assert _ratio(_row("a-best", 2.0), _row("b-best", 5.0))["kind"] == "not measured"
    assert _ratio(_row("auto", 2.0, penalty="l1"), _row("a-best", 5.0, penalty="l1"))["kind"] == "both"


def test_the_headline_counts_all_cells() -> None:
    rows = [
        *(_row("auto", 1.0, name) for name in "vwxyz"),
        *(_row("a-best", seconds, name) for name, seconds in (("v", 0.5), ("w", 2.0), ("x", 8.0))),
        _row("a-best", 3.0, "y", status="timeout"),
    ]
    told = fastest_ratios.summary(fastest_ratios.ratios(fastest.merged(rows), {"l2": ["a-best"]}, "to_1e_6"))
    assert [told[kind] for kind in fastest_ratios.KINDS] == [3, 1, 0, 0, 1]
    assert (told["worst"], told["median"], told["least bound"]) == (0.5, 2.0, 3.0)
    assert (told["faster"], told["undecided"], told["slower"]) == (3, 0, 1)


def test_claims_of_success_stand_beside_the_gap() -> None:
    rows = fastest.merged(
        [
            _row("a", 1.0),
            _row("a", 1.0, "y", status="stalled", reason="reports success after 9 iterations, at ...", gap=1e-3),
            _row("a", 1.0, "z", status="stalled", reason="gives up after 9 iterations, at ...", gap=0.5),
        ]
    )
    (told,) = fastest_ratios.claimed(rows, ["a"]).to_dict("records")
    assert (told["runs"], told["arrived"], told["claimed"], told["worst"]) == (3, 1, 1, 1e-3)
    assert told["where"] == "y, l2, 0.3"


def test_the_rule_is_judged_in_processor_time() -> None:
    def timed(solver: str, cpu: float, seconds: float = 2.0, **facts: Any) -> dict[str, Any]:
        return _row(solver, seconds, cpu_seconds=cpu, wall_seconds=4.0, **facts)  # cpu / 4 of its seconds

    def told(*rows: dict[str, Any]) -> list[dict[str, Any]]:
        return list(fastest_ratios.judged(fastest.merged(rows), {"l2": ["lbfgs", "newton-cg"]}).to_dict("records"))

    own, other = timed("lbfgs", 2.2), timed("newton-cg", 2.0)
    (one,) = told(timed("auto", 2.6), own, other)  # auto takes lbfgs: 1.3 s and 1.1 s
    assert (one["method"], one["best"], one["ours"], one["right"]) == ("newton-cg", 1.0, pytest.approx(1.2), True)
    assert (one["ratio"], one["again"]) == (pytest.approx(1.2), pytest.approx(1.3 / 1.1))
    (one,) = told(timed("auto", 3.2), own, other)
    assert (one["ratio"], one["right"]) == (pytest.approx(1.35), False)
    late = {"status": "timeout", "seconds": 3.0}
    (one,) = told(timed("auto", 3.6, **late), timed("lbfgs", 3.0, **late), other)  # at least 2.7 s
    assert (one["ratio"], one["right"]) == (pytest.approx(2.7), False)
    assert math.isnan(one["ours"])
    (one,) = told(timed("auto", 2.6), own, timed("newton-cg", 3.0, **late))
    assert (one["ratio"], one["right"]) == (0.0, True)
    assert not told(timed("auto", 2.6), own)


def test_a_newer_row_takes_the_place_of_an_older_one_and_threads_stand_side_by_side(tmp_path: Path) -> None:
    old = fastest.merged([_row("auto", 1.0), _row("auto", 9.0, threads=2)])
    new = fastest.merged([_row("auto", 3.0, measured_at="2030-01-02T00:00:00Z", disturbed="load")], old)
    assert new[["threads", "seconds"]].to_numpy().tolist() == [[1, 3.0], [2, 9.0]]
    assert fastest.merged([_row("auto", 7.0, measured_at="2029-01-01T00:00:00Z")], new)["seconds"].tolist() == [3, 9]
    fastest.write(new, {"machine": {"cpu": "C"}, "versions": {"numpy": "9", "other": "1"}, "secret": 1}, tmp_path)
    again = fastest.read(tmp_path)
    assert again[["seconds", "disturbed"]].to_numpy().tolist() == [[3.0, True], [9.0, False]]
    assert again["commit"].tolist() == ["0123456789ab"] * 2
    assert "secret" not in fastest.record(tmp_path)
    (tmp_path / "rows.csv").write_text("solver\n", "utf-8")
    with pytest.raises(StoreError, match="has no column 'experiment'"):
        fastest.read(tmp_path)
    (tmp_path / "rows.csv").unlink()
    assert fastest.stored(tmp_path) is None
    with pytest.raises(StoreError, match="make fastest"):
        fastest.read(tmp_path)


@pytest.fixture
def plan() -> suite.Plan:
    text = (
        'title = "T"\n[budget]\nseconds = 1.0\n[[problems]]\ndatasets = ["iris"]\npenalty = "l2"\nlam_factor = [0.1]\n'
        '[[solvers]]\nkey = "auto"\n[[solvers]]\nkey = "lbfgs"\n[[solvers]]\nkey = "owl-qn"\n'
    )
    grid = config.Config.model_validate(config.tomllib.loads(text))
    return suite.of_config(grid, "fastest", text)


def test_cells_that_a_solver_refuses_are_left_out(plan: suite.Plan) -> None:
    assert [cell.solver for cell in fastest_table.taken(plan.cells)] == ["auto", "lbfgs"]
    assert all(choice.key in {*SOLVERS, *PEERS} for choice in fastest_page.read_config("fastest-gaps").solvers)


def test_rows_that_are_not_asked_for_any_more_go(plan: suite.Plan) -> None:
    facts = {"dataset": "iris", "lam_factor": 0.1, "tolerance": 1e-6, "max_seconds": 1.0}
    rows = fastest.merged(
        [
            _row("auto", 1.0, **facts),
            _row("auto", 1.0, **facts, threads=2),
            _row("auto", 1.0, **facts, experiment="another"),
            _row("gone", 1.0, **facts),
            _row("lbfgs", 1.0, **facts | {"max_seconds": 2.0}),
        ]
    )
    kept = fastest_table.still_asked(rows, [plan])
    assert kept is not None
    assert set(zip(kept["experiment"], kept["solver"], strict=True)) == {("fastest", "auto"), ("another", "auto")}
    assert len(kept) == 3


def test_the_newest_telling_attempt_of_any_code_and_threads_is_collected(tmp_path: Path, plan: suite.Plan) -> None:
    store = Store(tmp_path)
    auto, lbfgs, _ = plan.cells

    def attempt(key: str, cell: Any, day: int, **facts: Any) -> None:
        one = store.new_attempt(key)
        row = {
            **cell.columns(),
            "lam": 1.0,
            "schema": 1,
            "status": "converged",
            "reason": "",
            "seconds": 1.0,
            "checkpoints": 3,
        }
        one.write("row", {**row, "measured_at": f"2030-01-0{day}T00:00:00Z", "commit": "c", **facts})
        points = ({"gap": 1e-2, "seconds": 0.1}, {"gap": 1e-7, "seconds": 0.4}, {"gap": 1e-8, "seconds": 0.7})
        with one.open_curve() as curve:
            curve.writelines(f"{config.json.dumps(point)}\n" for point in points)

    attempt("old-code", auto, 1)
    attempt("new-code", auto, 2, seconds=2.0)
    attempt("new-code", auto, 3, status="interrupted")
    attempt("two-threads", auto, 1, threads_asked=2)
    attempt("other-cap", lbfgs, 4, max_seconds=9.0)
    attempt("failed", lbfgs, 1, status="crashed")
    found = fastest_table.collect(store, [replace(plan, cells=fastest_table.taken(plan.cells))])
    told = {(row["solver"], row["threads"]): row for row in found}
    assert {place: row["seconds"] for place, row in told.items()} == {
        ("auto", 1): 2.0,
        ("auto", 2): 1.0,
        ("lbfgs", 1): 1.0,
    }
    assert told["auto", 1]["to_1e_6"] == 0.4
    assert math.isnan(told["auto", 1]["to_1e_9"])
    assert told["auto", 1]["chosen"] == "lbfgs-preconditioned"
    assert "chosen" not in told["lbfgs", 1]
    assert told["lbfgs", 1]["status"] == "crashed"
    assert fastest_table.chosen({**told["auto", 1], "penalty": "l1"}, load("iris")) == "prox-newton-active"


def test_the_command_measures_writes_and_tells_how_it_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The runner itself has its own tests; here it hands back rows."""
    plan = SimpleNamespace(experiment="fastest", cells=(), datasets={})
    written: list[object] = []
    monkeypatch.setattr(fastest_table, "plans", lambda *_: [plan])
    monkeypatch.setattr(fastest_table, "collect", lambda *_: [_row("auto", 1.0)])
    monkeypatch.setattr(fastest_table.fastest, "stored", lambda: None)
    monkeypatch.setattr(fastest_table.fastest, "write", lambda rows, _: written.append(len(rows)))
    monkeypatch.setattr(fastest_page, "write", lambda: written.append("page"))
    for failed, interrupted, code in (
        ([], False, 0),
        (["out-of-memory"], False, 0),
        (["error"], False, 1),
        ([], True, 130),
    ):
        outcome = SimpleNamespace(failed=[{"status": status} for status in failed], interrupted=interrupted)
        monkeypatch.setattr(fastest_table.suite, "execute", lambda *_, outcome=outcome: (tmp_path, outcome))
        assert fastest_table.main(tmp_path) == code
        assert written[-2:] == [1, "page"]
    monkeypatch.setattr(fastest_table.suite, "execute", lambda *_: pytest.fail("measured"))
    assert fastest_table.main(tmp_path, held=True) == 0
    monkeypatch.setattr(fastest_table, "collect", lambda *_: [])
    count = len(written)
    assert fastest_table.main(tmp_path, held=True) == 2
    assert "make fastest" in capsys.readouterr().err
    assert len(written) == count


def _marks(axis: Any) -> Iterator[tuple[float, str]]:
    for line in axis.lines:
        if line.get_marker() not in ("None", None):
            yield float(np.asarray(line.get_xdata())[0]), line.get_marker()


def test_the_figure_has_a_mark_for_each_cell_and_an_arrow_for_each_bound() -> None:
    rows = [
        *(_row("auto", 1.0, name) for name in "uvwx"),
        _row("a-best", 4.0, "u"),
        _row("a-best", 3.0, "v", status="timeout"),
        _row("a-best", 3.0, "w", status="stalled"),
        _row("auto", 20.0, "y", status="timeout"),
        _row("a-best", 3.0, "y", status="stalled"),
        _row("auto", 20.0, "z", status="timeout"),
        _row("a-best", 5.0, "z"),
    ]
    table = fastest_ratios.ratios(fastest.merged(rows), {"l2": ["a-best"]}, "to_1e_6")
    figure = draw({1: table})
    left, right = figure.axes
    marks = list(_marks(left))
    edge = max(x for x, _ in marks)
    assert sorted(marks) == sorted([(4.0, "o"), (3.0, "o"), (edge, "o"), (1.0, "x"), (0.25, "o")])
    assert edge > 30  # x was not measured, and w's peer never arrives
    assert len(left.texts) == 3
    assert not list(_marks(right))
    assert [text.get_text() for text in left.get_yticklabels()] == list("uvwxyz")
