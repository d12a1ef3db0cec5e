"""One cell in its own process, and the row that closes it, however the process ended."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from pianobench.datasets import handover
from pianobench.experiments import environment
from pianobench.experiments.cells import Cell
from pianobench.results.schema import SCHEMA_VERSION
from pianobench.results.store import Attempt

POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Ending:
    """How a process ended.

    Parameters
    ----------
    code : int
        Exit code; minus the signal if it died of one.
    killed : str or None
        Why this side killed it: "deadline", "memory", "interrupt", or None.
    seconds : float
        Wall time from start to end.
    peak_bytes : int
        Largest resident memory that was seen from outside.
    """

    code: int
    killed: str | None
    seconds: float
    peak_bytes: int


def run(cell: Cell, attempt: Attempt, data: str, interrupted: Callable[[], bool]) -> dict[str, Any]:
    """Run a cell to its end and return the measured columns of its row.

    Parameters
    ----------
    cell : Cell
        What to run.
    attempt : Attempt
        Its fresh folder.
    data : str
        Folder of the arrays.
    interrupted : callable
        Asked a few times a second; once true, the process is killed.
    """
    attempt.write("spec", specification(cell, data))
    memory = int((cell.memory_gib or 0.8 * psutil.virtual_memory().total / 2**30) * 2**30)
    ending = _process(attempt, cell.threads, cell.max_seconds + cell.allowance, memory, interrupted)
    return close(cell, attempt, ending)


def specification(cell: Cell, data: str) -> dict[str, Any]:
    """All that the process needs, and the parts of the key to explain it later."""
    return {
        "label": cell.label,
        "data": data,
        "checksum": cell.problem.checksum,
        "test": {"data": str(handover.folder(Path(data).parent, cell.test)), "checksum": cell.test}
        if cell.test
        else None,
        "problem": {
            "penalty": cell.problem.penalty,
            "lam": cell.problem.lam,
            "lam_factor": cell.problem.lam_factor,
            "ridge": cell.problem.ridge,
            "intercept": cell.problem.intercept,
            "conditioning": cell.problem.conditioning,
        },
        "black_box": cell.black_box,
        "solver": cell.solver,
        "solver_file": cell.solver_file,
        "params": cell.parameters,
        "seed_words": cell.seed_words,
        "threads": cell.threads,
        "tolerance": cell.tolerance,
        "max_seconds": cell.max_seconds,
        "max_steps": cell.max_steps,
        "key_parts": cell.key_parts,
    }


def _process(attempt: Attempt, threads: int, deadline: float, memory: int, interrupted: Callable[[], bool]) -> Ending:
    # -P keeps the working folder off the import path: it may hold a folder called `datasets`, or anything.
    command = [sys.executable, "-P", "-m", "pianobench.experiments.measure", str(attempt.folder.resolve())]
    began = time.perf_counter()
    killed, peak = None, 0
    with attempt.open_log() as log:
        child = subprocess.Popen(
            command,
            env=environment.for_cell(threads),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a group of its own: killed whole, and Ctrl-C reaches only the suite
        )
        try:
            while killed is None:
                try:
                    child.wait(POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    peak = max(peak, _resident_bytes(child.pid))
                if interrupted():
                    killed = "interrupt"
                elif time.perf_counter() - began > deadline:
                    killed = "deadline"
                elif peak > memory:
                    killed = "memory"
        finally:
            # Also after a good end, for what the solver may have started.
            _kill_group(child)
            child.wait()
    return Ending(child.returncode, killed, time.perf_counter() - began, peak)


def _kill_group(child: "subprocess.Popen[bytes]") -> None:
    if os.name != "posix":
        child.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the group is empty
        os.killpg(child.pid, signal.SIGKILL)


def _resident_bytes(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def close(cell: Cell, attempt: Attempt, ending: Ending) -> dict[str, Any]:
    """The measured part of a cell's row: what the process told, its last checkpoint, and how it ended."""
    curve = attempt.curve()
    last = {key: value for key, value in curve[-1].items() if key != "step"} if curve else {}
    told = attempt.read("outcome")
    measured: dict[str, Any] = {
        "steps": curve[-1]["step"] if curve else None,
        **last,
        **(told or {}),
        "process_seconds": ending.seconds,
        "schema": SCHEMA_VERSION,
    }
    if measured.get("peak_bytes") is None:
        measured["peak_bytes"] = ending.peak_bytes
    if told is None or "status" not in told:
        measured["status"], measured["reason"] = _unsaid(cell, attempt, ending)
    return measured


def _unsaid(cell: Cell, attempt: Attempt, ending: Ending) -> tuple[str, str]:
    """Status and reason of a process that did not tell them."""
    if ending.killed == "deadline":
        return "timeout", (
            f"killed at its deadline: {cell.max_seconds:g} s for the method + {cell.allowance:g} s for the rest"
        )
    if ending.killed == "interrupt":
        return (
            "interrupted",
            f"the suite was interrupted {ending.seconds:.1f} s after the start of this process",
        )
    if ending.killed == "memory":
        return "out-of-memory", f"killed at {ending.peak_bytes / 2**30:.1f} GiB of resident memory"
    if ending.code < 0:
        number = -ending.code
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        hint = "; perhaps the system was out of memory" if name == "SIGKILL" else ""
        return "crashed", f"the process died of {name} ({signal.strsignal(number)}){hint}"
    if ending.code == 0:
        return "lost", "the process ended well but left no outcome"
    return "error", f"exit code {ending.code}: {attempt.last_words() or 'no output'}"
