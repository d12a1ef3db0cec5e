"""Rows as features and counts, and the logistic problems that they make.

A row of `click` clicks out of `impression` views is that many positives and negatives with equal features. As weighted
rows they are one or two; expanded, one each. Loss, gradient and ranking are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Labels = Literal["grouped", "expanded", "clicked"]


@dataclass(frozen=True, eq=False)
class Labelled:
    """What a `Problem` takes: ``Problem(X, y, sample_weight=weight, ...)``.

    Parameters
    ----------
    X : csr_array (n, d)
    y : ndarray of int64, shape (n,)
        1 for clicks, 0 for views without one.
    weight : ndarray of float64, shape (n,)
        How many views the row stands for.
    """

    X: Any
    y: NDArray[np.int64]
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows of a log.

    Parameters
    ----------
    columns : ndarray of uint16 or uint32, shape (n, k)
        Columns of each row's ones, ascending.
    clicks, views : ndarray of int32, shape (n,)
    d : int
        Columns in all.
    """

    columns: NDArray[Any]
    clicks: NDArray[np.int32]
    views: NDArray[np.int32]
    d: int

    def __len__(self) -> int:
        return len(self.clicks)

    def rows(self, which: slice | NDArray[Any]) -> Encoded:
        """Some of the rows, in this order."""
        return Encoded(self.columns[which], self.clicks[which], self.views[which], self.d)

    @property
    def weights(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positives and negatives of each row: clicks, and views without one."""
        clicks = self.clicks.astype(np.int64)
        return clicks, self.views - clicks

    def matrix(self, dtype: Any = np.float64) -> Any:
        """X as a csr_array (n, d), a row each."""
        from scipy.sparse import csr_array

        n, k = self.columns.shape
        narrow = np.int32 if max(n * k, self.d) < 2**31 else np.int64
        pointers = np.arange(0, n * k + 1, k, dtype=narrow)
        parts = np.ones(n * k, dtype), self.columns.reshape(-1).astype(narrow), pointers
        return csr_array(parts, shape=(n, self.d))

    def labelled(self, labels: Labels = "grouped", dtype: Any = np.float64) -> Labelled:
        """Rows with labels.

        Parameters
        ----------
        labels : {"grouped", "expanded", "clicked"}
            Up to two weighted rows each, the views without a click first; a row for each view; or one row each, 1 where
            it was clicked at least once, with weight 1.
        dtype : {float64, float32}
            Of X.

        Raises
        ------
        ValueError
            There is no such form.
        """
        if labels == "clicked":
            return Labelled(self.matrix(dtype), (self.clicks > 0).astype(np.int64), np.ones(len(self)))
        if labels not in ("grouped", "expanded"):
            raise ValueError(f"labels = {labels!r}: grouped, expanded or clicked is expected")
        positive, negative = self.weights
        weight = np.stack([negative, positive], axis=1).reshape(-1)
        there = np.flatnonzero(weight) if labels == "grouped" else np.repeat(np.arange(len(weight)), weight)
        found = self.rows(there // 2)
        counted = weight[there].astype(np.float64) if labels == "grouped" else np.ones(len(there))
        return Labelled(found.matrix(dtype), (there % 2).astype(np.int64), counted)
