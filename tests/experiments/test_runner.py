"""The runner: what a row tells, what is reused, in which order, and what a process may import."""

import dataclasses
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from suites import PLANTED, execute, make

from pianobench.experiments import noise, runner
from pianobench.results.store import Store


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, runner.Outcome]:
    """A store with one measured cell."""
    ballast = np.ones(100_000_000)  # the suite itself holds 0.8 GB
    root = tmp_path_factory.mktemp("store")
    outcome = execute(make(["Descends"]), root)
    assert outcome.rows[0]["peak_bytes"] < ballast.nbytes, "the peak is that of the cell and not of the suite"
    return root, outcome


@pytest.fixture
def root(done: tuple[Path, runner.Outcome], tmp_path: Path) -> Path:
    """A copy of that store, to be spoilt."""
    return Path(shutil.copytree(done[0], tmp_path / "store"))


def test_a_row_tells_what_where_when_and_how(done: tuple[Path, runner.Outcome]) -> None:
    (row,) = done[1].rows
    assert (row["n"], row["d"], row["m"], row["lam"]) == (150, 4, 3, 1.0)
    assert row["threads_observed"] == row["threads_asked"] == 1
    pools = json.loads(row["thread_pools"])
    assert {pool["threads"] for pool in pools} == {1}
    assert any(pool["pool"] == "openblas" and pool["kernel"] for pool in pools)
    assert 0 < row["seconds"] < row["wall_seconds"] < row["process_seconds"]
    assert row["evaluation_seconds"] == pytest.approx(row["wall_seconds"] - row["seconds"])
    assert 0 < row["cpu_seconds"] <= row["wall_seconds"] * 1.2
    assert row["involuntary_switches"] >= 0
    assert row["load_before"] >= 0 <= row["load_after"]
    assert row["rows_read"] == 30 * row["n"]
    assert row["flops"] > 0 < row["bytes_moved"]
    assert row["warmup_seconds"] > 0
    assert 0.5 < row["accuracy"] <= 1
    assert json.loads(row["entropy"])[0] == row["seed"] == 0
    assert row["earlier"] is None
    assert 2**24 < row["peak_bytes"] < 2**31
    for name in ("measured_at", "commit", "machine", "data_checksum"):
        assert row[name]


def test_finished_cells_are_reused_with_their_date_and_failed_ones_are_measured_again(root: Path) -> None:
    cells = make(["Descends", "Raises"])
    first = execute(cells, root)
    assert [row["reused"] for row in first.rows] == [True, False]
    started: list[str] = []
    time.sleep(1.1)  # dates have whole seconds
    second = execute(cells, root, on_start=lambda cell: started.append(cell.solver))
    assert started == ["planted.py:Raises"]
    assert [row["reused"] for row in second.rows] == [True, False]
    assert second.rows[0] == first.rows[0]
    assert second.rows[1]["measured_at"] > first.rows[1]["measured_at"]
    assert second.rows[1]["earlier"] == "001 error", "a second measurement is said"
    assert [p for p in second.curves if p["key"] == cells[0].key] == [
        p for p in first.curves if p["key"] == cells[0].key
    ]


def test_a_reused_row_takes_its_names_from_the_request(root: Path) -> None:
    cells = make(["Descends"])
    (row,) = execute([dataclasses.replace(cells[0], experiment="another", tier="full")], root).rows
    assert (row["reused"], row["experiment"], row["tier"]) == (True, "another", "full")


def test_a_repeat_is_a_sample_of_its_own_and_a_reused_row_is_none(root: Path) -> None:
    (cell,) = make(["Descends"])
    repeats = [dataclasses.replace(cell, repeat=i) for i in range(2)]
    outcome = execute(repeats, root)
    assert [row["reused"] for row in outcome.rows] == [True, False]
    assert len({row["key"] for row in outcome.rows}) == 2
    assert len({row["entropy"] for row in outcome.rows}) == 1
    assert outcome.rows[0]["objective"] == outcome.rows[1]["objective"]
    assert [row["reused"] for row in execute(repeats, root).rows] == [True, True]


def test_the_order_is_random_within_a_repeat_and_the_rows_come_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [
        dataclasses.replace(cell, repeat=repeat, seed=seed)
        for repeat in range(3)
        for cell in make(["Descends"])
        for seed in range(5)
    ]
    orders = {seed: runner._order(cells, seed) for seed in range(4)}
    for order in orders.values():
        assert sorted(order) == list(range(15))
        assert [cells[i].repeat for i in order] == sorted(cell.repeat for cell in cells)
    within = {tuple(i % 5 for i in order[start : start + 5]) for order in orders.values() for start in (0, 5, 10)}
    assert len(within) > 6, "each repeat of each run is shuffled anew"
    assert runner._order(cells, 3) == orders[3]
    assert runner._order(cells, None) == list(range(15))
    monkeypatch.setattr(
        runner._Turn, "take", lambda turn, _data: runner._Done({"key": turn.cell.key, "status": "budget"}, [], [])
    )
    data = {cells[0].problem.checksum: Path()}
    outcome = runner.run(cells, Store(Path("absent")), data, order_seed=1)
    assert [row["key"] for row in outcome.rows] == [cell.key for cell in cells]


def test_a_refused_problem_is_a_row(tmp_path: Path) -> None:
    cell = make(["lbfgs"])[0]
    refused = dataclasses.replace(cell, problem=dataclasses.replace(cell.problem, penalty="l1"))
    outcome = execute([refused], tmp_path)
    assert outcome.rows[0]["status"] == "skipped"
    assert "l1" in outcome.rows[0]["reason"]
    assert not outcome.failed
    assert not outcome.curves


def test_the_process_imports_only_what_it_runs(tmp_path: Path) -> None:
    spy = tmp_path / "spy.py"
    spy.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(PLANTED.parent)!r})\n"
        "from planted import Descends\n"
        "class Spy(Descends):\n"
        "    def fault(self, state):\n"
        "        heavy = {'matplotlib', 'pandas', 'pydantic', 'pyarrow', 'sklearn', 'typer', 'psutil'}\n"
        "        raise RuntimeError(f'imported: {sorted(heavy & set(sys.modules))}')\n"
    )
    cell = dataclasses.replace(make(["Descends"])[0], solver="spy.py:Spy", solver_file=str(spy))
    (row,) = execute([cell], tmp_path / "store").rows
    assert "imported: []" in row["reason"]


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_are_set_and_observed(tmp_path: Path, threads: int) -> None:
    if (os.cpu_count() or 1) < threads:
        pytest.skip("one core")
    cell = dataclasses.replace(make(["lbfgs"])[0], threads=threads)
    (row,) = execute([cell], tmp_path).rows
    assert row["threads_asked"] == row["threads_observed"] == threads
    asked = {pool["pool"]: pool["threads"] for pool in json.loads(row["thread_pools"])}
    assert asked["pianobench"] == asked["openblas"] == threads


QUIET: dict[str, Any] = {
    "threads_asked": 1,
    "wall_seconds": 2.0,
    "cpu_seconds": 1.99,
    "involuntary_switches": 9,
    "load_before": 0.4,
}


@pytest.mark.parametrize(
    ("changes", "sign"),
    [
        ({}, None),
        ({"cpu_seconds": 1.0}, "wall time 2.00 times processor time"),
        ({"cpu_seconds": 1.0, "threads_asked": 2}, None),
        ({"cpu_seconds": 0.01, "wall_seconds": 0.02}, None),
        ({"involuntary_switches": 4000}, "2000 involuntary switches a second"),
        ({"load_before": 900.0}, "load 900.0 on"),
        ({"wall_seconds": None, "cpu_seconds": None, "involuntary_switches": None, "load_before": None}, None),
    ],
)
def test_a_disturbed_measurement_is_noticed(changes: dict[str, Any], sign: str | None) -> None:
    found = noise.signs({**QUIET, **changes})
    assert found is None if sign is None else (found or "").startswith(sign)
