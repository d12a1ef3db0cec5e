"""Click-through rates of identifiers, normalised by depth and position, learned on the training rows alone [PW12].

A view in a place (depth, position) is clicked with the base rate of that place. The rate of an identifier is

    r = (clicks + a) / (expected clicks + a),

its clicks over those that its views would have had at their places' base rates, smoothed by a expected clicks at the
mean: 1 is the mean, an unknown identifier has 1. A conjunction of identifiers counts as an identifier.

A training row's own clicks are in the sums of its identifiers: a rare identifier's rate would tell them. So training
rows are dealt out to folds, and their rates are made of the other folds; other rows have those of all folds. One fold
stands for rates as the paper may have them, with the row's own clicks in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.kdd12 import effects
from pianobench.datasets.kdd12.layout import Log, Source
from pianobench.datasets.kdd12.tables import Table
from pianobench.datasets.reading import UnusableFile

Kind = tuple[str, ...]
"""Columns that make an identifier: one, or several of a conjunction."""

PLACES = 9  # depth and position 1, 2, 3 or more
_UNIT = 1 << 20  # expected clicks are counted in its parts: whole numbers, whose sums are exact
_SHRINK = 1000.0  # views at the mean that a place's base rate is smoothed by
_FOLDS = effects.salt("kdd12", "folds")
_STATISTICS = 3  # clicks, views, expected clicks


def places(log: Log) -> NDArray[np.int64]:
    """Number of each row's place, 0 … 8."""
    depth, position = (np.clip(log[name], 1, 3).astype(np.int64) - 1 for name in ("depth", "position"))
    found: NDArray[np.int64] = 3 * depth + position
    return found


def numbered(log: Log, first: int) -> NDArray[np.uint64]:
    """Numbers of the rows, of which the first has this one."""
    return np.arange(first, first + len(log), dtype=np.uint64)


def key(log: Log, kind: Kind) -> NDArray[np.uint64]:
    """One 64-bit key for each row; that of a conjunction is a hash."""
    found = log[kind[0]]
    for other in kind[1:]:
        found = effects.pair(found, log[other])
    return found


@dataclass(frozen=True, eq=False)
class Sums:
    """What is known of the identifiers of some rows.

    Parameters
    ----------
    clicks, views : ndarray of int64, shape (n,)
    expected : ndarray of float64, shape (n,)
        Clicks that the views would have had at their places' base rates.
    """

    clicks: NDArray[np.int64]
    views: NDArray[np.int64]
    expected: NDArray[np.float64]

    def rate(self, smoothing: float) -> NDArray[np.float64]:
        """Normalised rates, shape (n,)."""
        found: NDArray[np.float64] = (self.clicks + smoothing) / (self.expected + smoothing)
        return found


class Rates:
    """Sums of clicks by identifier.

    Parameters
    ----------
    source : Source
        Training rows; they are read twice.
    kinds : sequence of Kind
    folds : int
        Parts of the training rows, 1 for rates that hold the row's own clicks.

    Attributes
    ----------
    rows, clicks, views : int
        Of the training rows.
    base : ndarray of float64, shape (9,)
        Base rate of each place.

    Raises
    ------
    UnusableFile
        There is no row, no click, or nothing but clicks.
    """

    def __init__(self, source: Source, kinds: Sequence[Kind], folds: int = 4) -> None:
        if folds < 1:
            raise ValueError(f"folds = {folds}: 1 or more are expected, for example 4")
        self.folds, self.rows = folds, 0
        clicks, views = np.zeros(PLACES, np.int64), np.zeros(PLACES, np.int64)
        for log in source.blocks():
            self.rows += len(log)
            where = places(log)
            clicks += np.bincount(where, log.clicks, PLACES).astype(np.int64)
            views += np.bincount(where, log.views, PLACES).astype(np.int64)
        self.clicks, self.views = int(clicks.sum()), int(views.sum())
        self._check()
        mean = self.clicks / self.views
        self._parts = np.maximum((clicks + _SHRINK * mean) / (views + _SHRINK) * _UNIT, 1.0).astype(np.int64)
        self.base = self._parts / _UNIT
        self._tables = {kind: Table(_STATISTICS * folds) for kind in kinds}
        first = 0
        for log in source.blocks():
            counts = np.stack([log.clicks, log.views, log.views * self._parts[places(log)]])
            slots = _STATISTICS * self._fold(numbered(log, first))
            for kind, table in self._tables.items():
                table.add(key(log, kind), slots, counts)
            first += len(log)

    def of(self, log: Log, kind: Kind, numbers: NDArray[np.uint64] | None = None) -> Sums:
        """What the training rows say of the identifiers of some rows.

        Parameters
        ----------
        log : Log
        kind : Kind
            One of those that were learned.
        numbers : ndarray of uint64, shape (n,), optional
            Where they are training rows: their numbers from 0. The folds of the rows are then left out.
        """
        sums = self._tables[kind].find(key(log, kind)).reshape(len(log), self.folds, _STATISTICS)
        total = sums.sum(axis=1)
        if numbers is not None and self.folds > 1:
            total -= sums[np.arange(len(log)), self._fold(numbers)]
        return Sums(total[:, 0], total[:, 1], total[:, 2] / _UNIT)

    def export(self) -> dict[str, NDArray[Any]]:
        """All that was learned, as arrays."""
        counts = np.array([self.folds, self.rows, self.clicks, self.views], np.int64)
        saved: dict[str, NDArray[Any]] = {"counts": counts, "base": self._parts}
        for kind, table in self._tables.items():
            saved[f"keys/{'+'.join(kind)}"], saved[f"sums/{'+'.join(kind)}"] = table.export()
        return saved

    @classmethod
    def load(cls, saved: Mapping[str, NDArray[Any]], kinds: Sequence[Kind]) -> Self:
        """The rates that `export` gave.

        Raises
        ------
        KeyError, ValueError
            The arrays are not those of rates of these identifiers.
        """
        rates = cls.__new__(cls)
        rates.folds, rates.rows, rates.clicks, rates.views = map(int, saved["counts"])
        rates._parts = saved["base"]
        rates.base = rates._parts / _UNIT
        names = {kind: "+".join(kind) for kind in kinds}
        rates._tables = {kind: Table.load(saved[f"keys/{name}"], saved[f"sums/{name}"]) for kind, name in names.items()}
        widths = {saved[f"sums/{name}"].shape[1] for name in names.values()}
        if rates.base.shape != (PLACES,) or widths != {_STATISTICS * rates.folds}:
            raise ValueError(f"there are {rates.base.shape} places and {widths} sums for {rates.folds} folds")
        return rates

    def known(self, kind: Kind) -> int:
        """How many different identifiers the training rows have."""
        return len(self._tables[kind])

    def _fold(self, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        return (effects.mixed(numbers, _FOLDS) % np.uint64(self.folds)).astype(np.int64)

    def _check(self) -> None:
        if not self.rows:
            raise UnusableFile(
                "there is no training row: nothing can be learned; give a file, or a part of one, with rows"
            )
        if not 0 < self.clicks < self.views:
            what = "none of them is clicked" if not self.clicks else "all of them are clicks"
            raise UnusableFile(
                f"the {self.rows} training rows have {self.views} views, and {what}: a model of two classes needs "
                "clicks and views without one; take more rows, or check the first two columns"
            )
