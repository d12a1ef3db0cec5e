"""Temperature scaling: one factor on all weights, fitted to rows that the model has not seen [GPSW17]."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pianobench.algorithms.estimators.training import read, training

LARGEST = 1e3  # of the factor and of its inverse


def calibrated(model: Any, X: Any, y: Any, sample_weight: ArrayLike | None) -> Any:
    """A copy of the model whose scores are multiplied by the factor of least log loss on these rows.

    It predicts the same classes, and weights that are 0 stay so.
    """
    from scipy.optimize import minimize_scalar

    own = copy.deepcopy(model)
    X, y = read(copy.copy(model), X, y)
    rows = training(
        X, y, sample_weight=sample_weight, class_weight=None, classes=model.classes_, fit_intercept=False
    ).rows
    (part,) = rows.parts
    logs = np.empty((part.n, model.classes_.size))
    for block, Z in model._scores(X):
        logs[block] = Z - Z.max(axis=1, keepdims=True)
    observed, a = logs[np.arange(part.n), part.codes], part.weights

    def loss(power: float) -> float:
        t = math.exp(power)
        return float(a @ (np.log(np.exp(t * logs).sum(axis=1)) - t * observed))

    limit = math.log(LARGEST)
    found = minimize_scalar(loss, bounds=(-limit, limit), method="bounded")
    factor = math.exp(float(found.x)) if found.fun < loss(0.0) * (1.0 - 1e-9) else 1.0
    own.coef_ = (model.coef_ * factor).astype(model.coef_.dtype)
    own.intercept_ = model.intercept_ * factor
    own.objective_ = own.lower_bound_ = own.gap_ = math.nan
    own.status_, own.reason_ = "calibrated", f"weights times {factor:.6g}, fitted to {part.n} other rows"
    return own
