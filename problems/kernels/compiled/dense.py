"""Passes over the rows of a dense X: a block is read, multiplied, transformed and multiplied back while in cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from pianobench.problems.kernels.compiled import rows as on_rows
from pianobench.problems.kernels.compiled.blas import NO, gemm, later, read, start
from pianobench.problems.kernels.compiled.jit import compiled
from pianobench.problems.kernels.compiled.kinds import DIAGONAL, INDICATORS, PRODUCT, transform
from pianobench.problems.kernels.compiled.tiles import HEIGHT, add_signed_tile, add_tile, tile_shape

SMALL = 1_000_000  # multiply-adds of a product, up to which BLAS takes it as it lies and our tiles are not faster


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
def square(V: Any, rows: int) -> None:
    """The squares of a block's numbers, in their place."""
    for j in range(rows):
        for l in range(V.shape[1]):
            V[j, l] *= V[j, l]


@compiled
def scores(address: int, V: Any, at: int, rows: int, W: Any, intercept: bool, S: Any, Z: Any) -> None:
    """``Z = (V W).T`` of a block; W is padded to (p, wide), S (block, wide) is scratch."""
    d, m, wide = V.shape[1], Z.shape[0], W.shape[1]
    v, w, s = start(V, at * d), start(W, 0), start(S, 0)
    if 0 < rows * d * m <= SMALL:
        gemm(address, NO, NO, m, rows, d, w, wide, v, d, V.dtype.type(0), s, wide)
    else:
        S[:rows] = 0
        add_tiles(rows if d else 0, m, d, v, d, w, wide, s, wide)
    if intercept:
        on_rows.gather_shifted(S, rows, W[d], Z)
    else:
        on_rows.gather(S[:rows], Z)


@compiled
def add_adjoint(address: int, V: Any, at: int, rows: int, Z: Any, intercept: bool, GT: Any, HT: Any, edge: Any) -> None:
    """``GT += Z V`` of a block, GT (m, p), or where HT has rows ``GT += Z V+`` and ``HT += Z V-``.

    V+ - V- = V, neither negative. They are not the half sum and difference of products with V and |V|: a small element
    would be lost beside a large one of other sign. `edge` is what `last_columns` makes.
    """
    d, m, block, p = V.shape[1], Z.shape[0], Z.shape[1], GT.shape[1]
    v, z, g, h = start(V, at * d), start(Z, 0), start(GT, 0), start(HT, 0)
    if HT.shape[0] == 0 and 0 < rows * d * m <= SMALL:
        gemm(address, NO, NO, d, m, rows, v, d, z, block, V.dtype.type(1), g, p)
    else:
        lanes = tile_shape(V.dtype.type(0))[0]
        whole, wide = d - d % lanes, edge.shape[1]
        if HT.shape[0] == 0:
            add_tiles(m, whole, rows, z, block, v, d, g, p)
        else:
            add_signed_tiles(m, whole, rows, z, block, v, d, g, h, p)
        if whole < d:
            edge[:] = 0
            for j in range(rows):
                for l in range(whole, d):
                    edge[2 * m + j, l - whole] = V[at + j, l]
            v, g, h = start(edge, 2 * m * wide), start(edge, 0), start(edge, m * wide)
            if HT.shape[0] == 0:
                add_tiles(m, 1, rows, z, block, v, wide, g, wide)
            else:
                add_signed_tiles(m, 1, rows, z, block, v, wide, g, h, wide)
            for i in range(m):
                for l in range(whole, d):
                    GT[i, l] += edge[i, l - whole]
            for i in range(HT.shape[0]):
                for l in range(whole, d):
                    HT[i, l] += edge[m + i, l - whole]
    if intercept:
        add_row_sums(Z, rows, GT)


@compiled
def last_columns(Z: Any) -> Any:
    """Scratch of `add_adjoint`: sums of either sign, m rows each, and the last columns of a block in one vector."""
    return np.empty((2 * Z.shape[0] + Z.shape[1], tile_shape(Z.dtype.type(0))[0]), Z.dtype)


@compiled
def add_tiles(height: int, columns: int, rows: int, z: Any, ldz: int, v: Any, ldv: int, g: Any, ldg: int) -> None:
    """``G += Z V`` from pointers, Z (height, rows) and V (rows, columns), read and written in whole vectors."""
    lanes, half = tile_shape(read(v))
    tiles, strips = -(-height // HEIGHT), -(-columns // lanes)
    steps = -(-strips // (2 * half))
    for step in range(steps):
        k = strips * step // steps
        vectors, k = strips * (step + 1) // steps - k, k * lanes
        for tile in range(tiles):
            i = height * tile // tiles
            few = height * (tile + 1) // tiles - i
            add_tile(few, vectors, rows, later(z, i * ldz), ldz, later(v, k), ldv, later(g, i * ldg + k), ldg)


@compiled
def add_signed_tiles(
    height: int, columns: int, rows: int, z: Any, ldz: int, v: Any, ldv: int, g: Any, h: Any, ldg: int
) -> None:
    """`add_tiles` of ``G += Z V+`` and ``H += Z V-``."""
    lanes, most = tile_shape(read(v))
    tiles, strips = -(-height // HEIGHT), -(-columns // lanes)
    for k in range(0, strips, most):
        vectors, left = min(most, strips - k), k * lanes
        for tile in range(tiles):
            i = height * tile // tiles
            few, own, to = height * (tile + 1) // tiles - i, later(z, i * ldz), i * ldg + left
            add_signed_tile(few, vectors, rows, own, ldz, later(v, left), ldv, later(g, to), later(h, to), ldg)


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
    kind: int, address: int, V: Any, at: int, W: Any, intercept: bool, codes: Any, weights: Any, number: Any, A: Any,
    B: Any, row: int, rows: int, GT: Any, HT: Any, Z: Any, S: Any, other: Any, scratch: Any, losses: Any, edge: Any,
) -> float:  # fmt: skip
    """One block of `pass_over`: the rows from `row`, which are those of V from `at`."""
    if kind < INDICATORS:
        scores(address, V, at, rows, W, intercept, S, Z)
    code, weight = codes[row : row + rows], weights[row : row + rows]
    block_a, block_b = A[row : row + rows], B[row : row + rows]
    loss = transform(kind, Z, other, rows, code, weight, number, block_a, block_b, scratch, losses)
    if GT.shape[0] > 0:
        add_adjoint(address, V, at, rows, Z, intercept, GT, HT, edge)
    return loss


@compiled
def pass_over(
    kind: int, address: int, X: Any, W: Any, classes: int, intercept: bool, codes: Any, weights: Any, number: Any,
    A: Any, B: Any, first: int, last: int, block: int, GT: Any, HT: Any,
) -> float:  # fmt: skip
    """Loss of the rows from `first` to `last`, and what `kind` asks for; X in the type of W.

    Parameters
    ----------
    kind : int
        Of `kinds`: makes Z (m, block) of each block of rows.
    W : array (p, wide)
        Its first columns are those of the `classes`, the others 0.
    GT, HT : arrays (m, p)
        ``GT += Z X`` or, where both have rows, ``GT += Z X+`` and ``HT += Z X-``.
    A, B : arrays (n, k)
        The kind's fields.
    """
    m, dtype = classes, W.dtype
    Z, S = np.empty((m, block), dtype), np.empty((block, W.shape[1]), dtype)
    other = np.empty((m if kind == PRODUCT else 0, block), dtype)
    scratch, losses = np.empty((5, block), dtype), np.empty(block)
    edge = last_columns(Z)
    total = 0.0
    for at in range(first, last, block):
        rows = min(block, last - at)
        total += _block(
            kind, address, X, at, W, intercept, codes, weights, number, A, B, at, rows, GT, HT, Z, S, other,
            scratch, losses, edge,
        )  # fmt: skip
    return total


@compiled
def converted_pass(
    kind: int, address: int, X: Any, centre: Any, scale: Any, W: Any, classes: int, intercept: bool, codes: Any,
    weights: Any, number: Any, A: Any, B: Any, first: int, last: int, block: int, GT: Any, HT: Any,
) -> float:  # fmt: skip
    """`pass_over` on ``(X - centre) * scale``, or where `centre` is empty on an X of any type; DIAGONAL squares it."""
    m, dtype = classes, W.dtype
    Z, S = np.empty((m, block), dtype), np.empty((block, W.shape[1]), dtype)
    other = np.empty((m if kind == PRODUCT else 0, block), dtype)
    scratch, losses = np.empty((5, block), dtype), np.empty(block)
    edge = last_columns(Z)
    V = np.empty((block, X.shape[1]), dtype)
    total = 0.0
    for at in range(first, last, block):
        rows = min(block, last - at)
        if centre.size:
            conditioned(X, at, rows, centre, scale, V)
        else:
            copied(X, at, rows, V)
        if kind == DIAGONAL:
            square(V, rows)
        total += _block(
            kind, address, V, 0, W, intercept, codes, weights, number, A, B, at, rows, GT, HT, Z, S, other,
            scratch, losses, edge,
        )  # fmt: skip
    return total
