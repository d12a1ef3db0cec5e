"""Scores of weights on samples that no method has seen: share predicted rightly, and mean loss."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from pianobench.datasets import handover


def evaluate(problem: Any, W: NDArray[Any], folder: Path, expected: str) -> dict[str, float]:
    """Columns of a cell's row; off the clock, in float64 and in the data's units.

    Parameters
    ----------
    problem : Problem
        On the training samples, with its classes and conditioning.
    W : array (p, m)
        Finite weights.
    folder : Path
        Of the held-out arrays, as `handover.write` left them.
    expected : str
        Their checksum.

    Raises
    ------
    CorruptData
        The arrays have changed.
    """
    X, y = handover.read(folder, expected)
    coef, b = problem.to_user(W)
    Z = np.asarray(X @ coef.T, np.float64) + b
    # Codes are those of the training set, whose classes without a sample have no column.
    column = np.searchsorted(problem.classes, y)
    own = Z[np.arange(y.size), column]
    return {
        "test_accuracy": float(np.mean(np.argmax(Z, axis=1) == column)),
        "test_log_loss": float(np.mean(logsumexp(Z, axis=1) - own)),
    }
