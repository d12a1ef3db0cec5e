"""One process at a time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt

    def _take(stream: IO[bytes]) -> None:
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(stream: IO[bytes]) -> None:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def alone(folder: Path, waiting: Callable[[], None] = lambda: None, every: float = 0.1) -> Iterator[None]:
    """Hold the lock of a folder: a file beside it, which stays. The lock ends with the process, however that ends.

    Parameters
    ----------
    folder : Path
        It need not exist.
    waiting : callable
        Is called once if another process has it.
    every : float
        Seconds between two looks.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    told = False
    with open(_file(folder), "ab") as stream:
        while True:
            try:
                _take(stream)
                break
            except (BlockingIOError, PermissionError):
                if not told:
                    waiting()
                told = True
                time.sleep(every)
        yield


def is_free(folder: Path) -> bool:
    """Whether no process holds the lock of a folder."""
    try:
        with open(_file(folder), "rb") as stream:
            _take(stream)
    except FileNotFoundError:
        return True
    except (BlockingIOError, PermissionError):
        return False
    return True


def _file(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")
