"""Solvers and data sets of another distribution: a real one, built and installed beside ours, some of it broken."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Done, here, process

HERE = Path(__file__).parent
Run = Callable[..., Done]
# One worker builds, once.
pytestmark = pytest.mark.xdist_group("plugin")

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "tiny-plugin"
version = "1.2"
[project.entry-points."pianobench.solvers"]
tiny-descent = "tiny_plugin.solvers:Good"
tiny-entry = "tiny_plugin.entries:ENTRY"
tiny-broken = "tiny_plugin.broken:Solver"
tiny-exits = "tiny_plugin.exits:Solver"
tiny-number = "tiny_plugin.entries:NUMBER"
tiny-half = "tiny_plugin.entries:Half"
piano = "tiny_plugin.solvers:Good"
[project.entry-points."pianobench.datasets"]
tiny-data = "tiny_plugin.data:tiny"
tiny-fails = "tiny_plugin.data:fails"
tiny-wrong = "tiny_plugin.data:wrong"
iris = "tiny_plugin.data:tiny"
"""
FILES = {
    "__init__": "",
    "entries": """
from types import SimpleNamespace
from tiny_plugin.solvers import Good
ENTRY = SimpleNamespace(title="Tiny descent", citation="Me26", solver_class=Good)
NUMBER = 3
class Half:
    def init(self, problem, W0, rng): ...
""",
    "broken": "import a_library_that_is_not_there\n",
    "exits": "raise SystemExit('enough')\n",
    "data": """
import numpy as np
from pianobench.datasets import Dataset
def tiny():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(80, 3))).argmax(axis=1)
    return Dataset("any", X, y, ("a", "b", "c"), (), "tiny", "test", "drawn", "CC0")
def fails():
    raise OSError("the server is away")
def wrong():
    return 3
""",
}
CONFIG = """
title = "Plugin"
[budget]
seconds = 20
[[problems]]
datasets = ["tiny-data"]
penalty = "l2"
lam = [2.0]
[[solvers]]
key = "tiny-descent"
params = { rate = 0.03 }
[[solvers]]
key = "tiny-entry"
[[solvers]]
key = "piano"
"""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the distribution, as pip installs it."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    package = source / "tiny_plugin"
    package.mkdir()
    (source / "pyproject.toml").write_text(PROJECT)
    for name, text in FILES.items():
        (package / f"{name}.py").write_text(text)
    shutil.copy(HERE / "faulty.py", package / "solvers.py")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--target", str(target), str(source)], check=True, capture_output=True, timeout=120)
    return target


@pytest.fixture
def run(target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command where that distribution is installed."""
    monkeypatch.setenv("PYTHONPATH", str(target))  # for the processes of cells
    monkeypatch.syspath_prepend(str(target))
    return functools.partial(here, cwd=tmp_path)


def test_solvers_are_listed_with_their_distribution_and_what_is_wrong(run: Run, target: Path, tmp_path: Path) -> None:
    done = process("solvers", "--json", cwd=tmp_path, PYTHONPATH=str(target))
    assert done.returncode == 0, done.stderr
    entries = json.loads(done.stdout)
    theirs = {entry["key"]: entry for entry in entries if entry["from"] == "tiny-plugin 1.2"}
    good, entry = theirs["tiny-descent"], theirs["tiny-entry"]
    assert (good["title"], good["available"], good["error"]) == ("Good", True, None)
    assert (good["module"], good["penalties"], good["monotone"]) == ("tiny_plugin.solvers", ["l2"], True)
    assert good["parameters"] == [{"name": "rate", "type": "float", "default": 0.02}]
    assert (entry["title"], entry["citation"], entry["available"]) == ("Tiny descent", "Me26", True)
    errors = {key: e["error"] for key, e in theirs.items() if not e["available"]}
    assert {key: text.partition(" cannot be used: ")[2] for key, text in errors.items()} == {
        "tiny-broken": "importing tiny_plugin.broken:Solver fails: ModuleNotFoundError: No module named "
        "'a_library_that_is_not_there'",
        "tiny-exits": "importing tiny_plugin.exits:Solver fails: SystemExit: enough",
        "tiny-number": "tiny_plugin.entries:NUMBER is neither a class nor an object with `solver_class` ('int' object "
        "has no attribute 'solver_class')",
        "tiny-half": "Half lacks penalties, needs, monotone, step_is, memory, step: see docs/contract.md",
        "piano": "pianobench has that key itself, which stays: rename the entry point",
    }
    ours = [e for e in entries if e["key"] == "piano" and e["available"]]
    assert [e["module"] for e in ours] == ["pianobench.algorithms.piano"]
    text = run("solvers").stdout
    assert "tiny-plugin 1.2" in text
    assert "tiny-exits is not available: solver 'tiny-exits' of tiny-plugin 1.2 cannot be used" in text


def test_data_sets_are_listed_likewise(run: Run) -> None:
    entries = json.loads(run("datasets", "--json").stdout)
    theirs = {entry["name"]: entry for entry in entries if entry["from"] == "tiny-plugin 1.2"}
    good = theirs["tiny-data"]
    assert (good["n"], good["d"], good["m"], good["licence"]) == (80, 3, 3, "CC0")
    assert {key: e["error"].partition(" cannot be used: ")[2] for key, e in theirs.items() if e["error"]} == {
        "tiny-fails": "tiny_plugin.data:fails() fails: OSError: the server is away",
        "tiny-wrong": "tiny_plugin.data:wrong() returns int: pianobench.datasets.Dataset is expected",
        "iris": "pianobench has that key itself, which stays: rename the entry point",
    }
    assert [e["n"] for e in entries if e["name"] == "iris" and e["available"]] == [150]


def test_they_run_in_a_configuration_and_their_source_is_in_the_key(run: Run, target: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(CONFIG)
    done = run("run", "mine.toml", "--json", "--quiet", "--only", "*/tiny-*")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [(r["solver_title"], r["status"]) for r in rows] == [
        ("Good", "converged"),
        ("Tiny descent", "converged"),
    ]
    assert {r["dataset"] for r in rows} == {"tiny-data"}

    def keys() -> list[str]:
        listed = run("run", "mine.toml", "--dry-run", "--json").stdout
        return [cell["key"] for cell in json.loads(listed)["cells"]]

    before = keys()
    assert before[:2] == [r["key"] for r in rows]
    file = target / "tiny_plugin" / "solvers.py"
    text = file.read_text()
    file.write_text(text + "# edited\n")
    after = keys()
    file.write_text(text)
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, True]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"tiny-entry"', '"tiny-entri"', "solvers[1].key = 'tiny-entri': there is no such solver; did you mean 't"),
        ('"tiny-entry"', '"tiny-broken"', "solvers[1].key = 'tiny-broken': solver 'tiny-broken' of tiny"),
        ("rate", "rat", "solvers[0].params.rat = 0.03: Good has no parameter 'rat': did you mean rate?"),
        ('"tiny-data"', '"tiny-fails"', "problems[0].datasets[0] = 'tiny-fails': data set 'tiny-fails' of tiny"),
        ('"tiny-data"', '"tiny-dat"', "no data set is called 'tiny-dat': did you mean tiny-data "),
    ],
)  # fmt: skip
def test_a_mistake_with_them_is_one_line(run: Run, tmp_path: Path, old: str, new: str, line: str) -> None:
    (tmp_path / "mine.toml").write_text(CONFIG.replace(old, new))
    done = run("run", "mine.toml", "--dry-run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("pianobench: mine.toml: ")
    assert line in done.stderr


def test_two_distributions_with_one_key_are_told_apart_by_nobody(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pianobench.experiments import plugins

    (info,) = target.glob("tiny_plugin-*.dist-info")
    other = tmp_path / "other_plugin-3.0.dist-info"
    shutil.copytree(info, other)
    metadata = (other / "METADATA").read_text()
    metadata = metadata.replace("Name: tiny-plugin", "Name: other-plugin").replace("Version: 1.2", "Version: 3.0")
    (other / "METADATA").write_text(metadata)
    monkeypatch.syspath_prepend(str(target))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert plugins.get("solver", "tiny-descent", ["tiny-descent"]) is None, "a key of ours is nobody else's"
    plugin = plugins.get("solver", "tiny-descent", ())
    assert plugin is not None
    with pytest.raises(plugins.PluginError, match=r"tiny-plugin 1\.2 has that key too: uninstall one"):
        plugin.load()


def test_check_solver_takes_them(run: Run) -> None:
    done = run("check-solver", "tiny-descent")
    assert done.returncode == 0, done.stdout
    assert "tiny-descent: the contract is kept" in done.stdout
    half = run("check-solver", "tiny-half")
    assert half.returncode == 2
    assert "Half lacks penalties, needs, monotone, step_is, memory, step: see docs/contract.md" in half.stderr
