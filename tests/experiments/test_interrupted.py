"""A suite that is killed, that finds a full disk or damaged files, or that is not alone on its store."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from suites import PLANTED, execute, make

from pianobench.experiments.guard import MARK
from pianobench.results import attempt as attempts
from pianobench.results.store import Store

COMMON = Path(__file__).parents[1] / "common"
PATIENCE = 120.0  # seconds: for a busy machine
# Prints a line for each thing that happens: a cell that starts, a suite that is waited for, a row.
SUITE = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from suites import execute, make
say = lambda *words: print(json.dumps(words), flush=True)
execute(make(sys.argv[3:]), Path(sys.argv[2]), on_start=lambda cell: say("start", cell.solver_title),
        on_wait=lambda holder: say("wait", holder), on_row=lambda row: say("row", row))
"""


class Suite:
    """A suite in a process of its own, and what it says."""

    def __init__(self, root: Path, solvers: list[str], **variables: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", SUITE, str(COMMON), str(root), *solvers],
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, what: str, *names: str) -> Any:
        """Read on until it says this."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            told, about = json.loads(line)
            if told == what and (not names or about in names):
                return about
        raise AssertionError(f"the suite ended without {what} {names}")

    def rows(self) -> list[dict[str, Any]]:
        """All further rows, to its end."""
        text, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0
        return [about for told, about in map(json.loads, text.splitlines()) if told == "row"]


@pytest.fixture
def suite(tmp_path: Path) -> Iterator[Callable[..., Suite]]:
    started: list[Suite] = []

    def start(*solvers: str, **variables: str) -> Suite:
        started.append(Suite(tmp_path / "store", list(solvers), **variables))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["environ"]):
        if (process.info["environ"] or {}).get(MARK) == mark:
            found.append(process)
    return found


def mark_of_cell(folder: Path) -> str:
    for process in psutil.process_iter(["cmdline", "environ"]):
        if str(folder) in (process.info["cmdline"] or []):
            return str(process.info["environ"][MARK])
    raise AssertionError(f"nobody measures in {folder}")


def test_a_suite_killed_in_mid_run_loses_nothing_leaves_nobody_and_says_what_it_repeats(
    tmp_path: Path, suite: Callable[..., Suite]
) -> None:
    (tmp_path / "wait").touch()
    names = ["Descends", "Waits", "lbfgs"]
    store, cells = Store(tmp_path / "store"), make(names)
    first = suite(*names, PLANTED_WAIT=str(tmp_path / "wait"))
    finished = first.wait_for("row")
    first.wait_for("start", "Waits")
    until(lambda: bool(store.attempts(cells[1].key)) and len(store.attempts(cells[1].key)[0].curve()) == 1)
    (cut,) = store.attempts(cells[1].key)
    mark = mark_of_cell(cut.folder.resolve())
    until(lambda: len(marked(mark)) >= 3)  # the cell, its child, and its grandchild in a session of its own
    first.process.send_signal(signal.SIGKILL)
    until(lambda: not marked(mark))

    (tmp_path / "wait").unlink()
    rows = suite(*names).rows()
    assert [row["reused"] for row in rows] == [True, False, False]
    assert rows[0] == {**finished, "reused": True}
    assert [row["status"] for row in rows] == ["budget"] * 3
    assert [row["earlier"] for row in rows] == [None, "001 cut off with its suite", None]
    assert [point["step"] for point in cut.curve()] == [0], "the curve of the cut one is kept, too"


def test_two_suites_on_one_store_take_turns_and_measure_nothing_twice(
    tmp_path: Path, suite: Callable[..., Suite]
) -> None:
    wait = tmp_path / "wait"
    wait.touch()
    first = suite("Waits", PLANTED_WAIT=str(wait))
    first.wait_for("start", "Waits")
    second = suite("Waits", "Descends", PLANTED_WAIT=str(wait))
    holder = second.wait_for("wait")
    assert holder.startswith(f"process {first.process.pid} since ")
    wait.unlink()
    measured, reused = first.rows(), second.rows()
    assert [row["reused"] for row in measured] == [False]
    assert [row["reused"] for row in reused] == [True, False]
    assert {**reused[0], "reused": False} == measured[0]
    store = Store(tmp_path / "store")
    assert [len(store.attempts(cell.key)) for cell in make(["Waits", "Descends"])] == [1, 1]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one mebibyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no small file system can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


CONFIG = """
title = "Test"
[budget]
seconds = 5
steps = 30
allowance = 60
memory_gib = 0.5
[[problems]]
datasets = ["iris"]
penalty = "l2"
lam = [1.0]
[[solvers]]
key = "planted.py:Descends"
[[solvers]]
key = "planted.py:FillsTheDisk"
"""


def test_a_full_disk_loses_nothing_finished_and_says_so(tmp_path: Path, small_disk: Path) -> None:
    cells = make(["Descends", "FillsTheDisk"])
    execute(cells[:1], small_disk)
    (tmp_path / "mine.toml").write_text(CONFIG)
    shutil.copy(PLANTED, tmp_path)
    ballast = small_disk / "ballast"
    full = subprocess.run(
        [sys.executable, "-P", "-m", "pianobench", "run", "mine.toml", "--out", str(small_disk)],
        cwd=tmp_path,
        env={**os.environ, "PLANTED_BALLAST": str(ballast)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert full.returncode == 3, full.stderr
    assert full.stderr.splitlines()[-1] == (
        f"pianobench: {small_disk} cannot be written: No space left on device. The cells that had ended are kept: "
        "make room there, or give another folder, and start again"
    )
    assert "Traceback" not in full.stderr
    ballast.unlink()
    rows = execute(cells, small_disk).rows
    assert [(row["reused"], row["earlier"]) for row in rows] == [(True, None), (False, "001 cut off with its suite")]


def test_a_disk_that_fills_before_the_row_leaves_the_earlier_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same without a file system of its own."""
    cells = make(["Descends", "BreaksDown"])
    write = attempts.write_atomically

    def full(path: Path, content: bytes) -> None:
        if path.name == "row.json" and b"BreaksDown" in content:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)

    monkeypatch.setattr(attempts, "write_atomically", full)
    with pytest.raises(OSError, match="No space left"):
        execute(cells, tmp_path)
    monkeypatch.undo()
    rows = execute(cells, tmp_path).rows
    assert [(row["reused"], row["earlier"]) for row in rows] == [(True, None), (False, "001 cut off with its suite")]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _without_last_line(path: Path) -> None:
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("whole")
    execute(make(["Descends"]), root)
    return root


DAMAGES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "half a row": ("row.json", _cut),
    "an empty row": ("row.json", lambda path: path.write_bytes(b"")),
    "a row that is a list": ("row.json", lambda path: path.write_text("[]")),
    "a row without status": ("row.json", lambda path: path.write_text("{}")),
    "a row that is no text": ("row.json", lambda path: path.write_bytes(b"\xff\xfe")),
    "half a curve": ("curve.jsonl", _cut),
    "a curve without its end": ("curve.jsonl", _without_last_line),
    "a curve with a torn line": ("curve.jsonl", lambda path: path.write_text("{\n" + path.read_text())),
    "no curve": ("curve.jsonl", Path.unlink),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_cell_counts_as_none(whole: Path, tmp_path: Path, what: str) -> None:
    store = Store(Path(shutil.copytree(whole, tmp_path / "store")))
    (cell,) = make(["Descends"])
    held = store.finished(cell.key)
    assert held is not None
    name, damage = DAMAGES[what]
    damage(held.folder / name)
    assert store.finished(cell.key) is None
    assert store.history(cell.key) == "001 damaged"


@pytest.mark.parametrize("name", ["spec.json", "outcome.json", "log.txt"])
def test_what_only_the_process_needed_may_be_damaged_afterwards(whole: Path, tmp_path: Path, name: str) -> None:
    store = Store(Path(shutil.copytree(whole, tmp_path / "store")))
    (cell,) = make(["Descends"])
    (only,) = store.attempts(cell.key)
    _cut(only.folder / name) if name != "log.txt" else (only.folder / name).unlink()
    assert store.finished(cell.key) == only


def test_a_damaged_cell_is_measured_again_and_says_so(whole: Path, tmp_path: Path) -> None:
    store = Store(Path(shutil.copytree(whole, tmp_path / "store")))
    cells = make(["Descends"])
    (only,) = store.attempts(cells[0].key)
    _cut(only.folder / "row.json")
    (row,) = execute(cells, store.root).rows
    assert (row["reused"], row["status"], row["earlier"]) == (False, "budget", "001 damaged")
    assert execute(cells, store.root).rows[0]["reused"]


def test_a_damaged_outcome_or_spec_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = attempts.Attempt.write

    def damaged(attempt: attempts.Attempt, name: str, record: Any) -> None:
        write(attempt, name, record)
        if name == "spec":
            _cut(attempt.folder / "spec.json")

    monkeypatch.setattr(attempts.Attempt, "write", damaged)
    (row,) = execute(make(["Descends"]), tmp_path).rows
    assert row["status"] == "error"
    assert "spec.json is damaged" in row["reason"]
