"""Columns whose scales differ by orders of magnitude."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

from pianobench.datasets.generators.parameters import parameter
from pianobench.datasets.generators.softmax import Column, SoftmaxGenerator
from pianobench.datasets.generators.streams import near_normal

_BITS_PER_DECADE = 3.321928094887362


@dataclass(frozen=True)
class IllScaled(SoftmaxGenerator):
    """Independent near-normal columns times powers of two that grow from column to column.

    The true weights shrink as the columns grow: each column has the same share in the logits.

    Parameters
    ----------
    decades : float
        Orders of magnitude between the first and the last column, at least; 12 is about 1e-6 … 1e6.
    """

    decades: float = parameter(12.0, 0.0, 200.0)

    family: ClassVar[str] = "ill_scaled"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "near-normal columns of scales many orders of magnitude apart, labels from a true softmax"

    @property
    def scales(self) -> NDArray[np.float64]:
        """Standard deviations of the columns, shape (d,): powers of two from 2^-e to 2^e, evenly spread."""
        most = ceil(self.decades * _BITS_PER_DECADE / 2)
        steps = max(1, self.d - 1)
        exponents = (2 * most * np.arange(self.d) + steps // 2) // steps - most
        return np.ldexp(np.ones(self.d), exponents.astype(np.intc))

    def _features(self, words: Philox, rows: int) -> NDArray[np.float64]:
        return near_normal(words, rows * self.d).reshape(rows, self.d) * self.scales

    def _moments(self) -> tuple[Column, Column]:
        return 0.0, self.scales
