"""Coordinate steps on one column after another, and what begins and ends a sweep.

Scores Z and exponentials E are (m, n) in float64, a sample's probabilities E / total. A column of a dense X is read as
one line of X.T and everything runs along it; one of a sparse X is gathered, which is cheaper where E and Z are
transposed views of (n, m): the steps of a column's classes then find its samples in cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pianobench.problems.kernels.compiled import rows as on_rows
from pianobench.problems.kernels.compiled.exponential import exp, exp_of_either_sign
from pianobench.problems.kernels.compiled.jit import compiled

BOHNING, QUARTER, TAYLOR = 0, 1, 2
LANES = 128  # sums that are taken side by side, since a single one cannot be vectorised without reordering it
LOW, HIGH = 1e-2, 1e2  # totals between which they are kept up to date by differences


@compiled
def begin(margins: Any, Z: Any, E: Any, block: int, first: int, last: int) -> None:
    """Scores and probabilities of the rows from `first` to `last`, from margins (n, m) to Z and E."""
    m = margins.shape[1]
    scores, scratch = np.empty((m, block)), np.empty((4, block))
    top, largest, rest, factor = scratch[0], scratch[1], scratch[2], scratch[3]
    for at in range(first, last, block):
        count = min(block, last - at)
        for j in range(count):
            for i in range(m):
                scores[i, j] = margins[at + j, i]
        for i in range(m):
            for j in range(count):
                Z[i, at + j] = scores[i, j]
        on_rows.exponentiate(scores, count, top, largest, rest)
        on_rows.probabilities(scores, count, rest, factor)
        for i in range(m):
            for j in range(count):
                E[i, at + j] = scores[i, j]


@compiled
def add_change(Z: Any, start: Any, change: Any, first: int, last: int) -> None:
    """``change += Z - start`` in some samples of three fields laid out alike: in the order in which they are stored."""
    if Z.strides[1] <= Z.strides[0]:
        for i in range(Z.shape[0]):
            for j in range(first, last):
                change[i, j] += Z[i, j] - start[i, j]
    else:
        for j in range(first, last):
            for i in range(Z.shape[0]):
                change[i, j] += Z[i, j] - start[i, j]


@compiled
def end(margins: Any, Z: Any, codes: Any, weights: Any, block: int, first: int, last: int) -> float:
    """Bring the margins (n, m) to Z in some rows, and their loss."""
    m = margins.shape[1]
    scores, scratch, losses = np.empty((m, block), margins.dtype), np.empty((4, block), margins.dtype), np.empty(block)
    top, largest, rest, own = scratch[0], scratch[1], scratch[2], scratch[3]
    total = 0.0
    for at in range(first, last, block):
        count = min(block, last - at)
        for i in range(m):
            for j in range(count):
                scores[i, j] = Z[i, at + j]
        for j in range(count):
            for i in range(m):
                margins[at + j, i] = scores[i, j]
        on_rows.own_scores(scores, count, codes[at : at + count], own)
        on_rows.exponentiate(scores, count, top, largest, rest)
        total += on_rows.total_loss(count, weights[at : at + count], own, largest, rest, losses)
    return total


@compiled
def sweep(
    order: Any, m: int, bound: int, tau: float, gamma: float, W: Any, l1: Any, l2: Any, codes: Any, weights: Any,
    Z: Any, E: Any, total: Any, XT: Any, centre: Any, scale: Any, indptr: Any, indices: Any, data: Any,
) -> None:  # fmt: skip
    """Steps on the weights numbered ``l * m + i`` in `order`; W (p, m), Z, E and total (n,) are kept up to date.

    Parameters
    ----------
    l1, l2 : arrays (p, m)
    XT : array (d, n)
        To be conditioned where `centre` (d,) is not empty.
    indptr, indices, data : arrays
        X in CSC, `indptr` empty where X is dense.
    """
    sparse, n = indptr.size > 0, total.size
    d = indptr.size - 1 if sparse else XT.shape[0]
    x, growth, lanes = np.empty(n), np.empty(n), np.empty((2, LANES))
    held, held_square = -1, 0.0  # the column in x, and its weighted sum of squares
    for number in order:
        l, i = number // m, number % m
        gathered = sparse and l < d
        if gathered:
            first, last = indptr[l], indptr[l + 1]
            index, value = indices[first:last], data[first:last]
            g, square, second = gathered_sums(index, value, weights, codes, i, E[i], total)
        else:
            if l != held:
                if l < d:
                    load(XT[l], l, centre, scale, x)
                else:
                    x[:] = 1.0
                held, held_square = l, squares(x, weights, lanes[0])
            square = held_square
            g, second = sums(x, weights, codes, i, E[i], total, bound == TAYLOR, lanes)
        h = second if bound == TAYLOR else square * (0.25 if bound == QUARTER else 0.5 * (1.0 - 1.0 / m))
        g += l2[l, i] * W[l, i]
        h += tau + l2[l, i]
        if h <= 0.0:
            if l1[l, i] == 0.0 or square > 0.0:
                continue
            # an empty column: no score depends on this weight, and of F its l1 alone
            v, rest = 0.0, 0.0
        else:
            v = W[l, i] - g / h
            rest = abs(v) - l1[l, i] / h
        step = gamma * (np.sign(v) * (0.0 if rest < 0.0 else rest) - W[l, i])
        if step != 0.0:
            W[l, i] += step
            if gathered:
                gathered_move(index, value, step, i, Z, E, total, growth)
            else:
                move(x, step, i, Z, E, total)


@compiled
def load(column: Any, l: int, centre: Any, scale: Any, x: Any) -> None:
    """Column l in float64, conditioned."""
    if centre.size:
        middle, factor = centre[l], scale[l]
        for j in range(x.size):
            x[j] = (np.float64(column[j]) - middle) * factor
    else:
        for j in range(x.size):
            x[j] = column[j]


@compiled
def squares(x: Any, weights: Any, lanes: Any) -> float:
    """``sum_j a_j x_j^2``."""
    lanes[:] = 0.0
    for at in range(0, x.size, LANES):
        some, a = x[at : at + LANES], weights[at : at + LANES]
        for j in range(some.size):
            lanes[j] += a[j] * some[j] * some[j]
    return gather(lanes)


@compiled
def sums(x: Any, weights: Any, codes: Any, i: int, E: Any, total: Any, curved: bool, lanes: Any) -> tuple[float, float]:
    """``sum_j a_j x_j (p_j - [y_j = i])`` and, where `curved`, ``sum_j a_j x_j^2 p_j (1 - p_j)``."""
    lanes[:] = 0.0
    slope, curvature = lanes[0], lanes[1]
    for at in range(0, x.size, LANES):
        own = slice(at, at + LANES)
        some, a, code, e, t = x[own], weights[own], codes[own], E[own], total[own]
        if curved:
            for j in range(some.size):
                p, ax = e[j] / t[j], a[j] * some[j]
                slope[j] += ax * (p - (1.0 if code[j] == i else 0.0))
                curvature[j] += ax * some[j] * (p * (1.0 - p))
        else:
            for j in range(some.size):
                slope[j] += a[j] * some[j] * (e[j] / t[j] - (1.0 if code[j] == i else 0.0))
    return gather(slope), gather(curvature) if curved else 0.0


@compiled
def gather(lanes: Any) -> float:
    """Sum of the lanes, by halves; a power of two of them."""
    width = lanes.size
    while width > 1:
        width //= 2
        for j in range(width):
            lanes[j] += lanes[width + j]
    return float(lanes[0])


@compiled
def gathered_sums(
    index: Any, value: Any, weights: Any, codes: Any, i: int, E: Any, total: Any
) -> tuple[float, float, float]:
    """`sums` and, between them, `squares` over the samples in `index`."""
    slope, square, curvature = 0.0, 0.0, 0.0
    for k in range(index.size):
        j, x = index[k], np.float64(value[k])
        p, ax = E[j] / total[j], weights[j] * x
        slope += ax * (p - (1.0 if codes[j] == i else 0.0))
        square += ax * x
        curvature += ax * x * (p * (1.0 - p))
    return slope, square, curvature


@compiled
def move(x: Any, step: float, i: int, Z: Any, E: Any, total: Any) -> None:
    """Add ``step * x`` to the scores of class i, and bring E and total up to date."""
    z, e, lost = Z[i], E[i], 0
    for j in range(x.size):
        change = step * x[j]
        z[j] += change
        fresh = e[j] * exp_of_either_sign(change)
        total[j] += fresh - e[j]
        e[j] = fresh
        lost |= 0 if LOW < total[j] < HIGH else 1
    if lost:
        for j in range(x.size):
            refresh(j, Z, E, total)


@compiled
def gathered_move(index: Any, value: Any, step: float, i: int, Z: Any, E: Any, total: Any, growth: Any) -> None:
    """`move` for the samples in `index`; `growth` is scratch of their number."""
    for k in range(index.size):
        growth[k] = exp_of_either_sign(step * value[k])
    z, e, lost = Z[i], E[i], 0
    for k in range(index.size):
        j = index[k]
        z[j] += step * value[k]
        fresh = e[j] * growth[k]
        total[j] += fresh - e[j]
        e[j] = fresh
        lost |= 0 if LOW < total[j] < HIGH else 1
    if lost:
        for j in index:
            refresh(j, Z, E, total)


@compiled
def refresh(j: int, Z: Any, E: Any, total: Any) -> None:
    """Make a sample's probabilities anew from its scores if its total has lost digits, or is not a number."""
    if LOW < total[j] < HIGH:
        return
    m = Z.shape[0]
    if np.isnan(E[0, j]) and np.isnan(E[m - 1, j]):  # made anew before: a score is not a number
        return
    top = 0
    for i in range(1, m):
        if Z[i, j] > Z[top, j]:
            top = i
    largest, rest = Z[top, j], 0.0
    for i in range(m):
        E[i, j] = 1.0 if i == top else exp(Z[i, j] - largest)
        rest += 0.0 if i == top else E[i, j]
    for i in range(m):
        E[i, j] *= 1.0 / (1.0 + rest)
    total[j] = 1.0
