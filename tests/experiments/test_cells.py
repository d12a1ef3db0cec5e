"""Cells: what a configuration expands to, and what their keys depend on."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest

from pianobench.experiments import machine, provenance
from pianobench.experiments.cells import Cell, expand
from pianobench.experiments.config import Config
from pianobench.experiments.mistakes import UserMistake
from pianobench.experiments.suite import select
from pianobench.results.schema import ROWS

CHECKSUMS = {"iris": "1" * 64, "wine": "2" * 64}
HERE = Path(__file__).parent


def make(**changes: Any) -> list[Cell]:
    content: dict[str, Any] = {
        "title": "Test",
        "tier": "smoke",
        "budget": {"seconds": 1.0},
        "problems": [{"datasets": ["iris", "wine"], "penalty": "l2", "lam": [1.0], "lam_factor": []}],
        "solvers": [{"key": "piano"}, {"key": "lbfgs"}],
        **changes,
    }
    return expand(Config.model_validate(content), "test", HERE, CHECKSUMS)


def test_solvers_stand_side_by_side_on_each_problem() -> None:
    assert [cell.label for cell in make()] == [
        "iris/l2:1/piano/seed0/threads1",
        "iris/l2:1/lbfgs/seed0/threads1",
        "wine/l2:1/piano/seed0/threads1",
        "wine/l2:1/lbfgs/seed0/threads1",
    ]


def test_labels_and_keys_are_all_different() -> None:
    cells = make(
        seeds=[0, 1],
        threads=[1, 2],
        problems=[
            {"datasets": ["iris"], "penalty": "none"},
            {"datasets": ["iris"], "penalty": "l1", "lam": [0.5, 1.0]},
            {"datasets": ["iris"], "penalty": "l1", "lam_factor": [0.5, 1.0]},
            {"datasets": ["iris"], "penalty": "elasticnet", "lam": [0.5], "ridge": 0.5},
            {"datasets": ["iris"], "penalty": "l2", "lam": [0.5], "intercept": False},
            {"datasets": ["iris"], "penalty": "l2", "lam": [0.5], "conditioning": "scale"},
        ],
    )
    assert len(cells) == 8 * 2 * 2 * 2
    assert len({cell.label for cell in cells}) == len({cell.key for cell in cells}) == len(cells)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("solver_digest", "another source"),
        ("params", '{"cap": 1}'),
        ("seed", 7),
        ("threads", 2),
        ("tolerance", 1e-3),
        ("max_seconds", 9.0),
        ("max_steps", 3),
        ("allowance", 1.0),
    ],
)
def test_the_key_depends_on_all_that_decides(field: str, value: Any) -> None:
    cell = make()[0]
    assert dataclasses.replace(cell, **{field: value}).key != cell.key


@pytest.mark.parametrize(("field", "value"), [("experiment", "other"), ("tier", "full"), ("solver_title", "Other")])
def test_the_key_does_not_depend_on_names(field: str, value: str) -> None:
    cell = make()[0]
    assert dataclasses.replace(cell, **{field: value}).key == cell.key


def test_the_key_depends_on_the_bytes_of_the_data_and_not_on_their_name() -> None:
    cell = make()[0]
    renamed = dataclasses.replace(cell, problem=dataclasses.replace(cell.problem, dataset="copy"))
    changed = dataclasses.replace(cell, problem=dataclasses.replace(cell.problem, checksum="3" * 64))
    assert renamed.key == cell.key
    assert changed.key != cell.key


def test_the_key_depends_on_versions_and_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = make()[0]
    keys = {cell.key}
    monkeypatch.setattr(provenance, "decisive_versions", lambda: {"numpy": "0"})
    keys.add(cell.key)
    monkeypatch.setattr(machine, "machine", lambda: "another")
    keys.add(cell.key)
    assert len(keys) == 3


def test_streams_of_random_numbers_differ_between_solvers_and_problems_and_repeat() -> None:
    words = [str(cell.seed_words) for cell in make()]
    assert len(set(words)) == 4
    assert words == [str(cell.seed_words) for cell in make()]


def test_a_row_knows_all_of_its_cell_before_it_runs() -> None:
    columns = {column.name for column in ROWS}
    assert set(make()[0].columns()) <= columns


def test_own_solvers_are_found_beside_the_configuration_and_their_source_is_in_the_key(tmp_path: Path) -> None:
    shutil.copy(HERE / "planted.py", tmp_path / "mine.py")
    config = Config.model_validate(
        {
            "title": "Test",
            "tier": "smoke",
            "budget": {"seconds": 1.0},
            "problems": [{"datasets": ["iris"], "penalty": "l2", "lam": [1.0]}],
            "solvers": [{"key": "mine.py:Descends", "params": {"step_length": 0.5}}],
        }
    )
    (before,) = expand(config, "test", tmp_path, CHECKSUMS)
    assert before.solver_title == "Descends"
    assert before.parameters == {"step_length": 0.5}
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text("utf-8") + "\n# edited\n", "utf-8")
    (after,) = expand(config, "test", tmp_path, CHECKSUMS)
    assert after.key != before.key


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        ({"key": "pianoo"}, r"solvers\[0\]\.key = 'pianoo': .*did you mean 'piano'"),
        ({"key": "piano", "params": {"no_such": 1}}, r"no parameter 'no_such': it has"),
        ({"key": "absent.py:X"}, r"there is no file absent.py"),
        ({"key": "planted.py:Absent"}, r"planted.py has no class 'Absent'; it has Aborts, .*Descends,"),
        ({"key": "planted.py:NOT_A_CLASS"}, r"has no class 'NOT_A_CLASS'"),
        ({"key": "planted.py:Descends", "params": {"no_such": 1}}, r"no_such"),
    ],
)
def test_a_wrong_solver_is_one_readable_line(solver: dict[str, Any], message: str) -> None:
    with pytest.raises(UserMistake, match=message):
        make(solvers=[solver])


def test_the_same_cell_twice_is_a_mistake() -> None:
    with pytest.raises(UserMistake, match="iris/l2:1/piano/seed0/threads1 is asked for twice"):
        make(solvers=[{"key": "piano"}, {"key": "piano"}])


@pytest.mark.parametrize(
    ("pattern", "chosen"), [("iris", [0, 1]), ("*/piano/*", [0, 2]), ("wine/l2:1/l", [3]), ("*l?:1/*", [0, 1, 2, 3])]
)
def test_only_selects_by_part_or_pattern(pattern: str, chosen: list[int]) -> None:
    cells = make()
    assert select(cells, pattern) == [cells[i] for i in chosen]


def test_only_without_a_match_shows_what_labels_look_like() -> None:
    with pytest.raises(UserMistake, match="matches none of 4 cells; they look like iris/l2:1/piano"):
        select(make(), "irish")
