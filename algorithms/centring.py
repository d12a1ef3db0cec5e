"""The best common shift of the classes: l(W) does not change when all classes of a feature get the same number added.

For a penalised row w of W (one feature, m classes) the penalty is least after subtracting

    t = argmin_t  l1 sum_i |w_i - t| + l2/2 sum_i (w_i - t)^2
      = median(w_1, ..., w_m, c_0, ..., c_m),    c_k = mean(w) + l1 (m - 2 k) / (l2 m):

the derivative in t rises from l1 (2 k - m) + l2 m (t - mean) to the next k at each w_i, and c_k is its zero for k of
the w_i below t. So l2 takes the mean and l1 a median, of an interval of medians the point nearest 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pianobench.problems import Penalty, Problem
from pianobench.problems.penalties import Array


def centred(W: Array, pen: Penalty, active: NDArray[np.bool_] | None = None) -> Array:
    """W (p, m) with each penalised row shifted so that the penalty on it is least; the loss stays as it is.

    Parameters
    ----------
    W : array (p, m)
    pen : Penalty
        Without l0.
    active : array (p, m) of bool, optional
        Weights that may differ from 0; a row in which one may not is left as it is.
    """
    m = W.shape[1]
    l1, l2 = (np.broadcast_to(s, (len(W), 1)) for s in (pen.l1, pen.l2))
    movable = (l1 + l2)[:, 0] > 0
    if active is not None:
        movable &= active.all(axis=1)
    median = np.sort(W, axis=1)
    t = np.clip(0.0, median[:, [(m - 1) // 2]], median[:, [m // 2]])
    quadratic = l2[:, 0] > 0
    if quadratic.any():
        V = W[quadratic].astype(np.float64)
        c = V.mean(axis=1, keepdims=True) + l1[quadratic] * (m - 2.0 * np.arange(m + 1)) / (l2[quadratic] * m)
        t[quadratic] = np.median(np.concatenate([V, c], axis=1), axis=1, keepdims=True)
    return np.where(movable[:, None], W - t.astype(W.dtype), W)


def without_free_shift(problem: Problem, V: Array) -> Array:
    """V (p, m) with rows that add up to 0 where no penalty acts: there F does not see a shift."""
    free = np.broadcast_to(problem.pen.l2, (problem.p, 1)) == 0.0
    if problem.active is not None:
        free = free & problem.active.all(axis=1, keepdims=True)  # a row with a weight held at 0 cannot be shifted
    return np.where(free, V - V.mean(axis=1, keepdims=True), V)
