"""From the caller's X, y and weights to rows that a problem is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from pianobench.problems import Penalty, Problem
from pianobench.problems.data import rows_in_memory
from pianobench.problems.engines.memory import MemoryRows
from pianobench.problems.labels import encode
from pianobench.problems.penalties import Array


@dataclass(frozen=True)
class Training:
    """Rows to be fitted to.

    Parameters
    ----------
    rows : MemoryRows
        With the weights over `unit`, and codes of the classes that are present.
    classes : array (m,)
        All classes, in the caller's kind.
    present : array (k,) of intp
        Numbers of the classes that have a solution of their own: with an intercept those that have weight, else all.
    unit : float
        Power of two near the largest weight. Divided by it, weights near the ends of their type's range are no trouble,
        and as the strengths are divided too, the minimiser stays and F is F over `unit`.
    fit_intercept : bool
    """

    rows: MemoryRows
    classes: NDArray[Any]
    present: NDArray[np.intp]
    unit: float
    fit_intercept: bool

    def problem(self, penalty: Penalty | None) -> Problem:
        """The problem with this penalty, in columns that are scaled and, if X is dense, centred."""
        if penalty is not None:
            weaker = Penalty(penalty.l1 / self.unit, penalty.l2 / self.unit, penalty.l0 / self.unit)
            if weaker.kind != penalty.kind or not math.isfinite(weaker.l1 + weaker.l2 + weaker.l0):
                raise ValueError(
                    f"the largest sample weight, about {self.unit:g}, and the penalty's strength are too far apart: "
                    "divide both, or weights and 1/C, by one number"
                )
            penalty = weaker
        centred = self.fit_intercept and self.rows.layout == "dense"
        return Problem.over(
            self.rows,
            self.present,
            penalty=penalty,
            fit_intercept=self.fit_intercept,
            conditioning="centre+scale" if centred else "scale",
        )


def read(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """X as floats, dense or CSR, and the labels; notes the features' number and names on the estimator."""
    X, _ = validate_data(
        estimator, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
    )  # whether X is finite is asked below, where the answer names the place
    return X, y


def training(
    X: Any,
    y: Any,
    *,
    sample_weight: ArrayLike | None,
    class_weight: Mapping[Any, float] | str | None,
    classes: ArrayLike | None,
    fit_intercept: bool,
) -> Training:
    """Checked and weighted rows.

    Raises
    ------
    ValueError
        The input is not what is described here; the message names the value and the remedy.
    """
    codes, known = encode(y, classes)
    rows, _ = rows_in_memory(X, codes, sample_weight, fit_intercept, np.arange(known.size))
    (part,) = rows.parts
    with np.errstate(over="ignore"):
        weights = part.weights * _by_class(class_weight, known, codes, part.weights)[codes]
    if not np.isfinite(weights).all():
        raise ValueError(
            "sample_weight times class_weight overflows: divide one of them, and with it 1/C, by one number"
        )
    if not weights.any():
        raise ValueError("all rows have weight 0 once class_weight acts: nothing is left to fit; raise one of them")
    unit = 2.0 ** round(math.log2(weights.max()))
    present = np.unique(codes[weights > 0]) if fit_intercept else np.arange(known.size)
    renumbered = np.zeros(known.size, np.intp)  # a row of an absent class has weight 0, whatever class it is given
    renumbered[present] = np.arange(present.size)
    part = replace(part, codes=renumbered[codes], weights=weights / unit, m=present.size)
    return Training(MemoryRows((part,)), in_kind_of(y, known), present.astype(np.intp), unit, fit_intercept)


def _by_class(class_weight: Any, known: NDArray[Any], codes: NDArray[np.intp], weights: Array) -> Array:
    """(m,) factor of each class."""
    if class_weight is None:
        return np.ones(known.size)
    if isinstance(class_weight, str) and class_weight == "balanced":
        shares = np.bincount(codes, weights, known.size)
        present = np.count_nonzero(shares)
        mean = shares.sum() / present
        return np.asarray(np.divide(mean, shares, out=np.zeros(known.size), where=shares > 0))
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight={class_weight!r}: None, 'balanced' or a dict from class to weight is expected")
    factor = np.ones(known.size)
    names = {label: number for number, label in enumerate(known.tolist())}
    for label, value in class_weight.items():
        label = label.item() if isinstance(label, np.generic) else label
        if label not in names:
            raise ValueError(
                f"class_weight holds {label!r}, which is not among the classes {known.tolist()[:10]}: "
                "give its keys as y gives the labels"
            )
        if not (np.isreal(value) and 0.0 <= value < math.inf):
            raise ValueError(f"class_weight is {value!r} for class {label!r}: a finite number >= 0 is expected")
        factor[names[label]] = value
    return factor


def in_kind_of(y: Any, known: NDArray[Any]) -> NDArray[Any]:
    """The classes with y's dtype where that is one of strings as objects."""
    given = getattr(y, "dtype", None)
    if given is not None and known.dtype.kind in "US" and np.asarray(y).dtype == object:
        return known.astype(object)
    return known
