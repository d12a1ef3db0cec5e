"""About a thousand sparse features of a click log, from its click-through rates [PW12].

Each identifier gives two groups of columns, of which a row has one each: a bin of its rate, by quantiles of the
training rows, and a level of what is known of it, by powers of two of its views (level 0: never seen). One group more
has the place, depth × position. All entries are 1. Model 1 has the eight identifiers alone, 17 entries a row and 937
columns; model 2 adds the conjunction of query and advertisement, 19 entries a row and 1053 columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.kdd12 import effects
from pianobench.datasets.kdd12.layout import IDS, Log, Source
from pianobench.datasets.kdd12.rates import PLACES, Kind, Rates, Sums, numbered, places

CONJUNCTIONS: dict[int, tuple[Kind, ...]] = {1: (), 2: (("query", "ad"),)}
"""Conjunctions of each model."""

_SAMPLE = 1 << 17  # training rows, about, that the bins are made of
_CHOSEN = effects.salt("kdd12", "bins")


@dataclass(frozen=True)
class Recipe:
    """How features are made.

    Parameters
    ----------
    conjunctions : tuple of Kind
        Identifiers besides the eight single ones: ``(("query", "ad"),)`` for model 2.
    bins, levels : int
        Columns of each identifier's rate, and of its views.
    smoothing : float
        Expected clicks at the mean that rates are smoothed by.
    folds : int
        Parts of the training rows whose rates are learned on the others; 1 leaves a row's clicks in its own rates.

    Raises
    ------
    ValueError
        A value is out of its range.
    """

    conjunctions: tuple[Kind, ...] = ()
    bins: int = 100
    levels: int = 16
    smoothing: float = 1.0
    folds: int = 4

    def __post_init__(self) -> None:
        for name, least, most in (("bins", 1, 1000), ("levels", 1, 32), ("folds", 1, 64)):
            value = getattr(self, name)
            if not isinstance(value, int) or not least <= value <= most:
                raise ValueError(f"{name} = {value}: a whole number from {least} to {most} is expected")
        if not 0 < self.smoothing < np.inf:
            raise ValueError(f"smoothing = {self.smoothing}: a number above 0 is expected, for example 1")
        for kind in self.conjunctions:
            if len(kind) < 2 or not set(kind) <= set(IDS):
                raise ValueError(f"conjunction {kind}: two or more of {', '.join(IDS)} are expected")

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """All identifiers, the single ones first."""
        return (*((name,) for name in IDS), *self.conjunctions)

    @property
    def d(self) -> int:
        """Columns."""
        return len(self.kinds) * (self.bins + self.levels) + PLACES

    @property
    def per_row(self) -> int:
        """Entries of each row."""
        return 2 * len(self.kinds) + 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        found = []
        for kind in self.kinds:
            title = " x ".join(kind)
            found += [f"{title}: rate {number}" for number in range(self.bins)]
            found += [f"{title}: views {number}" for number in range(self.levels)]
        found += [f"depth {depth} position {position}" for depth in (1, 2, 3) for position in (1, 2, 3)]
        return tuple(found)

    def identity(self) -> str:
        """All of it, for the cache."""
        return repr(sorted(asdict(self).items()))


def recipe(model: int, **changes: Any) -> Recipe:
    """That of model 1 or 2.

    Raises
    ------
    ValueError
    """
    if model not in CONJUNCTIONS:
        raise ValueError(f"model = {model}: {' or '.join(map(str, CONJUNCTIONS))} is expected")
    return Recipe(CONJUNCTIONS[model], **changes)


class Features:
    """Features learned on training rows.

    Parameters
    ----------
    source : Source
        Training rows; they are read three times, in bounded memory but for a table of each identifier.
    recipe : Recipe

    Attributes
    ----------
    rates : Rates
    edges : dict of Kind to ndarray
        Rates between the bins, ascending; the training rows' own ones.

    Raises
    ------
    UnusableFile
        As `Rates` has it.
    """

    def __init__(self, source: Source, recipe: Recipe) -> None:
        self.recipe = recipe
        self.rates = Rates(source, recipe.kinds, recipe.folds)
        seen: dict[Kind, list[NDArray[np.float64]]] = {kind: [] for kind in recipe.kinds}
        keep, first = np.uint64(-(-self.rates.rows // _SAMPLE)), 0
        for log in source.blocks():
            numbers = numbered(log, first)
            chosen = effects.mixed(numbers, _CHOSEN) % keep == 0
            for kind, sums in self._sums(log.rows(chosen), numbers[chosen]):
                seen[kind].append(sums.rate(recipe.smoothing))
            first += len(log)
        self.edges = {kind: _quantiles(np.concatenate(rates), recipe.bins) for kind, rates in seen.items()}

    def export(self) -> dict[str, NDArray[Any]]:
        """All that was learned, as arrays."""
        edges = {f"edges/{'+'.join(kind)}": values for kind, values in self.edges.items()}
        return edges | {f"rates/{name}": values for name, values in self.rates.export().items()}

    @classmethod
    def load(cls, saved: Mapping[str, NDArray[Any]], recipe: Recipe) -> Self:
        """The features that `export` gave.

        Raises
        ------
        KeyError, ValueError
            The arrays are not those of features of this recipe.
        """
        features = cls.__new__(cls)
        features.recipe = recipe
        own = {name.removeprefix("rates/"): values for name, values in saved.items() if name.startswith("rates/")}
        features.rates = Rates.load(own, recipe.kinds)
        features.edges = {kind: saved[f"edges/{'+'.join(kind)}"] for kind in recipe.kinds}
        return features

    def columns(self, log: Log, first: int | None = None) -> NDArray[np.uint32]:
        """The columns in which each row has its ones, ascending; shape (n, per_row).

        Parameters
        ----------
        log : Log
        first : int, optional
            Where they are training rows: the number of the first of them. Without it the rows' own clicks would be in
            their features.
        """
        recipe, before = self.recipe, 0
        found = np.empty((len(log), recipe.per_row), np.uint32)
        for place, (kind, sums) in enumerate(self._sums(log, None if first is None else numbered(log, first))):
            bins = np.searchsorted(self.edges[kind], sums.rate(recipe.smoothing), side="right")
            found[:, 2 * place] = before + bins
            # The exponent of v is 1 + floor(log2(v)), and 0 of 0.
            found[:, 2 * place + 1] = before + recipe.bins + np.minimum(np.frexp(sums.views)[1], recipe.levels - 1)
            before += recipe.bins + recipe.levels
        found[:, -1] = before + places(log)
        return found

    def _sums(self, log: Log, numbers: NDArray[np.uint64] | None) -> Iterator[tuple[Kind, Sums]]:
        for kind in self.recipe.kinds:
            yield kind, self.rates.of(log, kind, numbers)


def _quantiles(values: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Different values at the quantiles: fewer than bins − 1 where many are equal; then some bins stay empty."""
    ordered = np.sort(values)
    return np.unique(ordered[np.arange(1, bins) * len(ordered) // bins])
