"""Cells of ARFF as numbers and codes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.arff_grammar import Attribute, shown
from pianobench.datasets.readers.parsed import Unreadable

LONGEST_LABEL = 200  # characters
_NUMBER = re.compile(r"[-+]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")


@dataclass
class Labels:
    """Codes of labels, in the order in which they come."""

    codes: dict[str, int] = field(default_factory=dict)

    def code(self, text: str) -> int:
        """Code of a label, a new one where it is new.

        Raises
        ------
        Unreadable
            It is too long for a class, or has characters that nobody sees.
        """
        if not text.isprintable():
            raise Unreadable(f"label {shown(text)} has characters that are not printable: mend the file")
        if len(text) > LONGEST_LABEL:
            raise Unreadable(f"label {shown(text)} is longer than {LONGEST_LABEL} characters: is this the target?")
        return self.codes.setdefault(text, len(self.codes))


class Schema:
    """What is read of each row.

    Parameters
    ----------
    attributes : sequence of Attribute
    target : int
        Position of the label.
    wanted : sequence of int
        Positions of the features.
    missing : str
        "error", "drop" or "mean".
    """

    def __init__(self, attributes: Sequence[Attribute], target: int, wanted: Sequence[int], missing: str) -> None:
        self.attributes = attributes
        self.target = target
        self.wanted = wanted
        self.missing = missing
        self.labels = Labels()
        self.convert = {i: feature_converter(attributes[i]) for i in wanted}
        self.convert[target] = label_converter(attributes[target], self.labels)
        self.numeric = {i for i in self.convert if attributes[i].kind == "numeric"}


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


def feature_converter(attribute: Attribute) -> Callable[[str], float]:
    """From a cell to a number, the code of a declared value where the attribute is nominal.

    The converter raises `Unreadable`, without a line.
    """
    if attribute.kind == "numeric":
        return lambda cell: _number(cell, attribute.name)
    codes = {value: code for code, value in enumerate(attribute.values)}

    def code(cell: str) -> int:
        if cell not in codes:
            raise Unreadable(f"{shown(cell)} is not among the values declared for {shown(attribute.name)}")
        return codes[cell]

    return code


def label_converter(attribute: Attribute, labels: Labels) -> Callable[[str], float]:
    """From a cell to a number, the code of `labels` where the attribute is not numeric.

    The converter raises `Unreadable`, without a line.
    """
    if attribute.kind == "numeric":
        return feature_converter(attribute)
    if attribute.kind == "hierarchical":
        return lambda cell: labels.code(_leaf(cell))
    declared = feature_converter(attribute) if attribute.kind == "nominal" else None

    def code(cell: str) -> int:
        if declared is not None:
            declared(cell)
        return labels.code(cell)

    return code


def _number(cell: str, name: str) -> float:
    if not _NUMBER.fullmatch(cell):
        raise Unreadable(f"{shown(cell)} is not a number, and {shown(name)} is numeric; ? stands for a missing value")
    value = float(cell)
    if not math.isfinite(value):
        raise Unreadable(f"{shown(cell)} of {shown(name)} is beyond what float64 holds")
    return value


def _leaf(cell: str) -> str:
    """Last of the classes on a path from the root, ``2@2/1@2/1/3``."""
    classes = cell.split("@")
    for above, below in pairwise(classes):
        if not below.startswith(above + "/"):
            raise Unreadable(f"{shown(cell)} names classes that lie on no one path, so several labels: one is expected")
    return classes[-1]
