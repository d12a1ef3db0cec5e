"""From a part of the rows to compiled loops over its chunks: the same for dense and sparse X.

Memory besides X, W and the result, in numbers of W's type: dense, chunks(n, ...) gradients (at most 8, and at most
2^27 bytes of them), W padded to a multiple of 16 columns, and for a thread, a row of a block, 2 m + 20 numbers and a
vector, and d more where X is conditioned or of another type; sparse, R of at most 2^24 entries, and once a CSC copy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.design import Csr, Dense
from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.compiled import dense, kinds, line, sparse, threads
from pianobench.problems.kernels.compiled.blas import gemm_address
from pianobench.problems.penalties import Array

MOST_CHUNKS = 8
MOST_BYTES = 1 << 27  # of the chunks' own gradients
MOST_ENTRIES = 1 << 24  # of the field between the two halves of a sparse pass
CACHED = 1 << 19  # bytes of a sparse pass's result that stay in a core's cache
ROWS = 64  # of a block where X is sparse or not read
EXPONENTIAL = 20  # multiply-adds that an exponential takes as long as
LINE = 16  # columns that W is padded to a multiple of: a whole vector of any width
ALONE = 1 << 19  # multiply-adds below which a second thread costs more than it brings
SIGNED = {kinds.MOMENTS, kinds.MOMENTS_AT}
MULTIPLIED = SIGNED | {kinds.GRADIENT, kinds.PRODUCT, kinds.INDICATORS, kinds.FIELD, kinds.ON_LINE, kinds.DIAGONAL}
_NOTHING = np.empty(0)


def pass_over(part: Part, kind: int, W: Array, *fields: Array, number: float = 0.0) -> tuple[float, Array, Array]:
    """Loss over the rows and what `kind` multiplies with X.T.

    Parameters
    ----------
    part : Part
    kind : int
        Of `kinds`.
    W : array (p, k)
        Its type is that of all arithmetic. Its values are not read by a kind from INDICATORS on.
    *fields : arrays (n, k) or (n, 1)
        At most two, the kind's A and B.
    number : float
        The kind's floor or step.

    Returns
    -------
    loss : float
    G, H : arrays (p, k)
        ``X.T Z.T``; of a kind in SIGNED those of X's positive and negative parts. Empty where `kind` has none.

    Raises
    ------
    ValueError
    """
    check(part, W, W.shape[1] if kind in (kinds.SCORES, kinds.FIELD) else part.m)
    check_fields(part, 1 if kind in (kinds.MOMENTS_AT, kinds.LOG_SUM_EXP) else W.shape[1], *fields)
    A, B = (*fields, *[np.empty((0, W.shape[1]), W.dtype)] * 2)[:2]
    work = _dense if isinstance(part.design, Dense) else _sparse
    return work(part, W, kind, A, B, W.dtype.type(number))


def line_pass(part: Part, t: float, XW: Array, XD: Array) -> tuple[float, float]:
    """Loss at the scores ``XW + t XD`` (n, m) and its derivative in t."""
    check_fields(part, part.m, XW, XD)
    edges, step = chunks(part.n, ROWS, 0, most=32), XW.dtype.type(t)

    def work(chunk: int) -> tuple[float, float]:
        return line.line_pass(XW, XD, step, part.codes, part.weights, edges[chunk], edges[chunk + 1], ROWS)

    losses, slopes = zip(*threads.run(work, len(edges) - 1, threads_for(EXPONENTIAL * XW.size)), strict=True)
    return total(losses), total(slopes)


def _dense(part: Part, W: Array, kind: int, A: Array, B: Array, number: Any) -> tuple[float, Array, Array]:
    design, (p, k) = part.design, W.shape
    assert isinstance(design, Dense)
    X, signed = np.ascontiguousarray(design.X), kind in SIGNED and not design.nonnegative
    padded = np.zeros((p if kind < kinds.INDICATORS else 0, -(-k // LINE) * LINE), W.dtype)
    padded[:, :k] = W[: len(padded)]
    rows = block(design.d * W.itemsize)
    edges = chunks(part.n, rows, (2 if signed else 1) * p * k * W.itemsize)
    G = np.zeros((len(edges) - 1, k if kind in MULTIPLIED else 0, p), W.dtype)
    H = np.zeros((len(edges) - 1, k if signed else 0, p), W.dtype)
    address = gemm_address(W.dtype)
    plain = design.centre is None and design.scale is None and kind != kinds.DIAGONAL
    if plain and X.dtype == W.dtype:
        go: Callable[..., float] = partial(dense.pass_over, kind, address, X)
    else:
        go = partial(dense.converted_pass, kind, address, X, *conditions(design))

    def work(chunk: int) -> float:
        ends = edges[chunk], edges[chunk + 1]
        return go(padded, k, design.intercept, part.codes, part.weights, number, A, B, *ends, rows, G[chunk], H[chunk])

    losses = threads.run(work, len(edges) - 1, threads_for(part.n * p * k))
    for chunk in range(1, len(edges) - 1):
        G[0] += G[chunk]
        H[0] += H[chunk]
    negative = H[0].T.copy() if signed else np.zeros_like(W) if kind in SIGNED else _NOTHING
    return total(losses), G[0].T.copy(), negative


def _sparse(part: Part, W: Array, kind: int, A: Array, B: Array, number: Any) -> tuple[float, Array, Array]:
    design, (p, k) = part.design, W.shape
    assert isinstance(design, Csr)
    signed = kind in SIGNED and not design.nonnegative
    small = kind not in MULTIPLIED or (2 if signed else 1) * p * k * W.itemsize <= CACHED
    go = _sparse_by_rows if small else _sparse_by_columns
    losses, G, H = go(part, np.ascontiguousarray(W), kind, A, B, number, signed)
    return total(losses), G, H if signed else np.zeros_like(W) if kind in SIGNED else _NOTHING


def _sparse_by_rows(
    part: Part, W: Array, kind: int, A: Array, B: Array, number: Any, signed: bool
) -> tuple[list[float], Array, Array]:
    """Sums of each chunk of rows, added up: without the columns of X and without a field between."""
    (p, k), X, multiplied = W.shape, part.design.X, kind in MULTIPLIED
    size = (2 if signed else 1) * p * k * W.itemsize
    edges = chunks(part.n, ROWS, size) if multiplied else chunks(part.n, ROWS, 0, most=32)
    G = np.zeros((len(edges) - 1, p if multiplied else 0, k), W.dtype)
    H = np.zeros((len(edges) - 1, p if signed else 0, k), W.dtype)
    nothing = np.empty((0, k), W.dtype)

    def work(chunk: int) -> float:
        return float(
            sparse.pass_over(
                kind, X.indptr, X.indices, X.data, W, part.design.intercept, part.codes, part.weights, number, A, B,
                edges[chunk], edges[chunk + 1], ROWS, nothing, G[chunk], H[chunk],
            )
        )  # fmt: skip

    losses = threads.run(work, len(edges) - 1, threads_for(X.nnz * k))
    for chunk in range(1, len(edges) - 1):
        G[0] += G[chunk]
        H[0] += H[chunk]
    return losses, G[0].copy(), H[0].copy()


def _sparse_by_columns(
    part: Part, W: Array, kind: int, A: Array, B: Array, number: Any, signed: bool
) -> tuple[list[float], Array, Array]:
    """Rows to a field, and the field column by column to the result, some rows at a time."""
    design, (p, k) = part.design, W.shape
    assert isinstance(design, Csr)
    X, nothing = design.X, np.empty((0, k), W.dtype)
    G, H = np.zeros((p, k), W.dtype), np.zeros((p if signed else 0, k), W.dtype)
    losses: list[float] = []
    count, rows = threads_for(X.nnz * k), max(MOST_ENTRIES // max(k, 1), 1)
    space = np.empty((min(rows, part.n) if kind != kinds.FIELD else 0, k), W.dtype)
    for first, last, columns in design.column_blocks(rows):
        own = slice(first, last)
        if kind == kinds.FIELD:
            R = A[own]
        else:
            R = space[: last - first]
            edges = chunks(last - first, ROWS, 0, most=32)
            go = partial(
                sparse.pass_over, kind, X.indptr[first:], X.indices, X.data, W, design.intercept, part.codes[own],
                part.weights[own], number, A[own], B[own],
            )  # fmt: skip

            def row_work(chunk: int, go: Any = go, edges: Any = edges, R: Array = R) -> float:
                return float(go(edges[chunk], edges[chunk + 1], ROWS, R, nothing, nothing))

            losses += threads.run(row_work, len(edges) - 1, count)
        places = _balanced(columns.indptr, 32)
        data = np.square(columns.data, dtype=W.dtype) if kind == kinds.DIAGONAL else columns.data

        def column_work(
            chunk: int, places: Any = places, columns: Any = columns, data: Any = data, R: Array = R
        ) -> None:
            given = columns.indptr, columns.indices, data, R, places[chunk], places[chunk + 1], G
            if signed:
                sparse.signed_adjoint(*given, H)
            else:
                sparse.adjoint(*given)

        threads.run(column_work, len(places) - 1, count)
        if design.intercept:
            G[-1] += R.sum(axis=0)
    return losses, G, H


def total(values: Iterable[float]) -> float:
    """Exact sum; infinity or NaN where it or a value is none that float64 has."""
    values = list(values)
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # of finite values, and of infinities of both signs
        return float(np.sum(values))


def check(part: Part, W: Array, k: int | None = None) -> None:
    """Refuse weights that are not (p, k), k the classes by default: compiled code would read beyond them.

    Raises
    ------
    ValueError
    """
    p, k = part.design.d + part.design.intercept, part.m if k is None else k
    if W.shape[0] != p:
        raise ValueError(f"W has {W.shape[0]} rows: one a column is expected, {p}")
    if W.shape[1] != k:
        raise ValueError(f"W has {W.shape[1]} columns: one a class is expected, {k}")


def check_fields(part: Part, k: int, *fields: Array) -> None:
    """Refuse fields that are not (n, k).

    Raises
    ------
    ValueError
    """
    for field in fields:
        if field.shape != (part.n, k):
            raise ValueError(f"a field has shape {field.shape}: {(part.n, k)} is expected")


def block(nbytes: int) -> int:
    """Rows of a block of a dense X whose rows have so many bytes: what a core's cache holds, within bounds."""
    if nbytes <= 256:
        return 192
    return next((rows for rows in (96, 48) if rows * nbytes <= 1 << 20), 24)


def chunks(n: int, rows: int, nbytes: int, most: int = MOST_CHUNKS) -> list[int]:
    """Edges of the chunks of n rows, by the shape alone: at least two blocks each, `nbytes` of result for each."""
    count = max(1, min(most, n // (2 * rows), MOST_BYTES // max(nbytes, 1)))
    return [n * chunk // count for chunk in range(count + 1)]


def conditions(design: Dense) -> tuple[Array, Array]:
    """Centre and scale (d,) as compiled loops take them; empty where X is not conditioned."""
    if design.centre is None and design.scale is None:
        return _NOTHING, _NOTHING
    centre = np.zeros(design.d) if design.centre is None else design.centre
    return centre.astype(np.float64), np.ones(design.d) if design.scale is None else design.scale.astype(np.float64)


def _balanced(indptr: NDArray[Any], count: int) -> list[int]:
    """Edges of ranges of columns with about equally many entries."""
    wanted = np.linspace(0, indptr[-1], count + 1)[1:-1]
    inner = np.searchsorted(indptr, wanted, side="left")
    return [0, *sorted({int(edge) for edge in inner if 0 < edge < len(indptr) - 1}), len(indptr) - 1]


def threads_for(work: float) -> int:
    """Threads for so many multiply-adds."""
    return 1 if work < ALONE else threads.count()
