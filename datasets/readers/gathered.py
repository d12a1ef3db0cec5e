"""All cells of the files of one table, as numbers where a column has nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers import columns as cells
from pianobench.datasets.readers.chosen import Chosen
from pianobench.datasets.readers.columns import Categories, Numbers
from pianobench.datasets.readers.delimited import Delimited
from pianobench.datasets.readers.parquet import Parquet
from pianobench.datasets.readers.parsed import Unreadable


@dataclass(frozen=True)
class Gathered:
    """The cells of all files, one after another.

    Parameters
    ----------
    files : sequence of Delimited or Parquet
    sizes : list of int
        Rows of each.
    chosen : Chosen
    numeric : list of int
        Positions of the columns of numbers.
    numbers : ndarray (n, k)
    summary : Numbers
        Where `numbers` are from: their least and largest, and how many are missing.
    texts : dict
        The other columns, by position.
    """

    files: Sequence[Delimited | Parquet]
    sizes: list[int]
    chosen: Chosen
    numeric: list[int]
    numbers: NDArray[np.float64]
    summary: Numbers
    texts: dict[int, Categories]

    def name(self, position: int) -> str:
        """Of a column."""
        return self.files[0].names[position]

    def unreadable(self, what: str, row: int) -> Unreadable:
        """An error in a row, with the line where the file has lines."""
        part = int(np.searchsorted(np.cumsum(self.sizes), row, side="right"))
        row -= sum(self.sizes[:part])
        line = self.files[part].line(row)
        return Unreadable(what if line else f"row {row}, from 0: {what}", line, self.files[part].path)


def gathered(files: Sequence[Delimited | Parquet], chosen: Chosen, missing: Any) -> Gathered:
    """All cells; where a text stands far below numbers, the files are read again, that column as one of texts.

    Parameters
    ----------
    files : sequence of Delimited or Parquet
    chosen : Chosen
    missing : pyarrow.Array
        Texts that mean a missing cell.

    Raises
    ------
    Unreadable
    """
    text = {chosen.target, *chosen.categories}
    for file, places in zip(files, chosen.places, strict=True):
        text |= {position for position, place in places.items() if place in file.texts}
    while True:
        table, late = _pass(files, chosen, text, missing)
        if not late:
            return table
        text |= late


def _pass(
    files: Sequence[Delimited | Parquet], chosen: Chosen, text: set[int], missing: Any
) -> tuple[Gathered, set[int]]:
    """Cells of all rows, or the columns in which a text stands below numbers."""
    numeric = [position for position in chosen.features if position not in text]
    texts = {position: Categories() for position in (*chosen.features, chosen.target) if position in text}
    numbers, sizes, late = Numbers(len(numeric)), [], set[int]()
    for file, places in zip(files, chosen.places, strict=True):
        n = 0
        for batch in file.batches(list(places.values()), frozenset(places[position] for position in texts)):
            columns = dict(zip(places, batch, strict=True))
            n += len(batch[0])
            block, failed = cells.numbers([columns[position] for position in numeric], missing)
            found = {numeric[j] for j in failed}
            numeric = [position for position in numeric if position not in found]
            if numbers.n:
                late |= found
            elif found:
                block, numbers = np.delete(block, failed, axis=1), Numbers(len(numeric))
                texts |= {position: Categories() for position in found}
            if not late:
                numbers.add(block if numeric else np.empty((len(batch[0]), 0)))
                for position, column in texts.items():
                    column.add(columns[position], missing)
        if not n:
            raise Unreadable(
                "it has no row below the header: rows of features and a label are expected", path=file.path
            )
        sizes.append(n)
    return Gathered(files, sizes, chosen, numeric, numbers.rows(), numbers, texts), late
