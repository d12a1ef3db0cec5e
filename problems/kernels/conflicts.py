"""Which columns share rows: what decides how many weights may move at once."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pianobench.problems.design import FLOAT64, Csr, Dense, Design, Matrix
from pianobench.problems.engines.memory import Part
from pianobench.problems.penalties import Array


def squares(part: Part, crowded: bool) -> tuple[Array]:
    """(p, 1) ``sum_j a_j x_jl^2`` or, where `crowded`, ``sum_j a_j c_j x_jl^2`` with c_j the non-zeros of row j."""
    total = np.zeros((part.design.d + part.design.intercept, 1))
    for _, block in part.blocks():
        weights = block.weights[:, None].astype(np.float64)
        if crowded:
            ones = np.ones((block.design.d, 1))
            weights = weights * (np.asarray(_nonzero(block.design) @ ones) + block.design.intercept)
        total += block.design.square_adjoint(weights)
    return (total,)


def colours(part: Part) -> tuple[NDArray[np.intp]]:
    """(p,) greedy colours of the columns, from 0, in their order: each takes the first that none of its rows has."""
    design, every = part.design, np.arange(part.n, dtype=np.intp)
    columns: Matrix = _nonzero(design).T if isinstance(design, Dense) else sp.csc_array(_nonzero(design))
    if isinstance(design, Csr):
        columns.eliminate_zeros()
    colour = np.zeros(design.d + design.intercept, np.intp)
    seen, count = np.zeros((8, part.n), bool), 0  # a line a colour, doubled when all are taken
    for l in range(colour.size):
        if l == design.d:
            rows = every
        elif isinstance(design, Dense):
            rows = np.flatnonzero(np.asarray(columns[l]))
        else:
            rows = columns.indices[columns.indptr[l] : columns.indptr[l + 1]].astype(np.intp)
        free, start, size = np.arange(count), 0, 4
        while free.size and start < rows.size:  # few rows rule out most colours
            free = free[~seen[np.ix_(free, rows[start : start + size])].any(axis=1)]
            start, size = start + size, 4 * size
        colour[l] = free[0] if free.size else count
        count = max(count, colour[l] + 1)
        if count == len(seen):
            seen = np.vstack([seen, np.zeros_like(seen)])
        seen[colour[l], rows] = True
    return (colour,)


def _nonzero(design: Design) -> Matrix:
    """(n, d) 1 where the matrix, as it is conditioned, is not 0."""
    return design.each(design.values(FLOAT64), lambda V: (V != 0).astype(np.float64))
