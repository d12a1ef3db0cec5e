"""Whole lines of a file that may still grow, from a place on.

A print of what was read goes with the place: hashes of the first MiB and of the last MiB before it, of the unpacked
text. A plain file is then entered at the place; a packed one is unpacked up to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeVar

import numpy as np

from pianobench.datasets.readers.packed import LINE, PACKED, opened
from pianobench.datasets.readers.parsed import Unreadable
from pianobench.datasets.reading import UnusableFile
from pianobench.datasets.streamed.reader import OtherLog, Place

MIB = 1 << 20
_NEWLINE = ord("\n")

Piece = TypeVar("Piece")


class Lines:
    """A text file read in whole lines.

    Parameters
    ----------
    path : Path
        Plain, or packed (.gz, .bz2, .xz).

    Attributes
    ----------
    bytes, lines : int
        Of text before the place.
    unfinished : int
        Bytes after the last newline, once all before has been read: a line that may still be being written. A packed
        file is taken as finished, its last line as whole.

    Raises
    ------
    UnusableFile
        There is no such file.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            what = "give the path of a log"
            if path.is_dir():
                what = "it is a folder; give the path of a log in it"
            elif path.exists():
                what = "it is a pipe or a device, which cannot be read again; write the rows to a file, and give that"
            raise UnusableFile(f"there is no file {path}: {what}")
        self.path, self.packed = path, path.suffix.lower() in PACKED
        self.bytes = self.lines = self.unfinished = 0
        self._head = self._tail = b""
        self._rest, self._ended = b"", False

    def place(self) -> Place:
        """Where it stands."""
        prints = {name: hashlib.sha256(text).hexdigest() for name, text in self._ends().items()}
        return {"bytes": self.bytes, "lines": self.lines, **prints}

    def go_to(self, place: Place) -> None:
        """Stand at a place; `pieces` looks whether the file has what was read before it."""
        self.bytes, self.lines = int(place["bytes"]), int(place["lines"])
        self._wanted = {name: str(place[name]) for name in self._ends()}

    def batches(
        self, rows: int, parse: Callable[[bytes, int], Piece], count: Callable[[Piece], int]
    ) -> Iterator[list[Piece]]:
        """Pieces that together have so many rows, from the place on; the last ones what is left.

        Parameters
        ----------
        rows : int
        parse : callable
            Makes a piece of whole lines, given with the number of the first; a line has one row at most.
        count : callable
            Rows of a piece.

        Raises
        ------
        UnusableFile
            The file cannot be read, or `parse` says so.
        OtherLog
            The file has not what was read before the place.
        """
        try:
            with opened(self.path) as stream:
                self._enter(stream)
                have = rows
                while have == rows:
                    pieces, have = [], 0
                    while have < rows and (text := self._some(stream, rows - have)):
                        line = self.lines + 1
                        self._note(text)
                        pieces.append(parse(text if text.endswith(b"\n") else text + b"\n", line))
                        have += count(pieces[-1])
                    if have:
                        yield pieces
        except Unreadable as error:
            raise UnusableFile(f"{self.path.name}: {error}") from error
        except OSError as error:
            raise UnusableFile(f"{self.path.name} cannot be read: {error.strerror or error}") from error

    def _enter(self, stream: IO[bytes]) -> None:
        self._rest, self._ended, self.unfinished = b"", False, 0
        if not self.bytes:
            return
        size = min(self.bytes, MIB)
        self._head = self._tail = stream.read(size)
        if self.packed:
            left = self.bytes - size
            while left and (text := stream.read(min(left, MIB))):
                self._tail = (self._tail + text)[-MIB:]
                left -= len(text)
            reached = self.bytes - left
        else:
            stream.seek(self.bytes - size)
            self._tail = stream.read(size)
            reached = self.bytes - size + len(self._tail)
        found = {name: hashlib.sha256(text).hexdigest() for name, text in self._ends().items()}
        if reached < self.bytes or len(self._head) < size:
            raise OtherLog(f"{self.path.name} has fewer bytes of text than the {self.bytes} that were read of it")
        for name, what in (("head", "its beginning"), ("tail", f"what stands before byte {self.bytes}")):
            if found[name] != self._wanted[name]:
                raise OtherLog(f"{self.path.name} is not the log that was read: {what} differs")

    def _some(self, stream: IO[bytes], most: int) -> bytes:
        """Whole lines, so many at most and of about a MiB; none at the end."""
        if b"\n" not in self._rest and not self._ended:
            parts, size = [self._rest], len(self._rest)
            while True:
                text = stream.read(MIB)
                parts.append(text)
                size += len(text)
                if not text or b"\n" in text:
                    break
                if size > LINE:
                    what = f"it goes on for more than {LINE >> 20} MiB: this is no text of lines"
                    raise Unreadable(what, self.lines + 1)
            self._rest, self._ended = b"".join(parts), not text
        ends = np.flatnonzero(np.frombuffer(self._rest, np.uint8) == _NEWLINE)
        if len(ends):
            cut = int(ends[min(most, len(ends)) - 1]) + 1
        else:  # nothing follows
            cut = len(self._rest) if self.packed else 0
            self.unfinished = len(self._rest) - cut
        text, self._rest = self._rest[:cut], self._rest[cut:]
        return text

    def _note(self, text: bytes) -> None:
        self.bytes += len(text)
        self.lines += text.count(b"\n") + (not text.endswith(b"\n"))
        self._head += text[: MIB - len(self._head)]
        self._tail = (self._tail + text)[-MIB:]

    def _ends(self) -> dict[str, bytes]:
        return {"head": self._head, "tail": self._tail}
