"""The guard: it kills what carries its mark, nothing else, and only when the suite has ended."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from pianobench.experiments.guard import MARK, Guard, sweep

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@contextmanager
def sleeper(mark: str) -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen(SLEEP, env={**os.environ, MARK: mark}, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_sweep_kills_what_carries_the_mark_and_nothing_else() -> None:
    with sleeper("one mark") as one, sleeper("another") as other:
        sweep("one mark")
        assert one.wait(60) == -9
        assert other.poll() is None


def test_a_guard_lets_live_until_its_suite_ends() -> None:
    with Guard() as guard, sleeper(guard.mark) as process:
        guard.start()
        guard.start()
        watch = guard._process
        assert watch is not None
        assert process.poll() is None
        assert psutil.pid_exists(watch.pid)
        guard.__exit__()
        assert process.wait(60) == -9
        assert watch.poll() is not None


def test_a_suite_without_a_measurement_starts_no_guard() -> None:
    with Guard() as guard:
        assert guard._process is None


def test_marks_differ() -> None:
    assert Guard().mark != Guard().mark
