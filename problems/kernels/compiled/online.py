"""Online steps: the rows one small batch after another, each at the weights that the batch before it left.

A batch touches the columns that its rows have and no others. What a quadratic penalty does to a weight while its column
is absent has a closed form, which is made up for when the column comes up again, and for all of them at the end.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pianobench.problems.kernels.compiled.exponential import exp
from pianobench.problems.kernels.compiled.jit import compiled


@compiled
def epoch(
    order: Any, batch: int, round_: int, start: float, rate: float, eps: float, share: Any, peak: Any, active: Any,
    W: Any, A: Any, codes: Any, weights: Any, X: Any, centre: Any, scale: Any, indptr: Any, indices: Any, data: Any,
    intercept: bool,
) -> float:  # fmt: skip
    """One pass over the rows in `order`; the sum of their losses, each at the weights of its round. Writes W and A.

    Parameters
    ----------
    round_ : int
        Rounds before this pass.
    start : float
        Gradient steps without a metric: 1 / ``(share t + start)``, or 1 / ``(start sqrt(t))`` where the share is 0.
    rate, eps : float
        Steps in AdaGrad's metric: ``rate / (peak^2 sqrt(eps + A))``.
    share : array (p,)
        Strength of the quadratic penalty in one round.
    peak : array (p,)
        Largest absolute value of each column, 1 where that is 0.
    active : array (p, m) of bool
        Weights that may move; of no rows where all may.
    W : array (p, m)
    A : array (p, m) of float64
        Sums of ``(g / peak)^2``; of no rows for steps without a metric.
    X : array (n, d)
        To be conditioned where `centre` (d,) is not empty; of no rows where X is sparse.
    indptr, indices, data : arrays
        X in CSR, `indptr` empty where X is dense.
    """
    p, m = W.shape
    d = p - 1 if intercept else p
    index, value = np.arange(p), np.ones(p)
    G, listed, touched = np.zeros((p, m)), np.zeros(p, np.bool_), np.empty(p, np.intp)
    last = np.full(p, round_)  # round to which the penalty has been made up for
    r, t, total = np.empty(m), round_, 0.0
    for at in range(0, order.size, batch):
        t += 1
        many = 0
        for j in order[at : at + batch]:
            if indptr.size > 0:
                count = indptr[j + 1] - indptr[j]
                for k in range(count):
                    index[k], value[k] = indices[indptr[j] + k], data[indptr[j] + k]
            else:
                count = d
                load(X[j], centre, scale, value)
            if intercept:
                index[count], value[count] = d, 1.0
                count += 1
            r[:] = 0.0
            for k in range(count):
                l, x = index[k], value[k]
                if not listed[l]:
                    listed[l] = True
                    touched[many] = l
                    many += 1
                    make_up(l, last[l], t - 1, start, rate, eps, share[l], peak[l], W, A)
                for i in range(m):
                    r[i] += x * W[l, i]
            total += weights[j] * residual(r, codes[j], weights[j])
            for k in range(count):
                l, x = index[k], value[k]
                for i in range(m):
                    G[l, i] += x * r[i]
        for k in range(many):
            l = touched[k]
            if active.shape[0] > 0:
                for i in range(m):
                    G[l, i] = G[l, i] if active[l, i] else 0.0
            move(l, t, start, rate, eps, share[l], peak[l], G, W, A)
            last[l], listed[l] = t, False
            G[l, :] = 0.0
    for l in range(p):
        make_up(l, last[l], t, start, rate, eps, share[l], peak[l], W, A)
    return total


@compiled
def load(row: Any, centre: Any, scale: Any, value: Any) -> None:
    """A dense row in float64, conditioned."""
    if centre.size > 0:
        for l in range(row.size):
            value[l] = (np.float64(row[l]) - centre[l]) * scale[l]
    else:
        for l in range(row.size):
            value[l] = row[l]


@compiled
def residual(z: Any, y: int, a: float) -> float:
    """From scores z (m,) to ``a (p - e_y)`` in their place; the row's loss, without its weight."""
    m, top = z.size, 0
    for i in range(1, m):
        if z[i] > z[top]:
            top = i
    largest, own, rest = z[top], z[y], 0.0
    for i in range(m):
        z[i] = 1.0 if i == top else exp(z[i] - largest)
        rest += 0.0 if i == top else z[i]
    for i in range(m):
        z[i] *= a / (1.0 + rest)
    z[y] = -a * rest / (1.0 + rest) if top == y else z[y] - a
    return float(largest - own) + math.log1p(rest)


@compiled
def make_up(
    l: int, since: int, until: int, start: float, rate: float, eps: float, share: float, peak: float, W: Any, A: Any
) -> None:
    """What the quadratic penalty did to row l of W after round `since` up to round `until`, its column absent."""
    if share == 0.0 or since == until:
        return
    if A.shape[0] == 0:  # the product of (share (t - 1) + start) / (share t + start)
        factor = (share * since + start) / (share * until + start)
        for i in range(W.shape[1]):
            W[l, i] *= factor
        return
    for i in range(W.shape[1]):
        if W[l, i] != 0.0:
            step = rate / math.sqrt(eps + A[l, i]) / peak / peak
            W[l, i] *= math.exp((since - until) * math.log1p(share * step))


@compiled
def move(
    l: int, t: int, start: float, rate: float, eps: float, share: float, peak: float, G: Any, W: Any, A: Any
) -> None:
    """The step of row l of W in round t, on its gradient in G."""
    if A.shape[0] == 0:
        bottom = share * t + start if share > 0.0 else start * math.sqrt(t)
        for i in range(W.shape[1]):
            W[l, i] = W[l, i] * ((bottom - share) / bottom) - G[l, i] / bottom
        return
    for i in range(W.shape[1]):
        g = G[l, i] / peak
        A[l, i] += g * g
        step = rate / math.sqrt(eps + A[l, i])
        W[l, i] = (W[l, i] - step * g / peak) / (1.0 + share * step / peak / peak)
