"""Runs `pianobench stream` once to the end, then again in processes that are killed (SIGKILL) one after another.

``python killed.py LOG WHOLE BROKEN OPTION...``: the state of the run to the end is WHOLE, that of the others BROKEN.
Prints as JSON how each of these ended: the signal, or minus the exit code. All have the first one's kernels by fork.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from pianobench.algorithms.stream import archive
from pianobench.algorithms.stream.learner import Learner
from pianobench.datasets.streamed.lines import Lines
from pianobench.experiments.cli import main
from pianobench.experiments.streaming import telling


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def at(owner: Any, name: str, count: int, *, after: bool = False) -> Callable[[], None]:
    """Die at that call of a function, before it or after."""

    def arrange() -> None:
        real, calls = getattr(owner, name), [0]

        def counted(*words: Any, **options: Any) -> Any:
            calls[0] += 1
            if calls[0] == count and not after:
                die()
            found = real(*words, **options)
            if calls[0] == count:
                die()
            return found

        setattr(owner, name, counted)

    return arrange


def half_written(count: int) -> Callable[[], None]:
    """Die with half of a state's bytes in the file."""

    def arrange() -> None:
        real, calls = np.savez, [0]

        def cut(stream: Any, **arrays: Any) -> None:
            calls[0] += 1
            whole = io.BytesIO()
            real(whole, **arrays)
            content = whole.getvalue()
            stream.write(content[: len(content) // 2])
            if calls[0] == count:
                stream.flush()
                die()
            stream.write(content[len(content) // 2 :])

        np.savez = cut

    return arrange


def within(seconds: float) -> Callable[[], None]:
    """Die after so long, wherever that is."""

    def arrange() -> None:
        threading.Timer(seconds, die).start()

    return arrange


MOMENTS = [
    within(0.002),
    at(archive.os, "replace", 1),
    at(archive.os, "replace", 1, after=True),
    within(0.02),
    half_written(1),
    at(archive.os, "fsync", 1),
    at(Learner, "step", 2),
    at(archive.os, "fsync", 2),
    half_written(2),
    at(Lines, "_some", 3),
    at(telling, "line", 1),
    at(archive.os, "replace", 2),
]


def run(*words: str) -> int:
    sys.argv = ["pianobench", *words]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0


def forked(arrange: Callable[[], None], *words: str) -> int:
    child = os.fork()
    if not child:
        arrange()
        os._exit(run(*words))
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)


if __name__ == "__main__":
    log, whole, broken, *options = sys.argv[1:]
    if run("stream", log, "--state", whole, "--threads", "1", *options):  # one thread: none is there to be forked
        sys.exit("the whole run failed")
    words = ("stream", log, "--state", broken, "--threads", "1", *options)
    print(json.dumps([forked(arrange, *words) for arrange in [*MOMENTS, lambda: None]]))
