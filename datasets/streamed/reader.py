"""What a batch of rows is, and what reads a log batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from pianobench.datasets.reading import UnusableFile

Place = dict[str, Any]
"""Where a reader stands and what it has read, as JSON: a reader of the same log goes on from there."""


class OtherLog(UnusableFile):
    """The log is not the one that a place was taken in."""


@dataclass(frozen=True)
class Batch:
    """Rows as a problem takes them.

    Parameters
    ----------
    X : csr_array (k, d)
    y : ndarray of int64, shape (k,)
    weight : ndarray of float64, shape (k,), optional
    rows : int
        Rows of the log that these are: one of clicks and views makes up to two.
    """

    X: Any
    y: NDArray[Any]
    weight: NDArray[Any] | None
    rows: int


class Reader(Protocol):
    """Reads a log batch by batch."""

    form: str

    def batches(self, rows: int) -> Iterator[Batch]:
        """From the place on, batches of so many rows, the last one of what is left.

        Raises
        ------
        UnusableFile
            A row is broken, or the log is not what it should be; batches handed out before stay right.
        OtherLog
            The log has not what was read up to the place.
        """
        ...

    def place(self) -> Place:
        """After the batch handed out last."""
        ...

    def go_to(self, place: Place) -> None:
        """Stand where another reader of this log stood; the log is looked at when batches are read.

        Raises
        ------
        KeyError, TypeError, ValueError
            This is no place of such a reader.
        """
        ...

    def tables(self) -> dict[str, NDArray[Any]]:
        """What was learned on the first batch and then stays; empty where nothing is."""
        ...

    def load(self, tables: Mapping[str, NDArray[Any]]) -> None:
        """Put back what `tables` gave.

        Raises
        ------
        KeyError, ValueError
            The arrays are not those.
        """
        ...

    def classes(self) -> list[int] | None:
        """All classes, where they are known."""
        ...

    def remarks(self) -> list[str]:
        """What is to be told of the reading, in sentences; none where it was plain."""
        ...
