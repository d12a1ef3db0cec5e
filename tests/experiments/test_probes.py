"""Cells of probes: their processes, rows and numbers, what the store keeps of them, and what verdicts read."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import here

from pianobench.algorithms import SOLVERS
from pianobench.datasets import handover, load
from pianobench.experiments import runner, sources
from pianobench.experiments.claims import experiments, ledger, probes
from pianobench.experiments.claims.standing import gathered
from pianobench.experiments.config import ProblemGrid
from pianobench.experiments.probes import cells as of_probes
from pianobench.experiments.probes.cells import ProbeCell, expand
from pianobench.experiments.probes.registry import PROBES
from pianobench.results.schema import CURVES, ROWS, frame
from pianobench.results.schema import PROBES as COLUMNS
from pianobench.results.store import Store, Tables

IRIS = load("iris")
GRID = ProblemGrid.model_validate({"datasets": ["iris"], "penalty": "none", "intercept": False})


def make(**changes: Any) -> ProbeCell:
    """The probe of iterative scaling, which draws nothing, on a small non-negative set."""
    (cell,) = expand(experiments()["iterative-scaling"], "laptop", [GRID], {"iris": IRIS.checksum})
    return dataclasses.replace(cell, **{"max_seconds": 30.0, "memory_gib": 0.5, **changes})


def execute(cell: ProbeCell, root: Path, started: list[Any] | None = None) -> runner.Outcome:
    store = Store(root)
    data = {IRIS.checksum: handover.write(IRIS, store.data)}
    return runner.run([cell], store, data, on_start=None if started is None else started.append)


def test_a_cell_is_a_row_and_its_numbers_are_measured_once(tmp_path: Path) -> None:
    started: list[Any] = []
    first, again = (execute(make(), tmp_path, started) for _ in range(2))
    (row,), (line,) = first.rows, first.probes
    assert (row["status"], row["reason"], row["solver"]) == ("measured", "1 number", "iterative-scaling")
    assert 0 < row["seconds"] < 30
    assert len(started) == 1
    assert again.rows[0]["reused"]
    assert again.probes == [line]
    assert (line["quantity"], line["arm"], line["n"], line["d"]) == (
        "difference from iterative scaling",
        "piano",
        150,
        4,
    )
    assert line["value"] < 1e-8
    assert line["key"] == row["key"]
    table = frame(first.probes, COLUMNS)
    assert set(table.columns[table.notna().all()]) >= set(table.columns) - {"axis", "x", "disturbed"}

    (kept,) = Store(tmp_path).attempts(row["key"])
    for spoilt in ("{", '{"numbers": 1}'):
        (kept.folder / "numbers.json").write_text(spoilt)
        assert Store(tmp_path).finished(row["key"]) is None, "a damaged file is no measurement"


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"max_seconds": 1e-3}, "timeout", "the 0.001 seconds allowed are over, after 0 numbers"),
        ({"solver": "two-classes"}, "breakdown", "3 classes under none: two, under l2 or no penalty, are expected"),
        ({"allowance": 1e-3, "max_seconds": 1e-3}, "timeout", "killed at its deadline"),
    ],
)
def test_what_could_not_be_measured_is_a_row_with_its_reason(
    changes: dict[str, Any], status: str, reason: str, tmp_path: Path
) -> None:
    outcome = execute(make(**changes), tmp_path)
    assert outcome.rows[0]["status"] == status
    assert reason in outcome.rows[0]["reason"]
    assert not outcome.probes


def test_a_number_is_what_a_verdict_reads() -> None:
    unit = next(experiments()["iterative-scaling"].units("laptop"))
    cell = make(max_seconds=experiments()["iterative-scaling"].seconds("laptop"))
    cell = dataclasses.replace(cell, problem=dataclasses.replace(cell.problem, dataset=unit.dataset), threads=2)
    row = {"n": 500, "d": 10, "m": 3, "measured_at": "2026-01-01T00:00:00Z", "commit": "1", "machine": "A"}
    numbers = [{"quantity": "difference from iterative scaling", "arm": "piano", "value": 0.5, "axis": None, "x": None}]
    table = frame(cell.lines({**row, "disturbed": "load 3.0"}, numbers), COLUMNS)
    evidence = gathered([Tables(frame([], ROWS), frame([], CURVES), {"started_at": "2026"}, table)], "laptop")
    (ask,) = next(claim for claim in ledger() if claim.id == "P16").rule
    from pianobench.results.verdicts import quantities

    ((place, sample),) = evidence.samples(ask, quantities(probes())[ask.of], None).items()
    assert place == (unit, "piano"), "its threads are those of the grid, not of the process"
    assert (sample.times.reached, len(sample.disturbed)) == ((0.5,), 1)


def test_probes_measure_what_experiments_ask_for() -> None:
    asked = {quantity for one in experiments().values() for quantity in one.probes}
    assert set(PROBES) <= asked
    for experiment in experiments().values():
        measured = [quantity for probe in experiment.processes for quantity in probe.quantities]
        assert set(measured) <= set(experiment.probes), "a process is shared by quantities of one experiment"
        assert set(experiment.waiting(SOLVERS)) == set(experiment.probes) - set(measured)


@pytest.mark.parametrize("probe", dict.fromkeys(PROBES.values()), ids=lambda one: one.key)
def test_the_sources_of_a_probe_and_of_its_solvers_are_in_its_key(probe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    closure: Callable[..., dict[str, bytes]] = sources.closure
    found: list[dict[str, bytes]] = []
    monkeypatch.setattr(of_probes.sources, "closure", lambda *given: found.append(closure(*given)) or found[-1])
    of_probes._digest(probe)
    assert {probe.module, ProbeCell.process, *(SOLVERS[key].module for key in probe.solvers)} <= set(found[0])
    own = sources.imports(found[0][probe.module], "") & {entry.module for entry in SOLVERS.values()}
    assert own <= {SOLVERS[key].module for key in probe.solvers}, "what it runs is warmed up"


def test_the_key_depends_on_source_data_and_name_where_they_decide() -> None:
    cell = make()
    changed = dataclasses.replace(cell, problem=dataclasses.replace(cell.problem, checksum="3" * 64))
    assert len({cell.key, changed.key, dataclasses.replace(cell, solver_digest="other").key}) == 3
    renamed = dataclasses.replace(cell, experiment="other", tier="full", asked=2)
    assert renamed.key == cell.key
    support = expand(experiments()["support"], "laptop", [GRID], {"iris": IRIS.checksum})[0]
    assert json.loads(support.params) == {"dataset": "iris"}, "the name says what is planted"
    assert json.loads(cell.params) == {}


def test_the_command_lists_the_cells_of_probes_and_of_repeats(tmp_path: Path) -> None:
    told = here(
        "reproduce", "--tier", "laptop", "--experiment", "iterative-scaling", "--only", "*", "--dry-run", cwd=tmp_path
    )
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert lines[-1] == "5 cells, 0 held by the store, 5 to run"
    assert "nonnegative:n=500,d=10,m=3/none:no-intercept/iterative-scaling/seed0/threads1" in lines[0]
