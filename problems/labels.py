"""Labels of any kind to codes 0 .. m-1 and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FAMILIES = {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers", "S": "bytes"}  # all others are strings


def encode(y: Any, classes: ArrayLike | None = None) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Codes of the labels and the sorted classes they stand for.

    Parameters
    ----------
    y : array-like (n,) or (n, 1)
        Labels: 64-bit integers, whole floats, booleans, strings, bytes, categories.
    classes : array-like (m,), optional
        All classes, in any order, also such as y does not hold; by default those that y holds.

    Returns
    -------
    codes : array (n,) of intp
    classes : array (m,)
        Sorted, in the kind the caller gave; ``classes[codes]`` gives y back.

    Raises
    ------
    ValueError
        A label is missing, a float is not whole, kinds are mixed, there are fewer than two classes, or y holds a
        label that `classes` does not.
    """
    labels = _clean("y", y)
    known = np.unique(labels if classes is None else _clean("classes", classes))
    if classes is not None:
        if known.size != np.size(classes):
            raise ValueError(f"classes holds a label twice: {np.size(classes)} given, {known.size} different")
        if labels.size and _family(known) != _family(labels):
            raise ValueError(f"y holds {_family(labels)} and classes {_family(known)}: give both in the same kind")
    if known.size < 2:
        only = f"the one class {_show(known[0])}" if known.size else "no label"
        raise ValueError(
            f"{'y' if classes is None else 'classes'} holds {only}; at least 2 classes are needed: "
            "give classes=[...] with all that exist, also those absent from y"
        )
    sought, among = _comparable(labels, known)
    place = np.minimum(np.searchsorted(among, sought), known.size - 1)
    strange = among[place] != sought
    if strange.any():
        raise ValueError(
            f"y holds {_show(labels[strange][0])}, which is not among the {known.size} classes given: "
            "add it to classes or drop its rows"
        )
    return place.astype(np.intp), known


def _clean(name: str, values: Any) -> NDArray[Any]:
    """One-dimensional array of whole, present labels."""
    # NumPy turns the list ["a", 1] to two strings and [2**53 + 1, 0.0] to floats: objects tell what was given
    labels = np.asarray(values, object) if isinstance(values, list | tuple) else np.asarray(values)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(
            f"{name} has shape {labels.shape}: one label a row is expected, shape (n,); "
            "for one-hot rows give their argmax, several labels a row are not supported"
        )
    if np.ma.is_masked(values):
        raise ValueError(f"{name} holds masked labels: drop rows without a label first")
    if labels.dtype.kind in "OT":
        labels = _from_objects(name, labels.astype(object))
    if labels.dtype.kind == "f":
        _check_whole(name, labels)
    elif labels.dtype.kind not in "biuUSO":
        raise ValueError(
            f"{name} has dtype {labels.dtype}: integers, whole floats, booleans or strings are expected; "
            "give other labels as strings"
        )
    return labels


def _check_whole(name: str, labels: NDArray[Any]) -> None:
    wrong = ~np.isfinite(labels)
    if wrong.any():
        raise ValueError(
            f"{name} holds {labels[wrong][0]} at row {int(np.argmax(wrong))}: drop rows without a label first"
        )
    wrong = labels != np.floor(labels)
    if wrong.any():
        raise ValueError(
            f"{name} holds {_show(labels[wrong][0])} at row {int(np.argmax(wrong))}, which is not whole: "
            "this is classification; bin a continuous target first, or give the labels as strings"
        )


def _from_objects(name: str, labels: NDArray[Any]) -> NDArray[Any]:
    """Objects to their one common kind: strings, bytes, booleans, or numbers without loss."""
    each = [_kind_of(value) for value in labels]
    kinds = set(each)
    if "missing" in kinds:
        row = each.index("missing")
        raise ValueError(f"{name} holds {labels[row]!r} at row {row}: drop rows without a label first")
    if "other" in kinds:
        strange = type(labels[each.index("other")]).__name__
        raise ValueError(
            f"{name} holds a {strange} at row {each.index('other')}: numbers, booleans or strings are expected; "
            "give other labels as strings"
        )
    if len(kinds) > 1 and kinds != {"int", "float"}:
        raise ValueError(
            f"{name} mixes {' and '.join(sorted(kinds))}: give all labels in one kind, for example as strings"
        )
    if "int" in kinds:
        for kind in kinds - {"int"}:
            _check_whole(name, np.array([value if k == kind else 0.0 for value, k in zip(labels, each, strict=True)]))
        return _as_integers(name, np.array([int(value) for value in labels], object))
    if not labels.size:
        return labels.astype(np.int64)
    fixed = np.array(labels.tolist())
    return fixed if (fixed == labels).all() else labels  # a string of fixed width loses zeros at its end


def _as_integers(name: str, labels: NDArray[Any]) -> NDArray[Any]:
    """Python integers to int64 or uint64, never to float64, which merges labels above 2**53."""
    smallest, largest = labels.min(), labels.max()
    if smallest >= -(2**63) and largest < 2**63:
        return labels.astype(np.int64)
    if smallest >= 0 and largest < 2**64:
        return labels.astype(np.uint64)
    raise ValueError(f"{name} holds integers beyond 64 bits ({smallest} .. {largest}): give them as strings")


def _kind_of(value: Any) -> str:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas' NA has no truth value
        return "missing"
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating):
        return "float" if value == value else "missing"
    if isinstance(value, bytes):
        return "bytes"
    return "str" if isinstance(value, str) else "other"


def _family(labels: NDArray[Any]) -> str:
    """Kinds within a family can be compared without loss."""
    if labels.dtype == object:
        return "bytes" if isinstance(labels[0], bytes) else "strings"
    return FAMILIES.get(labels.dtype.kind, "strings")


def _comparable(labels: NDArray[Any], known: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both in one type that holds all their values exactly: float64 would merge labels above 2**53."""
    if _family(known) != "numbers":
        return labels, known
    sought, among = _exact(labels), _exact(known)
    return (sought, among) if sought.dtype == among.dtype else (sought.astype(object), among.astype(object))


def _exact(labels: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as int64, as uint64 if they are too large for it, or else as Python's integers."""
    if labels.dtype.kind == "i" or not labels.size:
        return labels.astype(np.int64)
    if labels.max() < 2.0**63 and labels.min() >= -(2.0**63):
        return labels.astype(np.int64)
    return labels.astype(np.uint64) if labels.dtype.kind == "u" else np.array([int(v) for v in labels], object)


def _show(label: Any) -> str:
    """The label as the caller wrote it, without NumPy's type."""
    return repr(label.item() if isinstance(label, np.generic) else label)
