"""The runner: whatever happens to a process, its cell ends as a row with the reason, and the suite goes on."""

import dataclasses
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from pianobench.datasets import handover, load
from pianobench.experiments import runner
from pianobench.experiments.cells import Cell, expand
from pianobench.experiments.config import Config
from pianobench.results.schema import CURVES, ROWS, frame
from pianobench.results.store import Store

HERE = Path(__file__).parent
FAULTS = {
    "Descends": ("budget", "the 30 steps allowed are done"),
    "Raises": ("error", "solving: RuntimeError: a planted fault (planted.py:"),
    "Segfaults": ("crashed", "the process died of SIGSEGV (Segmentation fault)"),
    "Exits": ("lost", "the process ended well but left no outcome"),
    "Hangs": ("timeout", "killed at its deadline: 1 s for the method + 4 s for the rest"),
    "NotANumber": ("diverged", "F is nan"),
    "NeedsMemory": ("out-of-memory", "solving: MemoryError"),
    "Hungry": ("out-of-memory", "killed at 0."),
}


def make(solvers: list[str], **budget: Any) -> list[Cell]:
    config = Config.model_validate(
        {
            "title": "Test",
            "tier": "smoke",
            "budget": {"seconds": 1.0, "allowance": 4.0, "steps": 30, "memory_gib": 0.4, **budget},
            "problems": [{"datasets": ["iris"], "penalty": "l2", "lam": [1.0]}],
            "solvers": [{"key": key} for key in solvers],
        }
    )
    return expand(config, "test", HERE, {"iris": load("iris").checksum})


def execute(cells: list[Cell], root: Path, **told: Any) -> runner.Outcome:
    store, data = Store(root), load("iris")
    return runner.run(cells, store, {data.checksum: handover.write(data, store.data)}, **told)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def planted(root: Path) -> runner.Outcome:
    """One suite with every fault in it."""
    return execute(make([f"planted.py:{name}" for name in FAULTS]), root)


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_a_row_with_its_reason(planted: runner.Outcome, name: str) -> None:
    row = planted.rows[list(FAULTS).index(name)]
    status, reason = FAULTS[name]
    assert row["status"] == status, row
    assert row["reason"].startswith(reason)


def test_rows_and_curves_fit_the_schema(planted: runner.Outcome) -> None:
    assert len(frame(planted.rows, ROWS)) == len(FAULTS)
    assert set(frame(planted.curves, CURVES)["key"]) <= {row["key"] for row in planted.rows}


def test_a_killed_process_leaves_the_checkpoint_before_its_fault(planted: runner.Outcome) -> None:
    for name in ("Segfaults", "Hangs", "Exits", "Raises"):
        row = planted.rows[list(FAULTS).index(name)]
        points = [point for point in planted.curves if point["key"] == row["key"]]
        assert [point["step"] for point in points] == [0]
        assert row["objective"] == points[0]["objective"]


def test_nothing_that_a_killed_process_started_lives_on(planted: runner.Outcome, root: Path) -> None:
    del planted
    alive = [p.info["cmdline"] for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"]]
    assert not [words for words in alive if any(str(root) in word for word in words)]


def test_failed_rows_are_those_that_say_nothing_about_the_method(planted: runner.Outcome) -> None:
    assert {row["solver"].partition(":")[2] for row in planted.failed} == {
        "Raises",
        "Segfaults",
        "Exits",
        "NeedsMemory",
        "Hungry",
    }


def test_a_row_tells_what_where_when_and_how(planted: runner.Outcome) -> None:
    row = planted.rows[0]
    assert (row["n"], row["d"], row["m"], row["lam"]) == (150, 4, 3, 1.0)
    assert row["threads_observed"] == row["threads_asked"] == 1
    assert {pool["threads"] for pool in json.loads(row["thread_pools"])} == {1}
    assert row["seconds"] < row["process_seconds"]
    assert row["warmup_seconds"] > 0
    assert 2**24 < row["peak_bytes"] < 2**31
    for name in ("measured_at", "commit", "machine", "data_checksum"):
        assert row[name]


def test_the_peak_is_that_of_the_cell_and_not_of_the_suite(tmp_path: Path) -> None:
    ballast = np.ones(100_000_000)  # the suite itself now holds 0.8 GB
    (row,) = execute(make(["planted.py:Descends"]), tmp_path).rows
    assert row["peak_bytes"] < ballast.nbytes


def test_finished_cells_are_reused_with_their_date_and_failed_ones_are_measured_again(tmp_path: Path) -> None:
    cells = make(["planted.py:Descends", "planted.py:Raises"])
    first = execute(cells, tmp_path)
    assert [row["reused"] for row in first.rows] == [False, False]
    started: list[str] = []
    time.sleep(1.1)  # dates have whole seconds
    second = execute(cells, tmp_path, on_start=lambda cell: started.append(cell.solver))
    assert started == ["planted.py:Raises"]
    assert [row["reused"] for row in second.rows] == [True, False]
    assert {**second.rows[0], "reused": False} == first.rows[0]
    assert second.rows[1]["measured_at"] > first.rows[1]["measured_at"]
    assert [p for p in second.curves if p["key"] == cells[0].key] == [
        p for p in first.curves if p["key"] == cells[0].key
    ]


def test_a_reused_row_takes_its_names_from_the_request(tmp_path: Path) -> None:
    cells = make(["planted.py:Descends"])
    execute(cells, tmp_path)
    (row,) = execute([dataclasses.replace(cells[0], experiment="another", tier="full")], tmp_path).rows
    assert (row["reused"], row["experiment"], row["tier"]) == (True, "another", "full")


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
        f"sys.path.insert(0, {str(HERE)!r})\n"
        "from planted import Descends\n"
        "class Spy(Descends):\n"
        "    def fault(self, state):\n"
        "        heavy = {'matplotlib', 'pandas', 'pydantic', 'pyarrow', 'sklearn', 'typer'} & set(sys.modules)\n"
        "        raise RuntimeError(f'imported: {sorted(heavy)}')\n"
    )
    cell = dataclasses.replace(make(["planted.py:Descends"])[0], solver="spy.py:Spy", solver_file=str(spy))
    (row,) = execute([cell], tmp_path / "store").rows
    assert "imported: []" in row["reason"]


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_are_set_and_observed(tmp_path: Path, threads: int) -> None:
    if (os.cpu_count() or 1) < threads:
        pytest.skip("one core")
    cell = dataclasses.replace(make(["lbfgs"])[0], threads=threads)
    (row,) = execute([cell], tmp_path).rows
    assert row["threads_asked"] == row["threads_observed"] == threads
