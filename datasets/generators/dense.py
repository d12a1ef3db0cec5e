"""Independent near-normal columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

from pianobench.datasets.generators.softmax import SoftmaxGenerator
from pianobench.datasets.generators.streams import near_normal


@dataclass(frozen=True)
class Dense(SoftmaxGenerator):
    """Independent near-normal columns with mean 0 and variance 1: the best-conditioned case."""

    family: ClassVar[str] = "dense"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "independent near-normal columns, labels from a true softmax"

    def _features(self, words: Philox, rows: int) -> NDArray[np.float64]:
        return near_normal(words, rows * self.d).reshape(rows, self.d)
