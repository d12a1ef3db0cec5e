"""ARFF, the attribute-relation file format of WEKA, MULAN and OpenML: dense and sparse rows, numbers and categories.

`scipy.io.arff` is not enough: it refuses sparse rows and the hierarchical labels of ImageCLEF, reads line by line, and
its errors name no line.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.arff_encoding import Encoding
from pianobench.datasets.readers.arff_grammar import Attribute, Header, header, shown
from pianobench.datasets.readers.arff_rows import Rows
from pianobench.datasets.readers.arff_values import Schema
from pianobench.datasets.readers.packed import lines, opened
from pianobench.datasets.readers.parsed import Parsed, Unreadable

_USUAL = ("class", "label", "target")
_MISSING = ("error", "drop", "mean")


def read(
    paths: Sequence[Path], *, target: str | int | None = None, drop: Sequence[str | int] = (), missing: str = "error"
) -> Parsed:
    """Attributes and labels of ARFF files.

    Nominal attributes are one-hot, a column for each declared value, two for a binary one. An entry that a sparse
    row leaves out is 0, and the first declared value of a nominal attribute, as WEKA has it. Of a hierarchical label,
    a path such as ``2@2/1@2/1/3``, the class is the leaf.

    Parameters
    ----------
    paths : sequence of Path
        With the same attributes; values of nominal ones may be declared in one file only.
    target : str or int, optional
        Name of the attribute of labels, or its position from 0, from the end where it is negative. By default the
        last that is called class, label or target; where none is, the last.
    drop : sequence of str or int
        Attributes to leave out, by name or position: the ids of rows.
    missing : str
        What to do where values are missing: ``error``; ``drop`` their rows; ``mean``, numbers get the mean of their
        column over the first file, and where a category is missing, all its columns are zero.

    Raises
    ------
    Unreadable
    """
    headers = []
    for path in paths:
        with opened(path) as stream:
            headers.append(header(lines(stream, path), path))
    return relation(paths, headers, target, drop, missing)


def relation(
    paths: Sequence[Path],
    headers: Sequence[tuple[Header, int]],
    target: str | int | None,
    drop: Sequence[str | int],
    missing: str,
    null: str = "",
) -> Parsed:
    """Rows of files whose headers are known, each with the number of its last line.

    Raises
    ------
    Unreadable
    """
    if missing not in _MISSING:
        raise Unreadable(f"missing is {missing!r}: {', '.join(_MISSING)} are the choices")
    attributes = _merged(paths, [one for one, _ in headers])
    first = headers[0][0]
    notes = []
    label = _target(first, attributes, target)
    if target is None and label != len(attributes) - 1:
        notes.append(f"labels from {attributes[label].name}")
    wanted = _features(first, attributes, label, drop)
    if first.inputs:
        notes.append(f"the {len(wanted)} attributes of @inputs alone")
    encoding = Encoding(attributes, wanted)
    schema = Schema(attributes, label, wanted, missing)
    rows = Rows(schema, null)
    labels: list[NDArray[Any]] = []
    dropped = 0
    for path, (here, last) in zip(paths, headers, strict=True):
        before, dropped_before = encoding.n, dropped
        encoding.start(path, here.attributes)
        with opened(path) as stream:
            for _ in range(last):
                stream.readline()
            for block in rows.blocks(stream, last, path, here.attributes[label].first):
                labels.append(block.y)
                encoding.add(block)
                dropped += block.dropped
        if encoding.n == before:
            why = (
                "each has a missing value: drop attributes rather than rows"
                if dropped > dropped_before
                else "it ends after the header"
            )
            raise Unreadable(f"it gives no row, {why}", path=path)
    X, sizes, more = encoding.finish()
    if dropped:
        notes.append(f"{dropped} rows with missing values left out")
    y = np.concatenate(labels) if labels else np.empty(0, np.int64)
    if attributes[label].kind == "hierarchical":
        notes.append("labels are the leaves of their paths")
    if attributes[label].kind != "numeric":
        y = _values(list(schema.labels.codes))[y.astype(np.int64)]
    return Parsed(X, y, sizes, encoding.names if first.named else (), (*notes, *more))


def _merged(paths: Sequence[Path], headers: Sequence[Header]) -> list[Attribute]:
    """The attributes of all files, nominal ones with the values of all."""
    merged = list(headers[0].attributes)
    for path, other in zip(paths[1:], headers[1:], strict=True):
        for i, (ours, theirs) in enumerate(zip_longest(merged, other.attributes)):
            if ours is None or theirs is None or (ours.name, ours.kind) != (theirs.name, theirs.kind):
                had, has = (f"{shown(one.name)} ({one.kind})" if one else "nothing" for one in (ours, theirs))
                raise Unreadable(
                    f"attribute {i + 1} is {has}, and {had} in {paths[0].name}: the same are expected in all files",
                    path=path,
                )
            merged[i] = Attribute(ours.name, ours.kind, tuple(dict.fromkeys(ours.values + theirs.values)))
    return merged


def _target(first: Header, attributes: Sequence[Attribute], target: str | int | None) -> int:
    names = [one.name for one in attributes]
    if not names:
        raise Unreadable("it declares no attributes: @attribute, with a name and a type, is expected for each column")
    if target is None and (first.several_labels or len(first.outputs) > 1):
        raise Unreadable("it declares several labels for each row: name one as target, and drop the others")
    usual = [i for i, name in enumerate(names) if name.lower() in _USUAL]
    if target is not None:
        label = _position(names, target, "target")
    elif first.outputs:
        label = _position(names, first.outputs[0], "@outputs")
    else:
        label = usual[-1] if usual else len(names) - 1
    if attributes[label].kind == "date":
        raise Unreadable(f"the target {shown(names[label])} is a date: name another attribute as target")
    return label


def _features(first: Header, attributes: Sequence[Attribute], label: int, drop: Sequence[str | int]) -> list[int]:
    names = [one.name for one in attributes]
    left_out = {_position(names, one, "drop") for one in ([drop] if isinstance(drop, str | int) else drop)}
    inputs = {_position(names, one, "@inputs") for one in first.inputs} or set(range(len(names)))
    wanted = sorted(inputs - left_out - {label})
    for i in wanted:
        if attributes[i].kind not in ("numeric", "nominal"):
            raise Unreadable(
                f"attribute {shown(names[i])} is of type {attributes[i].kind}, and features are numbers or categories: "
                f"leave it out (drop = [{shown(names[i])}]), or encode it first"
            )
    if not wanted:
        raise Unreadable("no attribute is left as a feature: name fewer in drop")
    return wanted


def _position(names: Sequence[str], given: Any, option: str) -> int:
    """A name, or a position from 0, also as text."""
    if isinstance(given, str) and given in names:
        return names.index(given)
    try:
        if option.startswith("@"):
            raise ValueError("a header has names")
        return range(len(names))[int(given) if isinstance(given, int | str) else len(names)]
    except (ValueError, IndexError):
        raise Unreadable(
            f"no attribute is called {given!r}: give {option} one of {_listed(names)}, or a position, 0 to "
            f"{len(names) - 1}"
        ) from None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shown(name) for name in names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _values(texts: Sequence[str]) -> NDArray[Any]:
    """Whole numbers where all labels are written as such, so that 10 comes after 9."""
    if all(len(text) < 18 and text.lstrip("-").isdecimal() and str(int(text)) == text for text in texts):
        return np.array(texts, np.int64)
    return np.array(texts, np.str_)
