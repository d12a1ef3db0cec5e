"""Passes over the rows of a dense X: a block is read, multiplied, transformed and multiplied back while in cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from pianobench.problems.kernels.compiled.blas import NO, YES, gemm, later, start
from pianobench.problems.kernels.compiled.jit import compiled
from pianobench.problems.kernels.compiled.kinds import INDICATORS, PRODUCT, transform
from pianobench.problems.kernels.compiled.tiles import CLASSES, add_signed_tile, tile_shape


@compiled
def conditioned(X: Any, first: int, rows: int, centre: Any, scale: Any, out: Any) -> None:
    """``(X - centre) * scale`` of a block in the type of `out`, in the wider of the two types before."""
    d = X.shape[1]
    for j in range(rows):
        for l in range(d):
            out[j, l] = (X[first + j, l] - centre[l]) * scale[l]


@compiled
def copied(X: Any, first: int, rows: int, out: Any) -> None:
    """A block in another type."""
    for j in range(rows):
        for l in range(X.shape[1]):
            out[j, l] = X[first + j, l]


@compiled
def scores(address: int, V: Any, first: int, rows: int, WT: Any, intercept: bool, Z: Any) -> None:
    """``Z = (V W).T`` of a block, from WT (m, p)."""
    d, m, block = V.shape[1], WT.shape[0], Z.shape[1]
    p = WT.shape[1]
    gemm(address, YES, NO, rows, m, d, start(V, first * d), d, start(WT, 0), p, V.dtype.type(0), start(Z, 0), block)
    if intercept:
        for i in range(m):
            for j in range(rows):
                Z[i, j] += WT[i, d]


@compiled
def add_adjoint(address: int, V: Any, first: int, rows: int, Z: Any, intercept: bool, GT: Any) -> None:
    """``GT += Z V`` of a block, GT (m, p)."""
    d, m, block = V.shape[1], Z.shape[0], Z.shape[1]
    p = GT.shape[1]
    gemm(address, NO, NO, d, m, rows, start(V, first * d), d, start(Z, 0), block, V.dtype.type(1), start(GT, 0), p)
    if intercept:
        add_row_sums(Z, rows, GT)


@compiled
def add_signed_adjoint(V: Any, at: int, rows: int, Z: Any, intercept: bool, GT: Any, HT: Any, edge: Any) -> None:
    """``GT += Z V+`` and ``HT += Z V-`` of a block, V+ - V- = V, neither negative.

    They are not the half sum and difference of products with V and |V|: a small element would be lost beside a large
    one of other sign. `edge` is what `edges` makes.
    """
    d, m, block, p = V.shape[1], Z.shape[0], Z.shape[1], GT.shape[1]
    lanes, most = tile_shape(V.dtype.type(0))
    tiles, left = -(-m // CLASSES), 0
    while left < d:
        vectors = min(most, -(-(d - left) // lanes))
        width, wide = vectors * lanes, edge.shape[1]
        v, ldv, g, h, ldg = start(V, at * d + left), d, start(GT, left), start(HT, left), p
        beyond = left + width > d  # the last columns, filled up with zeros
        if beyond:
            edge[:] = 0
            fill(V, at, rows, left, edge[2 * m :])
            v, ldv, g, h, ldg = start(edge, 2 * m * wide), wide, start(edge, 0), start(edge, m * wide), wide
        for tile in range(tiles):
            i = m * tile // tiles
            classes = m * (tile + 1) // tiles - i
            own = start(Z, i * block)
            add_signed_tile(classes, vectors, rows, own, block, v, ldv, later(g, i * ldg), later(h, i * ldg), ldg)
        if beyond:
            for i in range(m):
                for l in range(d - left):
                    GT[i, left + l] += edge[i, l]
                    HT[i, left + l] += edge[m + i, l]
        left += width
    if intercept:
        add_row_sums(Z, rows, GT)


@compiled
def edges(Z: Any, wanted: bool) -> Any:
    """Scratch of `add_signed_adjoint`: sums of both signs, m rows each, and the last columns of a block."""
    lanes, vectors = tile_shape(Z.dtype.type(0))
    return np.empty((2 * Z.shape[0] + Z.shape[1] if wanted else 0, lanes * vectors), Z.dtype)


@compiled
def fill(V: Any, at: int, rows: int, left: int, out: Any) -> None:
    """The columns of a block from `left`, to the left in `out`."""
    for j in range(rows):
        for l in range(V.shape[1] - left):
            out[j, l] = V[at + j, left + l]


@compiled
def add_row_sums(Z: Any, rows: int, GT: Any) -> None:
    """The intercept's part of ``GT += Z V``."""
    for i in range(Z.shape[0]):
        total = Z.dtype.type(0)
        for j in range(rows):
            total += Z[i, j]
        GT[i, GT.shape[1] - 1] += total


@compiled
def _block(
    kind: int, address: int, V: Any, at: int, WT: Any, intercept: bool, codes: Any, weights: Any, number: Any, A: Any,
    B: Any, row: int, rows: int, GT: Any, HT: Any, Z: Any, other: Any, scratch: Any, losses: Any, edge: Any,
) -> float:  # fmt: skip
    """One block of `pass_over`: the rows from `row`, which are those of V from `at`."""
    if kind < INDICATORS:
        scores(address, V, at, rows, WT, intercept, Z)
    code, weight = codes[row : row + rows], weights[row : row + rows]
    block_a, block_b = A[row : row + rows], B[row : row + rows]
    loss = transform(kind, Z, other, rows, code, weight, number, block_a, block_b, scratch, losses)
    if HT.shape[0] > 0:
        add_signed_adjoint(V, at, rows, Z, intercept, GT, HT, edge)
    elif GT.shape[0] > 0:
        add_adjoint(address, V, at, rows, Z, intercept, GT)
    return loss


@compiled
def pass_over(
    kind: int, address: int, X: Any, WT: Any, intercept: bool, codes: Any, weights: Any, number: Any, A: Any, B: Any,
    first: int, last: int, block: int, GT: Any, HT: Any,
) -> float:  # fmt: skip
    """Loss of the rows from `first` to `last`, and what `kind` asks for; X in the type of W.

    Parameters
    ----------
    kind : int
        Of `kinds`: makes Z (m, block) of each block of rows.
    WT, GT, HT : arrays (m, p)
        ``GT += Z X`` or, where both have rows, ``GT += Z X+`` and ``HT += Z X-``.
    A, B : arrays (n, k)
        The kind's fields.
    """
    m, dtype = WT.shape[0], WT.dtype
    Z, other = np.empty((m, block), dtype), np.empty((m if kind == PRODUCT else 0, block), dtype)
    scratch, losses = np.empty((5, block), dtype), np.empty(block)
    edge = edges(Z, HT.shape[0] > 0)
    total = 0.0
    for at in range(first, last, block):
        rows = min(block, last - at)
        total += _block(
            kind, address, X, at, WT, intercept, codes, weights, number, A, B, at, rows, GT, HT, Z, other, scratch,
            losses, edge,
        )  # fmt: skip
    return total


@compiled
def converted_pass(
    kind: int, address: int, X: Any, centre: Any, scale: Any, WT: Any, intercept: bool, codes: Any, weights: Any,
    number: Any, A: Any, B: Any, first: int, last: int, block: int, GT: Any, HT: Any,
) -> float:  # fmt: skip
    """`pass_over` on ``(X - centre) * scale``, or on an X of another type where `centre` is empty."""
    m, dtype = WT.shape[0], WT.dtype
    Z, other = np.empty((m, block), dtype), np.empty((m if kind == PRODUCT else 0, block), dtype)
    scratch, losses = np.empty((5, block), dtype), np.empty(block)
    edge = edges(Z, HT.shape[0] > 0)
    V = np.empty((block, X.shape[1]), dtype)
    total = 0.0
    for at in range(first, last, block):
        rows = min(block, last - at)
        if centre.size:
            conditioned(X, at, rows, centre, scale, V)
        else:
            copied(X, at, rows, V)
        total += _block(
            kind, address, V, 0, WT, intercept, codes, weights, number, A, B, at, rows, GT, HT, Z, other, scratch,
            losses, edge,
        )  # fmt: skip
    return total
