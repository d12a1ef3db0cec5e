"""Names of the data sets, wherever they come from: a new source is one function that yields entries, and one line."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from pianobench.datasets.dataset import Dataset
from pianobench.datasets.entry import Entry, MissingData

SOURCES = ("scikit_learn", "bundled", "generated", "turning", "kdd12.named", "shared", "fetched")
"""Modules with a function `entries`, imported when names are asked for: a cell that reads two arrays needs none. Where
two of them have a name, the first one's data are meant."""


class UnknownDataset(ValueError):
    """No data set has this name; the message lists near matches."""


def entries() -> dict[str, Entry]:
    """What is known of each data set, by name in alphabetical order; nothing is read."""
    found: dict[str, Entry] = {}
    for source in SOURCES:
        for entry in import_module(f"pianobench.datasets.{source}").entries():
            found.setdefault(entry.name, entry)
    return dict(sorted(found.items()))


def names() -> tuple[str, ...]:
    """Names that `load` accepts, in alphabetical order."""
    return tuple(entries())


def load(name: str) -> Dataset:
    """Read one data set.

    Parameters
    ----------
    name : str
        A name of the registry. ``letter:train`` is one part of a set that its origin splits, ``letter:standardised`` a
        dense one with columns of mean 0 and variance 1, ``dense:n=500,seed=3`` a generated one with these parameters,
        ``kdd12:rows=1e5,model=2`` a log of clicks.

    Raises
    ------
    UnknownDataset
        With near matches, and where to see all names.
    MissingData
        It is known and not on this machine.
    UnknownPart
        The set is not split so.
    UnusableParameter
        A generator has no such parameter, or not such a value.
    UnusableFile
        A file of the set is damaged.
    """
    from pianobench.datasets import fetched, generated, turning
    from pianobench.datasets.kdd12 import named as clicks

    key, colon, rest = name.partition(":")
    known = entries()
    if colon and not rest:
        raise UnknownDataset(f"{name!r} ends in a colon: the name of a part is expected after it, or parameters")
    if key not in known:
        remedy = fetched.remedy(key)
        if remedy is not None:
            raise MissingData(f"{key} is not on this machine: {remedy}")
        near = difflib.get_close_matches(key, known, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UnknownDataset(f"no data set is called {key!r}: {hint}`pianobench datasets` lists all names")
    if known[key].source == "generated":
        return generated.load(key, rest)
    if known[key].source == "kdd12":
        return clicks.load(key, rest)
    if known[key].source == "turning":
        return turning.load(rest)
    found = known[key].load()
    for part in filter(None, rest.split(":")):
        found = found.part(part)
    return found


@dataclass(frozen=True)
class Size:
    """How large a data set is: samples, columns, classes, and bytes of X in memory."""

    n: int
    d: int
    m: int
    nbytes: int


def size(name: str) -> Size:
    """Size of a data set that `load` accepts; it is read only for one of its parts.

    Raises
    ------
    UnknownDataset, MissingData, UnknownPart, UnusableParameter
    """
    from pianobench.datasets import generated, turning
    from pianobench.datasets.kdd12 import named as clicks

    key, _, rest = name.partition(":")
    entry = entries().get(key)
    if entry is not None and entry.source == "generated":
        made = generated.generator(key, rest)
        return Size(made.n, made.d, made.m, made.n * made.row_bytes)
    if entry is not None and entry.source == "kdd12":
        return Size(*clicks.size(key, rest))
    if entry is not None and entry.source == "turning":
        return Size(*turning.size(rest))
    if entry is None or rest:
        data = load(name)
        values = data.X if isinstance(data.X, np.ndarray) else data.X.data
        return Size(data.n, data.d, data.m, values.nbytes)
    return Size(entry.n, entry.d, entry.m, 8 * entry.n * entry.d if entry.nnz is None else 12 * entry.nnz)
