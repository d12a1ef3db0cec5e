"""Neighbouring columns alike: an autoregression of order one along the row."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

from pianobench.datasets.generators.parameters import parameter
from pianobench.datasets.generators.softmax import SoftmaxGenerator
from pianobench.datasets.generators.streams import near_normal

_LEAST_ROWS = 64


@dataclass(frozen=True)
class Correlated(SoftmaxGenerator):
    """AR(1) columns with mean 0 and variance 1: x_1 = z_1, x_j = ρ x_{j−1} + √(1 − ρ²) z_j, z near-normal.

    Columns i and j have the correlation ρ^|i−j|.

    Parameters
    ----------
    rho : float
        Correlation ρ of neighbouring columns; 1 makes all columns equal.
    """

    rho: float = parameter(0.9, -1.0, 1.0)

    family: ClassVar[str] = "correlated"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "autoregressive near-normal columns, labels from a true softmax"

    @property
    def _chunk_rows(self) -> int:
        return max(_LEAST_ROWS, super()._chunk_rows)  # the columns are a loop in Python

    def _features(self, words: Philox, rows: int) -> NDArray[np.float64]:
        columns = near_normal(words, rows * self.d).reshape(self.d, rows)
        columns[1:] *= sqrt(1.0 - self.rho * self.rho)
        for before, column in pairwise(columns):
            column += self.rho * before
        return np.ascontiguousarray(columns.T)
