"""How a table in text is laid out: told, or guessed from its first lines."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from pianobench.datasets.readers.chosen import repeated
from pianobench.datasets.readers.columns import is_number
from pianobench.datasets.readers.delimited import Delimited
from pianobench.datasets.readers.packed import lines, opened
from pianobench.datasets.readers.parsed import Unreadable

# Where two are equally likely, the first: decimal commas stand between semicolons, commas of texts between tabs.
SEPARATORS = {"tab": "\t", "semicolon": ";", "bar": "|", "comma": ",", "blanks": " "}
_LOOK = 20  # lines that guesses are made from
_QUOTED = re.compile(r'"[^"]*"')


def delimited(
    path: Path, separator: str | None, header: bool | None, skip_rows: Sequence[int], known: Collection[str] = ()
) -> Delimited:
    """A file with its layout, guessed where it is not told; `known` are names that a header would have.

    Raises
    ------
    Unreadable
    """
    skip = frozenset(skip_rows)
    table = Delimited(path, separator or _separator(path, skip), False, skip)
    rows = [[cell.strip() for cell in cells] for _, cells in islice(table.rows(), _LOOK)]
    if not rows:
        raise Unreadable("it is empty: rows of features and a label are expected", path=path)
    first, second = rows[0], rows[1] if len(rows) > 1 else []
    notes = []
    if header is None:
        header = _headed(first, second) or any(name in known for name in first if not is_number(name))
        if not header and second and not any(is_number(cell) for cell in first):
            notes.append("first line taken for data, since no column has a text above a number (header tells)")
    names = first if header else [str(position) for position in range(len(first))]
    width = len(first)
    if header and len(second) == width + 1 and not second[-1]:
        width += 1  # all rows end with a separator, only the header does not
    elif len(rows) > header and not any(cells[-1] for cells in (rows if not header or first[-1] else rows[1:])):
        names = names[:-1]
    if len(names) < width:
        notes.append("last column, without a name and empty in the first rows, left out")
    twice = repeated(names)
    if twice is not None:
        skipped = f"header = false and skip_rows = {sorted({*skip, 1})}"
        raise Unreadable(f"two columns are called {twice!r}: rename one, or read without names ({skipped})", path=path)
    return replace(table, header=header, names=tuple(names), width=width, notes=tuple(notes))


def separator_of(given: str | None) -> str | None:
    """The character that an option names.

    Raises
    ------
    Unreadable
    """
    if given is None or given in SEPARATORS:
        return given and SEPARATORS[given]
    if len(str(given)) != 1 or not str(given).isascii() or str(given).isalnum() or given in "\"'+-._\r\n":
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


def _headed(first: list[str], second: list[str]) -> bool:
    """Whether the first row names columns: text stands above a number there, or it counts 0, 1, 2, ..."""
    counted = len(first) > 2 and first[:-1] == [str(position) for position in range(len(first) - 1)]
    pairs = zip(first, second, strict=False)
    return counted or any(name and not _counts(name) and _counts(value) for name, value in pairs)


def _counts(text: str) -> bool:
    """Whether it is a number, perhaps with a decimal comma, which is refused later with the name of its column."""
    return is_number(text.replace(",", ".", 1))
