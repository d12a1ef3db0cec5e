"""Softmax regression on rows that keep arriving, as scikit-learn's estimators with `partial_fit` are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from pianobench.algorithms.estimators import parameters
from pianobench.algorithms.estimators.minimise import thread_limit
from pianobench.algorithms.estimators.softmax_classifier import SoftmaxClassifier
from pianobench.algorithms.estimators.training import in_kind_of, read
from pianobench.algorithms.stream import Log, Record, StreamState
from pianobench.algorithms.stream.advance import advance
from pianobench.algorithms.stream.contract import RECORD
from pianobench.algorithms.stream.registry import STREAMS, check_penalty, make_stream
from pianobench.problems.labels import encode
from pianobench.problems.penalties import Array

FREE = ("n_threads",)  # parameters that may change while the stream goes on


class StreamingLogisticRegression(SoftmaxClassifier):
    """Multinomial logistic regression on batches of rows: by default SA L-BFGS with the repaired rule.

    Each batch is first scored by the model at hand. Where the method says so, the model is then trained, from where it
    stands, on a sample of the batch and of rows kept from before. The objective is that of
    `MultinomialLogisticRegression` over all rows so far, in the columns as they are: neither centred nor scaled.

    Parameters
    ----------
    method : str
        "sa-lbfgs-repaired", "sa-auto" (the same with the solver of the automatic choice), "sa-lbfgs" (as published),
        "online" (AdaGrad, l2 alone), "subsample-warm", "subsample-cold", "full-warm", "full-cold" or "keep"; see
        `docs/stream.md`.
    lam : float
        Strength beside the sum over all rows so far.
    penalty : {"l2", "l1", "elasticnet"}
    l1_ratio : float
        Share of l1 in an elastic net.
    rows : int
        Of a sample at most.
    kept : int or None
        Rows kept of the batches before the newest, a uniform sample of them; None keeps all, as full-warm and full-cold
        need.
    tol : float
        Certified relative gap of each training, on its sample.
    fit_intercept : bool
    random_state : int, RandomState, Generator or None
        Of the samples; None gives others each time.
    n_threads : int, optional
        Of all parallel work; None: OMP_NUM_THREADS or all cores. The result does not depend on it.

    Attributes
    ----------
    coef_ : array (m, d)
        Of the type of X, also for two classes one row a class.
    intercept_ : array (m,)
        Float64.
    classes_ : array (m,)
        Sorted, in the kind of the labels.
    records_ : dict of str to array
        What came of each batch, an array (batches,) for each field of `Record`.
    last_ : Record
        That of the newest batch.
    n_iter_ : int
        Steps of all trainings.
    n_features_in_ : int
        It grows where a sparse batch is wider than those before, and narrower ones are filled with zeros. Dense batches
        all have the same columns.
    feature_names_in_ : array (d,)
        Where X has names.

    Examples
    --------
    >>> import numpy as np
    >>> from pianobench import StreamingLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> model = StreamingLogisticRegression()
    >>> for sign in (1, 1, -1):
    ...     X = rng.normal(size=(1000, 3))
    ...     y = (sign * X[:, 0] + rng.logistic(size=1000) > 0).astype(int)
    ...     model = model.partial_fit(X, y, classes=[0, 1])
    >>> model.records_["updated"].tolist()
    [1.0, 0.0, 1.0]
    """

    def __init__(
        self,
        method: str = "sa-lbfgs-repaired",
        *,
        lam: float = 1.0,
        penalty: str = "l2",
        l1_ratio: float = 0.5,
        rows: int = 100_000,
        kept: int | None = 100_000,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        random_state: Any = 0,
        n_threads: int | None = None,
    ) -> None:
        self.method = method
        self.lam = lam
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.rows = rows
        self.kept = kept
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Begin anew with X (n, d), y (n,) as the first batch; what was before is forgotten.

        Raises
        ------
        ValueError
            Of a parameter or the input; the message names the value, what is expected and the remedy.
        """
        X, y = read(self, X, y)
        codes, known = encode(y)
        return self._advance(self._begun(known.size), None, X, codes, sample_weight, known, y)

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Take the next batch; where that cannot be done the model stays as it was.

        Parameters
        ----------
        X : array-like or sparse matrix (k, d)
        y : array-like (k,)
            One class alone is no mistake.
        classes : array-like (m,)
            All that will ever come; at the first batch, after which they may be repeated.
        sample_weight : array-like (k,), optional
            2 counts as the row twice.

        Raises
        ------
        ValueError
            Of a parameter or the input, also where a parameter is another than at the first batch.
        """
        if not hasattr(self, "_log"):
            if classes is None:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit: give classes=[...] with all that will "
                    "ever come"
                )
            X, y = read(self, X, y)
            codes, known = encode(y, classes)
            return self._advance(self._begun(known.size), None, X, codes, sample_weight, known, y)
        self._check_same(classes)
        X, y = self._next(X, y)
        codes, _ = encode(y, self.classes_)
        return self._advance(self._log, self._state, X, codes, sample_weight, self.classes_, None)

    def save(self, path: str | Path) -> None:
        """Write the model and all that `partial_fit` goes on from to one file, whole or not at all; nothing pickled."""
        from pianobench.algorithms.estimators.streaming_file import save

        check_is_fitted(self, "coef_")
        save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The model that `save` wrote; its stream goes on as if never stopped. Nothing in the file is executed."""
        from pianobench.algorithms.estimators.streaming_file import load

        return cast("Self", load(cls, Path(path)))

    # a batch ----------------------------------------------------------------------------------------------------------

    def _begun(self, m: int) -> Log:
        """A log without rows; the parameters are checked."""
        parameters.check_stops(self.tol, None, self.n_threads)
        parameters.check_switch("fit_intercept", self.fit_intercept)
        check_count("rows", self.rows)
        if self.kept is not None:
            check_count("kept", self.kept)
        penalty = parameters.make_penalty(self.penalty, parameters.strength(self.lam, None), self.l1_ratio)
        check_penalty(self.method, None if penalty is None else penalty.kind)
        if STREAMS[self.method].whole and self.kept is not None:
            raise ValueError(f"kept={self.kept!r}: {self.method} trains on all rows; give kept=None, which keeps them")
        assert penalty is not None
        seed = seed_of(self.random_state)
        return Log(range(m), penalty, fit_intercept=self.fit_intercept, capacity=self.kept, seed=seed)

    def _next(self, X: Any, y: Any) -> tuple[Any, Any]:
        if not sp.issparse(X):
            X = validate_data(
                self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=False
            )
        else:  # which may be wider
            X = check_array(
                X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, estimator=self
            )
        return X, y

    def _check_same(self, classes: ArrayLike | None) -> None:
        if classes is not None:
            known = encode([], classes)[1]
            if known.tolist() != self.classes_.tolist():
                raise ValueError(
                    f"classes={known.tolist()} is not the same as on last call to partial_fit, was: "
                    f"{self.classes_.tolist()}; give the same, or begin anew with fit"
                )
        for name, was in self._parameters.items():
            now = getattr(self, name)
            if now is not was and now != was:
                raise ValueError(
                    f"{name}={now!r}, and the stream began with {name}={was!r}: set it back, or begin anew with fit"
                )

    def _advance(
        self,
        log: Log,
        state: StreamState | None,
        X: Any,
        codes: NDArray[np.intp],
        sample_weight: ArrayLike | None,
        classes: NDArray[Any],
        y: Any,
    ) -> Self:
        parameters.check_stops(self.tol, None, self.n_threads)
        learner = make_stream(self.method, int(self.rows), self.tol)
        with thread_limit(self.n_threads):
            log, state = advance(learner, log, state, X, codes, sample_weight, seed=log.seed)
        if y is not None:
            self.classes_ = in_kind_of(y, classes)
            self._parameters = {name: value for name, value in self.get_params().items() if name not in FREE}
        self._keep_stream(log, state)
        return self

    def _keep_stream(self, log: Log, state: StreamState) -> None:
        self._log, self._state = log, state
        d = self.n_features_in_ = log.d
        self.coef_ = np.ascontiguousarray(state.W[:d].T)
        m = self.classes_.size
        self.intercept_ = state.W[d].astype(np.float64) if log.fit_intercept else np.zeros(m)
        self.lam_ = float(self.lam)
        self.n_iter_ = int(state.column("steps").sum())

    @property
    def records_(self) -> dict[str, Array]:
        """What came of each batch."""
        check_is_fitted(self, "coef_")
        return {name: self._state.column(name).copy() for name in RECORD}

    @property
    def last_(self) -> Record:
        """What came of the newest batch."""
        check_is_fitted(self, "coef_")
        return self._state.last


def check_count(name: str, value: Any) -> None:
    """Refuse what is no number of rows."""
    if not _is_whole(value) or value < 1:
        raise ValueError(f"{name}={value!r}: a whole number of rows, 1 or more, is expected")


def seed_of(random_state: Any) -> int:
    """A whole number of an int, itself, or of what draws one."""
    rng = parameters.generator(random_state)
    return int(random_state) if _is_whole(random_state) else int(rng.integers(2**63))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
