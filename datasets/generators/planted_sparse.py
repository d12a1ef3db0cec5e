"""Few relevant features among many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.generators.dense import Dense
from pianobench.datasets.generators.parameters import UnusableParameter, parameter
from pianobench.datasets.generators.streams import shuffled


@dataclass(frozen=True)
class PlantedSparse(Dense):
    """Columns as in `Dense`, k of which have an effect; `Truth.support` says which.

    The row of W of a relevant feature holds m evenly spaced weights in random order, with mean 0 and the same mean
    square for all: no relevant feature is too weak to be found because of chance.

    Parameters
    ----------
    k : int
        Number of relevant features, at most d.
    """

    d: int = parameter(200, 1, 10**7)
    k: int = parameter(10, 1, 10**7)

    family: ClassVar[str] = "planted_sparse"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "near-normal columns of which few have an effect, labels from a true softmax"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k > self.d:
            raise UnusableParameter(
                f"k = {self.k}: relevant features are expected to be d = {self.d} at most: take k={self.d}"
            )

    @property
    def _effects(self) -> int:
        return self.k

    @cached_property
    def _directions(self) -> NDArray[np.float64]:
        words = self._stream("truth")
        support = shuffled(words, self.d)[: self.k]
        orders = np.argsort(words.random_raw(self.k * self.m).reshape(self.k, self.m), axis=1, kind="stable")
        directions = np.zeros((self.d, self.m))
        directions[support] = (2.0 * orders - (self.m - 1)) / np.sqrt((self.m**2 - 1) / 3)
        return directions
