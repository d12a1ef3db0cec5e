"""Rows of ARFF, block by block: a number or a code for each attribute that is wanted, and the label.

Blocks of plain rows go through Arrow's parser of comma-separated values, which is strict about the number of values
and what a number is. What it does not take, and rows with quotes, comments or missing values that are errors, are
read value by value, for the number of the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.arff_grammar import Attribute, cells, decoded, entries, shown
from pianobench.datasets.readers.arff_values import Labels, feature_converter, label_converter
from pianobench.datasets.readers.packed import LINE
from pianobench.datasets.readers.parsed import Unreadable

BLOCK = 1 << 21  # bytes read at once
_NOT_PLAIN = re.compile(rb"['\"{}%\t\r\0]")


@dataclass(frozen=True)
class Block:
    """Rows as numbers.

    Parameters
    ----------
    columns : dict of int to ndarray (rows,)
        By position of the attribute, of dense rows: float64 where it is numeric, NaN for a missing one; else a code
        of its values as int64, -1 for a missing one.
    entries : tuple of ndarray, or None
        Of sparse rows: row, position and value of each entry; codes are values too, NaN is missing.
    y : ndarray (rows,)
        Labels: numbers or codes of `Labels`.
    dropped : int
        Rows left out.
    """

    columns: dict[int, NDArray[Any]]
    entries: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None
    y: NDArray[Any]
    dropped: int


class Rows:
    """How the rows of one set are read.

    Parameters
    ----------
    attributes : sequence of Attribute
    target : int
        Position of the label.
    wanted : sequence of int
        Positions of the features.
    missing : str
        "error", "drop" or "mean".
    null : bytes
        Another mark of a missing value than ``?``.
    """

    def __init__(
        self, attributes: Sequence[Attribute], target: int, wanted: Sequence[int], missing: str, null: bytes
    ) -> None:
        self.attributes = attributes
        self.target = target
        self.wanted = wanted
        self.missing = missing
        self.null = null
        self.labels = Labels()
        self._used = {*wanted, target}
        self._convert = {i: feature_converter(attributes[i]) for i in wanted}
        self._convert[target] = label_converter(attributes[target], self.labels)

    def blocks(self, stream: IO[bytes], line: int, path: Path, first: str | None) -> Iterator[Block]:
        """What follows line number `line`.

        Parameters
        ----------
        stream : binary file
        line : int
        path : Path
        first : str or None
            Label of sparse rows that leave it out.

        Raises
        ------
        Unreadable
        """
        while data := stream.read(BLOCK):
            if not data.endswith(b"\n"):
                data += stream.readline(LINE)
            lines = data.count(b"\n") + (not data.endswith(b"\n"))
            longest = data.rfind(b"\n", 0, -1)
            if len(data) - longest > LINE:
                raise Unreadable(f"it goes on for more than {LINE >> 20} MiB: this is no row", line + lines, path)
            if self.null:
                data = data.replace(self.null, b"?")
            block = self._fast(data.replace(b"\r\n", b"\n")) or self._slow(data, line, path, first)
            if block is not None:
                yield block
            line += lines

    def _fast(self, data: bytes) -> Block | None:
        """By Arrow; None where it cannot, or where something may be wrong."""
        if _NOT_PLAIN.search(data) or not data.strip():
            return None
        import pyarrow as pa
        from pyarrow import csv

        numeric = {i for i in (*self.wanted, self.target) if self.attributes[i].kind == "numeric"}
        names = [str(i) for i in range(len(self.attributes))]
        text = pa.dictionary(pa.int32(), pa.string())
        try:
            table = csv.read_csv(
                pa.BufferReader(data.replace(b", ", b",")),
                read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=len(data) + 1),
                parse_options=csv.ParseOptions(quote_char=False),
                convert_options=csv.ConvertOptions(
                    column_types={name: pa.float64() if int(name) in numeric else text for name in names},
                    include_columns=[str(i) for i in (*self.wanted, self.target)],
                    null_values=["?"],
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid:
            return None
        columns: dict[int, NDArray[Any]] = {}
        keep = np.ones(table.num_rows, bool)
        for i in (*self.wanted, self.target):
            column = table.column(str(i)).combine_chunks()
            absent = np.asarray(column.is_null())
            if absent.any() and (self.missing == "error" or (i == self.target and self.missing != "drop")):
                return None
            if i in numeric:
                columns[i] = column.to_numpy(zero_copy_only=False)
                if not np.isfinite(columns[i][~absent]).all():
                    return None
            else:
                values = [str(value).strip(" ") for value in column.dictionary.to_pylist()]
                codes = self._codes(i, values)
                if codes is None:
                    return None
                columns[i] = np.append(codes, -1)[column.indices.fill_null(len(values)).to_numpy()]
            keep &= ~absent
        dropped = 0
        if self.missing == "drop" and not keep.all():
            columns = {i: column[keep] for i, column in columns.items()}
            dropped = int((~keep).sum())
        return Block(columns, None, columns.pop(self.target), dropped)

    def _codes(self, i: int, values: list[str]) -> NDArray[np.int64] | None:
        """None where a value is not one of the attribute's."""
        if "" in values or "?" in values:
            return None
        try:
            return np.array([self._convert[i](value) for value in values], np.int64)
        except Unreadable:
            return None

    def _slow(self, data: bytes, line: int, path: Path, first: str | None) -> Block | None:
        """Value by value; None where there is no row."""
        rows: list[list[float]] = []
        triples: list[tuple[int, int, float]] = []
        y: list[float] = []
        sparse, dropped = None, 0
        for number, raw in enumerate(data.split(b"\n"), line + 1):
            text = decoded(raw.rstrip(b"\r"), number, path)
            if not text or text.startswith("%"):
                continue
            try:
                if sparse is not None and sparse != text.startswith("{"):
                    raise Unreadable("sparse and dense rows are mixed: write all in one way")
                sparse = text.startswith("{")
                found = self._sparse(text, first) if sparse else self._dense(text)
                if self._incomplete(found):
                    dropped += 1
                    continue
                values = {i: self._convert[i](cell) if cell is not None else np.nan for i, cell in found.items()}
            except Unreadable as error:
                raise Unreadable(str(error), number, path) from error
            y.append(values.pop(self.target))
            if sparse:
                triples += [(len(y) - 1, i, value) for i, value in values.items()]
            else:
                rows.append([values[i] for i in self.wanted])
        if sparse is None:
            return None
        labels = np.array(y, np.float64 if self.attributes[self.target].kind == "numeric" else np.int64)
        if sparse:
            row, position, value = zip(*triples, strict=True) if triples else ((), (), ())
            found_entries = (np.array(row, np.int64), np.array(position, np.int64), np.array(value, np.float64))
            return Block({}, found_entries, labels, dropped)
        table = np.array(rows, np.float64).reshape(len(rows), len(self.wanted))
        columns: dict[int, NDArray[Any]] = {}
        for k, i in enumerate(self.wanted):
            numeric = self.attributes[i].kind == "numeric"
            columns[i] = table[:, k] if numeric else np.nan_to_num(table[:, k], nan=-1).astype(np.int64)
        return Block(columns, None, labels, dropped)

    def _dense(self, text: str) -> dict[int, str | None]:
        found = cells(text)
        if len(found) != len(self.attributes):
            raise Unreadable(f"it has {len(found)} values, and {len(self.attributes)} attributes are declared")
        return {i: found[i] for i in (*self.wanted, self.target)}

    def _sparse(self, text: str, first: str | None) -> dict[int, str | None]:
        found: dict[int, str | None] = {}
        for position, cell in entries(text):
            if position >= len(self.attributes):
                raise Unreadable(f"position {position} is beyond the {len(self.attributes)} attributes, from 0")
            if position in found:
                raise Unreadable(f"position {position} is there twice")
            found[position] = cell
        if self.target not in found:
            if first is None:
                raise Unreadable(f"it has no value of the target {shown(self.attributes[self.target].name)}")
            found[self.target] = first
        return {i: cell for i, cell in found.items() if i in self._used}

    def _incomplete(self, found: dict[int, str | None]) -> bool:
        """Whether the row is to be left out."""
        absent = next((i for i, cell in found.items() if cell is None), None)
        if absent is None:
            return False
        if self.missing == "drop":
            return True
        name = shown(self.attributes[absent].name)
        if self.missing == "error":
            raise Unreadable(
                f'the value of {name} is missing: give the option missing = "drop" to leave out such rows, or '
                '"mean" to fill in the mean of the column'
            )
        if found[self.target] is None:
            name = shown(self.attributes[self.target].name)
            raise Unreadable(f'the label, {name}, is missing: give the option missing = "drop" to leave out such rows')
        return False
