"""A fitted model as scikit-learn's own."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from pianobench.algorithms.estimators.parameters import make_penalty
from pianobench.algorithms.estimators.strengths import strength_for


def to_sklearn(model: Any) -> Any:
    """`sklearn.linear_model.LogisticRegression` with the weights of `model`.

    Its parameters are those under which it has the same objective, so that a fit of it to the same data ends at the
    same minimiser. Two classes become the one vector ``w_1 - w_0``.

    Raises
    ------
    ValueError
        The penalty is l0, which it does not have.
    """
    from sklearn.linear_model import LogisticRegression

    if model.penalty == "l0":
        raise ValueError("penalty='l0' is none of scikit-learn's: fit l1 or l2, or keep this estimator")
    m = model.classes_.size
    C, ratio = math.inf, 0.0
    penalty = make_penalty(model.penalty, model.lam_, model.l1_ratio)
    if penalty is not None:
        l1, l2 = float(penalty.l1), float(penalty.l2)
        C, ratio = strength_for("scikit-learn", l1 + l2, n=1.0, m=m, l1_ratio=l1 / (l1 + l2))
    exported = LogisticRegression(
        C=C,
        **_penalty(LogisticRegression, C, ratio),
        solver="saga" if ratio else "lbfgs",
        fit_intercept=model.fit_intercept,
        class_weight=getattr(model, "class_weight", None),
    )
    coef, intercept = model.coef_, model.intercept_
    if m == 2:
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    exported.coef_, exported.intercept_, exported.classes_ = coef.copy(), intercept.copy(), model.classes_.copy()
    exported.n_iter_ = np.array([model.n_iter_], np.int32)
    exported.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        exported.feature_names_in_ = model.feature_names_in_.copy()
    return exported


def _penalty(kind: type[Any], C: float, ratio: float) -> dict[str, Any]:
    """The penalty in the words of the library's version: since 1.8 `l1_ratio` alone names it."""
    if inspect.signature(kind).parameters["penalty"].default == "deprecated":
        return {"l1_ratio": ratio}
    if math.isinf(C):
        return {"penalty": None}
    if 0.0 < ratio < 1.0:
        return {"penalty": "elasticnet", "l1_ratio": ratio}
    return {"penalty": "l1" if ratio else "l2"}
