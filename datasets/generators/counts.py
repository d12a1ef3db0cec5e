"""Counts of events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

from pianobench.datasets.generators.parameters import parameter
from pianobench.datasets.generators.softmax import Column, SoftmaxGenerator
from pianobench.datasets.generators.streams import uniform

_RATES = 8


@dataclass(frozen=True)
class Counts(SoftmaxGenerator):
    """Independent Poisson counts, stored as float64; the rates of the columns go from 0.22 to 1.78 times the mean.

    Parameters
    ----------
    mean : float
        Of the rates, over each eight columns.
    """

    mean: float = parameter(1.0, 0.001, 300.0)

    family: ClassVar[str] = "counts"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "Poisson counts of unequal rates, labels from a true softmax"

    @cached_property
    def rates(self) -> NDArray[np.float64]:
        """Means of the columns, shape (d,): they take eight values in turn."""
        place = (np.arange(self.d) % _RATES).astype(np.float64)
        return self.mean * ((place + 1.0) / ((_RATES + 1) / 2))

    @cached_property
    def _tables(self) -> list[NDArray[np.float64]]:
        return [_cumulative(float(rate)) for rate in self.rates[:_RATES]]

    def _features(self, words: Philox, rows: int) -> NDArray[np.float64]:
        X = uniform(words, rows * self.d).reshape(rows, self.d)
        for first, table in enumerate(self._tables):
            X[:, first::_RATES] = np.searchsorted(table, X[:, first::_RATES], side="right")
        return X

    def _moments(self) -> tuple[Column, Column]:
        return self.rates, np.sqrt(self.rates)


def _cumulative(rate: float) -> NDArray[np.float64]:
    """P(count ≤ 0), P(count ≤ 1), … up to 1, without exp: weights rate^k / k! one from the other, then normalised."""
    weight, total = 1.0, 1.0
    totals = [total]
    while weight > total * 2.0**-60 or len(totals) <= rate:
        weight = weight * rate / len(totals)
        total += weight
        totals.append(total)
    return np.array(totals) / total
