"""What is done with a fitted softmax model: scores, probabilities, labels, keeping and handing on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pianobench.algorithms.estimators.minimise import Fitted
from pianobench.problems.kernels.compiled import threads
from pianobench.problems.penalties import Array

SCORES = 1 << 18  # that are computed at a time, so that float64 copies stay small


class SoftmaxClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A softmax model with weights for all classes.

    Attributes
    ----------
    coef_ : array (m, d)
        Of the type of X, also for two classes one row a class.
    intercept_ : array (m,)
        Float64.
    classes_ : array (m,)
        In the kind of the labels.
    """

    coef_: Array
    intercept_: Array
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def decision_function(self, X: Any) -> Array:
        """Scores (n, m); for two classes, as scikit-learn has it, the second's minus the first's (n,)."""
        X = self._checked(X)
        two = self.classes_.size == 2
        out = np.empty(X.shape[0] if two else (X.shape[0], self.classes_.size), X.dtype)
        for rows, Z in self._scores(X):
            out[rows] = Z[:, 1] - Z[:, 0] if two else Z
        return out

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class (n,) of each row, in the caller's values and type."""
        X = self._checked(X)
        codes = np.empty(X.shape[0], np.intp)
        for rows, Z in self._scores(X):
            codes[rows] = Z.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> Array:
        """Probabilities (n, m), in the type of X."""
        X = self._checked(X)
        out = np.empty((X.shape[0], self.classes_.size), X.dtype)
        for rows, Z in self._scores(X):
            E = np.exp(Z - Z.max(axis=1, keepdims=True))
            out[rows] = E / E.sum(axis=1, keepdims=True)
        return out

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms (n, m) of the probabilities, finite also where these are 0."""
        X = self._checked(X)
        out = np.empty((X.shape[0], self.classes_.size), X.dtype)
        for rows, Z in self._scores(X):
            Z -= Z.max(axis=1, keepdims=True)
            out[rows] = Z - np.log(np.exp(Z).sum(axis=1, keepdims=True))
        return out

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "coef_")
        return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)

    def _scores(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Float64 scores of some rows at a time: where columns are far from 0 they are differences of large numbers."""
        coef, size = self.coef_.T.astype(np.float64), max(1, SCORES // max(self.classes_.size, X.shape[1]))
        for start in range(0, X.shape[0], size):
            rows = slice(start, start + size)
            with threads.one_blas_thread():  # with more a row's bits would depend on how many
                Z = np.asarray(X[rows].astype(np.float64) @ coef)
            yield rows, Z + self.intercept_

    def _keep(self, fitted: Fitted, classes: NDArray[Any]) -> Self:
        """Take a fit for one's own."""
        self.coef_, self.intercept_, self.classes_ = fitted.coef, fitted.intercept, classes
        self.objective_, self.lower_bound_, self.gap_ = fitted.objective, fitted.lower, fitted.gap
        self.status_, self.reason_ = fitted.status, fitted.reason
        self.n_iter_, self.history_ = fitted.n_iter, fitted.history
        return self

    # keeping and handing on -------------------------------------------------------------------------------------------

    def calibrate(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """A copy with all weights times the one factor of least log loss on rows that were held out.

        Its `gap_` is NaN: it minimises something else now.
        """
        from pianobench.algorithms.estimators.calibrate import calibrated

        check_is_fitted(self, "coef_")
        return cast("Self", calibrated(self, X, y, sample_weight))

    def save(self, path: str | FilePath) -> None:
        """Write the model to one file: arrays as npz, all else as JSON within, nothing pickled."""
        from pianobench.algorithms.estimators.saving import save

        check_is_fitted(self, "coef_")
        save(self, path)

    @classmethod
    def load(cls, path: str | FilePath) -> Self:
        """The model that `save` wrote. Nothing in the file is ever executed."""
        from pianobench.algorithms.estimators.saving import load

        return cast("Self", load(cls, path))

    def to_sklearn(self) -> Any:
        """scikit-learn's `LogisticRegression` with these weights, the same probabilities and the same objective."""
        from pianobench.algorithms.estimators.export import to_sklearn

        check_is_fitted(self, "coef_")
        return to_sklearn(self)
