"""The strength chosen by cross-validation over a path, with the one-standard-error rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from pianobench.algorithms.estimators import parameters
from pianobench.algorithms.estimators.classifier import MultinomialLogisticRegression
from pianobench.algorithms.estimators.minimise import thread_limit
from pianobench.algorithms.estimators.path import Path, along, grid
from pianobench.algorithms.estimators.softmax_classifier import SoftmaxClassifier
from pianobench.algorithms.estimators.training import read, training
from pianobench.problems.labels import encode
from pianobench.problems.penalties import Array

RULES = ("one-standard-error", "best")
FLOOR = float(np.log(np.finfo(np.float64).eps))  # of a held-out log probability, as scikit-learn's log_loss has it


class MultinomialLogisticRegressionCV(SoftmaxClassifier):
    """Multinomial logistic regression whose strength is chosen by cross-validation.

    Each fold walks the path from the strongest penalty down (l0: from the weakest up), each fit started from the one
    before; the last model is fitted to all rows along the same path.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet", "l0"}
    lams : int or array-like
        How many strengths, or which; see `MultinomialLogisticRegression.path`.
    l1_ratio : float
    cv : int, splitter or iterable, optional
        As scikit-learn has it: None for five stratified folds.
    scoring : str, callable or None
        A scorer, the larger the better; None for minus the mean held-out log loss.
    rule : {"one-standard-error", "best"}
        The strongest penalty whose mean score is within one standard error of the best, or the best.
    tol, solver, fit_intercept, class_weight, classes, max_seconds, n_threads, random_state
        As in `MultinomialLogisticRegression`; `max_seconds` is for each fit.

    Attributes
    ----------
    lam_ : float
        The strength chosen.
    lams_ : array (k,)
        The strengths, the largest first.
    scores_ : array (folds, k)
    mean_score_, standard_error_ : array (k,)
        Over the folds.
    coef_, intercept_, classes_, objective_, lower_bound_, gap_, status_, reason_, n_iter_, history_, n_features_in_, \
feature_names_in_
        As in `MultinomialLogisticRegression`, of the model fitted to all rows.
    """

    lams_: Array
    scores_: Array

    def __init__(
        self,
        penalty: str = "l2",
        *,
        lams: ArrayLike | int = 20,
        l1_ratio: float = 0.5,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "one-standard-error",
        tol: float = 1e-6,
        solver: Any = "auto",
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        classes: ArrayLike | None = None,
        max_seconds: float | None = None,
        n_threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.penalty = penalty
        self.lams = lams
        self.l1_ratio = l1_ratio
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.tol = tol
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.classes = classes
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Choose the strength on folds of X (n, d) and y (n,), and fit to all rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `MultinomialLogisticRegression.fit`. The held-out log loss is weighted too.
        params : dict
            Metadata for the splitter and the scorer, where scikit-learn's routing is on; else ``groups`` for the
            splitter.
        """
        self._check()
        routed = self._routed(sample_weight, params)
        with thread_limit(self.n_threads):
            own = self._plain()
            X, labels = read(self, X, y)
            weights = None if sample_weight is None else np.asarray(sample_weight)
            data = training(X, labels, sample_weight=weights, **self._settings(self.classes))
            y = data.classes[encode(labels, self.classes)[0]]
            lams = grid(data, self.penalty, self.l1_ratio, self.lams, None)
            folds = list(check_cv(self.cv, y, classifier=True).split(X, y, **routed["split"]))
            scores = np.empty((len(folds), lams.size))
            unconverged = 0
            for fold, (train, test) in enumerate(folds):
                part = training(
                    X[train],
                    y[train],
                    sample_weight=None if weights is None else weights[train],
                    **self._settings(data.classes),
                )
                path = Path(lams, along(own, part, lams), data.classes, own.set_params(classes=None))
                unconverged += sum(status not in ("converged", "stationary") for status in path.status)
                for number in range(lams.size):
                    model = path.model(number)
                    model.n_features_in_ = X.shape[1]
                    held_out = X[test], y[test], None if weights is None else weights[test]
                    scores[fold, number] = self._score(model, *held_out, _rows(routed["score"], test))
            self.lams_, self.scores_ = lams, scores
            self.chosen_ = chosen(self.mean_score_, self.standard_error_, self.rule)
            self.unconverged_ = unconverged
            wanted = slice(self.chosen_, None) if self.penalty == "l0" else slice(self.chosen_ + 1)  # what leads there
            fitted = along(own, data, lams[wanted])[0 if self.penalty == "l0" else -1]
        fitted.warn()
        self.lam_ = float(lams[self.chosen_])
        return self._keep(fitted, data.classes)

    @property
    def mean_score_(self) -> Array:
        """(k,) mean of the folds' scores."""
        return np.asarray(self.scores_.mean(axis=0))

    @property
    def standard_error_(self) -> Array:
        """(k,) standard error of that mean; 0 for a single fold."""
        folds = self.scores_.shape[0]
        return np.asarray(self.scores_.std(axis=0, ddof=1) / np.sqrt(folds) if folds > 1 else 0.0 * self.scores_[0])

    def get_metadata_routing(self) -> Any:
        """What the splitter and the scorer ask for."""
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
        if self.scoring is not None:
            mapping = MethodMapping().add(caller="fit", callee="score")
            router.add(scorer=get_scorer(self.scoring), method_mapping=mapping)
        return router

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        from sklearn import get_config

        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            score = dict(routed.scorer.score) if self.scoring is not None else {}
            return {"split": dict(routed.splitter.split), "score": score}
        strange = set(params) - {"groups"}
        if strange:
            raise TypeError(
                f"fit got {', '.join(sorted(strange))}: only groups can be given unless "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        score = {}
        if self.scoring is not None and sample_weight is not None:
            score = {"sample_weight": sample_weight}
        return {"split": dict(params), "score": score}

    def _score(self, model: Any, X: Any, y: Any, weights: Any, score: dict[str, Any]) -> float:
        if self.scoring is not None:
            return float(get_scorer(self.scoring)(model, X, y, **score))
        place = {label: number for number, label in enumerate(model.classes_.tolist())}
        codes = [place[label] for label in np.asarray(y).tolist()]
        logs = np.maximum(model.predict_log_proba(X)[np.arange(len(codes)), codes], FLOOR)
        if weights is not None and not np.any(weights):
            return 0.0  # nothing is held out, whatever the strength
        return float(np.average(logs, weights=weights))

    def _plain(self) -> MultinomialLogisticRegression:
        """The estimator of one strength."""
        names = set(self.get_params(deep=False)) & set(MultinomialLogisticRegression().get_params())
        return MultinomialLogisticRegression(**{name: getattr(self, name) for name in names})

    def _settings(self, classes: Any) -> dict[str, Any]:
        return {"class_weight": self.class_weight, "classes": classes, "fit_intercept": self.fit_intercept}

    def _check(self) -> None:
        parameters.check_stops(self.tol, self.max_seconds, self.n_threads)
        parameters.check_switch("fit_intercept", self.fit_intercept)
        parameters.check_kind(self.penalty)
        if self.penalty is None:
            raise ValueError("penalty=None has no strength to choose: use MultinomialLogisticRegression(penalty=None)")
        if self.rule not in RULES:
            raise ValueError(f"rule={self.rule!r}: one of {', '.join(map(repr, RULES))} is expected")


def chosen(mean: Array, error: Array, rule: str) -> int:
    """Number of the strength chosen, of strengths that fall: the best, or the first within its standard error."""
    best = int(np.argmax(mean))
    if rule == "best":
        return best
    return int(np.argmax(mean >= mean[best] - error[best]))


def _rows(params: dict[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    """Metadata of some rows."""
    return {name: value if value is None else _safe_indexing(value, rows) for name, value in params.items()}
