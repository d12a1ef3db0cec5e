"""Runs of a store as one table: what may stand beside what."""

from __future__ import annotations

from typing import Any

import pytest

from pianobench.experiments.claims import experiments
from pianobench.experiments.claims.standing import gathered
from pianobench.results.schema import CURVES, PROBES, ROWS, frame
from pianobench.results.store import Tables

NAME, TIER = "irls-growth", "laptop"
SET = next(experiments()[NAME].units(TIER))
CAP = experiments()[NAME].seconds(TIER)


def run(day: int, repeats: dict[int, float], solver: str = "irls", **changes: Any) -> Tables:
    """A run that measured these repeats, each with its seconds."""
    about: dict[str, Any] = {
        "experiment": NAME, "tier": TIER, "dataset": SET.dataset, "problem": SET.problem, "threads_asked": 1,
        "solver": solver, "params": "{}", "seed": 0, "max_seconds": CAP, "tolerance": 1e-6, "data_checksum": "abc",
        "machine": "A processor", "commit": "1" * 40, "measured_at": f"2026-01-0{day}T00:00:00Z",
    }  # fmt: skip
    rows = [
        {**about, "label": f"{solver}/repeat{k}", "key": f"{solver}{k}", "repeat": k, "seconds": s, **changes}
        for k, s in repeats.items()
    ]
    curves = [{"key": row["key"], "step": 1, "seconds": row["seconds"], "gap": 0.1} for row in rows]
    manifest = {"started_at": f"2026-01-0{day}T00:00:00Z"}
    return Tables(frame(rows, ROWS), frame(curves, CURVES), manifest)


def seconds(*runs: Tables) -> dict[str, float]:
    """Seconds of the rows that count, by label; each has its own curve alone."""
    found = gathered(runs, TIER)
    for row in found.rows:
        assert list(found.curves[row["key"]]["seconds"]) == [row["seconds"]]
    return {row["label"]: row["seconds"] for row in found.rows}


def test_the_newest_run_counts_whatever_the_order_of_the_files() -> None:
    old, new = run(1, {0: 1.0}), run(2, {0: 2.0})
    assert seconds(new, old) == seconds(old, new) == {"irls/repeat0": 2.0}


def test_repeats_of_one_arm_are_of_one_state_of_the_code() -> None:
    old = run(1, {0: 1.0, 1: 1.1, 2: 1.2})
    assert seconds(old, run(2, {0: 2.0}, commit="2" * 40)) == {"irls/repeat0": 2.0}
    assert len(seconds(old, run(2, {3: 2.0}))) == 4, "the same commit"
    changed = {"commit": "1" * 40 + "+"}
    assert len(seconds(run(1, {0: 1.0}, **changed), run(2, {3: 2.0}, **changed))) == 1, "two changes have no name"
    other = run(2, {0: 2.0}, "piano", commit="2" * 40)
    assert len(seconds(old, other)) == 4, "a solver that has not changed is not measured again"


@pytest.mark.parametrize(
    "changes", [{"machine": "Another"}, {"data_checksum": "def"}, {"tolerance": 1e-3}], ids=lambda one: next(iter(one))
)
def test_a_cell_is_of_one_machine_one_state_of_its_data_and_one_tolerance(changes: dict[str, Any]) -> None:
    assert seconds(run(1, {0: 1.0}), run(2, {0: 9.0}, "piano", **changes)) == {"piano/repeat0": 9.0}


@pytest.mark.parametrize("changes", [{"max_seconds": 60.0}, {"seed": 7}, {"tier": "full"}, {"experiment": "my-own"}])
def test_rows_beside_the_written_grid_do_not_count(changes: dict[str, Any]) -> None:
    assert seconds(run(1, {0: 1.0}), run(2, {0: 9.0}, **changes)) == {"irls/repeat0": 1.0}


def arms(**changes: Any) -> list[str]:
    """Arms of the numbers that count: of "a", and of "b" a day later, which differs in this."""

    def probes(day: int, arm: str, **changes: Any) -> Tables:
        row: dict[str, Any] = {
            "experiment": NAME, "tier": TIER, "dataset": SET.dataset, "problem": SET.problem, "threads_asked": 1,
            "quantity": "q", "arm": arm, "value": 1.0, "seed": 0, "repeat": 0, "machine": "A", "commit": "1" * 40,
        }  # fmt: skip
        manifest = {"started_at": f"2026-01-0{day}T00:00:00Z"}
        return Tables(frame([], ROWS), frame([], CURVES), manifest, frame([{**row, **changes}], PROBES))

    return [row["arm"] for row in gathered([probes(1, "a"), probes(2, "b", **changes)], TIER).probes]


def test_probes_of_two_machines_or_states_of_the_data_are_not_compared() -> None:
    assert arms() == ["a", "b"]
    assert arms(machine="B") == arms(data_checksum="def") == ["b"]


@pytest.mark.parametrize("changes", [{"max_seconds": 60.0}, {"seed": 7}, {"tier": "full"}, {"experiment": "my-own"}])
def test_numbers_beside_the_written_grid_do_not_count(changes: dict[str, Any]) -> None:
    assert arms(**changes) == ["a"]
    assert arms(max_seconds=CAP) == ["a", "b"]


def test_an_empty_store_is_no_evidence() -> None:
    found = gathered([], TIER)
    assert (found.rows, found.probes, found.curves) == ([], [], {})
