"""Labels of any kind to codes 0 .. m-1 and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def encode(y: Any, classes: ArrayLike | None = None) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Codes of the labels and the sorted classes they stand for.

    Parameters
    ----------
    y : array-like (n,) or (n, 1)
        Labels: integers of any size or sign, whole floats, booleans, strings, categories.
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
        if _family(known) != _family(labels):
            raise ValueError(f"y holds {_family(labels)} and classes {_family(known)}: give both in the same kind")
    if known.size < 2:
        only = f"the one class {known[0]!r}" if known.size else "no label"
        raise ValueError(
            f"y holds {only}; at least 2 classes are needed: give classes=[...] if others exist but are absent from y"
        )
    same_kind = labels if _family(known) == "strings" else labels.astype(known.dtype)  # never both to float64
    place = np.minimum(np.searchsorted(known, same_kind), known.size - 1)
    strange = known[place] != labels
    if strange.any():
        raise ValueError(
            f"y holds {labels[strange][0]!r}, which is not among the {known.size} classes given: "
            "add it to classes or drop its rows"
        )
    return place.astype(np.intp), known


def _clean(name: str, values: Any) -> NDArray[Any]:
    """One-dimensional array of whole, present labels."""
    labels = np.asarray(values)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(
            f"{name} has shape {labels.shape}: one label a row is expected, shape (n,); "
            "for one-hot rows give their argmax, several labels a row are not supported"
        )
    if labels.dtype == object:
        labels = _from_objects(name, labels)
    if labels.dtype.kind == "f":
        _check_whole(name, labels)
    elif labels.dtype.kind not in "biuUSMm" and labels.dtype.kind != "T":
        raise ValueError(f"{name} has dtype {labels.dtype}: integers, whole floats, booleans or strings are expected")
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
            f"{name} holds {labels[wrong][0]!r} at row {int(np.argmax(wrong))}, which is not whole: "
            "this is classification; bin a continuous target first, or give the labels as strings"
        )


def _from_objects(name: str, labels: NDArray[Any]) -> NDArray[Any]:
    """Objects to their one common kind: strings, booleans, or numbers without loss."""
    kinds = {_kind_of(value) for value in labels}
    if "missing" in kinds:
        row = next(i for i, value in enumerate(labels) if _kind_of(value) == "missing")
        raise ValueError(f"{name} holds {labels[row]!r} at row {row}: drop rows without a label first")
    if len(kinds) > 1 and not kinds <= {"int", "float"}:
        raise ValueError(
            f"{name} mixes {' and '.join(sorted(kinds))}: give all labels in one kind, for example as strings"
        )
    if kinds == {"int"}:  # by way of int64 or uint64, never of float64, which merges labels above 2**53
        smallest, largest = min(labels), max(labels)
        if smallest >= -(2**63) and largest < 2**63:
            return labels.astype(np.int64)
        if smallest >= 0 and largest < 2**64:
            return labels.astype(np.uint64)
        raise ValueError(f"{name} holds integers beyond 64 bits ({smallest} .. {largest}): give them as strings")
    if kinds == {"other"}:
        raise ValueError(f"{name} holds {type(labels[0]).__name__} objects: numbers, booleans or strings are expected")
    return np.array(labels.tolist()) if labels.size else labels.astype(np.int64)


def _kind_of(value: Any) -> str:
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return "missing"
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating):
        return "float"
    return "str" if isinstance(value, str | bytes) else "other"


def _family(labels: NDArray[Any]) -> str:
    """Kinds within a family compare without loss: an int64 against a uint64 in NumPy 2, a string against a string."""
    return {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers"}.get(labels.dtype.kind, "strings")
