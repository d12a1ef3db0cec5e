"""A sweep of coordinate steps written out plainly, with probabilities made anew before each step."""

from __future__ import annotations

import numpy as np


def sweep(V, stored, codes, a, W, margins, order, *, bound, tau=0.0, groups=1, gamma=1.0, l1=0.0, l2=0.0):  # type: ignore[no-untyped-def]
    """New W (p, m) and margins (n, m), in float64.

    Parameters
    ----------
    V : array (n, p)
        X, conditioned, with the intercept's column.
    stored : array (n, p) of bool
        Entries that X holds: what a column does not hold is not touched, not even by 0 times infinity.
    l1, l2 : arrays that broadcast to (p, m)
    """
    (p, m), W, margins = W.shape, W.astype(np.float64), margins.astype(np.float64)
    l1, l2 = np.broadcast_to(l1, (p, m)), np.broadcast_to(l2, (p, m))
    change = np.zeros_like(margins)
    for group in np.array_split(order, groups):
        Z = margins.copy()
        for l, i in zip(*np.divmod(group, m), strict=True):
            rows = np.flatnonzero(stored[:, l])
            x, weight, own = V[rows, l], a[rows], codes[rows] == i
            E = np.exp(Z[rows] - Z[rows].max(axis=1, keepdims=True))
            P = E[:, i] / E.sum(axis=1)
            g = np.dot(weight * x, P - own) + l2[l, i] * W[l, i]
            square = weight * x * x
            curvature = {"bohning": 0.5 * (1.0 - 1.0 / m), "quarter": 0.25, "taylor": P * (1.0 - P)}[bound]
            h = np.sum(square * curvature) + tau + l2[l, i]
            if h <= 0.0 and (l1[l, i] == 0.0 or np.sum(square) > 0.0):
                continue
            if h <= 0.0:  # an empty column: l1 alone is left of F
                step = -gamma * W[l, i]
            else:
                v = W[l, i] - g / h
                step = gamma * (np.sign(v) * max(abs(v) - l1[l, i] / h, 0.0) - W[l, i])
            if step != 0.0:
                W[l, i] += step
                Z[rows, i] += step * x
        change += Z - margins
    return W, margins + change
