"""What is done to a block of scores Z (m, rows), class-major: loss, residual, probabilities and products with them.

The largest score of a sample is kept apart: its exponential is 1, and `rest` is the sum of the others. So neither the
loss log(1 + rest) of a well classified sample nor its residual -rest/(1 + rest) is a difference of numbers near 1. Each
sum of losses is in float64; a sample of weight 0 counts there as one left out, whatever its scores are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pianobench.problems.kernels.compiled.exponential import exp, log1p
from pianobench.problems.kernels.compiled.jit import compiled

TILE = 8  # classes that are transposed at a time


@compiled
def exponentiate(Z: Any, rows: int, top: Any, largest: Any, rest: Any) -> None:
    """Replace scores by exp(z - z_top); `top` (rows,) becomes its class, `largest` its score, `rest` the others' sum.

    `top` has the type of Z, so that comparing with it is a vector's comparison.
    """
    m, one, zero = Z.shape[0], Z.dtype.type(1), Z.dtype.type(0)
    for j in range(rows):
        largest[j] = Z[0, j]
        top[j] = 0
        rest[j] = 0
    for i in range(1, m):
        for j in range(rows):
            higher = Z[i, j] > largest[j]
            largest[j] = Z[i, j] if higher else largest[j]
            top[j] = i if higher else top[j]
    for i in range(m):
        for j in range(rows):
            e = exp(Z[i, j] - largest[j])
            is_top = top[j] == Z.dtype.type(i)
            Z[i, j] = one if is_top else e
            rest[j] += zero if is_top else e


@compiled
def residuals(Z: Any, rows: int, codes: Any, weights: Any, top: Any, rest: Any, factor: Any) -> None:
    """From exponentials to ``a (P - Y)``; `factor` (rows,) is scratch."""
    m = Z.shape[0]
    for j in range(rows):
        factor[j] = Z.dtype.type(weights[j]) / (1 + rest[j])
    for i in range(m):
        for j in range(rows):
            Z[i, j] = Z[i, j] * factor[j]
    for j in range(rows):
        y = codes[j]
        if top[j] == y:
            Z[y, j] = -rest[j] * factor[j]
        else:
            Z[y, j] -= Z.dtype.type(weights[j])


@compiled
def probabilities(Z: Any, rows: int, rest: Any, factor: Any) -> None:
    """From exponentials to P."""
    for j in range(rows):
        factor[j] = 1 / (1 + rest[j])
    for i in range(Z.shape[0]):
        for j in range(rows):
            Z[i, j] = Z[i, j] * factor[j]


@compiled
def own_scores(Z: Any, rows: int, codes: Any, own: Any) -> None:
    """Score of each sample's own class."""
    for j in range(rows):
        own[j] = Z[codes[j], j]


@compiled
def weighted_total(rows: int, weights: Any, losses: Any) -> float:
    """``sum_j a_j losses_j``; a sample of weight 0 is left out, whatever its loss is. Writes over `losses`."""
    for j in range(rows):
        value = weights[j] * losses[j]
        losses[j] = 0.0 if weights[j] == 0.0 else value
    total = 0.0
    for j in range(rows):
        total += losses[j]
    return total


@compiled
def total_loss(rows: int, weights: Any, own: Any, largest: Any, rest: Any, losses: Any) -> float:
    """``sum_j a_j (lse(z_j) - z_{j, y_j})`` in float64; `losses` (rows,) of float64 is scratch."""
    for j in range(rows):
        losses[j] = np.float64(largest[j] - own[j]) + log1p(rest[j])
    return weighted_total(rows, weights, losses)


@compiled
def scaled_and_floored(Z: Any, rows: int, weights: Any, floor: Any) -> None:
    """``a max(P, floor)``."""
    for i in range(Z.shape[0]):
        for j in range(rows):
            p = Z[i, j]
            Z[i, j] = (floor if p < floor else p) * Z.dtype.type(weights[j])


@compiled
def exponentiate_at(Z: Any, rows: int, weights: Any, own: Any, lse: Any, kept: Any, rest: Any, losses: Any) -> float:
    """Replace scores by exp(z - lse) of a kept lse (rows, 1), which may lie below z; the loss's tangent there.

    `kept` (rows,) becomes that lse, `rest` the sum of the exponentials.
    """
    m = Z.shape[0]
    most = Z.dtype.type(130 if Z.itemsize == 4 else 1000)  # beyond it exp is infinite; far beyond, `exp` is wrong
    for j in range(rows):
        kept[j] = lse[j, 0]
        rest[j] = 0
    for i in range(m):
        for j in range(rows):
            x = Z[i, j] - kept[j]
            e = exp(most if x > most else x)
            Z[i, j] = e
            rest[j] += e
    for j in range(rows):
        losses[j] = np.float64(rest[j] - 1 + kept[j] - own[j])
    return weighted_total(rows, weights, losses)


@compiled
def log_sum_exp(rows: int, largest: Any, rest: Any, lse: Any) -> None:
    """Into the block's rows of a field (rows, 1)."""
    for j in range(rows):
        lse[j, 0] = np.float64(largest[j]) + log1p(rest[j])


@compiled
def curved(Z: Any, P: Any, rows: int, weights: Any, mean: Any) -> None:
    """``a P (Z - sum_i P_i Z_i)``; `mean` (rows,) is scratch."""
    m = Z.shape[0]
    for j in range(rows):
        mean[j] = 0
    for i in range(m):
        for j in range(rows):
            mean[j] += P[i, j] * Z[i, j]
    for i in range(m):
        for j in range(rows):
            Z[i, j] = (Z[i, j] - mean[j]) * P[i, j] * Z.dtype.type(weights[j])


@compiled
def variances(Z: Any, rows: int, weights: Any) -> None:
    """``a P (1 - P)`` from P."""
    one = Z.dtype.type(1)
    for i in range(Z.shape[0]):
        for j in range(rows):
            Z[i, j] = Z[i, j] * (one - Z[i, j]) * Z.dtype.type(weights[j])


@compiled
def indicators(Z: Any, rows: int, codes: Any, weights: Any) -> None:
    """``a Y``."""
    for i in range(Z.shape[0]):
        for j in range(rows):
            Z[i, j] = 0
    for j in range(rows):
        Z[codes[j], j] = weights[j]


@compiled
def inner(Z: Any, D: Any, rows: int, sums: Any) -> float:
    """``sum(Z * D)`` in float64; `sums` (rows,) of float64 is scratch."""
    for j in range(rows):
        sums[j] = 0.0
    for i in range(Z.shape[0]):
        for j in range(rows):
            sums[j] += np.float64(Z[i, j] * D[i, j])
    total = 0.0
    for j in range(rows):
        total += sums[j]
    return total


@compiled
def gather(field: Any, Z: Any) -> None:
    """Z (m, rows) of the block's rows of a field (rows, m), a few classes at a time: they share lines of the cache."""
    m, rows = Z.shape[0], field.shape[0]
    for left in range(0, m, TILE):
        for i in range(left, min(left + TILE, m)):
            for j in range(rows):
                Z[i, j] = field[j, i]


@compiled
def gather_shifted(field: Any, rows: int, shift: Any, Z: Any) -> None:
    """`gather` of ``field + shift``, shift (m,)."""
    m = Z.shape[0]
    for left in range(0, m, TILE):
        for i in range(left, min(left + TILE, m)):
            own = shift[i]
            for j in range(rows):
                Z[i, j] = field[j, i] + own


@compiled
def gather_on_line(A: Any, B: Any, t: Any, Z: Any) -> None:
    """`gather` of ``A + t B``."""
    m, rows = Z.shape[0], A.shape[0]
    for left in range(0, m, TILE):
        for i in range(left, min(left + TILE, m)):
            for j in range(rows):
                Z[i, j] = A[j, i] + t * B[j, i]


@compiled
def scatter(Z: Any, field: Any) -> None:
    """Write Z into the block's rows of a field (rows, m)."""
    m, rows = Z.shape[0], field.shape[0]
    for left in range(0, m, TILE):
        for i in range(left, min(left + TILE, m)):
            for j in range(rows):
                field[j, i] = Z[i, j]
