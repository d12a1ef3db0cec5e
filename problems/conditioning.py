"""Solving in centred and scaled columns while penalties, solution and objective stay in the user's units.

The matrix solved in is ``(X - centre) / unit``; the user's weights are ``coef = W / unit`` and
``b = W_last - centre @ coef``. A penalty on `coef` is the same penalty on W with strengths divided by the unit (see
`Penalty.by_row`), so F is the user's F at every W. Units are powers of two: dividing by them rounds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from pianobench.problems.design import Csr, Dense
from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.fields import total_weight
from pianobench.problems.penalties import Array, Strength
from pianobench.problems.rows import Rows

KINDS = ("none", "scale", "centre+scale")
LARGEST_EXPONENT = {4: 120, 8: 498}  # of a unit, by bytes of X: its inverse, in float64 also its square, is a number


@dataclass(frozen=True)
class Conditioning:
    """What was done to the columns.

    Parameters
    ----------
    kind : {"none", "scale", "centre+scale"}
    centre, unit : arrays (d,) of float64
        The user's column is ``centre + unit * column``. A column that is constant has, without l2, the unit 1 and,
        centred, becomes exactly 0: its weight changes no score, and every penalty takes it to 0, as it would in the
        user's units.
    """

    kind: str
    centre: Array
    unit: Array

    def to_user(self, W: Array, intercept: bool) -> tuple[Array, Array]:
        """Coefficients (m, d) and intercept (m,) in the user's units, float64, of weights W (p, m)."""
        d = self.unit.size
        coef = (W[:d].astype(np.float64) / self.unit[:, None]).T
        return coef, W[d].astype(np.float64) - coef @ self.centre if intercept else np.zeros(W.shape[1])

    def from_user(self, coef: Array, b: Array, intercept: bool) -> Array:
        """Weights (p, m) of coefficients (m, d) and intercept (m,)."""
        W: Array = np.asarray(coef, np.float64).T * self.unit[:, None]
        return np.vstack([W, b + np.asarray(coef) @ self.centre]) if intercept else W


def condition(rows: Rows, kind: str, intercept: bool, l2: Strength = 0.0) -> tuple[Rows, Conditioning]:
    """Rows whose columns are conditioned, and what was done.

    The unit of a column is next to its spread; where a quadratic penalty of strength `l2`, one number or (d, 1), bends
    F more than the loss does, next to what makes the curvatures of all weights alike at W = 0. Else columns of small
    numbers, whose strengths grow as they are scaled up, would be badly scaled in their turn.

    Raises
    ------
    ValueError
        `kind` is unknown, or asks to centre sparse columns or columns without an intercept.
    """
    if kind not in KINDS:
        raise ValueError(f"conditioning={kind!r}: one of {', '.join(map(repr, KINDS))} is expected")
    d = rows.d
    if kind == "none":
        return rows, Conditioning(kind, np.zeros(d), np.ones(d))
    if kind == "centre+scale" and not intercept:
        raise ValueError(
            "conditioning='centre+scale' moves the columns, which only an intercept can make good: "
            "give fit_intercept=True, or conditioning='scale'"
        )
    if kind == "centre+scale" and rows.layout == "csr":
        raise ValueError(
            "conditioning='centre+scale' would fill the zeros of a sparse X: give conditioning='scale', or a dense X"
        )
    high, minus_low = rows.reduce(_range, largest=True)
    peak = np.maximum(high, minus_low)
    safe = np.where(peak > 0, peak, 1.0)  # everything below is relative to it, so that no square overflows
    (total,) = rows.reduce(total_weight)
    centre = np.zeros(d)
    if kind == "centre+scale":
        (sums,) = rows.reduce(_relative_sums, safe)
        mean = (sums / total * safe).astype(rows.dtype).astype(np.float64)  # a number of X's own type
        centre = np.where(high == -minus_low, high, mean)  # so that a constant column becomes 0 and not rounding
    (squares,) = rows.reduce(_relative_squares, safe, centre)
    spread = np.sqrt(squares / total) * safe
    most = LARGEST_EXPONENT[rows.dtype.itemsize]
    bend = (rows.m - 1.0) / rows.m**2 * total  # of the loss at W = 0, where each class has the probability 1/m
    size = np.hypot(spread, np.sqrt(np.ravel(l2) / bend))
    exponent = np.log2(size, out=np.zeros(d), where=spread > 0)
    unit = np.exp2(np.clip(np.round(exponent), -most, most))
    return rows.each(_conditioned, centre if kind == "centre+scale" else None, 1.0 / unit), Conditioning(
        kind, centre, unit
    )


def _conditioned(part: Part, centre: Array | None, scale: Array) -> Part:
    design = part.design
    if isinstance(design, Dense):
        nonnegative = design.nonnegative and centre is None
        return replace(part, design=replace(design, centre=centre, scale=scale, nonnegative=nonnegative))
    data = (design.X.data * scale[design.X.indices]).astype(design.X.dtype)
    X = sp.csr_array((data, design.X.indices, design.X.indptr), shape=design.X.shape)
    return replace(part, design=Csr(X, design.intercept, design.nonnegative))


def _range(part: Part) -> tuple[Array, Array]:
    """(d,) largest value of each column and of its negative, over the rows of positive weight."""
    X = _weighing(part).design.X
    if not X.shape[0]:
        nothing = np.full(part.design.d, -np.inf)
        return nothing, nothing
    high, low = X.max(axis=0), X.min(axis=0)
    high, low = (np.asarray(v if isinstance(v, np.ndarray) else v.toarray(), np.float64).ravel() for v in (high, low))
    return high, -low


def _relative_sums(part: Part, peak: Array) -> tuple[Array]:
    sums = np.zeros(part.design.d)
    for _, block in _weighing(part).blocks():
        sums += block.weights @ (block.design.X / peak)
    return (sums,)


def _relative_squares(part: Part, peak: Array, centre: Array) -> tuple[Array]:
    """(d,) weighted sums of ``((X - centre) / peak)**2``."""
    squares = np.zeros(part.design.d)
    for _, block in _weighing(part).blocks():
        X = block.design.X
        if isinstance(X, np.ndarray):
            squares += block.weights @ np.square((X - centre) / peak)
        else:
            data = np.square(X.data / peak[X.indices])
            squares += block.weights @ sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return (squares,)


def _weighing(part: Part) -> Part:
    """The rows of positive weight: a row of weight 0 counts as one left out."""
    return part if part.weights.all() else part.slice(np.flatnonzero(part.weights))
