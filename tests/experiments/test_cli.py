"""The command line as a user meets it: exit codes, readable mistakes, what it prints and what it leaves.

Where a process of its own makes no difference the command runs in this one, which saves its imports.
"""

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from suites import once

from pianobench.algorithms import SOLVERS
from pianobench.datasets import entries
from pianobench.experiments.claims import ledger
from pianobench.experiments.cli import main, show
from pianobench.results import load

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-P", "-m", "pianobench"]
TINY = """
title = "Tiny"
tier = "smoke"
tolerance = 1e-4
[budget]
seconds = 10
[[problems]]
datasets = ["iris"]
penalty = "l2"
lam_factor = [0.5]
[[problems]]
datasets = ["iris"]
penalty = "l1"
lam_factor = [0.5]
[[solvers]]
key = "lbfgs"
"""


def process(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*COMMAND, *words], cwd=cwd, capture_output=True, text=True, timeout=120)


def pianobench(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """The same in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "argv", ["pianobench", *words])
        try:
            code = main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each worker's own copy: the tests add runs to it."""
    return Path(shutil.copytree(once(tmp_path_factory, "cli", run_tiny), tmp_path_factory.mktemp("cli") / "copy"))


def run_tiny(path: Path) -> Path:
    """A folder with a configuration, and one run of it in the default place."""
    (path / "tiny.toml").write_text(TINY)
    done = process("run", "tiny.toml", cwd=path)
    assert done.returncode == 0, done.stderr
    (path / "stdout.txt").write_text(done.stdout)
    (path / "stderr.txt").write_text(done.stderr)
    return path


def test_help_is_quick_and_imports_nothing_heavy(tmp_path: Path) -> None:
    process("--help", cwd=tmp_path)  # fills the caches of compiled Python
    began = time.perf_counter()
    done = process("--help", cwd=tmp_path)
    assert time.perf_counter() - began < 2.0  # 0.3 s on a quiet machine
    assert done.returncode == 0
    for command in ("reproduce", "run", "report", "redraw", "solvers", "datasets", "claims"):
        assert command in done.stdout
    probe = (
        "import sys, pianobench.experiments.cli.app\n"
        "print({'numpy', 'numba', 'pandas', 'matplotlib', 'pydantic'} & set(sys.modules))"
    )
    heavy = subprocess.run([sys.executable, "-P", "-c", probe], capture_output=True, text=True, check=True)
    assert heavy.stdout.strip() == "set()"


def test_a_run_prints_table_reasons_and_files(folder: Path) -> None:
    text = (folder / "stdout.txt").read_text()
    assert "L-BFGS" in text
    assert "converged" in text
    assert "skipped" in text
    assert "not l1" in text
    assert "our derivation" in text
    told = (folder / "stderr.txt").read_text()
    assert re.search(r"^\[[12]/2\] iris/l2:0.5max/lbfgs/seed0/threads1 … converged", told, re.MULTILINE)


def test_a_run_leaves_tables_figures_and_manifest(folder: Path) -> None:
    tables = load("latest", folder / "results" / "runs")
    assert tables.rows["status"].tolist() == ["converged", "skipped"]
    assert (tables.curves["gap"].iloc[-1] <= 1e-4).all()
    (run,) = (folder / "results" / "runs").glob("tiny-*")
    assert {p.name for p in run.iterdir()} == {
        "config.toml",
        "convergence.png",
        "convergence.svg",
        "curves.parquet",
        "manifest.json",
        "rows.parquet",
    }
    assert (run / "config.toml").read_text() == TINY


def test_the_manifest_says_what_was_asked_and_of_which_data(folder: Path) -> None:
    manifest = load("latest", folder / "results" / "runs").manifest
    assert manifest["config_sha256"] == hashlib.sha256(TINY.encode()).hexdigest()
    assert manifest["started_at"] <= manifest["ended_at"]
    assert {"load_before", "load_after", "order_seed", "schema"} <= set(manifest)
    iris = manifest["datasets"]["iris"]
    assert (iris["n"], iris["d"], iris["m"], iris["nonzeros"]) == (150, 4, 3, 600)
    assert (iris["dtype"], iris["layout"]) == ("float64", "dense, C order")


def test_a_noisy_machine_is_said_at_the_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = load("latest", folder / "results" / "runs")
    for sign, said in (("load 9.0", True), (pd.NA, False)):
        rows = tables.rows.assign(disturbed=pd.Series([sign, pd.NA], dtype="string"))
        show.outcome(dataclasses.replace(tables, rows=rows), folder, [], claims=False, as_json=False)
        assert ("Noisy machine: 1 of 2 measurements" in capsys.readouterr().out) == said


def test_the_manifest_names_no_folder_user_or_host(folder: Path) -> None:
    text = json.dumps(load("latest", folder / "results" / "runs").manifest)
    for private in (str(Path.home()), str(folder), os.uname().nodename):
        assert not re.search(rf"(?<![\w]){re.escape(private)}(?![\w])", text)
    for wanted in ("openblas", "numpy", "checksum", "cores_usable", "commit"):
        assert wanted in text


def test_a_second_run_measures_nothing_again_and_prints_json(folder: Path) -> None:
    done = pianobench("run", "tiny.toml", "--json", "--quiet", cwd=folder)
    assert done.returncode == 0
    assert done.stderr == ""
    document = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert [row["reused"] for row in document["rows"]] == [True, True]
    assert all(Path(folder, path).is_file() for path in document["figures"])


def test_redraw_needs_the_tables_alone(folder: Path, tmp_path: Path) -> None:
    (run, *_) = sorted((folder / "results" / "runs").glob("tiny-*"))
    copy = tmp_path / "moved"
    copy.mkdir()
    for name in ("rows.parquet", "curves.parquet", "manifest.json"):
        shutil.copy(run / name, copy)
    done = pianobench("redraw", str(copy), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (copy / "convergence.svg").read_bytes() == (run / "convergence.svg").read_bytes()
    assert "converged" in done.stdout


def test_dry_run_lists_and_runs_nothing(folder: Path, tmp_path: Path) -> None:
    done = pianobench("run", str(folder / "tiny.toml"), "--dry-run", "--out", str(tmp_path / "out"), cwd=tmp_path)
    assert done.returncode == 0
    assert "2 cells, 0 held by the store, 2 to run" in done.stdout
    assert not list(tmp_path.iterdir())
    held = pianobench("run", "tiny.toml", "--dry-run", "--only", "l2:", "--json", cwd=folder)
    assert [cell["held"] for cell in json.loads(held.stdout)["cells"]] == [True]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reproduce", "--tier", "huge"], "--tier 'huge': one of smoke, laptop, full is expected"),
        (["reproduce", "--only", "nothing-like-it"], "matches none of"),
        (["reproduce", "--threads", "4096"], "--threads = 4096: this machine offers"),
        (["run", "smok"], "did you mean smoke?"),
        (["run", "absent.toml"], "there is no file absent.toml"),
        (["redraw"], "there is no run yet"),
        (["report", "--tier", "huge"], "--tier 'huge': one of smoke, laptop, full is expected"),
        (["report", "--out", "."], "--out . is a folder"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(tmp_path: Path, words: list[str], message: str) -> None:
    done = pianobench(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("pianobench: ")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_a_mistake_in_a_process_of_its_own_leaves_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TINY.replace("seconds", "second"))
    done = process("run", "mine.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("pianobench: mine.toml: budget.second = 10: ")
    assert len(done.stderr.splitlines()) == 1
    assert process("run", "mine.toml", "--ony", "x", cwd=tmp_path).returncode == 2


def test_a_failed_cell_is_exit_code_one_and_the_others_have_rows(tmp_path: Path) -> None:
    shutil.copy(HERE / "planted.py", tmp_path)
    text = TINY.replace('key = "lbfgs"', 'key = "planted.py:Raises"\n[[solvers]]\nkey = "lbfgs"')
    (tmp_path / "mine.toml").write_text(text)
    done = pianobench("run", "mine.toml", "--only", "l2:", "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert [row["status"] for row in json.loads(done.stdout)["rows"]] == ["error", "converged"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_suite_leaves_rows_for_all(tmp_path: Path, number: signal.Signals) -> None:
    shutil.copy(HERE / "planted.py", tmp_path)
    text = TINY.replace('key = "lbfgs"', 'key = "planted.py:HangsInC"\n[[solvers]]\nkey = "planted.py:HangsInPython"')
    (tmp_path / "mine.toml").write_text(text)
    suite = subprocess.Popen(
        [*COMMAND, "run", "mine.toml", "--only", "l2:", "--json"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("results/runs/cells/*/001/curve.jsonl")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        suite.send_signal(number)
        text, _ = suite.communicate(timeout=60)
    finally:
        suite.kill()
    assert suite.returncode == 130
    rows = json.loads(text)["rows"]
    assert [row["status"] for row in rows] == ["interrupted", "interrupted"]
    started, other = sorted(row["reason"] for row in rows)[::-1]  # the order in which they run is random
    assert "after the start of this process" in started
    assert "not started" in other
    assert load("latest", tmp_path / "results" / "runs").manifest["interrupted"] is True


@pytest.mark.parametrize(
    ("command", "field", "expected"),
    [
        ("datasets", "name", [name for name, entry in entries().items() if entry.source == "scikit-learn"]),
        ("claims", "id", [claim.id for claim in ledger()]),
        ("solvers", "key", list(SOLVERS)),
    ],
)
def test_lists_as_json_and_as_text(tmp_path: Path, command: str, field: str, expected: list[str]) -> None:
    listed: list[dict[str, Any]] = json.loads(pianobench(command, "--json", cwd=tmp_path).stdout)
    assert [e[field] for e in listed][: len(expected)] == expected
    text = pianobench(command, cwd=tmp_path).stdout
    assert all(name in text for name in expected)


def test_reproduce_gives_the_verdicts_that_its_rows_allow(tmp_path: Path) -> None:
    """Two cells of the smoke tier: not enough of any grid."""
    done = pianobench("reproduce", "--only", "wine*/l2*/lbfgs/*", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "Claims, by this run undecided: P1, P2, P3," in text
    assert "not testable here: S9, S14" in text
    for verdict in ("reproduced:", "partly:", "contradicted:"):
        assert verdict not in text
    place = Path("results", "runs", "report-smoke.html")
    assert done.stdout.endswith(f"Report  {place}\n")
    assert "on wine_standardised l2:0.1max, by L-BFGS. Ends: 1 converged." in (tmp_path / place).read_text("utf-8")
