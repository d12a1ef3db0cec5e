"""A lock between processes that ends with its holder: nobody has to clean up after a killed suite."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(path: Path, holder: str, wait: Callable[[str], bool]) -> Iterator[bool]:
    """Hold a lock, or give up waiting for it.

    The operating system takes the lock from a process that dies, however it dies. So the file may stay: its
    text only tells those who wait whom they wait for.

    Parameters
    ----------
    path : Path
        The lock's file; made if it is absent.
    holder : str
        Whom the others are told to wait for.
    wait : callable
        Called with the present holder's text whenever the lock is not free; pauses, and returns whether to
        try again.

    Yields
    ------
    bool
        Whether the lock is held.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A descriptor that is opened here is not inherited: no process that the holder starts keeps the lock alive.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        while not (got := _take(descriptor)):
            if not wait(path.read_text("utf-8", errors="replace").strip() or "another process"):
                break
        if got:
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, holder.encode())
        yield got
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> bool:
        try:
            # Far beyond the text, which the others must be able to read.
            os.lseek(descriptor, 2**30, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
