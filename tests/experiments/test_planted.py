"""Planted solvers: each ends as the right row, keeps its curve so far, and harms no neighbour."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from suites import execute, make, once

from pianobench.datasets import load
from pianobench.experiments import isolate, probe
from pianobench.experiments.cells import Cell, expand
from pianobench.experiments.config import Config
from pianobench.experiments.mistakes import UserMistake
from pianobench.results.schema import CURVES, ROWS, frame
from pianobench.results.store import Attempt, Store

NO_CURVE: list[int] = []
FIRST = [0]  # the checkpoint of the start, before the fault
WHOLE = None  # a whole curve


@dataclass(frozen=True)
class Fault:
    """What the row of a planted solver says."""

    solver: str
    status: str
    reason: str
    steps: list[int] | None
    failed: bool = True


def wrong_point(what: str, found: str) -> Fault:
    reason = f"solving: WrongPoint returned W as {found}: float64 of shape (5, 3) is expected"
    return Fault(f"WrongPoint(what='{what}')", "error", reason, FIRST)


FAULTS = (
    Fault("Raises", "error", "solving: RuntimeError: a planted fault (planted.py:", FIRST),
    Fault("RaisesTheUnspeakable", "error", "solving: RuntimeError: half a character: ?, and so on and", FIRST),
    Fault("QuitsPython", "error", "solving: SystemExit: 3 (planted.py:", FIRST),
    Fault("Exits", "lost", "the process ended well but left no outcome, while solving", FIRST),
    Fault("ExitsWithCode", "error", "exit code 7, while solving: the last words", FIRST),
    Fault("Segfaults", "crashed", "the process died of SIGSEGV (Segmentation fault), while solving", FIRST),
    Fault("Aborts", "crashed", "the process died of SIGABRT (Aborted), while solving", FIRST),
    Fault("IsKilled", "crashed", "the process died of SIGKILL (Killed), while solving", FIRST),
    Fault("BreaksDown", "breakdown", "the planted matrix is singular", [0, 0], failed=False),
    Fault("CannotStart", "breakdown", "CannotStart could not start: the planted matrix is", NO_CURVE, failed=False),
    Fault("NotANumber", "diverged", "F is nan after 1 steps", [0, 1], failed=False),
    Fault("Stalls", "stalled", "neither F nor its gap fell for 10 checkpoints; relative gap", WHOLE, failed=False),
    wrong_point("one row", "float64 of shape (1, 3)"),
    wrong_point("float32", "float32 of shape (5, 3)"),
    wrong_point("a list", "a list"),
    wrong_point("nothing", "a NoneType"),
    Fault("WritesToTheStart", "error", "solving: WritesToTheStart wrote to W0, which belongs to the caller", WHOLE),
    Fault("NeedsMemory", "out-of-memory", "solving: MemoryError", FIRST),
    Fault("Hungry", "out-of-memory", "killed at 0.", FIRST),
    Fault("HungryChild", "out-of-memory", "killed at 0.", FIRST),
    Fault(
        "SaysItNeedsMore",
        "out-of-memory",
        "warming up: not tried: SaysItNeedsMore needs 1,000,000,000,000,000 bytes",
        NO_CURVE,
    ),
    Fault("PrintsForEver", "error", "killed for printing more than 1 MiB, while solving", FIRST),
    Fault("Prints", "budget", "the 30 steps allowed are done", WHOLE, failed=False),
    Fault("LeavesThreads", "budget", "the 30 steps allowed are done", WHOLE, failed=False),
    Fault("LeavesProcesses", "budget", "the 30 steps allowed are done", WHOLE, failed=False),
)
DEADLINE = "killed at its deadline, 1 s for the method + 24 s for the rest, while"
HANGS = (
    Fault("HangsInPython", "timeout", f"{DEADLINE} solving", FIRST, failed=False),
    Fault("HangsInC", "timeout", f"{DEADLINE} solving", FIRST, failed=False),
    Fault("HangsAtTheWarmUp", "timeout", f"{DEADLINE} warming up", NO_CURVE, failed=False),
)
HEALTHY = Fault("Descends", "budget", "the 30 steps allowed are done", WHOLE, failed=False)


@dataclass(frozen=True)
class Seen:
    """A row with all that its cell left."""

    row: dict[str, Any]
    curve: list[dict[str, Any]]
    failed: bool
    attempt: Attempt


def run(faults: tuple[Fault, ...], root: Path, **budget: float) -> list[Seen]:
    cells = make([fault.solver for fault in faults], **budget)
    outcome = execute(cells, root)
    assert [row["key"] for row in outcome.rows] == [cell.key for cell in cells]
    return [
        Seen(row, [p for p in outcome.curves if p["key"] == row["key"]], row in outcome.failed, attempt)
        for row in outcome.rows
        for attempt in Store(root).attempts(row["key"])
    ]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    return once(tmp_path_factory, "planted", run_all)


def run_all(folder: Path) -> dict[str, Seen]:
    """All of them. Those that hang sleep beside the others; each suite has a healthy cell at its end."""
    parts = [(*FAULTS[0::2], HEALTHY), (*FAULTS[1::2], HEALTHY), *((hang, HEALTHY) for hang in HANGS)]
    found: dict[str, Seen] = {}
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(parts)) as pool:
        patch.setattr(isolate, "LONGEST_LOG", 2**20)
        running = []
        for number, part in enumerate(parts):
            budget = {"seconds": 1.0, "allowance": 24.0} if part[0] in HANGS else {}
            running.append(pool.submit(run, part, folder / str(number), **budget))
        for number, (part, suite) in enumerate(zip(parts, running, strict=True)):
            for fault, one in zip(part, suite.result(), strict=True):
                found[fault.solver + (str(number) if fault is HEALTHY else "")] = one
    return found


@pytest.mark.parametrize("fault", [*FAULTS, *HANGS], ids=lambda fault: fault.solver)
def test_a_fault_is_a_row_with_its_reason_and_keeps_its_curve(seen: dict[str, Seen], fault: Fault) -> None:
    one = seen[fault.solver]
    assert (one.row["status"], one.row["reason"][: len(fault.reason)]) == (fault.status, fault.reason)
    assert one.failed == fault.failed
    steps = [point["step"] for point in one.curve]
    if fault.steps is WHOLE:
        assert len(steps) > 5
    else:
        assert steps == fault.steps
    if steps:
        assert one.row["objective"] == pytest.approx(one.curve[-1]["objective"], nan_ok=True)
        assert (one.row["n"], one.row["d"], one.row["m"]) == (150, 4, 3)
    assert one.row["checkpoints"] == len(steps)


@pytest.mark.parametrize("number", range(2 + len(HANGS)))
def test_the_healthy_cell_after_them_finishes(seen: dict[str, Seen], number: int) -> None:
    row = seen[f"Descends{number}"].row
    assert (row["status"], row["reason"], row["steps"]) == (HEALTHY.status, HEALTHY.reason, 30)


def test_nothing_that_they_started_lives_on(seen: dict[str, Seen]) -> None:
    roots = {str(one.attempt.folder.parents[2]) for one in seen.values()}
    alive = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if any(root in word for root in roots for word in words):
            alive.append(words)
    assert not alive


def test_what_they_print_is_in_their_log_and_nowhere_else(seen: dict[str, Seen]) -> None:
    log = (seen["Prints"].attempt.folder / "log.txt").read_bytes()
    for words in (b'"step": 99', b"on standard error", b"\xff\xfe not text", b"from a shell"):
        assert words in log
    assert 99 not in [point["step"] for point in seen["Prints"].curve]


def test_threads_left_behind_do_not_keep_the_process(seen: dict[str, Seen]) -> None:
    assert seen["LeavesThreads"].row["process_seconds"] < 65, "its deadline, at which it would be killed"


def test_an_exception_leaves_its_traceback_in_the_log(seen: dict[str, Seen]) -> None:
    assert "planted.py" in (seen["Raises"].attempt.folder / "log.txt").read_text()
    assert "Segmentation fault" in (seen["Segfaults"].attempt.folder / "log.txt").read_text()


def test_reasons_are_single_lines_that_a_table_takes(seen: dict[str, Seen], tmp_path: Path) -> None:
    rows = [one.row for one in seen.values()]
    assert all("\n" not in row["reason"] and len(row["reason"]) <= isolate.LONGEST_REASON for row in rows)
    assert len(frame(rows, ROWS)) == len(rows)
    curves = [point for one in seen.values() for point in one.curve]
    Store(tmp_path).save_run("all", rows, curves, {}, "")
    assert set(frame(curves, CURVES)["key"]) <= {row["key"] for row in rows}


def test_the_system_killing_for_memory_is_told_from_another_kill(tmp_path: Path) -> None:
    (cell,) = make(["IsKilled"])
    attempt = Store(tmp_path).new_attempt(cell.key)
    for system_killed, status in ((True, "out-of-memory"), (False, "crashed")):
        row = isolate.close(cell, attempt, isolate.Ending(-9, None, 1.0, 0, system_killed))
        assert row["status"] == status


def file_of(tmp_path: Path, at_import: str) -> list[Cell]:
    """Cells of a user's file that does something at its import, and of a healthy solver after it."""
    (tmp_path / "mine.py").write_text(f"import os, signal, time\n{at_import}\nclass Mine:\n    pass\n")
    content = {
        "title": "Test",
        "budget": {"seconds": 1.0, "allowance": 14.0, "steps": 30},
        "problems": [{"datasets": ["iris"], "penalty": "l2", "lam": [1.0]}],
        "solvers": [{"key": "mine.py:Mine"}, {"key": "lbfgs"}],
    }
    return expand(Config.model_validate(content), "test", tmp_path, {"iris": load("iris").checksum})


@pytest.mark.parametrize(
    ("at_import", "status", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed", "the process died of SIGSEGV (Segmentation fault)"),
        ("os._exit(0)", "lost", "the process ended well but left no outcome"),
        ("time.sleep(600)", "timeout", "killed at its deadline, 1 s for the method + 14 s for the rest"),
    ],
)
def test_a_file_that_dies_at_its_import_is_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_import: str, status: str, reason: str
) -> None:
    monkeypatch.setattr(probe, "DEADLINE", 2.0)
    mine, healthy = execute(file_of(tmp_path, at_import), tmp_path / "store").rows
    assert (mine["status"], mine["reason"]) == (status, f"{reason}, while setting up the solver")
    assert healthy["status"] == "budget"


def test_a_file_that_raises_at_its_import_is_a_mistake_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match=r"mine.py, line 2: ZeroDivisionError: division by zero"):
        file_of(tmp_path, "1 / 0")
