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
from pianobench.experiments import environment, guard
from pianobench.experiments.cells import Cell
from pianobench.results.attempt import Attempt, StoreError
from pianobench.results.schema import SCHEMA_VERSION

POLL_SECONDS = 0.1
POLLS_OF_CHILDREN = 10  # to find a process's children all processes must be looked at
LONGEST_LOG = 64 * 2**20  # bytes of output; a method that prints in each step must not fill the disk
LONGEST_REASON = 500  # characters


@dataclass(frozen=True)
class Ending:
    """How a process ended.

    Parameters
    ----------
    code : int
        Exit code; minus the signal if it died of one.
    killed : str or None
        Why this side killed it: "deadline", "memory", "output", "interrupt", or None.
    seconds : float
        Wall time from start to end.
    peak_bytes : int
        Largest resident memory that was seen from outside, children included.
    system_killed : bool
        The system has killed a process for want of memory meanwhile.
    """

    code: int
    killed: str | None
    seconds: float
    peak_bytes: int
    system_killed: bool = False


def run(cell: Cell, attempt: Attempt, data: str, mark: str, interrupted: Callable[[], bool]) -> dict[str, Any]:
    """Run a cell to its end and return the measured columns of its row.

    Parameters
    ----------
    cell : Cell
        What to run.
    attempt : Attempt
        Its fresh folder.
    data : str
        Folder of the arrays.
    mark : str
        Mark of the suite's guard.
    interrupted : callable
        Asked a few times a second; once true, the process is killed.
    """
    memory = int((cell.memory_gib or 0.8 * psutil.virtual_memory().total / 2**30) * 2**30)
    attempt.write("spec", {**specification(cell, data), "memory": memory})
    deadline = cell.max_seconds + cell.allowance
    ending = _process(cell.process, attempt, environment.for_cell(cell.threads, mark), deadline, memory, interrupted)
    guard.sweep(mark)
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
        "allowance": cell.allowance,
        "max_steps": cell.max_steps,
        "key_parts": cell.key_parts,
    }


def _process(
    module: str,
    attempt: Attempt,
    variables: dict[str, str],
    deadline: float,
    memory: int,
    interrupted: Callable[[], bool],
) -> Ending:
    # -P keeps the working folder off the import path: it may hold a folder called `datasets`, or anything.
    command = [sys.executable, "-P", "-m", module, str(attempt.folder.resolve())]
    began, kills_before = time.perf_counter(), _kills_for_memory()
    killed, memory_seen = None, Memory()
    with attempt.open_log() as log:
        child = subprocess.Popen(
            command,
            env=variables,
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
                    memory_seen.look(child.pid)
                if interrupted():
                    killed = "interrupt"
                elif time.perf_counter() - began > deadline:
                    killed = "deadline"
                elif memory_seen.peak > memory:
                    killed = "memory"
                elif os.fstat(log.fileno()).st_size > LONGEST_LOG:
                    killed = "output"
        finally:
            # Also after a good end, for what the solver may have started.
            _kill_group(child)
            child.wait()
    seconds = time.perf_counter() - began
    return Ending(child.returncode, killed, seconds, memory_seen.peak, _kills_for_memory() > kills_before)


def _kill_group(child: "subprocess.Popen[bytes]") -> None:
    if os.name != "posix":
        child.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the group is empty
        os.killpg(child.pid, signal.SIGKILL)


class Memory:
    """Resident memory of a process and its children, seen from outside.

    A limit of the operating system would not do: it counts address space, of which threads and BLAS reserve
    gigabytes that they never touch.
    """

    def __init__(self) -> None:
        self.peak = 0
        self._looks = 0
        self._children = 0

    def look(self, pid: int) -> None:
        """Look at it once more."""
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if self._looks % POLLS_OF_CHILDREN == 0:
                self._children = sum(_own_bytes(child) for child in process.children(recursive=True))
            self._looks += 1
            self.peak = max(self.peak, process.memory_info().rss + self._children)


def _own_bytes(process: psutil.Process) -> int:
    """Memory that would be free if only this process ended: a forked child shares most with its parent."""
    try:
        return int(process.memory_full_info().uss)
    except psutil.Error:
        return 0


def _kills_for_memory() -> int:
    """How often the system has killed a process for want of memory so far; 0 where it does not say."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def close(cell: Cell, attempt: Attempt, ending: Ending) -> dict[str, Any]:
    """The measured part of a cell's row: what the process told, its last checkpoint, and how it ended."""
    try:
        curve = attempt.curve()
        told = attempt.read("outcome") or {}
    except StoreError as error:
        curve, told = [], {"status": "lost", "reason": str(error)}
    last = {key: value for key, value in curve[-1].items() if key != "step"} if curve else {}
    stage = told.pop("stage", "start")
    measured: dict[str, Any] = {
        "steps": curve[-1]["step"] if curve else None,
        **last,
        **told,
        "checkpoints": len(curve),
        "process_seconds": ending.seconds,
        "schema": SCHEMA_VERSION,
    }
    measured["peak_bytes"] = max(told.get("peak_bytes") or 0, ending.peak_bytes)
    if "status" not in told:
        measured["status"], measured["reason"] = _unsaid(cell, attempt, ending, stage)
    measured["reason"] = _one_line(measured["reason"])
    return measured


def _unsaid(cell: Cell, attempt: Attempt, ending: Ending, stage: str) -> tuple[str, str]:
    """Status and reason of a process that did not tell them."""
    if ending.killed == "deadline":
        return "timeout", (
            f"killed at its deadline, {cell.max_seconds:g} s for the method + {cell.allowance:g} s for the rest, "
            f"while {stage}"
        )
    if ending.killed == "interrupt":
        return "interrupted", f"the suite was interrupted {ending.seconds:.1f} s after the start of this process"
    if ending.killed == "memory":
        return "out-of-memory", f"killed at {ending.peak_bytes / 2**30:.1f} GiB of resident memory, while {stage}"
    if ending.killed == "output":
        return "error", f"killed for printing more than {LONGEST_LOG / 2**20:.0f} MiB, while {stage}"
    if ending.code == -signal.SIGKILL and ending.system_killed:
        return "out-of-memory", f"killed by the system for want of memory, while {stage}"
    if ending.code < 0:
        try:
            name = signal.Signals(-ending.code).name
        except ValueError:
            name = f"signal {-ending.code}"
        return "crashed", f"the process died of {name} ({signal.strsignal(-ending.code)}), while {stage}"
    if ending.code == 0:
        return "lost", f"the process ended well but left no outcome, while {stage}"
    return "error", f"exit code {ending.code}, while {stage}: {attempt.last_words() or 'no output'}"


def _one_line(text: str) -> str:
    """A reason that every table and terminal takes: one line, of bounded length, without broken characters."""
    words = " ".join(text.split()).encode("utf-8", "replace").decode()
    return words if len(words) <= LONGEST_REASON else words[: LONGEST_REASON - 1] + "…"
