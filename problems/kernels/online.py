"""Online learning on rows in one place: one pass over them in a given order, batch after batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pianobench.problems.cost import EXP_FLOPS
from pianobench.problems.design import FLOAT64, Csr, Dense
from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.compiled import online
from pianobench.problems.kernels.compiled.passes import check, conditions
from pianobench.problems.penalties import Array

NOTHING = np.empty(0)


@dataclass(frozen=True)
class Pace:
    """Lengths of the steps; see `compiled.online.epoch`.

    Parameters
    ----------
    batch : int
        Rows of a round.
    rounds : int
        Of one pass.
    start : float
        Of steps without a metric.
    rate, eps : float
        Of steps in AdaGrad's metric.
    """

    batch: int
    rounds: int
    start: float = 1.0
    rate: float = 1.0
    eps: float = 1.0


def facts(part: Part) -> tuple[int, Array, float]:
    """Rows of positive weight; over them, each column's largest ``|x_l|`` (p,), 1 for 0, and mean ``|x / that|^2``."""
    d, intercept, count = part.design.d, part.design.intercept, int(np.count_nonzero(part.weights))
    peak, squares = np.zeros(d), 0.0
    for _, block in part.blocks():
        V = block.design.each(block.design.values(FLOAT64), np.abs)[block.weights > 0]
        if V.shape[0]:
            high = V.max(axis=0)
            peak = np.maximum(peak, high if isinstance(V, np.ndarray) else high.toarray().ravel())
    peak = np.where(peak > 0.0, peak, 1.0)
    for _, block in part.blocks():
        V = block.design.values(FLOAT64)[block.weights > 0]
        V = V / peak if isinstance(V, np.ndarray) else sp.csr_array(V.multiply(1.0 / peak)).data
        squares += float(np.square(V).sum())
    return count, np.append(peak, np.ones(int(intercept))), squares / count + intercept


def epoch(
    part: Part,
    W: Array,
    order: NDArray[np.intp],
    round_: int,
    pace: Pace,
    l2: Array,
    active: NDArray[np.bool_] | None,
    peak: Array,
    A: Array,
) -> tuple[Array, Array, float]:
    """W and A after one pass over the rows numbered in `order`, and the sum of their losses, each in its round.

    Rows of weight 0 are left out.

    Parameters
    ----------
    W : array (p, m)
    round_ : int
        Rounds before.
    pace : Pace
    l2 : array (p, 1)
        Strengths of the quadratic penalty, shared out evenly to the rounds of a pass.
    active : array (p, m) of bool, or None
    peak : array (p,)
        Of `facts`.
    A : array (p, m), or of no rows
        Sums of squares in AdaGrad's metric, in units of the peaks.

    Raises
    ------
    ValueError
        W has another shape, or `order` has a number that is of no row.
    """
    check(part, W)
    if order.size and not 0 <= order.min() <= order.max() < part.n:
        raise ValueError(f"order is {order}: numbers of rows 0 .. {part.n - 1} are expected")
    W, A, design = W.copy(), A.copy(), part.design
    whole = np.empty(0, np.int32)
    if isinstance(design, Dense):
        held = (design.X, *conditions(design), whole, whole, NOTHING)
    else:
        assert isinstance(design, Csr)
        held = (np.empty((0, 0)), NOTHING, NOTHING, design.X.indptr, design.X.indices, design.X.data)
    loss = online.epoch(
        order[part.weights[order] > 0].astype(np.intp), pace.batch, round_, pace.start, pace.rate, pace.eps,
        np.broadcast_to(l2 / pace.rounds, (len(W), 1))[:, 0].astype(np.float64), peak,
        np.empty((0, 0), np.bool_) if active is None else active, W, A, part.codes, part.weights, *held,
        design.intercept,
    )  # fmt: skip
    return W, A, float(loss)


epoch.flops = EXP_FLOPS + 5.0  # type: ignore[attr-defined]
