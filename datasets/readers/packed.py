"""Files packed by gzip, bzip2 or xz, and a guard against those that unpack to no end."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pianobench.datasets.readers.parsed import Unreadable

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
PACKED = tuple(_OPENERS)
# A packed file may unpack to this many bytes whatever its size; beyond, to so many times its size. Text of numbers
# packs 3 to 30 times; what packs 300 times says nothing.
FREE = 1 << 26
RATIO = 300
LINE = 1 << 28  # bytes of the longest line that is taken for one


def ending(path: Path) -> str:
    """Ending that tells the form, in small letters: that of a packed file stands before ``.gz``."""
    endings = [one.lower() for one in path.suffixes]
    if endings and endings[-1] in _OPENERS:
        endings.pop()
    return endings[-1] if endings else ""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The unpacked bytes of a file.

    Raises
    ------
    Unreadable
        Within the block: the packed bytes are damaged, or unpack to far more than any data would.
    """
    opener = _OPENERS.get(path.suffix.lower())
    try:
        if opener is None:
            with open(path, "rb") as plain:
                yield plain
        else:
            with opener(path, "rb") as inner, io.BufferedReader(_Guarded(inner, path)) as stream:
                yield stream
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise Unreadable(f"its packed bytes are damaged ({error}): copy or fetch it again", path=path) from error
    except OSError as error:
        if opener is None or error.errno is not None:
            raise
        raise Unreadable(f"its packed bytes are damaged ({error}): copy or fetch it again", path=path) from error


def lines(stream: IO[bytes], path: Path) -> Iterator[tuple[int, bytes]]:
    """Number from 1 and text of each line, without its end; the line ends of Unix and Windows.

    Raises
    ------
    Unreadable
        A line is longer than any line of data.
    """
    number = 0
    while line := stream.readline(LINE):
        number += 1
        if len(line) == LINE and not line.endswith(b"\n"):
            raise Unreadable(f"it goes on for more than {LINE >> 20} MiB: this is no text of lines", number, path)
        yield number, line.rstrip(b"\r\n")


class _Guarded(io.RawIOBase):
    """Counts what is unpacked."""

    def __init__(self, inner: IO[bytes], path: Path) -> None:
        self._inner = inner
        self._path = path
        self._count = 0
        self._most = max(FREE, RATIO * path.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._inner.read(len(buffer))
        self._count += len(data)
        if self._count > self._most:
            raise Unreadable(
                f"it unpacks to more than {self._most >> 20} MiB, over {RATIO} times its size, as no data does: "
                "unpack it yourself if you trust it",
                path=self._path,
            )
        buffer[: len(data)] = data
        return len(data)
