"""Five cases in which benchmarks are known to deceive: what row each leaves here.

A stalled solver, a segmentation fault, a hang, an edited helper file, a changed number of threads.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from suites import PLANTED, once

from pianobench.datasets import handover
from pianobench.datasets import load as load_data
from pianobench.experiments import config, runner
from pianobench.experiments.cells import expand
from pianobench.results import Store, load

HELPED = """
from planted import Descends
from lengths import LENGTH

class Helped(Descends):
    def step(self, problem, state):
        return super(type(self), type(self)(LENGTH)).step(problem, state)
"""


def text(*solvers: str, seconds: float = 5, allowance: float = 60) -> str:
    return f"""
        title = "Demonstration"
        tolerance = 1e-4
        [budget]
        seconds = {seconds}
        steps = 200
        allowance = {allowance}
        [[problems]]
        datasets = ["iris"]
        penalty = "l2"
        lam = [1.0]
        """ + "".join(f'[[solvers]]\nkey = "{key}"\n' for key in solvers)


def run(folder: Path, content: str) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code, rows by the configuration's order, and what is printed for people."""
    (folder / "demo.toml").write_text(content)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pianobench", "run", "demo.toml"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    rows = json.loads(load("latest", folder / "results" / "runs").rows.to_json(orient="records"))
    return done.returncode, rows, done.stdout


Three = tuple[int, dict[str, dict[str, Any]], str]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Three:
    return once(tmp_path_factory, "demonstrations", run_three)


def run_three(folder: Path) -> Three:
    """The first three, beside a healthy one."""
    shutil.copy(PLANTED, folder)
    keys = ["planted.py:Stalls", "planted.py:Segfaults", "planted.py:HangsInC", "lbfgs"]
    code, rows, printed = run(folder, text(*keys, seconds=1, allowance=19))
    assert [row["solver"] for row in rows] == keys
    return code, {row["solver_title"]: row for row in rows}, printed


def test_a_stalled_solver_is_not_called_converged(three: Three) -> None:
    _, rows, printed = three
    row, healthy = rows["Stalls"], rows["L-BFGS"]
    assert row["status"] == "stalled"
    assert row["gap"] > 0.1 > 1e-4 >= healthy["gap"], "the gap is certified, not against the best that it saw itself"
    assert row["seconds"] < healthy["seconds"], "the fastest, if seconds alone were looked at"
    (line,) = (line for line in printed.splitlines() if line.startswith("iris") and " Stalls " in line)
    assert "stalled" in line
    assert "converged" not in line


def test_a_segmentation_fault_is_a_row_and_the_others_go_on(three: Three) -> None:
    code, rows, printed = three
    assert code == 1, "the exit code tells of a failure"
    assert rows["Segfaults"]["status"] == "crashed"
    assert "SIGSEGV" in rows["Segfaults"]["reason"]
    assert rows["Segfaults"]["checkpoints"] == 1, "its curve so far is kept"
    assert rows["L-BFGS"]["status"] == "converged"
    assert "crashed: the process died of SIGSEGV" in " ".join(printed.split())


def test_a_hang_ends_at_its_deadline_and_is_no_success(three: Three) -> None:
    _, rows, _ = three
    row = rows["HangsInC"]
    assert row["status"] == "timeout"
    assert row["reason"] == "killed at its deadline, 1 s for the method + 19 s for the rest, while solving"
    assert row["process_seconds"] < 60, "and not at the end of its sleep, which is 600 s"
    assert row["checkpoints"] == 1
    assert row["gap"] > 1e-4


def measure(folder: Path, key: str, threads: int = 1) -> dict[str, Any]:
    """The one row of a suite of one cell."""
    asked = config.Config.model_validate(tomllib.loads(text(key)) | {"threads": [threads]})
    data = load_data("iris")
    cells = expand(asked, "demo", folder, {"iris": data.checksum})
    store = Store(folder / "store")
    (row,) = runner.run(cells, store, {data.checksum: handover.write(data, store.data)}).rows
    return row


def test_an_edited_helper_is_measured_anew_and_the_old_row_comes_back_with_the_old_text(tmp_path: Path) -> None:
    shutil.copy(PLANTED, tmp_path)
    (tmp_path / "helped.py").write_text(HELPED)
    rows = []
    for length in ("1e-4", "2e-4", "1e-4"):
        (tmp_path / "lengths.py").write_text(f"LENGTH = {length}\n")
        rows.append(measure(tmp_path, "helped.py:Helped"))
    assert [row["reused"] for row in rows] == [False, False, True]
    assert rows[0]["objective"] != rows[1]["objective"], "the edit matters"
    assert {**rows[2], "reused": False} == rows[0]


def test_another_number_of_threads_is_another_measurement(tmp_path: Path) -> None:
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one core")
    rows = [measure(tmp_path, "lbfgs", threads) for threads in (1, 2, 1)]
    assert [row["reused"] for row in rows] == [False, False, True]
    assert [row["threads_observed"] for row in rows] == [1, 2, 1]
    assert len({row["key"] for row in rows}) == 2
    assert {**rows[2], "reused": False} == rows[0], "a reused row keeps the date of its measurement"
