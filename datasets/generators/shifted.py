"""Columns with a mean that is large beside their spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

from pianobench.datasets.generators.parameters import parameter
from pianobench.datasets.generators.softmax import Column, SoftmaxGenerator
from pianobench.datasets.generators.streams import near_normal


@dataclass(frozen=True)
class Shifted(SoftmaxGenerator):
    """Independent near-normal columns of variance 1 around a large mean, as time stamps and raw readings are.

    Parameters
    ----------
    shift : float
        Mean of each column. The true intercepts take it back, so that classes are no larger for it.
    """

    shift: float = parameter(1e6, -1e12, 1e12)

    family: ClassVar[str] = "shifted"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "near-normal columns around a mean of a million, labels from a true softmax"

    def _features(self, words: Philox, rows: int) -> NDArray[np.float64]:
        return near_normal(words, rows * self.d).reshape(rows, self.d) + self.shift

    def _moments(self) -> tuple[Column, Column]:
        return self.shift, 1.0
