"""Columns of tables: cells to numbers or to categories, gathered block by block."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.parsed import Unreadable

# Texts that mean a missing cell, blanks around them left out. "None" and "none" are not among them: they are names of
# categories as often.
MISSING = ("", "?", "NA", "N/A", "n/a", "<NA>", "#N/A", "NaN", "nan", "NAN", "-nan", "null", "NULL")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_WHOLE = re.compile(r"[-+]?\d{1,18}", re.ASCII)


def is_number(text: str) -> bool:
    """Whether a cell is a decimal number, in digits of ASCII."""
    return _NUMBER.fullmatch(text.strip()) is not None


class Numbers:
    """Rows of numbers, one block after another in one array that grows: no second copy at the end."""

    def __init__(self, width: int) -> None:
        self._rows = np.empty((0, width))
        self.n = 0
        self.missing = np.zeros(width, np.int64)  # cells of each column that are NaN
        self.low = np.full(width, np.inf)
        self.high = np.full(width, -np.inf)

    def add(self, block: NDArray[np.float64]) -> None:
        """Append rows (b, width)."""
        n = self.n + len(block)
        if n > len(self._rows):
            self._rows.resize((max(n, len(self._rows) * 5 // 4), block.shape[1]), refcheck=False)
        self._rows[self.n : n] = block
        self.missing += np.isnan(block).sum(axis=0)
        np.fmin(self.low, np.fmin.reduce(block, axis=0), out=self.low)
        np.fmax(self.high, np.fmax.reduce(block, axis=0), out=self.high)
        self.n = n

    def rows(self) -> NDArray[np.float64]:
        """All rows (n, width); nothing can be added then."""
        self._rows.resize((self.n, self._rows.shape[1]), refcheck=False)
        return self._rows


class Categories:
    """One column of texts, as codes of the texts in the order in which they were found; −1 where a cell is missing."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._blocks: list[NDArray[np.int32]] = []

    def add(self, column: Any, missing: Any) -> None:
        """Append Arrow's texts, those in `missing` as missing."""
        found = cleaned(column, missing).dictionary_encode()
        codes = [self._codes.setdefault(text, len(self._codes)) for text in found.dictionary.to_pylist()]
        positions = found.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)
        self._blocks.append(np.array([*codes, -1], np.int32)[positions])

    def codes(self) -> NDArray[np.int32]:
        """Codes (n,), each the position of a cell's text in `texts`."""
        if len(self._blocks) != 1:
            self._blocks = [np.concatenate([np.empty(0, np.int32), *self._blocks])]
        return self._blocks[0]

    def texts(self) -> list[str]:
        """The texts, in the order of the codes."""
        return list(self._codes)


def cleaned(column: Any, missing: Any) -> Any:
    """Arrow's texts without blanks around them; null where they are in `missing`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.is_in(texts, value_set=missing), pa.scalar(None, texts.type), texts)


def numbers(columns: Sequence[Any], missing: Any) -> tuple[NDArray[np.float64], list[int]]:
    """Cells of columns as numbers.

    Parameters
    ----------
    columns : sequence of Arrow's arrays, k of length b
        Of texts, or all of float64 with nulls.
    missing : Arrow's array
        Texts that mean a missing cell.

    Returns
    -------
    ndarray (b, k)
        NaN where a cell is missing.
    list of int
        Positions of the columns that have a cell which is no number.
    """
    import pyarrow as pa

    if not columns:
        return np.empty((0, 0)), []
    if pa.types.is_floating(columns[0].type):
        return np.column_stack([column.to_numpy(zero_copy_only=False) for column in columns]), []
    joined = pa.concat_arrays(columns)  # one call of Arrow for all: a table may have more columns than rows
    values = _cast(joined)
    if values is None:
        values = _cast(cleaned(joined, missing))
    if values is not None:
        return values.reshape(len(columns), -1).T, []
    block = np.full((len(columns[0]), len(columns)), np.nan)
    texts = []
    for j, column in enumerate(columns):
        values = _cast(cleaned(column, missing))
        if values is None:
            texts.append(j)
        else:
            block[:, j] = values
    return block, texts


def _cast(cells: Any) -> NDArray[np.float64] | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        values: NDArray[np.float64] = pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return values


def labels(texts: Sequence[str]) -> NDArray[Any]:
    """Labels as whole numbers if all are, else as texts.

    Raises
    ------
    Unreadable
        They are numbers, and some are not whole; or one has characters that nobody sees.
    """
    odd = next((text for text in texts if not text.isprintable()), None)
    if odd is not None:
        raise Unreadable(f"the target has {odd!r}, with characters that are not printable: mend the file")
    if not all(is_number(text) for text in texts):
        return np.array(texts, str)
    fraction = next((text for text in texts if not float(text).is_integer()), None)
    if fraction is not None:
        raise Unreadable(
            f"the target has {fraction!r}: class labels are expected, whole numbers or texts, and this is a quantity"
        )
    if all(_WHOLE.fullmatch(text) for text in texts):
        return np.array([int(text) for text in texts], np.int64)
    if all(abs(float(text)) < 2**53 for text in texts):
        return np.array([int(float(text)) for text in texts], np.int64)
    return np.array(texts, str)
