"""Coordinate descent on a quadratic model of the loss in some weights: without exponentials, X read by columns.

The model at probabilities P has the slope ``g + X.T (a P (U - s))`` in class i, U = X D and ``s = sum_k P_k U_k``.
Weights are sorted by class. While one class is visited all that is gathered from is that class's line of n numbers, so
random access stays in the cache next to the core, whatever the number of classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pianobench.problems.kernels.compiled import rows as on_rows
from pianobench.problems.kernels.compiled.coordinate import LANES, gather
from pianobench.problems.kernels.compiled.jit import compiled

NEARLY = 0.25  # share of the outer accuracy to which the weights that move are brought before all are visited again
ALONE = 30  # passes over them at most until then


@compiled
def spread(margins: Any, P: Any, block: int, first: int, last: int) -> None:
    """Probabilities of the rows from `first` to `last`: from margins (n, m) to P (m, n)."""
    m = margins.shape[1]
    scores, scratch = np.empty((m, block)), np.empty((4, block))
    top, largest, rest, factor = scratch[0], scratch[1], scratch[2], scratch[3]
    for at in range(first, last, block):
        count = min(block, last - at)
        for j in range(count):
            for i in range(m):
                scores[i, j] = margins[at + j, i]
        on_rows.exponentiate(scores, count, top, largest, rest)
        on_rows.probabilities(scores, count, rest, factor)
        for i in range(m):
            for j in range(count):
                P[i, at + j] = scores[i, j]


@compiled
def target(v: float, threshold: float) -> float:
    """``soft(v, threshold)``."""
    return v - threshold if v > threshold else v + threshold if v < -threshold else 0.0


@compiled
def on_matrix(H: Any, g: Any, w: Any, l1: Any, eta: float, most: int) -> float:
    """Minimise ``g.D + D.HD / 2 + l1 |w + D|`` from D = 0, w (k,) and its slope g (k,) written; returns multiply-adds.

    It visits the weights that move until a pass over them brings little, then all; it ends when a pass over all brings
    less than eta^2 of what the first one did, or after `most` passes.
    """
    k, work, first, alone = w.size, 0.0, -1.0, 0
    moving, everything = np.zeros(k, np.bool_), True
    for _ in range(most):
        size = 0.0
        for e in range(k):
            if not (everything or moving[e]):
                continue
            h = H[e, e]
            if h <= 0.0:
                continue
            step = target(w[e] - g[e] / h, l1[e] / h) - w[e]
            if step != 0.0:
                w[e] += step
                line = H[e]
                for f in range(k):
                    g[f] += step * line[f]
                size += h * step * step
                work += k
            moving[e] = w[e] != 0.0
        if everything:
            if first < 0.0:
                first = size
            if size <= eta * eta * first and (first > size or size == 0.0):
                break
            everything, alone = False, 0
        else:
            alone += 1
            everything = size <= NEARLY * eta * eta * first or alone == ALONE
    return work


@compiled
def crossed(
    starts: Any, columns: Any, indptr: Any, indices: Any, data: Any, PU: Any, P: Any, weights: Any, C: Any
) -> None:
    """C (k, m) gets the Hessian's entries between some weights and the constant column's, X sparse; P (n, m)."""
    m = starts.size - 1
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            line, total = C[e], 0.0
            for at in range(indptr[columns[e]], indptr[columns[e] + 1]):
                j = indices[at]
                share, p = weights[j] * data[at] * PU[i, j, 0], P[j]
                total += share
                for f in range(m):
                    line[f] -= share * p[f]
            line[i] += total


@compiled
def on_sparse(
    starts: Any, columns: Any, w: Any, g: Any, l1: Any, l2: Any, ridge: float, indptr: Any, indices: Any, data: Any,
    PU: Any, SA: Any, C: Any, R: Any, b: Any, eta: float, most: int,
) -> float:  # fmt: skip
    """`on_matrix` by margins where X is sparse, the constant column's weights always at their best for the others.

    That column has an entry in every row: a step on it would cost as much as one on a hundred others, and many would
    be needed, since it depends on all of them.

    Parameters
    ----------
    starts : array (m + 1,)
        Where each class's weights begin.
    columns : array (k,)
        Column of each weight.
    l2 : array (k,)
        Written: with ``ridge * sum a x^2``, which keeps the model strictly convex.
    indptr, indices, data : arrays
        X in CSC.
    PU : array (m, n, 2)
        P, and U = 0, which becomes X D.
    SA : array (n, 2)
        s = 0, and the sample weights.
    C, R : arrays (k, c)
        Of the c weights of a constant column: their slopes' change with the other weights, and what they then do.
    b : array (c,)
        Their steps at D = 0, and then at D.
    """
    m, k = starts.size - 1, w.size
    origin, h, moving = w.copy(), np.empty(k), np.zeros(k, np.bool_)
    work, first, everything, alone = 0.0, -1.0, True, 0
    for i in range(m):
        pu = PU[i]
        for e in range(starts[i], starts[i + 1]):
            curved = square = 0.0
            for at in range(indptr[columns[e]], indptr[columns[e] + 1]):
                j, x = indices[at], np.float64(data[at])
                axx, p = SA[j, 1] * x * x, pu[j, 0]
                square += axx
                curved += axx * (p * (1.0 - p))
            l2[e] += ridge * square
            for f in range(b.size):
                curved += C[e, f] * R[e, f]
            h[e] = max(curved, 0.0) + l2[e]
    for _ in range(most):
        size = 0.0
        for i in range(m):
            pu = PU[i]
            for e in range(starts[i], starts[i + 1]):
                if not (everything or moving[e]) or h[e] <= 0.0:
                    continue
                begin, end = indptr[columns[e]], indptr[columns[e] + 1]
                slope = g[e] + l2[e] * (w[e] - origin[e])
                for f in range(b.size):
                    slope += C[e, f] * b[f]
                for at in range(begin, end):
                    j = indices[at]
                    slope += SA[j, 1] * pu[j, 0] * data[at] * (pu[j, 1] - SA[j, 0])
                work += end - begin + b.size
                step = target(w[e] - slope / h[e], l1[e] / h[e]) - w[e]
                if step != 0.0:
                    w[e] += step
                    size += h[e] * step * step
                    for f in range(b.size):
                        b[f] += step * R[e, f]
                    for at in range(begin, end):
                        j = indices[at]
                        change = step * data[at]
                        pu[j, 1] += change
                        SA[j, 0] += pu[j, 0] * change
                    work += end - begin + b.size
                moving[e] = w[e] != 0.0
        if everything:
            if first < 0.0:
                first = size
            if size <= eta * eta * first and (first > size or size == 0.0):
                break
            everything, alone = False, 0
        else:
            alone += 1
            everything = size <= NEARLY * eta * eta * first or alone == ALONE
    return work


@compiled
def on_dense(
    starts: Any, columns: Any, w: Any, g: Any, l1: Any, l2: Any, ridge: float, XT: Any, P: Any, U: Any, weights: Any,
    repeats: int, eta: float, most: int,
) -> float:  # fmt: skip
    """`on_matrix` by margins where X is dense: XT (c, n) its columns, `columns` (k,) numbers of their lines.

    In a class the residual ``r = a P (U - s)`` is kept, which a step changes by ``a P (1 - P) x`` times itself: one
    line beside x is read for a slope. U (m, n) becomes X D.
    """
    m, k, n = starts.size - 1, w.size, weights.size
    origin, h, moving = w.copy(), np.empty(k), np.zeros(k, np.bool_)
    s, r, q, change, lanes, before = np.zeros(n), np.empty(n), np.empty(n), np.empty(n), np.empty(LANES), np.empty(k)
    work, first, everything, alone = 0.0, -1.0, True, 0
    for i in range(m):
        for j in range(n):
            q[j] = weights[j] * (P[i, j] * (1.0 - P[i, j]))
        for e in range(starts[i], starts[i + 1]):
            x = XT[columns[e]]
            l2[e] += ridge * weighted_square(x, weights, lanes)
            h[e] = weighted_square(x, q, lanes) + l2[e]
    for _ in range(most):
        size = 0.0
        for i in range(m):
            begin, end = starts[i], starts[i + 1]
            wanted = False
            for e in range(begin, end):
                before[e] = w[e]
                wanted = wanted or everything or moving[e]
            if not wanted:
                continue
            p, u = P[i], U[i]
            for j in range(n):
                r[j] = weights[j] * p[j] * (u[j] - s[j])
                q[j] = weights[j] * (p[j] * (1.0 - p[j]))
            for turn in range(1 if first < 0.0 else repeats):
                for e in range(begin, end):
                    if not (everything or moving[e]) or h[e] <= 0.0 or (turn > 0 and w[e] == before[e]):
                        continue
                    x = XT[columns[e]]
                    slope = g[e] + l2[e] * (w[e] - origin[e]) + inner(x, r, lanes)
                    step = target(w[e] - slope / h[e], l1[e] / h[e]) - w[e]
                    work += n
                    if step != 0.0:
                        w[e] += step
                        for j in range(n):
                            r[j] += q[j] * (x[j] * step)
                        size += h[e] * step * step if turn == 0 else 0.0
                        work += 2 * n
                    moving[e] = w[e] != 0.0
            change[:] = 0.0
            for e in range(begin, end):
                if w[e] != before[e]:
                    x, step = XT[columns[e]], w[e] - before[e]
                    for j in range(n):
                        change[j] += step * x[j]
                    work += n
            for j in range(n):
                u[j] += change[j]
                s[j] += p[j] * change[j]
        if everything:
            if first < 0.0:
                first = size
            if size <= eta * eta * first and (first > size or size == 0.0):
                break
            everything, alone = False, 0
        else:
            alone += 1
            everything = size <= NEARLY * eta * eta * first or alone == ALONE
    return work


@compiled
def inner(x: Any, r: Any, lanes: Any) -> float:
    """``x.r``."""
    lanes[:] = 0.0
    for at in range(0, x.size, LANES):
        some, other = x[at : at + LANES], r[at : at + LANES]
        for j in range(some.size):
            lanes[j] += some[j] * other[j]
    return float(gather(lanes))


@compiled
def weighted_square(x: Any, q: Any, lanes: Any) -> float:
    """``sum_j q_j x_j^2``."""
    lanes[:] = 0.0
    for at in range(0, x.size, LANES):
        some, other = x[at : at + LANES], q[at : at + LANES]
        for j in range(some.size):
            lanes[j] += other[j] * some[j] * some[j]
    return float(gather(lanes))
