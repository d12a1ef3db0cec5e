"""Coordinate descent on the exact margins: one weight after another, as SMLR and the Gauss-Jacobi family do it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.softmax import losses, softmax, weighted_sum
from pianobench.problems.penalties import Array, Penalty

TRUSTED = (1e-2, 1e2)  # sums of E between which they are kept up to date by differences


@dataclass(frozen=True)
class Rule:
    """Curvature of the quadratic model in one weight.

    Parameters
    ----------
    bound : {"bohning", "quarter", "taylor"}
        ``(1 - 1/m) / 2 * sum a x^2`` [Böh92], ``1/4 * sum a x^2``, or the second derivative itself.
    tau : float
        Added to it: FLEXA's proximal weight.
    """

    bound: Literal["bohning", "quarter", "taylor"] = "bohning"
    tau: float = 0.0


def coordinate_sweep(
    part: Part,
    rule: Rule,
    W: Array,
    order: NDArray[np.intp],
    groups: int,
    gamma: float,
    pen: Penalty,
    margins: Array,
) -> tuple[Array, float]:
    """One sweep; see `Problem.sweep`. Writes the margins (n, m)."""
    W = W.copy()
    l1, l2 = (np.broadcast_to(s, W.shape) for s in (pen.l1, pen.l2))
    columns = part.design.by_column(np.unique(order // part.m))
    change = np.zeros_like(margins)
    for group in np.array_split(order, groups):
        Z = margins.astype(np.float64)
        E, total = softmax(Z).P, np.ones(part.n)  # probabilities are E / total, kept up to date
        low, high = TRUSTED
        for l, i in zip(*np.divmod(group, part.m), strict=True):
            rows, x = columns[l]
            a, p = part.weights[rows], E[rows, i] / total[rows]
            g = float(np.dot(a * x, p - (part.codes[rows] == i))) + l2[l, i] * W[l, i]
            square = a * x * x
            if rule.bound == "taylor":
                h = float(np.dot(square, p * (1.0 - p)))
            else:
                h = float(square.sum()) * (0.5 * (1.0 - 1.0 / part.m) if rule.bound == "bohning" else 0.25)
            h += rule.tau + l2[l, i]
            if h <= 0.0:  # a dead column: nothing depends on this weight
                continue
            v = W[l, i] - g / h
            step = gamma * (np.sign(v) * max(abs(v) - l1[l, i] / h, 0.0) - W[l, i])
            if step:
                W[l, i] += step
                Z[rows, i] += step * x
                fresh = E[rows, i] * np.exp(step * x)
                total[rows] += fresh - E[rows, i]
                E[rows, i] = fresh
                if not (low < total.min() and total.max() < high):  # the difference has lost digits
                    E, total = softmax(Z).P, np.ones(part.n)
        change += (Z - margins).astype(margins.dtype)
    margins += change
    return W, weighted_sum(part, losses(part, margins, softmax(margins)))
