"""Passes over the rows of a sparse X: scores row by row from CSR, products with X.T column by column from a CSC copy.

Each column of the gradient is summed by one thread in the order of the rows, so nothing has to be added up afterwards,
whatever the number of columns and classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pianobench.problems.kernels.compiled import rows as on_rows
from pianobench.problems.kernels.compiled.jit import compiled

LOSS, GRADIENT, MOMENTS = 0, 1, 2


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
def softmax_pass(
    kind: int, indptr: Any, indices: Any, data: Any, W: Any, intercept: bool, codes: Any, weights: Any, floor: Any,
    first: int, last: int, block: int, R: Any,
) -> float:  # fmt: skip
    """Loss of the rows from `first` to `last`; R (n, m) gets what X.T is to be multiplied with.

    Parameters
    ----------
    kind : int
        LOSS writes nothing; GRADIENT ``a (P - Y)``; MOMENTS ``a max(P, floor)``.
    W : array (p, m)
    """
    m = W.shape[1]
    Z, scratch, losses, line = (
        np.empty((m, block), W.dtype),
        np.empty((5, block), W.dtype),
        np.empty(block),
        np.empty(m, W.dtype),
    )
    top, largest, rest, own, factor = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    total = 0.0
    for at in range(first, last, block):
        count = min(block, last - at)
        code, weight = codes[at : at + count], weights[at : at + count]
        scores(indptr, indices, data, W, intercept, at, count, line, Z)
        on_rows.own_scores(Z, count, code, own)
        on_rows.exponentiate(Z, count, top, largest, rest)
        total += on_rows.total_loss(count, weight, own, largest, rest, losses)
        if kind == GRADIENT:
            on_rows.residuals(Z, count, code, weight, top, rest, factor)
        elif kind == MOMENTS:
            on_rows.probabilities(Z, count, rest, factor)
            on_rows.scaled_and_floored(Z, count, weight, floor)
        if kind != LOSS:
            for j in range(count):
                for i in range(m):
                    R[at + j, i] = Z[i, j]
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
