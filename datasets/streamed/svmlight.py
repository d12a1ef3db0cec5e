"""Batches of svmlight's lines: a column for each index as written, from 0, so that none moves when larger ones come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.parsed import Parsed, Unreadable, stacked
from pianobench.datasets.readers.svmlight import of_lines
from pianobench.datasets.readers.svmlight_lines import EXAMPLE
from pianobench.datasets.reading import UnusableFile
from pianobench.datasets.streamed.lines import Lines
from pianobench.datasets.streamed.reader import Batch, Place

_SHOWN = 10  # classes that a message lists


class SvmlightLog:
    """A log of svmlight's lines.

    Parameters
    ----------
    path : Path
        Plain, or packed (.gz, .bz2, .xz).
    classes : sequence of int, optional
        All that may come; by default those of the first batch.

    Raises
    ------
    UnusableFile
        There is no such file.
    """

    form = "svmlight"

    def __init__(self, path: Path, classes: Sequence[int] | None = None) -> None:
        self._lines = Lines(path)
        self._classes = None if classes is None else np.unique(np.asarray(classes, np.int64))

    def batches(self, rows: int) -> Iterator[Batch]:
        """As `Reader` has it; a label that is none of the classes is a broken row."""
        for pieces in self._lines.batches(rows, self._parsed, lambda piece: len(piece.y)):
            whole = stacked([piece.X for piece in pieces], [piece.y for piece in pieces])
            if self._classes is None:
                self._classes = self._first(whole)
            yield Batch(whole.X, whole.y, None, len(whole.y))

    def place(self) -> Place:
        """Where it stands, and the classes."""
        return {**self._lines.place(), "classes": self.classes()}

    def go_to(self, place: Place) -> None:
        """As `Reader` has it."""
        self._lines.go_to(place)
        self._classes = np.array(place["classes"], np.int64)

    def tables(self) -> dict[str, NDArray[Any]]:
        """Nothing is learned."""
        return {}

    def load(self, tables: Mapping[str, NDArray[Any]]) -> None:
        """Nothing is learned."""

    def classes(self) -> list[int] | None:
        """All classes, known after the first batch."""
        return None if self._classes is None else [int(label) for label in self._classes]

    def remarks(self) -> list[str]:
        """The line that has no end yet."""
        return unfinished(self._lines)

    def _parsed(self, text: bytes, line: int) -> Parsed:
        piece = of_lines(text, line, self._lines.path)
        if self._classes is not None:
            strange = ~np.isin(piece.y, self._classes)
            if strange.any():
                row = int(np.argmax(strange))
                raise Unreadable(self._unknown(int(piece.y[row])), line + _line_of(text, row))
        return piece

    def _unknown(self, label: int) -> str:
        known = self.classes() or []
        shown = ", ".join(map(str, known[:_SHOWN])) + (", ..." if len(known) > _SHOWN else "")
        return (
            f"label {label} is none of the classes {shown}, which were given or are those of the first batch: mend "
            "the line, or begin anew with all classes named"
        )

    def _first(self, batch: Parsed) -> NDArray[np.int64]:
        name, classes = self._lines.path.name, np.unique(batch.y)
        if not batch.X.shape[1]:
            raise UnusableFile(f"{name}: no row of the first batch has an entry: {EXAMPLE}")
        if len(classes) < 2:
            raise UnusableFile(
                f"{name}: the {len(batch.y)} rows of the first batch all have the label {classes[0]}: name all "
                "classes, or take more rows a batch"
            )
        return classes


def unfinished(lines: Lines) -> list[str]:
    """What is to be told of a last line without an end."""
    if not lines.unfinished:
        return []
    return [
        f"line {lines.lines + 1} has no end yet ({lines.unfinished} bytes) and is left for the next run: it may still "
        "be being written; if it is whole, end it with a newline"
    ]


def _line_of(text: bytes, row: int) -> int:
    """Number from 0 of the line that holds a row."""
    rows = [number for number, line in enumerate(text.split(b"\n")) if line.partition(b"#")[0].strip()]
    return rows[row]
