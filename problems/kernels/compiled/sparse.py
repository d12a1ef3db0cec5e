"""Passes over the rows of a sparse X: scores row by row from CSR, products with X.T column by column from a CSC copy.

Each column of the gradient is summed by one thread in the order of the rows, so nothing has to be added up afterwards,
whatever the number of columns and classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pianobench.problems.kernels.compiled import rows as on_rows
from pianobench.problems.kernels.compiled.jit import compiled
from pianobench.problems.kernels.compiled.kinds import INDICATORS, PRODUCT, transform


@compiled
def scores(
    indptr: Any, indices: Any, data: Any, W: Any, intercept: bool, first: int, rows: int, line: Any, Z: Any
) -> None:
    """``Z = (X W).T`` of some rows, class-major; `line` (m,) is scratch."""
    m, zero = W.shape[1], W.dtype.type(0)
    last = W.shape[0] - 1
    for j in range(rows):
        for i in range(m):
            line[i] = W[last, i] if intercept else zero
        for k in range(indptr[first + j], indptr[first + j + 1]):
            value, l = W.dtype.type(data[k]), indices[k]
            for i in range(m):
                line[i] += value * W[l, i]
        for i in range(m):
            Z[i, j] = line[i]


@compiled
def pass_over(
    kind: int, indptr: Any, indices: Any, data: Any, W: Any, intercept: bool, codes: Any, weights: Any, number: Any,
    A: Any, B: Any, first: int, last: int, block: int, R: Any,
) -> float:  # fmt: skip
    """Loss of the rows from `first` to `last`, and what `kind` asks for.

    Parameters
    ----------
    kind : int
        Of `kinds`: makes Z (m, block) of each block of rows.
    W : array (p, m)
    A, B : arrays (n, k)
        The kind's fields.
    R : array (n, m)
        Gets Z.T, which X.T is to be multiplied with; of no rows where that is not wanted.
    """
    m, dtype = W.shape[1], W.dtype
    Z, other = np.empty((m, block), dtype), np.empty((m if kind == PRODUCT else 0, block), dtype)
    scratch, losses, line = np.empty((5, block), dtype), np.empty(block), np.empty(m, dtype)
    total = 0.0
    for at in range(first, last, block):
        rows = min(block, last - at)
        if kind < INDICATORS:
            scores(indptr, indices, data, W, intercept, at, rows, line, Z)
        code, weight = codes[at : at + rows], weights[at : at + rows]
        block_a, block_b = A[at : at + rows], B[at : at + rows]
        total += transform(kind, Z, other, rows, code, weight, number, block_a, block_b, scratch, losses)
        if R.shape[0] > 0:
            on_rows.scatter(Z, R[at : at + rows])
    return total


@compiled
def adjoint(indptr: Any, indices: Any, data: Any, R: Any, first: int, last: int, G: Any) -> None:
    """``G += X.T R`` in the columns from `first` to `last`, X in CSC, R (n, m), G (p, m)."""
    m = R.shape[1]
    line = np.empty(m, R.dtype)
    for l in range(first, last):
        for i in range(m):
            line[i] = G[l, i]
        for k in range(indptr[l], indptr[l + 1]):
            value, j = R.dtype.type(data[k]), indices[k]
            for i in range(m):
                line[i] += value * R[j, i]
        for i in range(m):
            G[l, i] = line[i]


@compiled
def signed_adjoint(indptr: Any, indices: Any, data: Any, R: Any, first: int, last: int, A: Any, B: Any) -> None:
    """``A += X_plus.T R`` and ``B += X_minus.T R`` in some columns, X_plus - X_minus = X, neither negative."""
    m, zero = R.shape[1], R.dtype.type(0)
    plus, minus = np.empty(m, R.dtype), np.empty(m, R.dtype)
    for l in range(first, last):
        for i in range(m):
            plus[i], minus[i] = A[l, i], B[l, i]
        for k in range(indptr[l], indptr[l + 1]):
            value, j = R.dtype.type(data[k]), indices[k]
            if value >= zero:
                for i in range(m):
                    plus[i] += value * R[j, i]
            else:
                for i in range(m):
                    minus[i] -= value * R[j, i]
        for i in range(m):
            A[l, i], B[l, i] = plus[i], minus[i]
