"""How a model does on rows, in sums that add up over batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from pianobench.problems import Problem
from pianobench.problems.kernels.scoring import scored
from pianobench.problems.penalties import Array


@dataclass(frozen=True)
class Score:
    """Sums over rows, each row as often as its weight says.

    Attributes
    ----------
    weight : float
        Of the rows.
    wrong : float
        Weight of the rows whose class is not the most probable one.
    loss, square : float
        Of the log loss and of its square.
    """

    weight: float = 0.0
    wrong: float = 0.0
    loss: float = 0.0
    square: float = 0.0

    @classmethod
    def of(cls, problem: Problem, W: Array) -> Self:
        """Of W (p, m) on the rows of a problem: one product X W, charged."""
        (sums,) = problem.home.reduce(scored, W)
        problem.meter.charge(problem.prices.product() + problem.prices.softmax)
        return cls(*map(float, sums))

    @classmethod
    def read(cls, sums: Array) -> Self:
        """From what `array` gave."""
        return cls(*map(float, sums))

    @property
    def array(self) -> Array:
        """(4,) for a state."""
        return np.array([self.weight, self.wrong, self.loss, self.square])

    @property
    def error(self) -> float:
        """Share of wrong predictions, I in the paper."""
        return self.wrong / self.weight if self.weight else 0.0

    @property
    def log_loss(self) -> float:
        """Mean log loss in nats."""
        return self.loss / self.weight if self.weight else 0.0

    def mean(self, kind: str) -> float:
        """`error` or `log_loss`, by name."""
        return self.error if kind == "error" else self.log_loss

    def doubt(self, kind: str) -> float:
        """Standard error of `mean`, rows taken as independent."""
        if not self.weight:
            return 0.0
        mean = self.mean(kind)
        square = self.error if kind == "error" else self.square / self.weight
        return float(np.sqrt(max(square - mean * mean, 0.0) / self.weight))

    def __add__(self, other: Score) -> Score:
        return Score.read(self.array + other.array)

    def scaled(self, weight: float) -> Score:
        """The same means over rows of another weight."""
        return Score.read(self.array * (weight / self.weight)) if self.weight else Score(weight)
