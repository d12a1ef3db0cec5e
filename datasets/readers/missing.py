"""Missing cells of a table: an error, or filled in as its owner says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.gathered import Gathered
from pianobench.datasets.readers.one_hot import Categorical, Numeric
from pianobench.datasets.readers.parsed import Unreadable

FILL = ("error", "drop", "mean", "category")


def completed(
    table: Gathered, features: list[Numeric | Categorical], missing: str
) -> tuple[list[Numeric | Categorical], list[str]]:
    """Columns with missing cells filled in as wanted, and notes.

    Parameters
    ----------
    table : Gathered
        Where the columns are from; its numbers are written to.
    features : list of Numeric or Categorical
    missing : str
        One of `FILL`; where it is ``drop``, that is left to the caller.

    Raises
    ------
    Unreadable
        There are some, and nothing was said of them.
    """
    lacking = [column for column in features if column.missing]
    if not lacking or missing == "drop":
        return features, []
    if missing == "error":
        rows = gaps(lacking, len(table.numbers))
        row = int(np.argmax(rows))
        name = next(column.name for column in lacking if column.gaps()[row])
        raise table.unreadable(
            f"column {name!r} has a missing cell, the first of {sum(column.missing for column in lacking)} in "
            f"{len(lacking)} columns and {int(rows.sum())} rows: give missing = 'drop' (these rows), 'mean' (numbers "
            "by their column's mean, categories by zeros), or 'category' (likewise, but a category of its own)",
            row,
        )
    train, notes = table.sizes[0], []
    numbers = [column for column in lacking if isinstance(column, Numeric)]
    for column in numbers:
        absent = column.gaps()
        if absent[:train].all():
            raise Unreadable(f"column {column.name!r} is empty, so that it has no mean: leave it out with drop")
        column.values[absent] = column.values[:train][~absent[:train]].mean()
    if numbers:
        count = sum(column.missing for column in numbers)
        over = f" over {table.files[0].path.name}" if len(table.sizes) > 1 else ""
        notes.append(f"{count} missing numbers in {len(numbers)} columns by the column's mean{over}")
    if len(numbers) < len(lacking):
        count = sum(column.missing for column in lacking) - sum(column.missing for column in numbers)
        how = "all zeros" if missing == "mean" else "a category of their own"
        notes.append(f"{count} missing categories in {len(lacking) - len(numbers)} columns {how}")
    if missing == "category":
        features = [c.own_category() if isinstance(c, Categorical) and c.missing else c for c in features]
    return features, notes


def gaps(columns: Sequence[Numeric | Categorical], n: int) -> NDArray[np.bool_]:
    """Rows (n,) in which a cell is missing."""
    found = np.zeros(n, bool)
    for column in columns:
        if column.missing:
            found |= column.gaps()
    return found
