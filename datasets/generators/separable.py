"""Classes that a linear model separates without error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.generators.generator import Generator, Rows, Truth
from pianobench.datasets.generators.parameters import UnusableParameter, parameter
from pianobench.datasets.generators.streams import near_normal

_GRID = 2.0**16


@dataclass(frozen=True)
class Separable(Generator):
    """Near-normal rows, labelled by the largest score, and moved along their class's weights up to a margin.

    Without a penalty the loss has no minimum: its infimum is 0. Scores of a row before it is moved have variance 1.

    Parameters
    ----------
    margin : float
        Least lead xᵀW_y − xᵀW_k of the row's class y over each other class k, for the W of `truth`; rows that lead by
        less are moved until they lead by just this.
    """

    margin: float = parameter(0.5, 0.0, 1e3)

    family: ClassVar[str] = "separable"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "near-normal rows, classes that a true W separates with a margin"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.m > 2**self.d:
            least = (self.m - 1).bit_length()
            raise UnusableParameter(
                f"d = {self.d}: at least {least} features are expected for m = {self.m} classes: take d={least}"
            )

    @cached_property
    def _signs(self) -> NDArray[np.float64]:
        """Weights ±1, shape (d, m), the columns all different: the first rows are the binary digits of the class."""
        bits = self._stream("truth").random_raw(self.d * self.m).reshape(self.d, self.m) >> np.uint64(63)
        digits = (self.m - 1).bit_length()
        bits[:digits] = np.arange(self.m) >> np.arange(digits)[:, None] & 1
        return 2.0 * bits.astype(np.float64) - 1.0

    @cached_property
    def _distances(self) -> NDArray[np.float64]:
        """What a step along the weights of class y adds to its lead over class k; shape (m, m), 2 at least off 0."""
        return self.d - self._signs.T @ self._signs

    def truth(self) -> Truth:
        """The separating model."""
        return Truth(self._signs / np.sqrt(self.d), np.zeros(self.m))

    def _chunk(self, number: int) -> Rows:
        rows = self._chunk_rows
        X = near_normal(self._stream("features", number), rows * self.d).reshape(rows, self.d)
        # Features depend on these products, and may: sums of ± multiples of 2^-16 are exact, in whatever order.
        scores = X @ self._signs
        y = scores.argmax(axis=1)
        lead = scores[np.arange(rows), y][:, None] - scores
        distance = self._distances[y]
        distance[np.arange(rows), y] = np.inf
        steps = ((self.margin * np.sqrt(float(self.d)) - lead) / distance).max(axis=1)
        steps = np.ceil(np.maximum(steps, 0.0) * _GRID) / _GRID
        X += steps[:, None] * self._signs.T[y]
        return X, y.astype(np.int64)
