"""How a table in text is laid out: told, or guessed from its first lines."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from pianobench.datasets.readers.columns import is_number
from pianobench.datasets.readers.delimited import BLOCK, Delimited
from pianobench.datasets.readers.packed import lines, opened
from pianobench.datasets.readers.parsed import Unreadable

# Where two are equally likely, the first: decimal commas stand between semicolons, commas of texts between tabs.
SEPARATORS = {"tab": "\t", "semicolon": ";", "bar": "|", "comma": ",", "blanks": " "}
_LOOK = 20  # lines that guesses are made from
_QUOTED = re.compile(r'"[^"]*"')


def delimited(
    path: Path, separator: str | None, header: bool | None, skip_rows: Sequence[int], known: Collection[object] = ()
) -> Delimited:
    """A file with its layout, guessed where it is not told; `known` are names that a header would have.

    Raises
    ------
    Unreadable
    """
    skip = frozenset(skip_rows)
    table = Delimited(path, separator or _separator(path, skip), False, skip)
    table = replace(table, by_rows=table.separator == " " or _blank_before_quote(table))
    first, second, *_ = *([cell.strip() for cell in cells] for _, cells in islice(table.rows(), 2)), [], []
    if not first:
        raise Unreadable("it is empty: rows of features and a label are expected", path=path)
    notes = []
    if header is None:
        header = _headed(first, second) or any(name in known for name in first if not is_number(name))
        if not header and second and not any(is_number(cell) for cell in first):
            notes.append("first line taken for data, since no column has a text above a number (header tells)")
    if not header:
        return replace(table, names=tuple(map(str, range(len(first)))), notes=tuple(notes))
    if len(second) == len(first) + 1 and not second[-1]:
        first.append("")  # all rows end with a separator, only the header does not
    twice = next((name for name in first if name and first.count(name) > 1), None)
    if twice is not None:
        skipped = f"header = false and skip_rows = {sorted({*skip, 1})}"
        raise Unreadable(f"two columns are called {twice!r}: rename one, or read without names ({skipped})", path=path)
    return replace(table, header=True, names=tuple(first), notes=tuple(notes))


def separator_of(given: str | None) -> str | None:
    """The character that an option names.

    Raises
    ------
    Unreadable
    """
    if given is None or given in SEPARATORS:
        return given and SEPARATORS[given]
    if len(given) != 1 or not given.isascii() or given.isalnum() or given in "\"'+-._\r\n":
        raise Unreadable(f"separator is {given!r}: one character is expected, or {', '.join(SEPARATORS)}")
    return given


def _separator(path: Path, skip: frozenset[int]) -> str:
    with opened(path) as stream:
        numbered = islice(lines(stream, path), _LOOK + max(skip, default=0))
        texts = [line.decode("utf-8", "replace").strip(" ") for number, line in numbered if number not in skip]
    bare = [_QUOTED.sub("", text) for text in texts if text.strip()]
    if not bare:
        return ","

    def likely(mark: str) -> tuple[bool, int]:
        counts = [text.count(mark) for text in bare]
        return counts[0] > 0 and len(set(counts)) == 1, counts[0]

    marks = [mark for mark in SEPARATORS.values() if mark != " "]
    best = max(marks, key=likely)
    return best if likely(best)[1] else " "


def _blank_before_quote(table: Delimited) -> bool:
    with opened(table.path) as stream:
        return re.search(re.escape(table.separator).encode() + rb' +"', stream.read(BLOCK)) is not None


def _headed(first: list[str], second: list[str]) -> bool:
    """Whether the first row names columns: text stands above a number there, or it counts 0, 1, 2, ..."""
    counted = len(first) > 2 and first[:-1] == [str(position) for position in range(len(first) - 1)]
    pairs = zip(first, second, strict=False)
    return counted or any(name and not is_number(name) and is_number(value) for name, value in pairs)
