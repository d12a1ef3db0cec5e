"""Files of KDD Cup 2012, track 2: the training file, the users' profiles, and the tokens of texts [Ten12].

Each is read in blocks, packed or not, and tells which lines it left out and why. Tables are for look-ups: users and
texts that a table lacks are no mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.kdd12.layout import COLUMNS, Log
from pianobench.datasets.kdd12.sifted import BLOCK, TOLERATED, Progress, Sieve, Skipped
from pianobench.datasets.reading import digest

Bad = Mapping[str, NDArray[np.bool_]]

_LARGEST = 2**64 - 1
_CLICK, _IMPRESSION, _DEPTH, _POSITION = (COLUMNS.index(name) for name in ("click", "impression", "depth", "position"))


class _Numbers:
    """Tab-separated whole numbers: rows are an array (columns, n) of uint64."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns
        self.what = f"a line of {len(columns)} tab-separated whole numbers ({', '.join(columns)})"

    def quick(self, text: bytes) -> NDArray[np.uint64] | None:
        if text.translate(None, b"0123456789\t\n") or text.startswith(b"\n") or b"\n\n" in text:
            return None
        import pyarrow as pa
        from pyarrow import csv

        try:
            table = csv.read_csv(
                pa.py_buffer(text),
                csv.ReadOptions(column_names=list(self.columns), use_threads=False, block_size=len(text) + 1),
                csv.ParseOptions(delimiter="\t", quote_char=False),
                csv.ConvertOptions(column_types=dict.fromkeys(self.columns, pa.uint64()), null_values=[]),
            )
        except pa.ArrowInvalid:
            return None
        return np.stack([column.to_numpy() for column in table.columns])

    def one(self, line: bytes) -> NDArray[np.uint64] | str:
        cells = line.split(b"\t")
        if len(cells) != len(self.columns):
            return f"{len(cells)} columns where {len(self.columns)} are expected"
        if not all(map(_is_number, cells)):
            return "a cell is no whole number from 0 to 2^64 - 1"
        return np.array([[int(cell)] for cell in cells], np.uint64)

    def faults(self, rows: NDArray[np.uint64]) -> Bad:
        return {}

    def kept(self, rows: NDArray[np.uint64], good: NDArray[np.bool_]) -> NDArray[np.uint64]:
        found: NDArray[np.uint64] = rows[:, good]
        return found

    def joined(self, pieces: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
        return np.concatenate(pieces, axis=1) if pieces else np.empty((len(self.columns), 0), np.uint64)

    def count(self, rows: NDArray[np.uint64]) -> int:
        return int(rows.shape[1])


class _Clicks(_Numbers):
    def faults(self, rows: NDArray[np.uint64]) -> Bad:
        return {
            "no impression": rows[_IMPRESSION] == 0,
            "more clicks than impressions": rows[_CLICK] > rows[_IMPRESSION],
            "2^31 impressions or more": rows[_IMPRESSION] >= 2**31,
            "position outside 1 ... depth": (rows[_POSITION] < 1) | (rows[_POSITION] > rows[_DEPTH]),
        }


class _Users(_Numbers):
    def faults(self, rows: NDArray[np.uint64]) -> Bad:
        return {"gender above 2": rows[1] > 2, "age above 6": rows[2] > 6}


@dataclass(frozen=True, eq=False)
class Tokens:
    """Texts as lists of tokens.

    Parameters
    ----------
    key : ndarray of uint64, shape (n,)
        Identifier of the text.
    start : ndarray of int64, shape (n + 1,)
        Where its tokens begin, and at last where all end.
    tokens : ndarray of uint64
        Those of all texts, one after another.
    """

    key: NDArray[np.uint64]
    start: NDArray[np.int64]
    tokens: NDArray[np.uint64]


class _Texts:
    """``id TAB token|token|token``."""

    what = "a line `id TAB token|token|token` of whole numbers"

    def quick(self, text: bytes) -> Tokens | None:
        if text.translate(None, b"0123456789|\t\n") or text.startswith(b"\n") or b"\n\n" in text:
            return None
        import pyarrow as pa
        from pyarrow import compute, csv

        types = {"key": pa.uint64(), "tokens": pa.string()}
        try:
            table = csv.read_csv(
                pa.py_buffer(text),
                csv.ReadOptions(column_names=list(types), use_threads=False, block_size=len(text) + 1),
                csv.ParseOptions(delimiter="\t", quote_char=False),
                csv.ConvertOptions(column_types=types, null_values=[]),
            ).combine_chunks()
            lists = compute.split_pattern(table["tokens"], "|").combine_chunks()
            tokens = lists.values.cast(pa.uint64()).to_numpy()
        except pa.ArrowInvalid:
            return None
        return Tokens(table["key"].to_numpy(), lists.offsets.to_numpy().astype(np.int64), tokens)

    def one(self, line: bytes) -> Tokens | str:
        cells = line.split(b"\t")
        if len(cells) != 2:
            return f"{len(cells)} columns where 2 are expected"
        numbers = [cells[0], *cells[1].split(b"|")]
        if not all(map(_is_number, numbers)):
            return "an id or token is no whole number from 0 to 2^64 - 1"
        key, *tokens = map(int, numbers)
        return Tokens(np.array([key], np.uint64), np.array([0, len(tokens)]), np.array(tokens, np.uint64))

    def faults(self, rows: Tokens) -> Bad:
        return {}

    def kept(self, rows: Tokens, good: NDArray[np.bool_]) -> Tokens:
        raise TypeError("no line of the right form is at fault")

    def joined(self, pieces: list[Tokens]) -> Tokens:
        if not pieces:
            return Tokens(np.empty(0, np.uint64), np.zeros(1, np.int64), np.empty(0, np.uint64))
        before = np.cumsum([0, *(len(piece.tokens) for piece in pieces)])
        starts = [piece.start[:-1] + first for piece, first in zip(pieces, before[:-1], strict=True)]
        return Tokens(
            np.concatenate([piece.key for piece in pieces]),
            np.concatenate([*starts, before[-1:]]),
            np.concatenate([piece.tokens for piece in pieces]),
        )

    def count(self, rows: Tokens) -> int:
        return len(rows.key)


def _is_number(cell: bytes) -> bool:
    # Python refuses to convert more than 4300 digits.
    return cell.isdigit() and len(cell) < 4000 and int(cell) <= _LARGEST


class LogFile:
    """The training file; it can be read more than once.

    Parameters
    ----------
    path : Path
        Plain, or packed (.gz, .bz2, .xz).
    tolerated : float
        Share of the lines that may be left out before the file is refused; 0 refuses it at its first bad line.
    progress : callable, optional
        Is told the bytes of text read so far, how many there are (None where the file is packed), and the rows.
    block : int
        Bytes of text that are parsed at once: memory is a few times as much.

    Raises
    ------
    UnusableFile
        There is no such file.
    """

    def __init__(
        self, path: Path, tolerated: float = TOLERATED, progress: Progress | None = None, block: int = BLOCK
    ) -> None:
        self._sieve = Sieve(path, _Clicks(COLUMNS), tolerated, progress, block)

    @property
    def skipped(self) -> Skipped:
        """What the last reading left out, as far as it has come."""
        return self._sieve.skipped

    def blocks(self, *, start: int = 0) -> Iterator[Log]:
        """The rows from this one on, in the order of the file; those before it are parsed, too.

        Raises
        ------
        UnusableFile
            The file is empty or of another layout, has more bad lines than are tolerated, or is damaged.
        """
        first = 0
        for values in self._sieve.blocks():
            log = Log(values)
            if first + len(log) > start:
                yield log if first >= start else log.rows(slice(start - first, None))
            first += len(log)

    def lines(self, text: bytes, first: int) -> Log:
        """The rows of a text of whole lines, the first of which has this number in the file.

        Raises
        ------
        UnusableFile
            No line so far is of the layout, or none that is not is tolerated.
        """
        return Log(self._sieve.lines(text, first))

    def check(self) -> None:
        """Refuse the file if more lines have been left out by `lines` than are tolerated.

        Raises
        ------
        UnusableFile
        """
        self._sieve.check()

    def remarks(self) -> str:
        """What `skipped` has, in words."""
        return f"{self._sieve.path.name}: {self.skipped}" if self.skipped.count else ""

    def identity(self) -> str:
        """SHA-256 of the file."""
        return f"file {self._digest}"

    @cached_property
    def _digest(self) -> str:
        return digest(self._sieve.path)


def profiles(path: Path, **options: float) -> Iterator[NDArray[np.uint64]]:
    """Users' profiles: arrays (3, n) of user, gender (0 unknown, 1 male, 2 female) and age (0 unknown, bands 1 … 6).

    Raises
    ------
    UnusableFile
    """
    return Sieve(path, _Users(("user", "gender", "age")), **options).blocks()  # type: ignore[arg-type]


def tokens(path: Path, **options: float) -> Iterator[Tokens]:
    """Tokens of queries, keywords, titles or descriptions.

    Raises
    ------
    UnusableFile
    """
    return Sieve(path, _Texts(), **options).blocks()  # type: ignore[arg-type]
