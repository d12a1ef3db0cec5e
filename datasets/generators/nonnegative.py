"""Columns without negative values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

from pianobench.datasets.generators.softmax import Column, SoftmaxGenerator
from pianobench.datasets.generators.streams import near_normal


@dataclass(frozen=True)
class Nonnegative(SoftmaxGenerator):
    """Absolute values of independent near-normal ones, not centred, as intensities and concentrations are."""

    family: ClassVar[str] = "nonnegative"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "absolute values of near-normal ones, labels from a true softmax"

    def _features(self, words: Philox, rows: int) -> NDArray[np.float64]:
        return np.abs(near_normal(words, rows * self.d).reshape(rows, self.d))

    def _moments(self) -> tuple[Column, Column]:
        return 0.8, 0.6  # of half-normal values: √(2/π), √(1 − 2/π)
