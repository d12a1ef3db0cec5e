"""What the docs show can be typed as it stands, and what they list is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import here

from pianobench.datasets.readers import forms
from pianobench.experiments.cli.app import app
from pianobench.experiments.config import read

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "configs.md").read_text("utf-8")


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
    for name in ("configs", "data", "claims", "compare"):
        assert set(re.findall(r"`?pianobench ([a-z-]+)", (DOCS / f"{name}.md").read_text("utf-8"))) <= known


def test_the_forms_of_files_and_their_options_are_those_of_the_readers() -> None:
    text = (DOCS / "data.md").read_text("utf-8")
    table = dict(re.findall(r"^\| ([a-z, ]+) \|[^|]*\|(.*)\|$", text, re.MULTILINE))
    told = {form: set(re.findall(r"`(\w+)`", cells)) for forms_, cells in table.items() for form in forms_.split(", ")}
    told.pop("form")
    assert told == {form: set(forms.options(form)) for form in forms.FORMS}
    for ending in forms.ENDINGS:
        assert f"`{ending}`" in text or ending == ".idx1-ubyte"
