"""Lines of svmlight and libffm, one after another: what is right, and what is wrong with which line."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.parsed import Unreadable

EXAMPLE = "lines like '2 1:0.5 7:1' are expected, a label and pairs index:value"
LARGEST = 2**31 - 2  # index: the number of columns, too, is then a 32-bit integer
_INDEX = re.compile(rb"0*(\d{1,10})")
# What `float` takes, less the names of infinity and NaN and underscores between digits.
_DECIMAL = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")

# Label (k,) and number of entries (k,) of k rows; index of each entry (entries, 1), with its field before it in libffm
# (entries, 2); value of each entry (entries,).
Block = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Rule:
    """What lines may hold.

    Parameters
    ----------
    fields : bool
        Entries are ``field:index:value``, else ``index:value``.
    base : int or None
        Index of the first column, 0 or 1; None where it is still open.
    n_features : int or None
        Number of columns; None where the largest index tells.
    """

    fields: bool
    base: int | None
    n_features: int | None

    @property
    def lowest(self) -> int:
        """Smallest index allowed."""
        return self.base or 0

    @property
    def highest(self) -> int:
        """Largest index allowed."""
        if self.n_features is None:
            return LARGEST
        return min(LARGEST, self.n_features - 1 + (1 if self.base is None else self.base))


def by_line(text: bytes, rule: Rule, first: int, path: Path) -> Block:
    """Rows of a text whose first line has the number `first`.

    Raises
    ------
    Unreadable
        With the number of the line.
    """
    labels: list[int] = []
    lengths: list[int] = []
    keys: list[tuple[int, ...]] = []
    values: list[float] = []
    for number, line in enumerate(text.split(b"\n"), first):
        words = line.partition(b"#")[0].split()
        if not words:
            continue
        try:
            labels.append(_label(words[0]))
            entries = _entries(words[1:], rule)
        except Unreadable as wrong:
            raise Unreadable(str(wrong), number, path) from None
        lengths.append(len(entries))
        keys.extend(entries)
        values.extend(entries.values())
    numbers = np.array(keys, np.int64).reshape(-1, 2 if rule.fields else 1)
    return np.array(labels, np.int64), np.array(lengths, np.int64), numbers, np.array(values, np.float64)


def _label(word: bytes) -> int:
    if b":" in word:
        raise Unreadable(f"it begins with {_shown(word)} and has no label: {EXAMPLE}")
    if b"," in word:
        raise Unreadable(
            f"{_shown(word)} are several labels, as in multi-label data, or cells of a table: keep one label a line; "
            "a table is read by naming the form table"
        )
    if not _DECIMAL.fullmatch(word):
        raise Unreadable(f"{_shown(word)} is not a label, which is a whole number: {EXAMPLE}")
    label = float(word)
    if not label.is_integer() or abs(label) >= 2**53:
        raise Unreadable(f"label {_shown(word)} is not a whole number below 2^53: give classes, no real-valued targets")
    return int(label)


def _entries(words: Sequence[bytes], rule: Rule) -> dict[tuple[int, ...], float]:
    """Value of each index, or of each field and index."""
    found: dict[tuple[int, ...], float] = {}
    for word in words:
        *numbers, value = word.split(b":")
        if word.startswith(b"qid:"):
            # Refused, not skipped: labels of such data are grades within a query, and rows of a query belong together.
            raise Unreadable(f"{_shown(word)} marks data for ranking: if the labels are classes, cut the qid out")
        if not numbers:
            raise Unreadable(f"{_shown(word)} has no colon: {EXAMPLE}")
        if len(numbers) == 2 and not rule.fields:
            raise Unreadable(f"{_shown(word)} is of libffm, field:index:value: give the option fields=true to read it")
        if len(numbers) != 1 + rule.fields:
            expected = "field:index:value, as the option fields=true reads" if rule.fields else "index:value"
            raise Unreadable(f"{_shown(word)} is not {expected}: mend the line or drop it")
        if not _DECIMAL.fullmatch(value) or math.isinf(float(value)):
            raise Unreadable(f"the value of {_shown(word)} is not a finite decimal number: mend the line or drop it")
        key = tuple(_whole(number, word) for number in numbers)
        if not rule.lowest <= key[-1] <= rule.highest:
            raise Unreadable(_outside(key[-1], rule))
        if key in found:
            raise Unreadable(f"index {key[-1]} occurs again in {_shown(word)}: keep one of the two, or their sum")
        found[key] = float(value)
    return found


def _whole(number: bytes, word: bytes) -> int:
    digits = _INDEX.fullmatch(number)
    if digits is None or int(digits[1]) > LARGEST:
        raise Unreadable(f"{_shown(number)} in {_shown(word)} is not a whole number from 0 to {LARGEST}: {EXAMPLE}")
    return int(digits[1])


def _outside(index: int, rule: Rule) -> str:
    if index < rule.lowest:
        return "index 0 occurs, and base=1 numbers columns from 1: give base=0, or leave it out"
    base = "" if rule.base is None else f" with base={rule.base}"
    return f"index {index} is beyond n_features={rule.n_features}{base}: give a larger number, or leave it out"


def _shown(word: bytes) -> str:
    return repr(word if len(word) <= 40 else word[:40] + b"...").removeprefix("b")
