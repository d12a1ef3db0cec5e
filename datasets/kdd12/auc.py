"""Area under the ROC curve of weighted rows, exact with ties, and its standard error.

The curve is that of [Faw04, algorithm 3]: rows in descending order of their scores, equal scores one step. The standard
error is that of DeLong, DeLong and Clarke-Pearson [DDC88] with midranks; it takes views as independent of each other,
which those of one row are not quite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Area:
    """An area under the ROC curve.

    Parameters
    ----------
    area : float
        Probability that a positive scores higher than a negative, ties counted half.
    error : float
        Its standard error; nan with a single positive or negative.
    positives, negatives : float
        Sums of the weights.
    """

    area: float
    error: float
    positives: float
    negatives: float


def auc(scores: ArrayLike, positives: ArrayLike, negatives: ArrayLike) -> Area:
    """Area under the ROC curve.

    Parameters
    ----------
    scores : array-like (n,)
        Any increasing function of the predicted probability; finite.
    positives, negatives : array-like (n,)
        Weights >= 0 of each row: `Encoded.weights` has clicks and views without one; ``y == 1`` and ``y == 0`` go too.

    Returns
    -------
    Area
        `area` is that of whole numbers in exact arithmetic, rounded once, where weights are whole and the product of
        their sums is below 2^62.

    Raises
    ------
    ValueError
        Shapes differ, a score is not finite, a weight is no finite number >= 0, or there is no positive or no negative.
    """
    scores = np.asarray(scores)
    pos, neg = _weights("positives", positives, scores.shape), _weights("negatives", negatives, scores.shape)
    if not np.isfinite(scores).all():
        place = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ValueError(
            f"the score of row {place} is {scores[place]}: finite scores are expected; has the fit diverged?"
        )
    order = np.argsort(scores)  # ascending: midranks count what lies below
    ordered = scores[order]
    if not len(ordered):
        raise ValueError("there are no rows: an area needs positives and negatives")
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    p, n = np.add.reduceat(pos[order], first), np.add.reduceat(neg[order], first)  # of each different score
    P, N = p.sum(), n.sum()
    if not (P > 0 and N > 0):
        raise ValueError(f"there are {P:g} positives and {N:g} negatives: an area needs both")
    if p.dtype.kind == n.dtype.kind == "i" and int(P) * int(N) >= 2**62:
        p, n = p.astype(np.float64), n.astype(np.float64)
        P, N = p.sum(), n.sum()
    below = np.cumsum(n) - n
    twice = (p * (2 * below + n)).sum()  # of the area, times P N: a trapezium for each score
    area = int(twice) / (2 * int(P) * int(N)) if twice.dtype.kind == "i" else float(twice / (2 * P * N))
    return Area(area, _error(p, n, area), float(P), float(N))


def _error(p: NDArray[Any], n: NDArray[Any], area: float) -> float:
    """Standard error by the variances of the structural components [DDC88, equations 3 to 5]."""
    p, n = p.astype(np.float64), n.astype(np.float64)
    P, N = p.sum(), n.sum()
    if P <= 1 or N <= 1:
        return float("nan")
    of_positives = (np.cumsum(n) - 0.5 * n) / N  # share of negatives below each positive
    of_negatives = (P - np.cumsum(p) + 0.5 * p) / P  # share of positives above each negative
    spread = p @ (of_positives - area) ** 2 / (P - 1), n @ (of_negatives - area) ** 2 / (N - 1)
    return float(np.sqrt(spread[0] / P + spread[1] / N))


def _weights(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
    found = np.asarray(values)
    if len(shape) != 1 or found.shape != shape:
        raise ValueError(f"{name} has shape {found.shape} and the scores {shape}: one each a row is expected, (n,)")
    if found.dtype.kind in "bui":
        found = found.astype(np.int64)
    elif found.dtype.kind != "f":
        raise ValueError(f"{name} has type {found.dtype}: numbers are expected")
    wrong = ~(np.isfinite(found) & (found >= 0))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ValueError(f"{name} is {found[place]} in row {place}: a finite number >= 0 is expected")
    return found
