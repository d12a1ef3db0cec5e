"""The matrix a problem is solved in: X, conditioned on the fly, with a constant last column for the intercept.

Dense and CSR share every product, so that no kernel asks which it has. The arithmetic is done in the type of the other
factor: a float32 X times a float64 W is computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pianobench.problems.penalties import Array

Matrix: TypeAlias = Any  # an ndarray or a csr_array: what `@` and `.T` work on
Index: TypeAlias = slice | NDArray[np.intp]
FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True)
class Design:
    """(n, p) matrix of n rows and p = d (+ 1 with an intercept) columns; see `Dense` and `Csr`.

    Parameters
    ----------
    X : array or csr_array (n, d)
        As the caller gave it, never written.
    intercept : bool
        Whether a constant column comes after the d of X.
    nonnegative : bool
        Known to hold no negative value, which spares a product.
    """

    X: Matrix
    intercept: bool
    nonnegative: bool = False

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Columns without the intercept's."""
        return int(self.X.shape[1])

    def dot(self, W: Array) -> Array:
        """(n, k) ``X W`` for W (p, k)."""
        if W.shape[0] != self.d + self.intercept:
            raise ValueError(f"W has {W.shape[0]} rows: one a column is expected, {self.d + self.intercept}")
        Z = np.asarray(self.values(W.dtype) @ W[: self.d])
        return Z + W[-1] if self.intercept else Z

    def adjoint(self, R: Array) -> Array:
        """(p, k) ``X.T R`` for R (n, k)."""
        return self._below(self.values(R.dtype).T @ R, R.sum(axis=0))

    def signed_adjoint(self, R: Array) -> tuple[Array, Array]:
        """(p, k) ``P.T R`` and ``N.T R`` where X = P - N are its positive and negative parts."""
        V, ones, zeros = self.values(R.dtype), R.sum(axis=0), np.zeros(R.shape[1], R.dtype)
        if self.nonnegative:
            return self._below(V.T @ R, ones), np.zeros((self.d + self.intercept, R.shape[1]), R.dtype)
        positive = self.each(V, lambda v: np.maximum(v, 0))
        negative = self.each(V, lambda v: np.maximum(-v, 0))
        return self._below(positive.T @ R, ones), self._below(negative.T @ R, zeros)

    def square_adjoint(self, R: Array) -> Array:
        """(p, k) ``(X * X).T R``."""
        return self._below(self.each(self.values(R.dtype), np.square).T @ R, R.sum(axis=0))

    def gram(self, weight: Array | None) -> Array:
        """(p, p) ``X.T diag(weight) X``; weight (n, 1) or None."""
        V = self.values(FLOAT64)
        a = np.ones((self.n, 1)) if weight is None else weight.astype(np.float64)
        if isinstance(V, np.ndarray) and (a >= 0.0).all():
            S = V if weight is None else V * np.sqrt(a)
            G: Matrix = S.T @ S  # half the work, as BLAS sees that both are one matrix
        else:
            aV = V * a if isinstance(V, np.ndarray) else sp.csr_array(V.multiply(a))
            G = V.T @ aV
        G = G if isinstance(G, np.ndarray) else G.toarray()
        if not self.intercept:
            return np.asarray(G)
        edge = np.asarray(V.T @ a)
        return np.block([[G, edge], [edge.T, np.full((1, 1), a.sum())]])

    def reach(self, active: NDArray[np.bool_]) -> Array:
        """(n, k) sums of ``|x_l|`` over the rows l that are true in a column of `active` (p, k)."""
        wanted = active.astype(np.float64)
        Z = np.asarray(self.each(self.values(FLOAT64), np.abs) @ wanted[: self.d])
        return Z + wanted[-1] if self.intercept else Z

    def slice(self, rows: Index) -> Design:
        """Some rows."""
        return replace(self, X=self.X[rows])

    def columns(self, index: NDArray[np.intp], intercept: bool) -> Design:
        """Some columns of X, with or without the intercept."""
        return replace(self, X=self.X[:, index], intercept=intercept)

    def values(self, dtype: np.dtype[Any]) -> Matrix:
        """The d conditioned columns in `dtype`."""
        raise TypeError("Design is abstract: use Dense or Csr")

    def each(self, V: Matrix, function: Callable[[Array], Array]) -> Matrix:
        """`function`, which keeps zeros, on every entry of V."""
        return function(V) if isinstance(V, np.ndarray) else _with_data(V, function(V.data))

    def _below(self, T: Matrix, last: Array) -> Array:
        return np.vstack([T, last]) if self.intercept else np.asarray(T)


@dataclass(frozen=True)
class Dense(Design):
    """Dense X; where `centre` and `scale` (d,) are given the matrix is ``(X - centre) * scale``.

    A block is centred before it is multiplied: taking the centre off the product instead would lose as many digits as
    ``|centre| * scale`` has.
    """

    centre: Array | None = None
    scale: Array | None = None

    def values(self, dtype: np.dtype[Any]) -> Array:
        wide = np.promote_types(self.X.dtype, dtype)  # a float32 X is centred in float64 for a certificate
        V: Array = self.X.astype(wide, copy=False)
        if self.centre is not None:
            V = V - self.centre.astype(wide, copy=False)
        if self.scale is not None:
            V = V * self.scale.astype(wide, copy=False)
        return V.astype(dtype, copy=False)

    @cached_property
    def transposed(self) -> Array:
        """(d, n) X.T in C order, made once: a column is then in one piece. It is not conditioned."""
        return np.ascontiguousarray(self.X.T)

    def columns(self, index: NDArray[np.intp], intercept: bool) -> Dense:
        centre, scale = (None if v is None else v[index] for v in (self.centre, self.scale))
        X = np.take(self.X, index, axis=1)  # in rows, where X[:, index] would be in columns
        return replace(self, X=X, intercept=intercept, centre=centre, scale=scale)


@dataclass(frozen=True)
class Csr(Design):
    """Sparse X in CSR, sorted and without duplicates. Scaled columns are stored; centring would fill it."""

    def column_blocks(self, rows: int) -> Iterator[tuple[int, int, Matrix]]:
        """First and last row of each block of so many rows, and its columns as CSC, made once."""
        for first in range(0, self.n, rows):
            last = min(first + rows, self.n)
            yield first, last, self._columns(first, last)

    def whole_columns(self) -> Matrix:
        """X as CSC, made once."""
        return self._columns(0, self.n)

    def _columns(self, first: int, last: int) -> Matrix:
        if (first, last) not in self._csc:
            self._csc[first, last] = sp.csc_array(self.X if last - first == self.n else self.X[first:last])
        return self._csc[first, last]

    @cached_property
    def _csc(self) -> dict[tuple[int, int], Matrix]:
        return {}

    def values(self, dtype: np.dtype[Any]) -> sp.csr_array:
        return self.X if self.X.dtype == dtype else _with_data(self.X, self.X.data.astype(dtype))


def _with_data(V: sp.csr_array, data: Array) -> sp.csr_array:
    return sp.csr_array((data, V.indices, V.indptr), shape=V.shape)


def blocks(n: int, width: int, size: int = 1 << 17) -> Iterator[slice]:
    """Slices of 64 to 8192 rows, about `size` numbers each: a function of the shape alone, so sums never change."""
    rows = min(max(size // max(width, 1), 64), 8192)
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))
