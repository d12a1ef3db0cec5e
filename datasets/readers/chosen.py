"""Which columns of a table are features, which is the target, and where they stand in each of its files."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from pianobench.datasets.readers.parsed import Unreadable

One = TypeVar("One", str, int, str | int)


class Columns(Protocol):
    """What a file says of its columns."""

    @property
    def path(self) -> Path: ...
    @property
    def header(self) -> bool: ...
    @property
    def names(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Chosen:
    """Positions of columns in the first file.

    Parameters
    ----------
    target : int
    features : tuple of int
        In the order of the first file.
    categories : frozenset of int
        Features that were said to be categories.
    places : tuple of dict
        For each file, position of each used column there.
    """

    target: int
    features: tuple[int, ...]
    categories: frozenset[int]
    places: tuple[dict[int, int], ...]


def choose(
    files: Sequence[Columns],
    target: str | int | None,
    drop: Sequence[str | int],
    columns: Sequence[str | int],
    categories: Sequence[str | int],
) -> Chosen:
    """Columns by name or position, the same in all files.

    Raises
    ------
    Unreadable
        A column is not there, in one of the files or in all.
    """
    first = files[0]
    if drop and columns:
        raise Unreadable("both columns and drop are given: name the features to keep, or those to leave out")
    elsewhere = {name for file in files[1:] for name in file.names if file.header}
    dropped = {position_of(first, one, "drop") for one in listed(drop) if one not in elsewhere or one in first.names}
    rest = [position for position in range(len(first.names)) if position not in dropped]
    if not rest:
        raise Unreadable("drop leaves no column: features and a column of labels are expected")
    label = rest[-1] if target is None else position_of(first, target, "target")
    kept = {position_of(first, one, "columns") for one in listed(columns)} or set(rest)
    features = tuple(position for position in sorted(kept) if position != label)
    if not features:
        raise Unreadable(
            "it has one column: features and a column of labels are expected, with a separator between the cells"
        )
    declared = frozenset(position_of(first, one, "categories") for one in listed(categories)) - {label}
    left_out = declared.difference(features)
    if left_out:
        name = first.names[min(left_out)]
        raise Unreadable(f"categories names {name!r}, which is left out: name it in one place only")
    used = (*features, label)
    nameless = next((position for position in used if not first.names[position]), None)
    if nameless is not None:
        raise Unreadable(
            f"column {nameless} has no name in the header: is it the number of the row? Leave it out "
            f"(drop = [{nameless}]), or save the file without it (index=False in pandas)"
        )
    skipped = {one for one in listed(drop) if isinstance(one, str)}
    places = tuple(_places(first, file, used, None if columns else skipped) for file in files)
    return Chosen(label, features, declared, places)


def listed(given: Sequence[One] | One) -> Sequence[One]:
    """What an option has; one alone may stand without brackets."""
    return [given] if isinstance(given, str | int) else given


def repeated(names: Sequence[str]) -> str | None:
    """The first name that stands twice; None where none does."""
    return next((name for name, count in Counter(names).items() if name and count > 1), None)


def position_of(file: Columns, given: str | int, option: str) -> int:
    """Position of a column that an option gives by its name, or by its position from 0, also as text.

    Raises
    ------
    Unreadable
    """
    if given in file.names:
        return file.names.index(str(given))
    width = len(file.names)
    try:
        position = int(given)
    except (TypeError, ValueError):
        position = width
    if not -width <= position < width or isinstance(given, bool):
        names = [name or "(no name)" for name in file.names]
        small = {name.lower(): name for name in names}
        near = difflib.get_close_matches(str(given).lower(), small, n=1) if file.header else []
        hint = f"did you mean {small[near[0]]!r}? " if near else ""
        more = f" and {width - 8} more" if width > 8 else ""
        raise Unreadable(
            f"no column is called {given!r}: {hint}give {option} one of {', '.join(names[:8])}{more}, "
            f"or a position, 0 to {width - 1}"
        )
    return position % width


def _places(first: Columns, file: Columns, used: Sequence[int], skipped: set[str] | None) -> dict[int, int]:
    """Where the used columns stand; `skipped`: names of others that may stand there too, None for any."""
    if not (first.header and file.header):
        if len(file.names) != len(first.names):
            raise Unreadable(
                f"it has {len(file.names)} columns, and {first.path.name} has {len(first.names)}: give all the same",
                path=file.path,
            )
        return {position: position for position in used}
    there = {name: position for position, name in enumerate(file.names)}
    for position in used:
        if first.names[position] not in there:
            raise Unreadable(
                f"it has no column {first.names[position]!r}, and {first.path.name} has: give all files the same, "
                "or leave it out with drop",
                path=file.path,
            )
    if skipped is not None:
        known = skipped.union(first.names)
        extra = next((name for name in file.names if name not in known), None)
        if extra is not None:
            raise Unreadable(
                f"it has a column {extra!r}, and {first.path.name} has not: give all files the same, "
                "or leave it out with drop",
                path=file.path,
            )
    return {position: there[first.names[position]] for position in used}
