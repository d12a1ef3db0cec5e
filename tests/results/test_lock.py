"""The lock of a store: one holder at a time, and none that is dead."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from pianobench.results import lock

HOLD = """
import sys, time
from pathlib import Path
from pianobench.results import lock
with lock.held(Path(sys.argv[1]), "somebody", lambda _: False) as ours:
    print("held" if ours else "taken", flush=True)
    time.sleep(600 if ours else 0)
"""


def never(_holder: str) -> bool:
    raise AssertionError("there is nobody to wait for")


def test_a_free_lock_is_held_at_once_again_and_again(tmp_path: Path) -> None:
    for holder in ("a longer name", "one"):
        with lock.held(tmp_path / "below" / "lock", holder, never) as ours:
            assert ours
            assert (tmp_path / "below" / "lock").read_text() == holder


def test_one_holds_it_the_other_is_told_who_and_may_give_up(tmp_path: Path) -> None:
    told: list[str] = []

    def twice(holder: str) -> bool:
        told.append(holder)
        return len(told) < 2

    with lock.held(tmp_path / "lock", "the first", never), lock.held(tmp_path / "lock", "other", twice) as ours:
        assert not ours
    assert told == ["the first"] * 2
    assert (tmp_path / "lock").read_text() == "the first", "who gives up leaves no name"
    with lock.held(tmp_path / "lock", "another", never) as ours:
        assert ours


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-P", "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with lock.held(path, "me", lambda holder: holder != "somebody") as ours:
            assert not ours
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    with lock.held(path, "me", never) as ours:
        assert ours


def test_a_process_that_the_holder_starts_does_not_keep_it(tmp_path: Path) -> None:
    with lock.held(tmp_path / "lock", "me", never):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    try:
        end = time.monotonic() + 60

        def a_while(_holder: str) -> bool:
            time.sleep(0.05)  # until the child has become another program it holds all that its parent does
            return time.monotonic() < end

        with lock.held(tmp_path / "lock", "me again", a_while) as ours:
            assert ours
    finally:
        child.communicate(b"\n")
