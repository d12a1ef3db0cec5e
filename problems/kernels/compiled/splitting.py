"""ADMM's row problems: damped Newton for every sample of a block at once, each with its own steps and its own end.

A sample that is there stays put while the others of its block go on, so its result does not depend on theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pianobench.problems.kernels.compiled import rows as on_rows
from pianobench.problems.kernels.compiled.exponential import log1p
from pianobench.problems.kernels.compiled.jit import compiled

HALVINGS = 30  # of a step, at most


@compiled
def split_pass(
    Z: Any, U: Any, T: Any, codes: Any, weights: Any, rho: Any, rescale: Any, accuracy: float, most: int, first: int,
    last: int, block: int,
) -> tuple[float, float, float, float]:  # fmt: skip
    """The z- and u-step of the rows from `first` to `last`; T holds X W and gets Z - U. See `admm.split_step`."""
    m, dtype = Z.shape[1], Z.dtype
    Zb, V, trial, P, G = (
        np.empty((m, block), dtype),
        np.empty((m, block), dtype),
        np.empty((m, block), dtype),
        np.empty((m, block), dtype),
        np.empty((m, block), dtype),
    )
    scratch, numbers, far = np.empty((7, block), dtype), np.empty((3, block)), np.empty(block, np.bool_)
    primal = dual = size_z = size_u = 0.0
    for at in range(first, last, block):
        rows = min(block, last - at)
        on_rows.gather(Z[at : at + rows], Zb)
        on_rows.gather_on_line(T[at : at + rows], U[at : at + rows], rescale, V)
        _newton(
            Zb, V, rows, codes[at : at + rows], weights[at : at + rows], rho, accuracy, most, trial, P, G, scratch,
            numbers, far,
        )  # fmt: skip
        for j in range(at, at + rows):
            for i in range(m):
                xw, old, new = T[j, i], Z[j, i], Zb[i, j - at]
                u = xw + rescale * U[j, i] - new
                Z[j, i], U[j, i], T[j, i] = new, u, new - u
                primal += np.float64(xw - new) ** 2
                dual += np.float64(new - old) ** 2
                size_z += np.float64(new) ** 2
                size_u += np.float64(u) ** 2
    return primal, dual, size_z, size_u


@compiled
def _newton(
    Z: Any, V: Any, rows: int, codes: Any, weights: Any, rho: Any, accuracy: float, most: int, trial: Any, P: Any,
    G: Any, scratch: Any, numbers: Any, far: Any,
) -> None:  # fmt: skip
    """From Z (m, rows) to the minimisers of ``h(z) = a (lse(z) - z_y) + rho/2 |z - v|^2``, v a column of V.

    The Hessian is diagonal minus rank one, ``diag(a p + rho) - a p p.T``: Sherman and Morrison's formula inverts it.
    """
    m, zero = Z.shape[0], Z.dtype.type(0)
    t, pig, pip = scratch[4], scratch[5], scratch[6]
    now, then, slope = numbers[0], numbers[1], numbers[2]
    _values(Z, V, rows, codes, weights, rho, P, scratch, now)
    for j in range(rows):
        far[j] = True
    for _ in range(most):
        if not _gradients(Z, V, rows, codes, weights, rho, accuracy, P, G, scratch, now, far):
            return
        for j in range(rows):
            t[j], pig[j], pip[j], slope[j] = 1, 0, 0, 0
        for i in range(m):
            for j in range(rows):
                p_over = P[i, j] / (Z.dtype.type(weights[j]) * P[i, j] + rho)
                pig[j] += p_over * G[i, j]
                pip[j] += p_over * P[i, j]
        for j in range(rows):
            a = Z.dtype.type(weights[j])
            pig[j] = a * pig[j] / (1 - a * pip[j])
        for i in range(m):
            for j in range(rows):
                g = G[i, j]
                step = (g + P[i, j] * pig[j]) / (Z.dtype.type(weights[j]) * P[i, j] + rho)
                slope[j] += np.float64(g * step)
                G[i, j] = step if far[j] else zero
        for _ in range(HALVINGS):  # Armijo, sample by sample
            for i in range(m):
                for j in range(rows):
                    trial[i, j] = Z[i, j] - t[j] * G[i, j]
            _values(trial, V, rows, codes, weights, rho, P, scratch, then)
            high = False
            for j in range(rows):
                noise = 8.0 * np.finfo(Z.dtype).eps * abs(now[j])
                if far[j] and not then[j] <= now[j] - 1e-4 * t[j] * slope[j] + noise:
                    t[j] *= Z.dtype.type(0.5)
                    high = True
            if not high:
                break
        for i in range(m):
            for j in range(rows):
                Z[i, j] = trial[i, j]
        for j in range(rows):
            now[j] = then[j]


@compiled
def _values(Z: Any, V: Any, rows: int, codes: Any, weights: Any, rho: Any, P: Any, scratch: Any, h: Any) -> None:
    """P, and h (rows,) of float64."""
    m = Z.shape[0]
    top, largest, rest, factor = scratch[0], scratch[1], scratch[2], scratch[3]
    for j in range(rows):
        h[j] = 0.0
    for i in range(m):
        for j in range(rows):
            P[i, j] = Z[i, j]
            h[j] += np.float64(Z[i, j] - V[i, j]) ** 2
    on_rows.exponentiate(P, rows, top, largest, rest)
    for j in range(rows):
        loss = np.float64(largest[j] - Z[codes[j], j]) + log1p(rest[j])
        h[j] = weights[j] * loss + 0.5 * rho * h[j]
    on_rows.probabilities(P, rows, rest, factor)


@compiled
def _gradients(
    Z: Any, V: Any, rows: int, codes: Any, weights: Any, rho: Any, accuracy: float, P: Any, G: Any, scratch: Any,
    h: Any, far: Any,
) -> bool:  # fmt: skip
    """G of h; which samples are `far` from their minimiser still, and whether any is.

    A sample is there once every element of its gradient is at most ``accuracy * rho``, or h is NaN.
    """
    m, most = Z.shape[0], scratch[3]
    for j in range(rows):
        most[j] = 0
    for i in range(m):
        for j in range(rows):
            G[i, j] = Z.dtype.type(weights[j]) * P[i, j] + rho * (Z[i, j] - V[i, j])
    for j in range(rows):
        y, a = codes[j], Z.dtype.type(weights[j])
        G[y, j] = a * (P[y, j] - 1) + rho * (Z[y, j] - V[y, j])
    for i in range(m):
        for j in range(rows):
            g = abs(G[i, j])
            most[j] = g if g > most[j] else most[j]
    found = False
    for j in range(rows):
        far[j] = far[j] and most[j] > accuracy * rho and h[j] == h[j]
        found = found or far[j]
    return found
