"""Names of the data sets, wherever they come from: a new source is one function that yields entries, and one line."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from pianobench.datasets import scikit_learn, shared
from pianobench.datasets.dataset import Dataset
from pianobench.datasets.entry import Entry

# Where two sources have a name, the first one's data are meant.
_SOURCES: tuple[Callable[[], Iterable[Entry]], ...] = (
    scikit_learn.entries,
    shared.entries,
)


class UnknownDataset(ValueError):
    """No data set has this name; the message lists near matches."""


def entries() -> dict[str, Entry]:
    """What is known of each data set, by name in alphabetical order; nothing is read."""
    found: dict[str, Entry] = {}
    for source in _SOURCES:
        for entry in source():
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
        A name of the registry; ``letter:train`` is one part of a set that its origin splits.

    Raises
    ------
    UnknownDataset
        With near matches, and where to see all names.
    MissingData
        It is known and not on this machine.
    UnknownPart
        The set is not split so.
    """
    key, _, rest = name.partition(":")
    known = entries()
    if key not in known:
        near = difflib.get_close_matches(key, known, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UnknownDataset(f"no data set is called {key!r}: {hint}`pianobench datasets` lists all names")
    found = known[key].load()
    return found.part(rest) if rest else found
