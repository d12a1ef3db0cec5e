"""What docs/configs.md shows can be typed as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import here

from pianobench.experiments.cli.app import app
from pianobench.experiments.config import read

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "configs.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.M | re.S)


def test_the_configuration_is_one(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(blocks("toml")[0], "utf-8")
    assert read(tmp_path / "my.toml").solvers[0].params == {"cap": 20.0}


@pytest.mark.parametrize("solver", ["my.py:Descent", "my.py:Descent(rate=1e-4)"])
def test_the_solver_keeps_the_contract(tmp_path: Path, solver: str) -> None:
    (tmp_path / "my.py").write_text(blocks("python")[1], "utf-8")
    done = here("check-solver", solver, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "the contract is kept" in done.stdout


def test_the_commands_exist() -> None:
    known = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    shown = set(re.findall(r"pianobench ([a-z-]+)", TEXT))
    assert shown >= {"run", "init-config", "doctor", "clean", "check-solver"}
    assert shown <= known
