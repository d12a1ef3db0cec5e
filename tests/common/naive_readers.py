"""Readers of one file as plain as can be: what the real ones accept must have these shapes and values.

Each gives its rows as dictionaries from the name or number of a column to what stands there, and the labels as texts.
They take a file to be right: what is wrong, the real readers refuse.
"""

from __future__ import annotations

import csv
import io
import math
import struct
from typing import Any

import numpy as np
import scipy.sparse as sp

from pianobench.datasets.dataset import Dataset


def disagreement(data: Dataset, form: str, contents: list[bytes], options: dict[str, Any]) -> str | None:
    """What a data set says otherwise than the files it is from; None where nothing, or where no plain reader is."""
    try:
        if form == "svmlight" and not options.get("fields"):
            return _compared(data, *_svmlight(contents, options))
        if form == "idx":
            return _idx(data, contents, options)
        if form == "table" and b"PAR1" not in contents[0]:
            return _table(data, contents, options)
        if form in ("arff", "keel"):
            return _arff(data, contents, options)
    except csv.Error:
        return None  # a cell is longer than Python's module takes
    except Exception as error:  # the plain reader cannot read what the real one took
        return f"{type(error).__name__} of the plain reader: {error}"
    return None


def _compared(data: Dataset, rows: list[dict[int, float]], labels: list[str], d: int) -> str | None:
    if data.X.shape != (len(rows), d):
        return f"shape {data.X.shape}, and {(len(rows), d)} is right"
    X = np.zeros((len(rows), d)) if d * len(rows) < 1 << 22 else None
    if X is not None:
        for i, row in enumerate(rows):
            for j, value in row.items():
                X[i, j] = value
        if not np.array_equal(X, data.X.toarray() if sp.issparse(data.X) else data.X):
            return "other values"
    return _labels(data, labels)


def _labels(data: Dataset, labels: list[str]) -> str | None:
    for i, (code, label) in enumerate(zip(data.y, labels, strict=True)):
        found = data.classes[code]
        if found != label and not (_number(found) is not None and _number(found) == _number(label)):
            return f"label {found!r} of row {i}, and {label!r} is right"
    return None


def _number(text: str) -> float | None:
    try:
        return float(text) if "_" not in text and text.isascii() else None
    except ValueError:
        return None


def _svmlight(contents: list[bytes], options: dict[str, Any]) -> tuple[list[dict[int, float]], list[str], int]:
    rows, labels = [], []
    for content in contents:
        for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            words = line.split(b"#")[0].split()
            if words:
                labels.append(words[0].decode())
                entries = [word.split(b":") for word in words[1:]]
                rows.append({int(index): float(value) for index, value in entries})
                assert len(rows[-1]) == len(entries), "an index stands twice"
    indices = [index for row in rows for index in row]
    base = 0 if 0 in indices else 1
    d = options.get("n_features") or max(indices) - base + 1
    return [{index - base: value for index, value in row.items()} for row in rows], labels, d


def _idx(data: Dataset, contents: list[bytes], options: dict[str, Any]) -> str | None:
    arrays = []
    for content in contents:
        _, code, ndim = struct.unpack_from(">HBB", content)
        shape = struct.unpack_from(f">{ndim}I", content, 4)
        letter = {8: "B", 9: "b", 11: "h", 12: "i", 13: "f", 14: "d"}[code]
        arrays.append((shape, struct.unpack(f">{math.prod(shape)}{letter}", content[4 + 4 * ndim :])))
    (_, labels), (shape, values) = sorted(arrays, key=lambda pair: len(pair[0]))
    X = np.array(values, float).reshape(shape[0], -1) / options.get("scale", 1)
    if data.X.shape != X.shape or not np.array_equal(data.X, X):
        return "other values"
    return _labels(data, [str(int(label)) for label in labels])


_MISSING = ("", "?", "NA", "N/A", "n/a", "<NA>", "#N/A", "NaN", "nan", "NAN", "-nan", "null", "NULL")


def _table(data: Dataset, contents: list[bytes], options: dict[str, Any]) -> str | None:
    """Only what has commas or tabs between its cells; with a header or without."""
    files = []
    for content in contents:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
        mark = "\t" if b"\t" in contents[0] else ","
        if set(text) & set(";|"):
            return None
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True)
        files.append([[cell.strip() for cell in row] for row in reader if row and row != [""]])
    if len(files[0][0]) < 2:
        return None
    bare = _cells(data, [str(j) for j in range(len(files[0][0]))], [row for rows in files for row in rows], options)
    return bare and _cells(data, files[0][0], [row for rows in files for row in rows[1:]], options)


def _cells(data: Dataset, names: list[str], rows: list[list[str]], options: dict[str, Any]) -> str | None:
    if any(len(row) != len(names) for row in rows):
        return "rows are not equally long"
    columns = [j for j, name in enumerate(names) if name not in options.get("drop", ())]
    if options.get("missing") == "drop":
        rows = [row for row in rows if not any(row[j] in _MISSING for j in columns)]
    if len(rows) != data.n:
        return f"{data.n} rows, and {len(rows)} are right"
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    place = {name: k for k, name in enumerate(data.features or [names[j] for j in columns[:-1]])}
    if len(place) != data.d or {name.split("=")[0] for name in place} - {names[j].split("=")[0] for j in columns}:
        return f"columns {list(place)}, and {names} are right"
    for row, values in zip(rows, X, strict=True):
        for j in columns[:-1]:
            cell, name = row[j], names[j]
            if name in place and cell not in _MISSING:
                expected = {"true": 1.0, "false": 0.0}.get(cell.lower()) if _number(cell) is None else _number(cell)
                if values[place[name]] != expected:
                    return f"{name} is {values[place[name]]}, and {cell!r} is right"
            elif name not in place and cell not in _MISSING:
                ones = [key for key, k in place.items() if key.startswith(f"{name}=") and values[k]]
                if ones != [f"{name}={cell}"]:
                    return f"{name} is {ones}, and {cell!r} is right"
    return _labels(data, [row[columns[-1]] for row in rows])


def _arff(data: Dataset, contents: list[bytes], options: dict[str, Any]) -> str | None:
    """Only one file without quotes, escapes and comments, whose last attribute is the label."""
    text = contents[0].decode("utf-8-sig")
    if len(contents) > 1 or set(text) & set("'\"%\\\t") or "target" in options or "hierarchical" in text.lower():
        return None
    lines = [line.strip(" \r") for line in text.split("\n") if line.strip(" \r")]
    head = [line for line in lines if line.startswith("@")]
    declared = [line.split(maxsplit=1)[1] for line in head if line.lower().startswith("@attribute")]
    names = [one.split("{")[0].split()[0] for one in declared]
    values = [
        [v.strip() for v in one.split("{")[1].split("}")[0].split(",")] if "{" in one else None for one in declared
    ]
    inputs = [line.split(maxsplit=1)[1].split(",") for line in head if line.lower().startswith("@input")]
    rows = [line for line in lines if not line.startswith("@")]
    if not head:
        names = [str(j) for j in range(rows[0].count(",") + 1)]
        values = [None] * len(names)
    if any(name.lower() in ("class", "label", "target") for name in names[:-1]):
        return None
    cells: list[list[str]] = []
    for row in rows:
        if row.startswith("{"):
            entries = dict(entry.split() for entry in row.strip("{}").split(",") if entry.strip())
            cells.append([entries.get(str(j), values[j][0] if values[j] else "0") for j in range(len(names))])
        else:
            cells.append([cell.strip() for cell in row.split(",")])
    missing = ("?", "<null>")
    if options.get("missing") == "drop":
        cells = [row for row in cells if not set(row) & set(missing)]
    if len(cells) != data.n or any(len(row) != len(names) for row in cells):
        return f"{data.n} rows, and {len(cells)} are right"
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    kept = [j for j in range(len(names) - 1) if not inputs or names[j] in [name.strip() for name in inputs[-1]]]
    widths = [len(values[j] or "1") for j in kept]
    if data.d != sum(widths):
        return f"{data.d} columns, and {sum(widths)} are right"
    for row, found in zip(cells, X, strict=True):
        start = 0
        for j, width in zip(kept, widths, strict=True):
            expected = [row[j] == value for value in values[j]] if values[j] else None
            if row[j] not in missing and list(found[start : start + width]) != (expected or [_number(row[j])]):
                return f"{names[j]} is {found[start : start + width]}, and {row[j]!r} is right"
            start += width
    return _labels(data, [row[-1] for row in cells])
