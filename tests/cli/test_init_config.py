"""`init-config`: its file is the model in words, and runs."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from commands import here, process
from pydantic import BaseModel

from pianobench.experiments.cli import init_config
from pianobench.experiments.config import Budget, Config, ProblemGrid, SolverChoice, read
from pianobench.experiments.config_mistakes import inner_model


def keys(model: type[BaseModel], place: str = "") -> Iterator[tuple[str, str, BaseModel | type[BaseModel]]]:
    for name, field in model.model_fields.items():
        yield place, name, model
        inner = inner_model(field.annotation)
        if inner is not None:
            yield from keys(inner, name)


def test_it_parses_and_equals_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(init_config.text(), "utf-8")
    written = read(path)
    least = Config(
        title="My experiment",
        budget=Budget(seconds=10.0),
        problems=(ProblemGrid(datasets=("wine_standardised",), penalty="l2", lam_factor=(0.1,)),),
        solvers=(SolverChoice(key="piano"), SolverChoice(key="lbfgs")),
    )
    assert written == least


def test_every_key_of_the_model_occurs_in_its_table_with_its_meaning() -> None:
    head, *rest = re.split(r"^\[+(\w+)\]+$", init_config.text(), flags=re.M)
    tables = {"": head}
    for name, content in zip(rest[::2], rest[1::2], strict=True):
        tables.setdefault(name, content)
    seen = 0
    for place, name, model in keys(Config):
        field = model.model_fields[name]
        if inner_model(field.annotation) is not None:
            assert name in tables
            continue
        assert re.search(rf"^#?{name} = ", tables[place], re.M), f"{place}.{name}"
        words = " ".join(line.lstrip("# ") for line in tables[place].splitlines())
        assert field.description, f"{place}.{name} has no explanation"
        assert " ".join(field.description.split()) in words, name
        seen += 1
    assert seen >= 18


def test_what_is_commented_out_is_an_example_that_the_model_takes() -> None:
    text = init_config.text()
    for line in re.findall(r"^#(\w+ = .*)$", text, re.M):
        name = line.split(" = ")[0]
        (model,) = [m for _, n, m in keys(Config) if n == name]
        value = tomllib.loads(line)[name]
        field = model.model_fields[name]
        assert value == json.loads(json.dumps(field.examples[0])) if field.examples else value == field.default, name
        assert field.default in (None, (), {}), f"{name} has a default: it should stand there uncommented"


def test_what_has_no_default_has_an_example() -> None:
    for place, name, model in keys(Config):
        field = model.model_fields[name]
        if field.is_required() and inner_model(field.annotation) is None:
            assert field.examples, f"{place}.{name} needs an example"


def test_lines_fit_a_terminal() -> None:
    assert max(len(line) for line in init_config.text().splitlines()) <= init_config.WIDTH


def test_it_runs_as_it_is_and_is_not_overwritten(tmp_path: Path) -> None:
    assert here("init-config", "my.toml", cwd=tmp_path).stdout.endswith("run it: pianobench run my.toml\n")
    done = process("run", "my.toml", "--quiet", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [row["status"] for row in json.loads(done.stdout)["rows"]] == ["converged", "converged"]
    before = (tmp_path / "my.toml").read_bytes()
    (tmp_path / "my.toml").write_bytes(before + b"# mine\n")
    refused = here("init-config", "my.toml", cwd=tmp_path)
    assert refused.returncode == 2
    assert "my.toml exists: name another file, or overwrite it with --force" in refused.stderr
    assert (tmp_path / "my.toml").read_bytes().endswith(b"# mine\n")
    assert here("init-config", "my.toml", "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / "my.toml").read_bytes() == before


def test_names_that_are_no_configuration_are_refused(tmp_path: Path) -> None:
    for name, message in (("my.yaml", "ends in .toml, for example my.toml"), ("no/my.toml", "there is no folder no")):
        done = here("init-config", name, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert message in done.stderr
    assert not list(tmp_path.iterdir())
