"""From the caller's X, y and weights to rows in memory: the one place where input is checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from pianobench.problems.design import Csr, Dense, Design, blocks
from pianobench.problems.engines.memory import MemoryRows, Part
from pianobench.problems.labels import encode
from pianobench.problems.penalties import Array


def rows_in_memory(
    X: Any, y: Any, sample_weight: ArrayLike | None, intercept: bool, classes: ArrayLike | None
) -> tuple[MemoryRows, NDArray[Any]]:
    """Checked rows, and the classes their codes stand for. Neither X nor y is written or, where possible, copied.

    Raises
    ------
    ValueError
        Shapes do not fit, a value is missing or infinite, a weight is negative, or y is not a classification target.
    """
    design = _design(X, intercept)
    codes, known = encode(y, classes)
    if codes.size != design.n:
        raise ValueError(f"X has {design.n} rows and y {codes.size} labels: one label a row is expected")
    weights = _weights(sample_weight, design.n)
    return MemoryRows((Part(design, codes, weights, known.size),)), known


def _design(X: Any, intercept: bool) -> Design:
    if sp.issparse(X):
        return _sparse(X, intercept)
    if np.ma.is_masked(X):
        raise ValueError("X holds masked values: fill missing values first")
    V = np.asarray(X)
    if V.ndim != 2:
        raise ValueError(
            f"X has shape {V.shape}: a matrix (n, d) is expected; "
            "one sample is X.reshape(1, -1), one feature X.reshape(-1, 1)"
        )
    _check_not_empty(V.shape)
    V = _as_float(V)
    nonnegative = True
    for rows in blocks(V.shape[0], V.shape[1]):
        block = V[rows]
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            raise ValueError(_not_finite(block[row, column], rows.start + row, column))
        nonnegative = nonnegative and bool((block >= 0).all())
    return Dense(np.ascontiguousarray(V), intercept, nonnegative)  # else every pass would copy it


def _sparse(X: Any, intercept: bool) -> Csr:
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}: a matrix (n, d) is expected")
    _check_not_empty(X.shape)
    V = sp.csr_array(X)
    data = _as_float(V.data)
    indices, indptr = V.indices, V.indptr
    if indices.dtype != np.int32 and max(V.shape[1], V.nnz) < 2**31:
        indices, indptr = indices.astype(np.int32), indptr.astype(np.int32)
    V = sp.csr_array((data, indices, indptr), shape=V.shape)
    if not V.has_canonical_format:  # on a copy: the caller's matrix keeps its order
        V = V.copy()
        V.sum_duplicates()
    if not np.isfinite(V.data).all():
        place = int(np.argmax(~np.isfinite(V.data)))
        row = int(np.searchsorted(V.indptr, place, side="right")) - 1
        raise ValueError(_not_finite(V.data[place], row, int(V.indices[place])))
    return Csr(V, intercept, nonnegative=bool((V.data >= 0).all()))


def _as_float(values: NDArray[Any]) -> Array:
    """float32 and float64 stay, other numbers become float64."""
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind not in "biufO":
        raise ValueError(
            f"X has dtype {values.dtype}: real numbers are expected; encode other columns first, for example one-hot"
        )
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is then refused with its place
            return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"X holds a value that is not a number ({error}): encode such columns first, for example one-hot"
        ) from None


def _weights(sample_weight: ArrayLike | None, n: int) -> Array:
    if sample_weight is None:
        return np.ones(n)
    try:
        weights = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "sample_weight holds a value that is not a number: one number >= 0 a row is expected"
        ) from None
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}: one weight a row is expected, shape ({n},)")
    wrong = ~((weights >= 0) & np.isfinite(weights))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"sample_weight is {weights[row]} at row {row}: a finite number >= 0 is expected; 0 leaves a row out"
        )
    if not weights.any():
        raise ValueError(
            "sample_weight is zero in all rows: nothing is left to fit; give at least one row a positive weight"
        )
    return weights


def _check_not_empty(shape: tuple[int, ...]) -> None:
    if 0 in shape:
        raise ValueError(f"X has shape {shape}: at least one row and one column are expected")


def _not_finite(value: Any, row: int, column: int) -> str:
    return f"X holds {value} at row {row}, column {column}: fill missing values first, and bound infinite ones"
