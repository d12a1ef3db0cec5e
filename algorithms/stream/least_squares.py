"""The paper's warm-up: least squares on batches, the old ones forgotten by degrees [section 4, its formulas 6 to 10].

With A_0 = X_0'X_0 and b_0 = X_0'y_0, a batch X, y changes them by

(7) A <- A + mu^2 X'X
(8) b <- b + mu^2 X'y
(9) theta = A^{-1} b

so lambda = mu^2 / (1 + mu^2) is the weight of the new data: mu = 1 (lambda = 1/2) is least squares on all rows, and
mu -> infinity (lambda -> 1) forgets what was before. The numbered formulas are lost; (1 - lambda, lambda) as weights
give the same theta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from pianobench.problems.penalties import Array


@dataclass
class LeastSquares:
    """Recursive least squares with weights of batches.

    Parameters
    ----------
    d : int
        Columns.
    """

    d: int
    A: Array = field(init=False)  # (d, d)
    b: Array = field(init=False)  # (d,)

    def __post_init__(self) -> None:
        if self.d != int(self.d) or self.d < 1:
            raise ValueError(f"d={self.d!r}: a whole number of columns, 1 or more, is expected")
        self.A, self.b = np.zeros((self.d, self.d)), np.zeros(self.d)

    def add(self, X: Array, y: Array, mu: float = 1.0) -> None:
        """(7) and (8): X (k, d), y (k,).

        Raises
        ------
        ValueError
            Shapes do not fit, or mu is no finite number of 0 or more.
        """
        if X.ndim != 2 or X.shape[1] != self.d or y.shape != X.shape[:1]:
            raise ValueError(f"X has shape {X.shape} and y {y.shape}: (k, {self.d}) and (k,) are expected")
        if not 0.0 <= mu < math.inf:
            raise ValueError(f"mu={mu!r}: a finite number of 0 or more is expected")
        largest = mu * mu
        # so large a mu forgets: both are scaled down in place of overflowing
        scale = 1.0 if largest < 1e100 else 1e100 / largest
        self.A = scale * self.A + largest * scale * (X.T @ X)
        self.b = scale * self.b + largest * scale * (X.T @ y)

    @property
    def theta(self) -> Array:
        """(9): (d,), the one of least norm where A is singular."""
        return np.asarray(np.linalg.lstsq(self.A, self.b, rcond=None)[0])
