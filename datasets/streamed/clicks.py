"""Batches of KDD Cup 2012's rows as weighted rows of features.

Rates and bins are learned on the first batch and then stay. The first batch itself is encoded out of fold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.kdd12.encoded import Encoded
from pianobench.datasets.kdd12.features import Features, recipe
from pianobench.datasets.kdd12.files import LogFile
from pianobench.datasets.kdd12.layout import Log, Some, Source, joined
from pianobench.datasets.kdd12.sifted import TOLERATED
from pianobench.datasets.reading import UnusableFile
from pianobench.datasets.streamed.lines import Lines
from pianobench.datasets.streamed.reader import Batch, OtherLog, Place
from pianobench.datasets.streamed.svmlight import unfinished


@dataclass(frozen=True)
class _Held:
    """A batch as what features are learned on."""

    log: Log

    def blocks(self, *, start: int = 0) -> Iterator[Log]:
        yield self.log.rows(slice(start, None))

    def identity(self) -> str:
        return "a batch"

    def remarks(self) -> str:
        return ""


class _Encoding:
    """Rows to features: learned on the first batch it sees."""

    form = "kdd12"

    def __init__(self, model: int) -> None:
        self._recipe = recipe(model)
        self._features: Features | None = None

    def tables(self) -> dict[str, NDArray[Any]]:
        """Sums of clicks by identifier, and edges of bins."""
        return {} if self._features is None else self._features.export()

    def load(self, tables: Mapping[str, NDArray[Any]]) -> None:
        """As `Reader` has it."""
        self._features = Features.load(tables, self._recipe)

    def classes(self) -> list[int] | None:
        """Views without a click, and clicks."""
        return [0, 1]

    def _batch(self, log: Log) -> Batch:
        if self._features is None:
            self._features = Features(_Held(log), self._recipe)
            columns = self._features.columns(log, first=0)
        else:
            columns = self._features.columns(log)
        counts = log.clicks.astype(np.int32), log.views.astype(np.int32)
        made = Encoded(columns, *counts, self._recipe.d).labelled("grouped")
        return Batch(made.X, made.y, made.weight, len(log))


class ClickFile(_Encoding):
    """A log of the competition's layout.

    Parameters
    ----------
    path : Path
        Plain, or packed (.gz, .bz2, .xz).
    model : int
        1 or 2, see `features`.
    tolerated : float
        Share of the lines so far that may be left out.

    Raises
    ------
    UnusableFile
        There is no such file.
    """

    def __init__(self, path: Path, model: int = 1, tolerated: float = TOLERATED) -> None:
        super().__init__(model)
        self._lines, self._file = Lines(path), LogFile(path, tolerated)

    def batches(self, rows: int) -> Iterator[Batch]:
        """As `Reader` has it; broken lines are left out as long as they are few."""
        for pieces in self._lines.batches(rows, self._file.lines, len):
            self._file.check()
            yield self._named(joined(pieces))
        self._file.check()

    def place(self) -> Place:
        """Where it stands, and what was left out."""
        skipped = self._file.skipped
        told = {"rows": skipped.rows, "reasons": dict(skipped.reasons), "first": skipped.first}
        return {**self._lines.place(), "skipped": told}

    def go_to(self, place: Place) -> None:
        """As `Reader` has it."""
        self._lines.go_to(place)
        skipped, told = self._file.skipped, place["skipped"]
        skipped.rows = int(told["rows"])
        skipped.reasons = Counter({str(reason): int(count) for reason, count in told["reasons"].items()})
        skipped.first = {str(reason): int(line) for reason, line in told["first"].items()}

    def remarks(self) -> list[str]:
        """The lines left out, and the one that has no end yet."""
        left_out = [self._file.remarks()] if self._file.skipped.count else []
        return left_out + unfinished(self._lines)

    def _named(self, log: Log) -> Batch:
        try:
            return self._batch(log)
        except UnusableFile as error:  # which does not know the file
            raise UnusableFile(f"{self._lines.path.name}: {error}") from error


class ClickSource(_Encoding):
    """A generated log: no file is needed.

    Parameters
    ----------
    source : Source
    rows : int
        Of the source, the log's.
    model : int
    """

    def __init__(self, source: Source, rows: int, model: int = 1) -> None:
        super().__init__(model)
        self._source, self._rows = Some(source, 0, rows), 0

    def batches(self, rows: int) -> Iterator[Batch]:
        """As `Reader` has it."""
        held: list[Log] = []
        have = 0
        for log in self._source.blocks(start=self._rows):
            done = 0
            while have + len(log) - done >= rows:
                cut = done + rows - have
                yield self._next([*held, log.rows(slice(done, cut))])
                held, have, done = [], 0, cut
            if done < len(log):
                held.append(log.rows(slice(done, None)))
                have += len(log) - done
        if held:
            yield self._next(held)

    def place(self) -> Place:
        """How many rows were read, and what makes them."""
        return {"rows": self._rows, "source": self._source.identity()}

    def go_to(self, place: Place) -> None:
        """As `Reader` has it.

        Raises
        ------
        OtherLog
            The rows are made otherwise.
        """
        if place["source"] != self._source.identity():
            raise OtherLog(f"the rows are those of: {self._source.identity()}; what was read is: {place['source']}")
        self._rows = int(place["rows"])

    def remarks(self) -> list[str]:
        """Nothing."""
        return []

    def _next(self, pieces: list[Log]) -> Batch:
        batch = self._batch(joined(pieces))
        self._rows += batch.rows
        return batch
