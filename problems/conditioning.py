"""Solving in centred and scaled columns while penalties, solution and objective stay in the user's units.

The matrix solved in is ``(X - centre) / unit``; the user's weights are ``coef = W / unit``, ``b = W_last - centre @ coef``.
A penalty on `coef` is the same penalty on W with strengths divided by the unit (see `Penalty.by_row`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pianobench.problems.design import Csr, Dense
from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.fields import total_weight
from pianobench.problems.penalties import Array
from pianobench.problems.rows import Rows

KINDS = ("none", "scale", "centre+scale")
SMALLEST_UNIT, LARGEST_UNIT = 1e-150, 1e150  # the square of a unit must be a number too


@dataclass(frozen=True)
class Conditioning:
    """What was done to the columns.

    Parameters
    ----------
    kind : {"none", "scale", "centre+scale"}
    centre, unit : arrays (d,) of float64
        The user's column is ``centre + unit * column``; unit 1 and scale 0 mark a column that is constant.
    constant : array (d,) of bool
        Columns that hold one value: with an intercept they say nothing, and their weight is 0.
    """

    kind: str
    centre: Array
    unit: Array
    constant: NDArray[np.bool_]

    def to_user(self, W: Array, intercept: bool) -> tuple[Array, Array]:
        """Coefficients (m, d) and intercept (m,) in the user's units, float64, of weights W (p, m)."""
        d = self.unit.size
        coef = (W[:d].astype(np.float64) / self.unit[:, None]).T
        coef[:, self.constant] = 0.0
        b = W[d].astype(np.float64) - coef @ self.centre if intercept else np.zeros(W.shape[1])
        return coef, b

    def from_user(self, coef: Array, b: Array, intercept: bool) -> Array:
        """Weights (p, m) of coefficients (m, d) and intercept (m,)."""
        W: Array = np.asarray(coef, np.float64).T * self.unit[:, None]
        W[self.constant] = 0.0
        return np.vstack([W, b + np.asarray(coef) @ self.centre]) if intercept else W


def condition(rows: Rows, kind: str, intercept: bool) -> tuple[Rows, Conditioning]:
    """Rows whose columns are conditioned, and what was done.

    Raises
    ------
    ValueError
        `kind` is unknown, or asks to centre sparse columns or columns without an intercept.
    """
    if kind not in KINDS:
        raise ValueError(f"conditioning={kind!r}: one of {', '.join(map(repr, KINDS))} is expected")
    d = rows.d
    plain = Conditioning(kind, np.zeros(d), np.ones(d), np.zeros(d, bool))
    if kind == "none":
        return rows, plain
    if kind == "centre+scale" and not intercept:
        raise ValueError(
            "conditioning='centre+scale' moves the columns, which only an intercept can make good: "
            "give fit_intercept=True, or conditioning='scale'"
        )
    if kind == "centre+scale" and rows.layout == "csr":
        raise ValueError(
            "conditioning='centre+scale' would fill the zeros of a sparse X: give conditioning='scale', or a dense X"
        )
    (total,) = rows.reduce(total_weight)
    (peak,) = rows.reduce(_peak, largest=True)  # everything below is relative to it, so that no square overflows
    safe = np.where(peak > 0, peak, 1.0)
    centre = np.zeros(d)
    if kind == "centre+scale":
        (sums,) = rows.reduce(_relative_sums, safe)
        centre = (
            (sums / total * safe).astype(rows.dtype).astype(np.float64)
        )  # a number of X's own type: X - centre is exact
    (squares,) = rows.reduce(_relative_squares, safe, centre.astype(rows.dtype))
    spread = np.sqrt(squares / total) * safe
    constant = spread <= 8 * np.finfo(rows.dtype).eps * np.abs(centre) if kind == "centre+scale" else np.zeros(d, bool)
    dead = constant | (spread == 0.0)
    unit = np.where(dead, 1.0, np.clip(spread, SMALLEST_UNIT, LARGEST_UNIT))
    scale = np.where(constant, 0.0, 1.0 / unit)
    moved = rows.each(_conditioned, centre.astype(rows.dtype) if kind == "centre+scale" else None, scale)
    return moved, Conditioning(kind, centre, unit, constant)


def _conditioned(part: Part, centre: Array | None, scale: Array) -> Part:
    design = part.design
    if isinstance(design, Dense):
        return replace(
            part,
            design=replace(design, centre=centre, scale=scale, nonnegative=design.nonnegative and centre is None),
        )
    data = (design.X.data * scale[design.X.indices]).astype(design.X.dtype)
    X = sp.csr_array((data, design.X.indices, design.X.indptr), shape=design.X.shape)
    return replace(part, design=Csr(X, design.intercept, design.nonnegative))


def _peak(part: Part) -> tuple[Array]:
    """(d,) largest absolute value of each column over the rows of positive weight."""
    X = part.slice(np.flatnonzero(part.weights > 0)).design.X if (part.weights == 0).any() else part.design.X
    if not X.shape[0]:
        return (np.zeros(part.design.d),)
    V = abs(X).max(axis=0)
    return (np.asarray(V if isinstance(V, np.ndarray) else V.toarray(), np.float64).ravel(),)


def _relative_sums(part: Part, peak: Array) -> tuple[Array]:
    sums = np.zeros(part.design.d)
    for _, block in part.blocks():
        sums += (block.weights @ (block.design.X.astype(np.float64) / peak)).ravel()
    return (sums,)


def _relative_squares(part: Part, peak: Array, centre: Array) -> tuple[Array]:
    """(d,) weighted sums of ``((X - centre) / peak)**2``."""
    squares = np.zeros(part.design.d)
    for _, block in part.blocks():
        X = block.design.X
        if isinstance(X, np.ndarray):
            squares += block.weights @ np.square((X - centre).astype(np.float64) / peak)
        else:
            data = np.square(X.data.astype(np.float64) / peak[X.indices])
            squares += block.weights @ sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return (squares,)
