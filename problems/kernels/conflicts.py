"""Which columns share rows: what decides how many weights may move at once."""

from __future__ import annotations

import functools
import operator

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
    design, every = part.design, list(range(part.n))
    columns: Matrix = _nonzero(design).T if isinstance(design, Dense) else sp.csc_array(_nonzero(design))
    if isinstance(design, Csr):
        columns.eliminate_zeros()
    colour = np.zeros(design.d + design.intercept, np.intp)
    seen = [0] * part.n  # colours of each row, a bit each: numbers of Python have as many as it takes
    for l in range(colour.size):
        if l == design.d:
            rows = every
        elif isinstance(design, Dense):
            rows = np.flatnonzero(np.asarray(columns[l])).tolist()
        else:
            rows = columns.indices[columns.indptr[l] : columns.indptr[l + 1]].tolist()
        taken = functools.reduce(operator.or_, [seen[j] for j in rows], 0)
        first = ~taken & (taken + 1)  # the lowest bit that is not set
        colour[l] = first.bit_length() - 1
        for j in rows:
            seen[j] |= first
    return (colour,)


def _nonzero(design: Design) -> Matrix:
    """(n, d) 1 where the matrix, as it is conditioned, is not 0."""
    return design.each(design.values(FLOAT64), lambda V: (V != 0).astype(np.float64))
