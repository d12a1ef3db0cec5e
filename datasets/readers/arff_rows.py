"""Rows of ARFF, block by block: a number or a code for each attribute that is wanted, and the label.

Blocks of plain rows are read at once. What is not plain, and rows with missing values that are errors, are read value
by value, for the number of the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.arff_grammar import cells, decoded, entries, shown
from pianobench.datasets.readers.arff_plain import plain
from pianobench.datasets.readers.arff_values import Block, Schema
from pianobench.datasets.readers.packed import LINE
from pianobench.datasets.readers.parsed import Unreadable

BLOCK = 1 << 21  # bytes read at once


class Rows:
    """Rows of the files of one set.

    Parameters
    ----------
    schema : Schema
    null : str
        Another mark of a missing value than ``?``, in dense rows.
    """

    def __init__(self, schema: Schema, null: str) -> None:
        self._schema = schema
        self._null = null
        self._used = {*schema.wanted, schema.target}

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
            block = plain(data.replace(b"\r\n", b"\n"), self._schema, self._null, first) or self._slow(
                data, line, path, first
            )
            if block is not None:
                yield block
            line += lines

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
                values = {i: self._schema.convert[i](cell) if cell is not None else np.nan for i, cell in found.items()}
            except Unreadable as error:
                raise Unreadable(str(error), number, path) from error
            y.append(values.pop(self._schema.target))
            if sparse:
                triples += [(len(y) - 1, i, value) for i, value in values.items()]
            else:
                rows.append([values[i] for i in self._schema.wanted])
        if sparse is None:
            return None
        labels = np.array(y, np.float64 if self._schema.attributes[self._schema.target].kind == "numeric" else np.int64)
        if sparse:
            row, position, value = zip(*triples, strict=True) if triples else ((), (), ())
            found_entries = (np.array(row, np.int64), np.array(position, np.int64), np.array(value, np.float64))
            return Block({}, found_entries, labels, dropped)
        table = np.array(rows, np.float64).reshape(len(rows), len(self._schema.wanted))
        columns: dict[int, NDArray[Any]] = {}
        for k, i in enumerate(self._schema.wanted):
            numeric = self._schema.attributes[i].kind == "numeric"
            columns[i] = table[:, k] if numeric else np.nan_to_num(table[:, k], nan=-1).astype(np.int64)
        return Block(columns, None, labels, dropped)

    def _dense(self, text: str) -> dict[int, str | None]:
        found = cells(text)
        if len(found) != len(self._schema.attributes):
            raise Unreadable(f"it has {len(found)} values, and {len(self._schema.attributes)} attributes are declared")
        if self._null:
            found = [None if cell == self._null else cell for cell in found]
        return {i: found[i] for i in (*self._schema.wanted, self._schema.target)}

    def _sparse(self, text: str, first: str | None) -> dict[int, str | None]:
        found: dict[int, str | None] = {}
        for position, cell in entries(text):
            if position >= len(self._schema.attributes):
                raise Unreadable(f"position {position} is beyond the {len(self._schema.attributes)} attributes, from 0")
            if position in found:
                raise Unreadable(f"position {position} is there twice")
            found[position] = cell
        if self._schema.target not in found:
            if first is None:
                raise Unreadable(
                    f"it has no value of the target {shown(self._schema.attributes[self._schema.target].name)}"
                )
            found[self._schema.target] = first
        return {i: cell for i, cell in found.items() if i in self._used}

    def _incomplete(self, found: dict[int, str | None]) -> bool:
        """Whether the row is to be left out."""
        absent = next((i for i, cell in found.items() if cell is None), None)
        if absent is None:
            return False
        if self._schema.missing == "drop":
            return True
        name = shown(self._schema.attributes[absent].name)
        if self._schema.missing == "error":
            raise Unreadable(
                f'the value of {name} is missing: give the option missing = "drop" to leave out such rows, or '
                '"mean" to fill in the mean of the column'
            )
        if found[self._schema.target] is None:
            name = shown(self._schema.attributes[self._schema.target].name)
            raise Unreadable(f'the label, {name}, is missing: give the option missing = "drop" to leave out such rows')
        return False
