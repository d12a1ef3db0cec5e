"""Rows of KDD Cup 2012, track 2, as they stand in its training file: twelve columns of whole numbers [Ten12].

A row is a group: an advertisement was shown `impression` times to one user beside the results of one query, in one
place, and clicked `click` times. Identifiers are unsigned 64-bit integers: half of the display addresses, which are
hashes, exceed 2^63.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

COLUMNS = (
    "click",
    "impression",
    "display_url",
    "ad",
    "advertiser",
    "depth",
    "position",
    "query",
    "keyword",
    "title",
    "description",
    "user",
)
"""The columns in the order of the file: tab separated, no header."""

IDS = ("display_url", "ad", "advertiser", "query", "keyword", "title", "description", "user")
"""Those that are identifiers; user 0 is an unknown one."""


@dataclass(frozen=True, eq=False)
class Log:
    """Some rows.

    Parameters
    ----------
    values : ndarray of uint64, shape (12, n)
        A row of it is a column of the file, in the order of `COLUMNS`.
    """

    values: NDArray[np.uint64]

    def __len__(self) -> int:
        return int(self.values.shape[1])

    def __getitem__(self, column: str) -> NDArray[np.uint64]:
        """One column by its name, shape (n,)."""
        found: NDArray[np.uint64] = self.values[COLUMNS.index(column)]
        return found

    @property
    def clicks(self) -> NDArray[np.int64]:
        """Clicks, shape (n,)."""
        return self["click"].astype(np.int64)

    @property
    def views(self) -> NDArray[np.int64]:
        """Impressions, shape (n,)."""
        return self["impression"].astype(np.int64)

    def rows(self, which: slice | NDArray[Any]) -> Log:
        """Some of the rows."""
        return Log(self.values[:, which])


class Source(Protocol):
    """Rows that can be read more than once, a block after another: a file, or a generator."""

    def blocks(self, *, start: int = 0) -> Iterator[Log]:
        """The rows from this one to the last, in blocks of any size."""
        ...

    def identity(self) -> str:
        """What decides the rows, for the cache: a checksum of a file, parameters of a generator."""
        ...

    def remarks(self) -> str:
        """What the last reading left out, and why; empty where it was nothing."""
        ...


@dataclass(frozen=True)
class Some:
    """Rows `start` … `stop`−1 of a source; `stop` None for all that follow.

    Parameters
    ----------
    source : Source
    start, stop : int
    """

    source: Source
    start: int = 0
    stop: int | None = None

    def blocks(self, *, start: int = 0) -> Iterator[Log]:
        """The rows, in the blocks that the source makes of them."""
        first = self.start + start
        for log in self.source.blocks(start=first):
            if self.stop is not None and first + len(log) >= self.stop:
                if first < self.stop:
                    yield log.rows(slice(0, self.stop - first))
                return
            yield log
            first += len(log)

    def identity(self) -> str:
        """The source's, and which rows."""
        return f"{self.source.identity()} rows {self.start} to {self.stop}"

    def remarks(self) -> str:
        """The source's."""
        return self.source.remarks()


def joined(logs: Iterable[Log]) -> Log:
    """All rows of some blocks, none for none."""
    values: Sequence[NDArray[np.uint64]] = [log.values for log in logs]
    return Log(np.concatenate(values, axis=1) if values else np.empty((len(COLUMNS), 0), np.uint64))
