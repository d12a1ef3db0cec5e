"""Columns of numbers and of categories side by side in one matrix, each category as a column of zeros and ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A matrix with categories is CSR where it is wider than WIDE and fewer of its entries than DENSITY are set: there it
# takes less than half of the memory, and products with it are no slower. Narrower ones are small in any form.
WIDE = 64
DENSITY = 0.25
MISSING = "?"  # stands for a missing cell that is a category of its own


@dataclass(frozen=True)
class Numeric:
    """A column of numbers (n,), `missing` of them NaN."""

    name: str
    values: NDArray[np.float64]
    missing: int = 0

    def gaps(self) -> NDArray[np.bool_]:
        """Where cells are missing, (n,)."""
        return np.isnan(self.values)

    def only(self, keep: NDArray[np.bool_]) -> Numeric:
        """Some of the rows, none of them missing."""
        return Numeric(self.name, self.values[keep])


@dataclass(frozen=True)
class Categorical:
    """A column of categories: codes (n,), and the category of each code; −1, in none, where a cell is missing."""

    name: str
    codes: NDArray[np.int32]
    categories: tuple[str, ...]
    missing: int = 0

    def gaps(self) -> NDArray[np.bool_]:
        """Where cells are missing, (n,)."""
        return self.codes < 0

    def only(self, keep: NDArray[np.bool_]) -> Categorical:
        """Some of the rows, and the categories that occur there."""
        return categorical(self.name, self.codes[keep], self.categories)

    def own_category(self) -> Categorical:
        """Missing cells as a category of their own."""
        codes = np.where(self.codes < 0, np.int32(len(self.categories)), self.codes)
        return Categorical(self.name, codes, (*self.categories, MISSING))


def categorical(name: str, codes: NDArray[np.int32], texts: Sequence[str]) -> Categorical:
    """A column with the categories that occur, numbers by value, then texts in the order of their characters.

    Parameters
    ----------
    name : str
    codes : ndarray (n,)
        Positions in `texts`; −1 where a cell is missing.
    texts : sequence of str
    """
    counts = np.bincount(codes + 1, minlength=len(texts) + 1)
    order = sorted(np.flatnonzero(counts[1:]).tolist(), key=lambda code: _by_value(texts[code]))
    new = np.full(len(texts) + 1, -1, np.int32)
    new[order] = np.arange(len(order))
    return Categorical(name, new[codes], tuple(texts[code] for code in order), int(counts[0]))


def side_by_side(columns: Sequence[Numeric | Categorical], n: int) -> tuple[Any, tuple[str, ...]]:
    """Matrix (n, d), dense or CSR, and the names of its columns, as ``colour=red``."""
    names: list[str] = []
    entries = 0
    for column in columns:
        if isinstance(column, Numeric):
            names.append(column.name)
            entries += int(np.count_nonzero(column.values))
        else:
            names += [f"{column.name}={category}" for category in column.categories]
            entries += int(np.count_nonzero(column.codes >= 0))
    d = len(names)
    encoded = any(isinstance(column, Categorical) for column in columns)
    sparse = encoded and d > WIDE and entries < DENSITY * n * d
    return _sparse(columns, n, d) if sparse else _dense(columns, n, d), tuple(names)


def _dense(columns: Sequence[Numeric | Categorical], n: int, d: int) -> NDArray[np.float64]:
    X = np.zeros((n, d))
    start = 0
    for column in columns:
        if isinstance(column, Numeric):
            X[:, start] = column.values
            start += 1
        else:
            rows = np.flatnonzero(column.codes >= 0)
            X[rows, start + column.codes[rows]] = 1
            start += len(column.categories)
    return X


def _sparse(columns: Sequence[Numeric | Categorical], n: int, d: int) -> Any:
    from scipy.sparse import csr_array

    sizes = np.zeros(n + 1, np.int64)
    for column in columns:
        sizes[1:] += column.values != 0 if isinstance(column, Numeric) else column.codes >= 0
    pointers = np.cumsum(sizes)
    kind = np.int32 if max(d, pointers[-1]) < 2**31 else np.int64
    indices, data = np.empty(pointers[-1], kind), np.ones(pointers[-1])
    free = pointers[:-1].copy()  # place of the next entry of each row
    start = 0
    for column in columns:
        if isinstance(column, Numeric):
            rows = np.flatnonzero(column.values)
            indices[free[rows]] = start
            data[free[rows]] = column.values[rows]
            start += 1
        else:
            rows = np.flatnonzero(column.codes >= 0)
            indices[free[rows]] = start + column.codes[rows]
            start += len(column.categories)
        free[rows] += 1
    return csr_array((data, indices, pointers.astype(kind)), shape=(n, d))


def _by_value(text: str) -> tuple[bool, float, str]:
    try:
        return False, float(text), text
    except ValueError:
        return True, 0.0, text
