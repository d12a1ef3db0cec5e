"""From a part of the rows to compiled loops over its chunks: the same for dense and sparse X.

Memory besides X, W and the result, in numbers of W's type: dense, chunks(n, ...) gradients (at most 8, and at most
2^27 bytes of them) and one block of rows a thread; sparse, R of at most 2^24 entries, and once a CSC copy of X.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.design import Csr, Dense
from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.compiled import dense, sparse, threads
from pianobench.problems.kernels.compiled.blas import gemm_address
from pianobench.problems.penalties import Array

LOSS, GRADIENT, MOMENTS = dense.LOSS, dense.GRADIENT, dense.MOMENTS
MOST_CHUNKS = 8
MOST_BYTES = 1 << 27  # of the chunks' own gradients
MOST_ENTRIES = 1 << 24  # of the field between the two halves of a sparse pass
ALONE = 1 << 19  # multiply-adds below which a second thread costs more than it brings
_NOTHING = np.empty(0)


def softmax_pass(part: Part, W: Array, kind: int, floor: float = 0.0) -> tuple[float, Array, Array]:
    """Loss at W and, by `kind`, its gradient, or ``X_plus.T (a P)`` and ``X_minus.T (a P)`` with P from `floor` up.

    Parameters
    ----------
    part : Part
    W : array (p, m)
        Its type is that of all arithmetic.
    kind : int
        LOSS, GRADIENT or MOMENTS.

    Returns
    -------
    loss : float
    G, H : arrays (p, m)
        Empty where `kind` has none.
    """
    check(part, W)
    work = _dense if isinstance(part.design, Dense) else _sparse
    return work(part, W, kind, W.dtype.type(floor))


def _dense(part: Part, W: Array, kind: int, floor: Any) -> tuple[float, Array, Array]:
    design, (p, m) = part.design, W.shape
    assert isinstance(design, Dense)
    WT, X = np.ascontiguousarray(W.T), np.ascontiguousarray(design.X)
    signed = kind == MOMENTS and not design.nonnegative
    rows = block(m)
    edges = chunks(part.n, rows, (2 if signed else 1) * p * m * W.itemsize)
    G = np.zeros((len(edges) - 1, m if kind != LOSS else 0, p), W.dtype)
    H = np.zeros((len(edges) - 1, m if signed else 0, p), W.dtype)
    address = gemm_address(W.dtype)
    if X.dtype == W.dtype and design.centre is None and design.scale is None:
        pass_over: Callable[..., float] = partial(dense.softmax_pass, kind, address, X)
    else:
        centre, scale = conditions(design)
        pass_over = partial(dense.converted_pass, kind, address, X, centre, scale)

    def work(chunk: int) -> float:
        first, last = edges[chunk], edges[chunk + 1]
        return pass_over(WT, design.intercept, part.codes, part.weights, floor, first, last, rows, G[chunk], H[chunk])

    losses = threads.run(work, len(edges) - 1, _threads(part.n * p * m))
    for chunk in range(1, len(edges) - 1):
        G[0] += G[chunk]
        H[0] += H[chunk]
    B = H[0].T.copy() if signed else np.zeros_like(W) if kind == MOMENTS else _NOTHING
    return math.fsum(losses), G[0].T.copy(), B


def _sparse(part: Part, W: Array, kind: int, floor: Any) -> tuple[float, Array, Array]:
    design, (p, m) = part.design, W.shape
    assert isinstance(design, Csr)
    W, X = np.ascontiguousarray(W), design.X
    signed = kind == MOMENTS and not design.nonnegative
    G = np.zeros((p if kind != LOSS else 0, m), W.dtype)
    H = np.zeros((p if signed else 0, m), W.dtype)
    count, losses = _threads(X.nnz * m), []
    for first, last, columns in design.column_blocks(max(MOST_ENTRIES // m, 1), kind != LOSS):
        R = np.empty((last - first, m), W.dtype)
        edges = [first + edge for edge in chunks(last - first, 64, 0, most=32)]
        own = slice(first, last)

        def row_work(chunk: int, first: int = first, own: slice = own, R: Array = R, edges: Any = edges) -> float:
            start, end = edges[chunk] - first, edges[chunk + 1] - first
            return float(
                sparse.softmax_pass(
                    kind, X.indptr[first:], X.indices, X.data, W, design.intercept, part.codes[own], part.weights[own],
                    floor, start, end, 64, R,
                )
            )  # fmt: skip

        losses += threads.run(row_work, len(edges) - 1, count)
        if kind == LOSS:
            continue
        places = _balanced(columns.indptr, 32)

        def column_work(chunk: int, places: Any = places, columns: Any = columns, R: Array = R) -> None:
            given = columns.indptr, columns.indices, columns.data, R, places[chunk], places[chunk + 1], G
            if signed:
                sparse.signed_adjoint(*given, H)
            else:
                sparse.adjoint(*given)

        threads.run(column_work, len(places) - 1, count)
        if design.intercept:
            G[-1] += R.sum(axis=0)
    if kind == MOMENTS:
        return math.fsum(losses), G, H if signed else np.zeros_like(W)
    return math.fsum(losses), G, H


def check(part: Part, W: Array) -> None:
    """Refuse weights of another shape: compiled code would read beyond them.

    Raises
    ------
    ValueError
    """
    p = part.design.d + part.design.intercept
    if W.shape[0] != p:
        raise ValueError(f"W has {W.shape[0]} rows: one a column is expected, {p}")


def block(m: int) -> int:
    """Rows of a block of a dense X: so few that BLAS takes its way for small products where there are few classes."""
    return 96 if m <= 10 else 192


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


def _threads(work: float) -> int:
    return 1 if work < ALONE else threads.count()
