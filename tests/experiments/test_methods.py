"""The stored table of methods and the page made of it are in step with the registry."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from pianobench.algorithms import SOLVERS, make_solver
from pianobench.datasets import entries
from pianobench.experiments import l0_starts, methods_page, methods_table
from pianobench.results import methods
from pianobench.results.schema import ROWS, STATUSES, frame
from pianobench.results.store import StoreError, Tables

DOCS = Path(__file__).resolve().parents[2] / "docs"
BUNDLED = {name for name, entry in entries().items() if entry.source == "bundled"}


def test_every_registered_method_is_described_and_no_other() -> None:
    assert not methods_page.missing(), "docs/methods.toml lacks these, or has them beyond the registry"


def test_the_page_is_what_registry_source_and_table_make() -> None:
    assert methods_page.page() == (DOCS / "methods.md").read_text("utf-8"), (
        "python -m pianobench.experiments.methods_page writes it anew"
    )


def test_each_table_of_the_page_has_a_line_for_each_key() -> None:
    text = (DOCS / "methods.md").read_text("utf-8")
    tables = [re.findall(r"^\| `([\w-]+)` \|", part, re.M) for part in text.split("\n## ")]
    assert [keys for keys in tables if keys] == [list(SOLVERS)] * 3
    assert re.findall(r"^- `([\w-]+)`:", text.partition("## Hyper-parameters")[2], re.M) == list(SOLVERS)
    cited = set(re.findall(r"\[(\w+)\]", text))
    assert cited <= set(re.findall(r"^- \[(\w+)\]", (DOCS / "references.md").read_text("utf-8"), re.M))


def test_a_method_that_nobody_described_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods_page, "SOLVERS", {"new": SOLVERS["gd"], **SOLVERS})
    assert methods_page.missing() == ["new"]
    monkeypatch.setattr(methods_page, "SOLVERS", {key: entry for key, entry in SOLVERS.items() if key != "gd"})
    assert methods_page.missing() == ["gd"]


def test_departures_are_those_that_the_source_marks() -> None:
    (one,) = methods_page.departures(SOLVERS["owl-qn"])
    assert one.startswith("the first t is 1/|PG| in the paper; the exact step")
    assert one in (DOCS / "methods.md").read_text("utf-8")
    shared = methods_page.departures(SOLVERS["flexa"])  # its rules are in a file that three methods share
    assert any("doublings are free" in text for text in shared)
    assert methods_page.departures(SOLVERS["gd"]) == []
    borrowed = methods_page.departures(SOLVERS["inexact-gj"])  # takes a function of SMLR's file, not its departures
    assert not any("fixes those of one at 0" in text for text in borrowed)


def test_the_grid_has_every_method_penalty_and_bundled_set() -> None:
    grid = methods_table.config()
    assert tuple(choice.key for choice in grid.solvers) == tuple(SOLVERS)
    asked = {problem.penalty: set(problem.sources) for problem in grid.problems}
    assert set(asked) == set(methods_page.KINDS)
    assert all(asked[kind] == BUNDLED for kind in ("l1", "l2", "elasticnet", "l0"))
    assert asked["none"] == {name for name in BUNDLED if entries()[name].d * entries()[name].m <= 100}
    cells = [
        SimpleNamespace(solver=choice.key, problem=SimpleNamespace(penalty=kind, dataset=name))
        for choice in grid.solvers
        for kind, names in asked.items()
        for name in names
    ]
    left = {(cell.solver, cell.problem.penalty) for cell in methods_table.taken(cells)}  # type: ignore[arg-type]
    assert left == {(key, kind) for key in SOLVERS for kind in make_solver(key).penalties}


def test_the_stored_table_is_of_known_methods_and_sets() -> None:
    rows, record = methods.read(), methods.record()
    assert set(rows["solver"]) <= set(SOLVERS)
    assert set(rows["dataset"]) <= BUNDLED
    assert set(rows["status"]) <= set(STATUSES) - {"interrupted", "lost", "crashed", "error"}
    assert not rows.duplicated(["solver", "problem", "dataset"]).any()
    assert all(kind in make_solver(key).penalties for key, kind in zip(rows["solver"], rows["penalty"], strict=True))
    assert record["machine"]["cpu"]
    assert record["versions"]["numpy"]
    assert sum(path.stat().st_size for path in methods.FOLDER.iterdir()) < 300_000


def _row(solver: str, dataset: str, penalty: str, **facts: object) -> dict[str, object]:
    return {"solver": solver, "dataset": dataset, "penalty": penalty, "problem": penalty, "steps": 10, **facts}


def test_what_the_page_says_of_a_method_is_counted_from_its_rows() -> None:
    told = [
        _row("gd", "a", "none", status="converged", gap=1e-7, gradient_equivalents=30.0),
        _row("gd", "b", "none", status="timeout", gap=1e-4, gradient_equivalents=500.0),
        _row("gd", "c", "none", status="timeout", gap=1e-2, gradient_equivalents=40.0),
        _row("gd", "d", "none", status="timeout", gap=1.0, gradient_equivalents=70.0),
        _row("lbfgs", "d", "none", status="no-minimiser", gap=1.0, gradient_equivalents=70.0),
        _row("piano", "a", "l0", status="stationary", gap=1.0, gradient_equivalents=50.0),
        _row("piano", "b", "l0", status="timeout", gap=1.0, gradient_equivalents=50.0),
    ]
    rows = frame(told, ROWS)
    assert methods_page._stands(rows, "gd", "none") == "1/2/3: 30"  # d has no minimiser
    assert methods_page._stands(rows, "piano", "l0") == "1/2"
    assert methods_page._stands(rows, "gd", "l2") == "·"
    assert methods_page._stands(rows, "gd", "l1") == "–"
    assert methods_page._gradients(rows[rows["solver"] == "gd"]) == "5.5 (3.75 to 17.8)"
    assert methods_page._gradients(rows[rows["solver"] == "irls"]) == "·"


def test_the_table_is_written_without_runs_that_did_not_happen(tmp_path: Path) -> None:
    told = [
        _row("piano", "b", "l2", status="timeout", seconds=1.23456789, disturbed="load 9", commit="0123456789abcdef"),
        _row("piano", "c", "l2", status="interrupted"),
        _row("gd", "a", "l2", status="out-of-memory", reason="it said: no, never"),
    ]
    manifest = {"title": "T", "machine": {"cpu": "C"}, "versions": {"numpy": "9.9", "other": "1"}, "secret": 1}
    methods.write(Tables(frame(told, ROWS), pd.DataFrame(), manifest), "# note\n", tmp_path)
    rows = methods.read(tmp_path)
    assert list(rows["solver"]) == ["gd", "piano"]  # by data set
    assert rows["seconds"].tolist()[1] == 1.23457
    assert rows["disturbed"].tolist() == [False, True]
    assert rows["commit"].tolist()[1] == "0123456789ab"
    assert rows["reason"].tolist()[0] == "it said: no, never"
    record = methods.record(tmp_path)
    assert record["versions"]["numpy"] == "9.9"
    assert "other" not in record["versions"]
    assert "secret" not in record
    (tmp_path / "rows.csv").write_text("solver\n", "utf-8")
    with pytest.raises(StoreError, match="has no column 'dataset'"):
        methods.read(tmp_path)
    (tmp_path / "rows.csv").unlink()
    with pytest.raises(StoreError, match="make methods"):
        methods.read(tmp_path)


def test_the_command_writes_table_and_page_and_tells_how_it_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The runner itself has its own tests; here it hands back rows."""
    cells = (SimpleNamespace(key="k1", label="l"), SimpleNamespace(key="k2", label="l"))
    plan = methods_table.suite.Plan("methods", "T", "# note\n", cells, {})  # type: ignore[arg-type]
    written: list[object] = []
    monkeypatch.setattr(methods_table, "plan", lambda: plan)
    monkeypatch.setattr(methods_table, "load", lambda folder: folder)
    monkeypatch.setattr(methods_table.methods, "write", lambda _, text: written.append(text))
    monkeypatch.setattr(methods_page, "write", lambda: written.append("page"))
    for failed, interrupted, code in (
        ([], False, 0),
        (["out-of-memory"], False, 0),
        (["error"], False, 1),
        ([], True, 130),
    ):
        outcome = SimpleNamespace(failed=[{"status": status} for status in failed], interrupted=interrupted)
        monkeypatch.setattr(methods_table.suite, "execute", lambda *_, outcome=outcome: (tmp_path, outcome))
        assert methods_table.main(tmp_path) == code
        assert written[-2:] == ["# note\n", "page"]
    count = len(written)
    assert methods_table.main(tmp_path / "empty", held=True) == 2  # nothing is held, so nothing is written
    assert "make methods" in capsys.readouterr().err
    assert len(written) == count


def test_the_counts_of_l0_starts_in_the_docs_are_those_that_are_stored() -> None:
    assert l0_starts.table() in (DOCS / "l0.md").read_text("utf-8")
    rows = pd.read_csv(l0_starts.PLACE)
    assert len(rows) == len(l0_starts.SHAPES) * l0_starts.DRAWS
    assert (rows[list(l0_starts.WAYS)] >= -1e-6).all().all()  # none is below the minimum of all supports
    again = l0_starts.row(*l0_starts.SHAPES[0], seed=1)
    stored = rows[(rows["d"] == 3) & (rows["seed"] == 1)].iloc[0]
    assert again["minimum"] == pytest.approx(stored["minimum"], rel=1e-5)
    assert again["l1"] == pytest.approx(stored["l1"], abs=1e-4)
