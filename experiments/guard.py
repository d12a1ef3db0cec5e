"""Nothing that a cell starts outlives it, nor the suite, however the suite ends.

Killing a process group misses a process that left the group, and a suite that dies of SIGKILL kills nobody. So
every process of a cell carries a mark in its environment, which its children inherit, and `sweep` kills all that
carry it. A suite has one guard: a process that waits for the end of its standard input, which comes when the suite
ends however it ends, and sweeps.
"""

import contextlib
import subprocess
import sys
import time
import uuid
from types import TracebackType
from typing import Self

import psutil

MARK = "PIANOBENCH_SUITE"
PATIENCE = 10.0  # seconds; a process with much memory dies slowly


class Guard:
    """The guard of one suite; its process is started when the first cell is.

    Attributes
    ----------
    mark : str
        What the processes of the cells carry in the environment variable `MARK`.
    """

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def start(self) -> None:
        """Start the guard if it does not run yet."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "pianobench.experiments.guard", self.mark],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C ends the suite, and the suite's end the guard
            )

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()


def sweep(mark: str) -> None:
    """Kill every process that carries the mark, until none is left or they multiply faster than they die."""
    end = time.monotonic() + PATIENCE
    while marked := [process for process in psutil.process_iter() if _carries(process, mark)]:
        for process in marked:
            with contextlib.suppress(psutil.Error):
                process.kill()
        if time.monotonic() > end:
            return
        # Not by waiting for them: that would take the exit code of a child from its owner.
        time.sleep(0.02)


def _carries(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get(MARK) == mark
    except (psutil.Error, OSError):  # it has ended, or is somebody else's
        return False


if __name__ == "__main__":
    sys.stdin.buffer.read()
    sweep(sys.argv[1])
