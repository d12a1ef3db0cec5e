"""Blocks of plain rows at once: without quotes, comments, tabs, and without anything that is wrong.

Dense rows go through Arrow's parser of comma-separated values, which is strict about the number of values and about
what a number is; sparse ones are split into all their tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.arff_values import Block, Schema
from pianobench.datasets.readers.parsed import Unreadable

_NOT_PLAIN = re.compile(rb"['\"%\t\r\0]")
_OF_NUMBERS = re.compile(r"[-+.0-9eE]*+")


def plain(data: bytes, schema: Schema, null: str, first: str | None) -> Block | None:
    """Rows of a block of whole lines; None where they are not plain, or where something may be wrong.

    Parameters
    ----------
    data : bytes
    schema : Schema
    null : str
        Another mark of a missing value than ``?``.
    first : str or None
        Label of sparse rows that leave it out.
    """
    if _NOT_PLAIN.search(data) or not data.strip():
        return None
    braces = data.count(b"{"), data.count(b"}")
    if braces == (0, 0):
        return _dense(data, schema, null)
    rows = [row for row in data.split(b"\n") if row]
    whole = all(row.startswith(b"{") and row.endswith(b"}") for row in rows)
    return _sparse(rows, schema, first) if whole and braces == (len(rows), len(rows)) else None


def _dense(data: bytes, schema: Schema, null: str) -> Block | None:
    import pyarrow as pa
    from pyarrow import csv

    used = (*schema.wanted, schema.target)
    names = [str(i) for i in range(len(schema.attributes))]
    text = pa.dictionary(pa.int32(), pa.string())
    try:
        table = csv.read_csv(
            pa.BufferReader(data.replace(b", ", b",")),
            read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=len(data) + 1),
            parse_options=csv.ParseOptions(quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types={name: pa.float64() if int(name) in schema.numeric else text for name in names},
                include_columns=[str(i) for i in used],
                null_values=["?", null] if null else ["?"],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:
        return None
    columns: dict[int, NDArray[Any]] = {}
    keep = np.ones(table.num_rows, bool)
    for i in used:
        column = table.column(str(i)).combine_chunks()
        absent = np.asarray(column.is_null())
        if absent.any() and (schema.missing == "error" or (i == schema.target and schema.missing != "drop")):
            return None
        if i in schema.numeric:
            columns[i] = column.to_numpy(zero_copy_only=False)
            if not np.isfinite(columns[i][~absent]).all():
                return None
        else:
            values = [str(value).strip(" ") for value in column.dictionary.to_pylist()]
            codes = _codes(values, null, schema.convert[i])
            if codes is None:
                return None
            columns[i] = np.append(codes, -1)[column.indices.fill_null(len(values)).to_numpy()]
        keep &= ~absent
    dropped = 0
    if schema.missing == "drop" and not keep.all():
        columns = {i: column[keep] for i, column in columns.items()}
        dropped = int((~keep).sum())
    return Block(columns, None, columns.pop(schema.target), dropped)


def _codes(values: list[str], null: str, convert: Callable[[str], float]) -> NDArray[np.int64] | None:
    """None where a value is not one of the attribute's."""
    if {"", "?", null} & set(values):
        return None
    try:
        return np.array([convert(value) for value in values], np.int64)
    except Unreadable:
        return None


def _sparse(rows: list[bytes], schema: Schema, first: str | None) -> Block | None:
    counts = np.array([row.count(b",") + 1 if row[1:-1].strip() else 0 for row in rows], np.int64)
    try:
        inner = b",".join(row[1:-1] for row, count in zip(rows, counts, strict=True) if count).decode()
    except UnicodeDecodeError:
        return None
    tokens = inner.replace(",", " , ").split(" ")
    tokens = [token for token in tokens if token]
    places, texts, commas = tokens[::3], tokens[1::3], tokens[2::3]
    digits = "".join(places)
    if len(texts) != counts.sum() or len(places) != len(texts) or set(commas) - {","}:
        return None
    if places and not (digits.isascii() and digits.isdigit() and max(map(len, places)) < 10):
        return None
    row = np.repeat(np.arange(len(rows)), counts)
    position = np.array(places, np.int64)
    repeated = len(np.unique(row * len(schema.attributes) + position)) < len(position)
    if repeated or (position >= len(schema.attributes)).any():
        return None
    return _entries(row, position, texts, len(rows), schema, first)


def _entries(
    row: NDArray[np.int64], position: NDArray[np.int64], texts: list[str], n: int, schema: Schema, first: str | None
) -> Block | None:
    """The block of entries whose places are well."""
    used = np.zeros(len(schema.attributes), bool)
    numeric = used.copy()
    used[list(schema.convert)] = True
    numeric[list(schema.numeric)] = True
    value = np.empty(len(texts))
    numbers = np.flatnonzero(numeric[position])
    written = [texts[k] for k in numbers.tolist()]
    if not _OF_NUMBERS.fullmatch("".join(written)):
        return None
    try:
        value[numbers] = np.array(list(map(float, written)), np.float64)
        for k in np.flatnonzero((used & ~numeric)[position]).tolist():
            if texts[k] == "?":
                return None
            value[k] = schema.convert[int(position[k])](texts[k])
        default = None if first is None else schema.convert[schema.target](first)
    except (ValueError, Unreadable):
        return None
    label = position == schema.target
    if not np.isfinite(value[numbers]).all() or (default is None and label.sum() < n):
        return None
    y = np.full(n, default or 0, np.float64 if schema.target in schema.numeric else np.int64)
    y[row[label]] = value[label]
    kept = used[position] & ~label
    return Block({}, (row[kept], position[kept], value[kept]), y, 0)
