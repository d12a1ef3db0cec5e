"""Text files read a block of lines at a time: bounded memory, and no line lost unsaid.

A block of whole lines is parsed at once. Where something is wrong with it, it is halved until a few lines are left, and
these are looked at one by one: a file of 9.9 GB with a bad line here and there takes no longer than a clean one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.packed import PACKED, opened
from pianobench.datasets.readers.parsed import Unreadable
from pianobench.datasets.reading import UnusableFile

Progress = Callable[[int, int | None, int], None]
"""Is told the bytes of text read so far, how many there are (None where the file is packed), and the rows so far."""

BLOCK = 1 << 22  # bytes of text: 60,000 rows of clicks
TOLERATED = 1e-3
_FEW = 64  # lines that are looked at one by one
_MOST_REASONS = 100

Rows = TypeVar("Rows")


class Form(Protocol[Rows]):
    """How lines become rows."""

    what: str  # what is expected of a line, in a few words

    def quick(self, text: bytes) -> Rows | None:
        """Rows of whole lines; None where one of them is not of this form."""
        ...

    def one(self, line: bytes) -> Rows | str:
        """The row of one line without its end, or why it is none."""
        ...

    def faults(self, rows: Rows) -> Mapping[str, NDArray[np.bool_]]:
        """What may be wrong with rows of the right form, and which rows it is wrong with."""
        ...

    def kept(self, rows: Rows, good: NDArray[np.bool_]) -> Rows:
        """Some of the rows."""
        ...

    def joined(self, pieces: list[Rows]) -> Rows:
        """Rows one after another; none for an empty list."""
        ...

    def count(self, rows: Rows) -> int:
        """How many rows these are."""
        ...


@dataclass
class Skipped:
    """What a reading left out.

    Parameters
    ----------
    rows : int
        Rows that were read.
    reasons : Counter of str
        How many lines were left out, by reason.
    first : dict of str to int
        The first line of each reason, from 1.
    """

    rows: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """All lines that were left out."""
        return self.reasons.total()

    def add(self, reason: str, line: int) -> None:
        """One more."""
        if reason not in self.reasons and len(self.reasons) >= _MOST_REASONS:
            reason = "other reasons"
        self.reasons[reason] += 1
        self.first.setdefault(reason, line)

    def clear(self) -> None:
        """As before a reading."""
        self.rows = 0
        self.reasons.clear()
        self.first.clear()

    def __str__(self) -> str:
        if not self.count:
            return f"{self.rows} rows read, no line left out"
        told = (
            f"{count} x {reason} (first: line {self.first[reason]})" for reason, count in self.reasons.most_common(3)
        )
        return f"{self.rows} rows read, {self.count} lines left out: {'; '.join(told)}"


@dataclass
class Sieve(Generic[Rows]):
    """A file read by a form.

    Parameters
    ----------
    path : Path
        Plain, or packed (.gz, .bz2, .xz).
    form : Form
    tolerated : float
        Share of the lines that may be left out; 0 refuses the file at its first bad line.
    progress : callable, optional
        See `Progress`.
    block : int
        Bytes of text that are parsed at once.
    """

    path: Path
    form: Form[Rows]
    tolerated: float = TOLERATED
    progress: Progress | None = None
    block: int = BLOCK
    skipped: Skipped = field(default_factory=Skipped)

    def __post_init__(self) -> None:
        if not 0 <= self.tolerated <= 1:
            raise ValueError(f"tolerated = {self.tolerated}: a share from 0 to 1 is expected, for example 0.001")
        if not self.path.is_file():
            what = "it is a folder" if self.path.is_dir() else "`pianobench fetch kaggle/kddcup2012-track2` says where"
            raise UnusableFile(f"there is no file {self.path}: {what}")

    def blocks(self) -> Iterator[Rows]:
        """The rows, in the order of the file; `skipped` tells what was left out, as far as the reading has come.

        Raises
        ------
        UnusableFile
            The file is empty or of another form, has more bad lines than are tolerated, or is damaged.
        """
        self.skipped.clear()
        try:
            with opened(self.path) as stream:
                lines = yield from self._read(stream)
        except Unreadable as error:
            raise UnusableFile(f"{self.path.name}: {error}") from error
        except OSError as error:
            raise UnusableFile(f"{self.path.name} cannot be read: {error.strerror or error}") from error
        if not lines:
            raise UnusableFile(f"{self.path.name} is empty: {self.form.what} is expected: fetch the file again")
        if self.skipped.count > self.tolerated * lines:
            self._refuse()

    def lines(self, text: bytes, first: int) -> Rows:
        """The rows of whole lines, of which the first has this number; `skipped` goes on counting.

        Raises
        ------
        UnusableFile
            No line so far is of the form, or none that is not is tolerated.
        """
        text = text.replace(b"\r\n", b"\n") if b"\r" in text else text
        rows = self._sifted(text, first, True)
        self.skipped.rows += self.form.count(rows)
        if self.skipped.count and (self.tolerated == 0 or not self.skipped.rows):
            self._refuse()
        return rows

    def check(self) -> None:
        """Refuse the file if more lines have been left out than are tolerated.

        Raises
        ------
        UnusableFile
        """
        if self.skipped.count > self.tolerated * (self.skipped.rows + self.skipped.count):
            self._refuse()

    def _read(self, stream: IO[bytes]) -> Any:
        size = None if self.path.suffix.lower() in PACKED else self.path.stat().st_size
        line, done, told = 0, 0, self.skipped
        for text, ended in _texts(stream, self.block):
            done += len(text)
            text = text.replace(b"\r\n", b"\n") if b"\r" in text else text
            rows = self._sifted(text, line + 1, ended)
            line += text.count(b"\n") + (not ended)
            count = self.form.count(rows)
            told.rows += count
            if told.count and (self.tolerated == 0 or not told.rows):  # the wrong file is refused at once
                self._refuse()
            if self.progress is not None:
                self.progress(done, size, told.rows)
            if count:
                yield rows
        return line

    def _sifted(self, text: bytes, line: int, ended: bool) -> Rows:
        """Rows of some lines, the first of which has this number."""
        rows = self.form.quick(text) if ended else None
        if rows is not None:
            return self._plausible(rows, line)
        if text.count(b"\n") <= _FEW:
            return self.form.joined([*self._singly(text, line, ended)])
        cut = text.rfind(b"\n", 0, len(text) // 2) + 1 or text.index(b"\n") + 1
        first, second = text[:cut], text[cut:]
        after = line + first.count(b"\n")
        return self.form.joined([self._sifted(first, line, True), self._sifted(second, after, ended)])

    def _singly(self, text: bytes, line: int, ended: bool) -> Iterator[Rows]:
        lines = text.split(b"\n")
        if ended:
            lines.pop()
        for number, one in enumerate(lines, line):
            found = self.form.one(one) if one.strip() else "empty line"
            if not isinstance(found, str):
                yield self._plausible(found, number)
            else:
                cut = not ended and number == line + len(lines) - 1
                self.skipped.add("line cut off at the end of the file" if cut else found, number)

    def _plausible(self, rows: Rows, line: int) -> Rows:
        faults = self.form.faults(rows)
        bad = np.logical_or.reduce(list(faults.values()))
        if not bad.any():
            return rows
        for place in np.flatnonzero(bad).tolist():
            self.skipped.add(next(reason for reason, where in faults.items() if where[place]), line + place)
        return self.form.kept(rows, ~bad)

    def _refuse(self) -> None:
        raise UnusableFile(
            f"{self.path.name}: {self.skipped}; a share of {self.tolerated:g} is tolerated: "
            f"{self.form.what} is expected: fetch the file again, or give a larger `tolerated`"
        )


def _texts(stream: IO[bytes], size: int) -> Iterator[tuple[bytes, bool]]:
    """Whole lines, about so many bytes at once, and whether the last one has an end."""
    rest = b""
    while more := stream.read(size):
        whole, newline, rest = (rest + more).rpartition(b"\n")
        if newline:
            yield whole + newline, True
        elif len(rest) > 1 << 28:
            raise Unreadable(f"a line goes on for more than {len(rest) >> 20} MiB: this is no text of lines")
    if rest:
        yield rest, False
