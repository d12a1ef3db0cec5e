"""Paths of strengths and the choice of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_wine
from sklearn.model_selection import GroupKFold, StratifiedKFold

from pianobench import MultinomialLogisticRegression, MultinomialLogisticRegressionCV
from pianobench.algorithms.estimators.cross_validation import chosen

X, Y = load_wine(return_X_y=True)


@pytest.mark.parametrize("penalty", ["l1", "l2", "elasticnet"])
def test_a_path_is_its_fits(penalty: str) -> None:
    model = MultinomialLogisticRegression(penalty)
    path = model.path(X, Y, 4)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "n_features_in_")
    assert np.all(path.gap <= 1e-6)
    assert np.all(np.diff(path.lams) < 0)
    if penalty != "l2":
        assert path.nnz[0] == 0
        assert path.nnz[-1] > 0
    alone = MultinomialLogisticRegression(penalty, lam=float(path.lams[2])).fit(X, Y)
    assert path.fits[2].objective == pytest.approx(alone.objective_, rel=2e-6)
    again = path.model(2)
    assert (again.lam_, again.n_features_in_, again.status_) == (path.lams[2], 13, "converged")
    np.testing.assert_array_equal(again.coef_, path.coef[2])


def test_a_path_of_l0() -> None:
    path = MultinomialLogisticRegression("l0", tol=1e-3, solver="piano-accelerated").path(X, Y, [30.0, 1.0])
    assert set(path.status) == {"stationary"}
    assert 0 < path.nnz[0] <= path.nnz[-1]  # the stronger, the fewer; from 0 none would enter at the stronger


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_the_strengths_follow_the_units(size: float) -> None:
    one, other = (MultinomialLogisticRegression("l2").path(A, Y, 2, least=0.5).lams for A in (X, size * X))
    np.testing.assert_allclose(other, size**2 * one, rtol=1e-10)


def test_strengths_are_sorted_and_said_once() -> None:
    path = MultinomialLogisticRegression().path(X, Y, [1.0, 100.0, 1.0, 10.0])
    np.testing.assert_array_equal(path.lams, [100.0, 10.0, 1.0])
    assert path.fits[0].n_iter > 0


@pytest.mark.parametrize(
    ("penalty", "lams", "message"),
    [
        (None, 5, "penalty=None has no strength"),
        ("l1", 1, "lams=1"),
        ("l1", [-1.0], r"lam=-1\.0: a finite number above 0"),
        ("l1", [], "lams is empty"),
        ("l1", "few", r"lams='few', .*the strengths are expected, or how many"),
        ("l1", None, "lams=None"),
        ("l1", 2.5, r"lams=2\.5"),
        ("l1", ["1"], "lam='1'"),
    ],
)
def test_mistakes(penalty: str | None, lams: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MultinomialLogisticRegression(penalty).path(X, Y, lams)


def test_the_one_standard_error_rule() -> None:
    mean, error = np.array([-3.0, -1.2, -1.0, -1.1]), np.array([0.1, 0.1, 0.25, 0.1])
    assert chosen(mean, error, "best") == 2
    assert chosen(mean, error, "one-standard-error") == 1
    assert chosen(mean, 0 * error, "one-standard-error") == 2


def test_cross_validation_is_what_its_parts_are() -> None:
    """Scores against fits made one by one, without a path; the model against a fit at the strength chosen."""
    lams, cv = [300.0, 30.0, 3.0], StratifiedKFold(3)
    a = np.where(np.arange(len(Y)) % 2, 1.0, 2.0)
    model = MultinomialLogisticRegressionCV("l1", lams=lams, cv=cv).fit(X, Y, a)
    for fold, (train, test) in enumerate(cv.split(X, Y)):
        for number, lam in enumerate(lams):
            alone = MultinomialLogisticRegression("l1", lam=lam).fit(X[train], Y[train], a[train])
            logs = alone.predict_log_proba(X[test])[np.arange(test.size), Y[test]]
            assert model.scores_[fold, number] == pytest.approx(np.average(logs, weights=a[test]), abs=3e-3)
    assert model.lam_ == lams[chosen(model.scores_.mean(0), model.scores_.std(0, ddof=1) / 3**0.5, model.rule)]
    alone = MultinomialLogisticRegression("l1", lam=model.lam_).fit(X, Y, a)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=3e-3)


def test_a_class_of_one_sample_may_be_held_out() -> None:
    y = Y.astype(str)
    y[0] = "rare"
    folds = [(np.arange(1, 178, 2), np.arange(0, 178, 2)), (np.arange(0, 178, 2), np.arange(1, 178, 2))]
    model = MultinomialLogisticRegressionCV(lams=[100.0, 1.0], cv=folds).fit(X, y)
    assert list(model.classes_) == ["0", "1", "2", "rare"]
    assert np.isfinite(model.scores_).all()


def test_scorers_groups_and_routing() -> None:
    a, groups = np.ones(len(Y)), np.arange(len(Y)) % 4
    named = MultinomialLogisticRegressionCV(lams=[100.0, 1.0], cv=3, scoring="balanced_accuracy", rule="best")
    assert named.fit(X, Y).scores_.max() > 0.9
    grouped = MultinomialLogisticRegressionCV(lams=[100.0, 1.0], cv=GroupKFold(4))
    assert grouped.fit(X, Y, groups=groups).scores_.shape == (4, 2)
    with pytest.raises(TypeError, match=r"fit got colour: only groups .*enable_metadata_routing"):
        grouped.fit(X, Y, colour=a)
    with sklearn.config_context(enable_metadata_routing=True):
        grouped.set_fit_request(sample_weight=True)
        np.testing.assert_array_equal(grouped.fit(X, Y, sample_weight=a, groups=groups).scores_.shape, (4, 2))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"penalty": None}, "no strength to choose"), ({"rule": "worst"}, "rule='worst': one of 'one-standard-error'")],
)
def test_mistakes_of_the_choice(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MultinomialLogisticRegressionCV(**parameters).fit(X, Y)
