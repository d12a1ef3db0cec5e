"""Labels drawn from the softmax of a true W.

A label is the number of cumulative probabilities that a uniform value reaches. Exponentials and matrix products may
differ in their last bits from machine to machine here: a label changes only where the uniform value, a multiple of
2^-53, falls between two values of a cumulative probability that differ by about 1e-15, which in a million labels
happens once in 1e9 data sets. Features never depend on them.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

from pianobench.datasets.generators.generator import Generator, Rows, Truth
from pianobench.datasets.generators.parameters import parameter
from pianobench.datasets.generators.streams import near_normal, uniform

Column = NDArray[np.float64] | float


@dataclass(frozen=True)
class SoftmaxGenerator(Generator):
    """A family whose dense features come first, and labels from the softmax given them.

    Parameters
    ----------
    signal : float
        Standard deviation of the logits, about: 0 makes labels independent of X, 2 a fairly noisy problem, 10 an
        almost certain one.
    imbalance : float
        Class k has the intercept −imbalance · log(k + 1): without signal its size is proportional to
        (k + 1)^−imbalance, a power law. 0 makes classes about equal.
    """

    signal: float = parameter(2.0, 0.0, 1e3)
    imbalance: float = parameter(0.0, 0.0, 10.0)

    @abstractmethod
    def _features(self, words: Philox, rows: int) -> NDArray[np.float64]:
        """Features of `rows` samples, shape (rows, d), by exact arithmetic."""

    def _moments(self) -> tuple[Column, Column]:
        """Mean and standard deviation of the columns, about: W is drawn for standardised ones."""
        return 0.0, 1.0

    @cached_property
    def _directions(self) -> NDArray[np.float64]:
        """W for standardised columns and a signal of √`_effects`, shape (d, m)."""
        return near_normal(self._stream("truth"), self.d * self.m).reshape(self.d, self.m)

    @property
    def _effects(self) -> int:
        """Number of features that have an effect."""
        return self.d

    def truth(self) -> Truth:
        """The true model, for X as it is."""
        centre, spread = self._moments()
        W = self._directions * (self.signal / np.sqrt(self._effects)) / np.reshape(spread, (-1, 1))
        return Truth(W, log_sizes(self.m, self.imbalance) - np.broadcast_to(centre, self.d) @ W)

    def _chunk(self, number: int) -> Rows:
        rows = self._chunk_rows
        X = self._features(self._stream("features", number), rows)
        centre, spread = self._moments()
        # Standardised first: xᵀW + intercept would cancel where the mean is large.
        logits = ((X - centre) / spread) @ self._directions * (self.signal / np.sqrt(self._effects))
        logits += log_sizes(self.m, self.imbalance)
        return X, drawn(logits, uniform(self._stream("labels", number), rows))


def log_sizes(m: int, imbalance: float) -> NDArray[np.float64]:
    """Logarithms of class sizes (k + 1)^−imbalance, up to a constant; shape (m,)."""
    sizes: NDArray[np.float64] = np.arange(1.0, m + 1.0)
    return -imbalance * np.log(sizes)


def drawn(logits: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.int64]:
    """Labels by inversion.

    Parameters
    ----------
    logits : ndarray (rows, m)
    at : ndarray (rows,)
        Uniform on [0, 1).
    """
    cumulative = np.cumsum(np.exp(logits - logits.max(axis=1, keepdims=True)), axis=1)
    # The last class is left out: it is what remains, also where at × total is rounded up to the total.
    reached: NDArray[np.bool_] = cumulative[:, :-1] <= at[:, None] * cumulative[:, -1:]
    labels: NDArray[np.int64] = reached.sum(axis=1, dtype=np.int64)
    return labels
