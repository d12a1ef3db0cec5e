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
from pianobench.datasets.readers.packed import lines, opened
from pianobench.datasets.readers.parsed import Parsed, Unreadable

_USUAL = ("class", "label", "target")
_MISSING = ("error", "drop", "mean")


def read(
    paths: Sequence[Path], *, target: str | int | None = None, drop: Sequence[str] = (), missing: str = "error"
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
    drop : sequence of str
        Names of attributes that are no features.
    missing : str
        What is done about ``?``: "error" refuses it, "drop" leaves the row out, "mean" fills in the mean of the
        column over the first file.

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
    drop: Sequence[str],
    missing: str,
    null: bytes = b"",
) -> Parsed:
    """Rows of files whose headers are known, each with the number of its last line.

    Raises
    ------
    Unreadable
    """
    if missing not in _MISSING:
        raise Unreadable(f"missing is {missing!r}: one of {', '.join(_MISSING)} is expected")
    attributes = _merged(paths, [one for one, _ in headers])
    first = headers[0][0]
    notes = []
    label = _target(first, attributes, target)
    if target is None and label != len(attributes) - 1:
        notes.append(f"labels from {attributes[label].name}")
    wanted = _features(first, attributes, label, drop)
    unlisted = len(attributes) - 1 - len(wanted) - len(drop)
    if unlisted > 0:
        notes.append(f"{unlisted} attributes that are not among the inputs left out")
    encoding = Encoding(attributes, wanted)
    rows = Rows(attributes, label, wanted, missing, null)
    labels: list[NDArray[Any]] = []
    dropped = 0
    for path, (here, last) in zip(paths, headers, strict=True):
        encoding.start(path, here.attributes)
        with opened(path) as stream:
            for _ in range(last):
                stream.readline()
            for block in rows.blocks(stream, last, path, here.attributes[label].first):
                labels.append(block.y)
                encoding.add(block)
                dropped += block.dropped
    X, sizes, more = encoding.finish()
    if dropped:
        notes.append(f"{dropped} rows with missing values left out")
    y = np.concatenate(labels) if labels else np.empty(0, np.int64)
    if attributes[label].kind == "hierarchical":
        notes.append("labels are the leaves of their paths")
    if attributes[label].kind != "numeric":
        y = _values(list(rows.labels.codes))[y.astype(np.int64)]
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
    if target is None and (first.several_labels or len(first.outputs) > 1):
        raise Unreadable("it declares several labels for each row: name one as target, and drop the others")
    if not names:
        raise Unreadable("it declares no attributes: @attribute, with a name and a type, is expected for each column")
    if target is None and first.outputs:
        target = first.outputs[0]
    if target is None:
        usual = [i for i, name in enumerate(names) if name.lower() in _USUAL]
        return _checked(attributes, usual[-1] if usual else len(names) - 1)
    if not isinstance(target, int | str):
        raise Unreadable(f"target is {target!r}: the name of an attribute, or its position from 0, is expected")
    if target in names:
        return _checked(attributes, names.index(str(target)))
    try:
        position = int(target)
        return _checked(attributes, range(len(names))[position])
    except ValueError:
        raise Unreadable(f"no attribute is called {target!r}, the target: it has {_listed(names)}") from None
    except IndexError:
        raise Unreadable(f"target {target} is beyond its {len(names)} attributes: count from 0") from None


def _checked(attributes: Sequence[Attribute], label: int) -> int:
    if attributes[label].kind == "date":
        raise Unreadable(f"the target {shown(attributes[label].name)} is a date: name another attribute as target")
    return label


def _features(first: Header, attributes: Sequence[Attribute], label: int, drop: Sequence[str]) -> list[int]:
    names = [one.name for one in attributes]
    if isinstance(drop, str):
        raise Unreadable(f"drop is {drop!r}: a list of names is expected, [{drop!r}]")
    for option, listed in (("drop", drop), ("@inputs", first.inputs), ("@outputs", first.outputs)):
        unknown = next((name for name in listed if name not in names), None)
        if unknown is not None:
            raise Unreadable(f"{option} names {unknown!r}, and no attribute is called so: it has {_listed(names)}")
    left_out = set(drop) | (set(names) - set(first.inputs) if first.inputs else set())
    wanted = [i for i, name in enumerate(names) if i != label and name not in left_out]
    for i in wanted:
        if attributes[i].kind not in ("numeric", "nominal"):
            raise Unreadable(
                f"attribute {shown(names[i])} is of type {attributes[i].kind}, and features are numbers or categories: "
                "name it in the option drop, or encode it first"
            )
    if not wanted:
        raise Unreadable("no attribute is left as a feature: name fewer in drop")
    return wanted


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shown(name) for name in names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _values(texts: Sequence[str]) -> NDArray[Any]:
    """Whole numbers where all labels are written as such, so that 10 comes after 9."""
    if all(len(text) < 18 and text.lstrip("-").isdecimal() and str(int(text)) == text for text in texts):
        return np.array(texts, np.int64)
    return np.array(texts, np.str_)
