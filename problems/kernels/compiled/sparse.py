"""Passes over the rows of a sparse X: scores row by row from CSR; products with X.T in one of two ways.

Where the result fits a core's cache it is added to row by row, in the same pass, each chunk of rows to a result of its
own. Else column by column from a CSC copy: each column is summed by one thread in the order of the rows, and nothing
has to be added up afterwards, whatever the number of columns and classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pianobench.problems.kernels.compiled import rows as on_rows
from pianobench.problems.kernels.compiled.jit import compiled
from pianobench.problems.kernels.compiled.kinds import DIAGONAL, INDICATORS, PRODUCT, transform


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
    A: Any, B: Any, first: int, last: int, block: int, R: Any, G: Any, H: Any,
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
    G, H : arrays (p, m)
        ``G += X.T Z.T`` or, where both have rows, that of X's positive and negative parts; of no rows likewise.
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
        if G.shape[0] > 0:
            add_rows(kind == DIAGONAL, indptr, indices, data, intercept, at, rows, line, Z, G, H)
    return total


@compiled
def add_rows(
    squared: bool, indptr: Any, indices: Any, data: Any, intercept: bool, first: int, rows: int, line: Any, Z: Any,
    G: Any, H: Any,
) -> None:  # fmt: skip
    """``G += X.T Z.T`` of some rows, of X's squares where `squared`; with H of its parts. `line` (m,) is scratch."""
    m, last, signed, zero = Z.shape[0], G.shape[0] - 1, H.shape[0] > 0, Z.dtype.type(0)
    for j in range(rows):
        entries = range(indptr[first + j], indptr[first + j + 1])
        if m == 2 and not signed:  # both sums without a loop
            one, two = Z[0, j], Z[1, j]
            for k in entries:
                value, l = G.dtype.type(data[k]), indices[k]
                value = value * value if squared else value
                G[l, 0] += value * one
                G[l, 1] += value * two
            if intercept:
                G[last, 0] += one
                G[last, 1] += two
            continue
        for i in range(m):
            line[i] = Z[i, j]
        for k in entries:
            value, l = G.dtype.type(data[k]), indices[k]
            value = value * value if squared else value
            if signed and value < zero:
                for i in range(m):
                    H[l, i] -= value * line[i]
            else:
                for i in range(m):
                    G[l, i] += value * line[i]
        if intercept:
            for i in range(m):
                G[last, i] += line[i]


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
