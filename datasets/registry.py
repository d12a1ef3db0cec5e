"""Names of the data sets. A new set is one function that returns a `Dataset`, and one line here."""

import difflib
from collections.abc import Callable

from pianobench.datasets import scikit_learn
from pianobench.datasets.dataset import Dataset

_READERS: dict[str, Callable[[], Dataset]] = {
    "breast_cancer": scikit_learn.breast_cancer,
    "digits": scikit_learn.digits,
    "iris": scikit_learn.iris,
    "wine": scikit_learn.wine,
    "wine_standardised": scikit_learn.wine_standardised,
}


class UnknownDataset(ValueError):
    """No data set has this name; the message lists near matches."""


def names() -> tuple[str, ...]:
    """Names that `load` accepts, in alphabetical order."""
    return tuple(sorted(_READERS))


def load(name: str) -> Dataset:
    """Read one data set.

    Raises
    ------
    UnknownDataset
        With near matches, and where to see all names.
    """
    if name not in _READERS:
        near = difflib.get_close_matches(name, _READERS, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UnknownDataset(f"no data set is called {name!r}: {hint}`pianobench datasets` lists all names")
    return _READERS[name]()
