"""Formats in, formats out, parameters, warnings, and life among scikit-learn's tools."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from threadpoolctl import threadpool_info, threadpool_limits

from pianobench import L2, MultinomialLogisticRegressionCV, Problem
from pianobench import MultinomialLogisticRegression as Model
from pianobench.algorithms import make_solver, solve
from pianobench.algorithms.lbfgs import Lbfgs

X, Y = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


@pytest.fixture(scope="module")
def plain() -> Model:
    return Model().fit(X, Y)


def frozen(A: np.ndarray) -> np.ndarray:
    A = A.copy()
    A.setflags(write=False)
    return A


def on_disk(A: np.ndarray, folder: Path) -> np.ndarray:
    np.save(folder / "A.npy", A)
    return np.load(folder / "A.npy", mmap_mode="r")


def wide(S: Any) -> Any:
    """With 64-bit indices."""
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


DENSE = {
    "fortran": np.asfortranarray(X),
    "read-only": frozen(X),
    "memory-mapped": X,
    "strided": np.repeat(X, 2, axis=0)[::2],
    "list": X.tolist(),
    "pandas": pd.DataFrame(X, columns=NAMES),
}
SPARSE = {
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "csr matrix": sp.csr_matrix,
    "int64 indices": lambda A: wide(sp.csr_array(A)),
}


@pytest.mark.parametrize("form", DENSE)
def test_dense_forms_give_the_same_bits(form: str, plain: Model, tmp_path: Path) -> None:
    given = on_disk(X, tmp_path) if form == "memory-mapped" else DENSE[form]
    model = Model().fit(given, frozen(Y))
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict_proba(given), plain.predict_proba(X))


def test_sparse_forms_give_the_same_bits() -> None:
    first = Model().fit(sp.csr_array(X), Y)
    for make in SPARSE.values():
        np.testing.assert_array_equal(Model().fit(make(X), Y).coef_, first.coef_)
    assert first.objective_ == pytest.approx(Model().fit(X, Y).objective_, rel=2e-6)
    np.testing.assert_allclose(first.predict_proba(sp.csc_array(X)), first.predict_proba(X), rtol=1e-12)


def test_feature_names() -> None:
    model = Model().fit(pd.DataFrame(X, columns=NAMES), Y)
    assert list(model.feature_names_in_) == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=NAMES[::-1]))


def test_polars(plain: Model) -> None:
    frame = polars.DataFrame(X, schema=NAMES)
    words = np.array(["a", "b", "c"])[Y]
    model = Model().fit(frame, polars.Series(words))
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(frame), np.array(["a", "b", "c"])[plain.predict(X)])


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-7, -2, 3], np.int8),
        np.array([1, 2, 3], np.uint64),
        np.array([0.0, 1.0, 5.0]),
        np.array([2**53, 2**53 + 1, 2**53 + 2]),
        np.array(["b", "a", "längst"]),
        np.array(["b", "a", "c"], object),
        np.array([b"b", b"a", b"c"]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_predict_gives_the_caller_s_values_and_type(labels: np.ndarray) -> None:
    model = Model().fit(X, labels[Y])
    found = model.predict(X)
    assert found.dtype == labels.dtype
    assert np.mean(found == labels[Y]) > 0.9
    np.testing.assert_array_equal(model.classes_, np.sort(labels))


def test_two_classes() -> None:
    two = Y < 2
    model = Model().fit(X[two], Y[two] == 1)
    assert model.coef_.shape == (2, 4)
    assert model.intercept_.shape == (2,)
    assert model.predict(X[two]).dtype == bool
    decision, P = model.decision_function(X), model.predict_proba(X)
    assert decision.shape == (150,)
    np.testing.assert_allclose(decision, np.log(P[:, 1] / P[:, 0]), rtol=1e-6)


def test_float32_stays(plain: Model) -> None:
    model = Model().fit(X.astype(np.float32), Y)
    assert model.coef_.dtype == model.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert model.gap_ <= 1e-6
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=2e-3)


def test_the_same_bits_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    big, y = rng.normal(size=(3000, 12)), rng.integers(0, 4, 3000)
    for penalty in ("l2", "l1"):
        one, two = (Model(penalty, n_threads=count).fit(big, y) for count in (1, 2))
        np.testing.assert_array_equal(one.coef_, two.coef_)
        np.testing.assert_array_equal(one.intercept_, two.intercept_)


@dataclass(frozen=True)
class Looking(Lbfgs):
    """L-BFGS that notes how many threads BLAS has where it starts."""

    seen: list[int] = field(default_factory=list)

    def init(self, problem: Any, W0: Any, rng: Any) -> Any:
        self.seen.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return super().init(problem, W0, rng)


def test_blas_has_one_thread_in_a_fit() -> None:
    """NumPy's products would have other bits with another number."""
    looking = Looking()
    Model().fit(X, Y)  # a BLAS that is loaded later would not be limited
    with threadpool_limits(2, user_api="blas"):
        if not any(one["num_threads"] == 2 for one in threadpool_info() if one["user_api"] == "blas"):
            pytest.fail("BLAS did not take two threads: nothing would be tested")
        Model(solver=looking).fit(X, Y)
        Model(solver=looking).path(X, Y, [1.0])
        MultinomialLogisticRegressionCV(solver=looking, lams=[1.0], cv=2).fit(X, Y)
    assert len(looking.seen) >= 5
    assert set(looking.seen) == {1}


def test_scores_have_the_same_bits_for_any_number_of_blas_threads() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3000, 700))
    model = Model(tol=0.5, classes=np.arange(37)).fit(A[:40], np.arange(40) % 37)
    found = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="blas"):
            found.append(model.predict_proba(A))
    np.testing.assert_array_equal(*found)


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "both": ({"lam": 1.0, "C": 1.0}, r"lam=1\.0 and C=1\.0 are both given"),
    "lam": ({"lam": 0.0}, r"lam=0\.0: a finite number above 0 is expected; for no penalty give penalty=None"),
    "C": ({"C": -1}, r"C=-1: a finite number"),
    "penalty": ({"penalty": "L2"}, r"penalty='L2': None, 'l1'"),
    "l1_ratio": ({"penalty": "elasticnet", "l1_ratio": 2}, r"l1_ratio=2: a number from 0"),
    "tol": ({"tol": 0}, r"tol=0: a relative gap"),
    "seconds": ({"max_seconds": -1.0}, r"max_seconds=-1\.0"),
    "warm start": ({"warm_start": "no"}, r"warm_start='no': True or False"),
    "intercept": ({"fit_intercept": "no"}, r"fit_intercept='no': True or False"),
    "threads": ({"n_threads": 0}, r"n_threads=0: a whole number"),
    "solver": ({"solver": "lbgfs"}, r"did you mean 'lbfgs'"),
    "no solver": ({"solver": 3}, r"solver=3: 'auto', a key"),
    "wrong solver": ({"penalty": "l1", "solver": "lbfgs"}, r"L-BFGS takes l2 or no penalty, not l1"),
    "class_weight": ({"class_weight": {7: 1.0}}, r"class_weight holds 7, which is not among the classes \[0, 1, 2\]"),
    "negative class weight": ({"class_weight": {1: -1.0}}, r"is -1\.0 for class 1"),
    "class_weight's kind": ({"class_weight": "even"}, r"class_weight='even'"),
    "no weight left": ({"class_weight": {0: 0, 1: 0, 2: 0}}, r"once class_weight acts"),
    "classes": ({"classes": [0, 1]}, r"y holds 2, which is not among the 2 classes given"),
    "random_state": ({"random_state": "x"}, r"random_state='x'"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(case: str) -> None:
    parameters, message = MISTAKES[case]
    with pytest.raises(ValueError, match=message):
        Model(**parameters).fit(X, Y)


def test_the_strength_is_lam_or_its_inverse(plain: Model) -> None:
    np.testing.assert_array_equal(Model(lam=1.0).fit(X, Y).coef_, plain.coef_)
    np.testing.assert_array_equal(Model(lam=4.0).fit(X, Y).coef_, Model(C=0.25).fit(X, Y).coef_)
    for ratio, kind in ((0.0, "l2"), (1.0, "l1")):
        mixed = Model("elasticnet", l1_ratio=ratio).fit(X, Y)
        np.testing.assert_array_equal(mixed.coef_, Model(kind).fit(X, Y).coef_)


def test_l0_ends_stationary_without_a_warning() -> None:
    model = Model("l0", lam=5.0, tol=1e-4).fit(X, Y)
    assert model.status_ == "stationary"
    assert 0 < np.count_nonzero(model.coef_) < 12
    assert model.gap_ == 1.0  # nothing is known of the minimum


def test_the_warning_carries_the_gap() -> None:
    with pytest.warns(ConvergenceWarning, match=r"ended as timeout: .* gap is [\d.e-]+; raise max_seconds") as caught:
        model = Model(tol=1e-12, solver="gd", max_seconds=1e-3).fit(X, Y)
    assert len(caught) == 1
    assert Path(caught[0].filename) == Path(__file__)
    assert f"{model.gap_:.2g}" in str(caught[0].message)
    assert model.status_ == "timeout"


def test_warm_start() -> None:
    model = Model(warm_start=True, tol=1e-8).fit(X, Y)
    steps = model.n_iter_
    model.fit(X, Y)
    assert model.n_iter_ < steps
    model.fit(X[:100], Y[:100])  # other classes: from 0
    assert model.coef_.shape == (2, 4)


def test_certified_history(plain: Model) -> None:
    history = pd.DataFrame(plain.history_)
    assert history.gap.iloc[-1] == plain.gap_
    assert history.objective.iloc[-1] == plain.objective_
    assert plain.lower_bound_ <= plain.objective_


def test_few_checkpoints_of_a_fit() -> None:
    """What a fit costs beyond the solver's steps is counted, since timings are not reliable: it is judged rarely."""
    problem = Problem(X, Y, penalty=L2(1.0), conditioning="centre+scale")
    every, few = (solve(make_solver("lbfgs"), problem, few=few) for few in (False, True))
    assert len(few.checkpoints) <= len(every.checkpoints) / 2
    assert few.steps <= 1.2 * every.steps
    assert few.status == "converged"


def test_a_file_of_pickles_and_a_clone(plain: Model) -> None:
    again = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(again.predict_proba(X), plain.predict_proba(X))
    assert not hasattr(clone(plain), "coef_")


def test_pipeline_search_and_calibration() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(make_pipeline(MaxAbsScaler(), Model()), {"multinomiallogisticregression__C": [1.0, 10.0]})
        assert search.fit(X, Y).best_score_ > 0.9
        P = CalibratedClassifierCV(Model(), cv=3).fit(X, Y).predict_proba(X)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        two = CalibratedClassifierCV(Model(), cv=3).fit(X[:100], Y[:100])
        assert two.score(X[:100], Y[:100]) == 1.0


def test_calibration_is_one_factor() -> None:
    """Rows drawn from a model whose weights are three times larger want the factor 3."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20_000, 3))
    model = Model("l1").fit(A[:500], (A[:500] + rng.gumbel(size=(500, 3))).argmax(axis=1))
    model.coef_[0, 1] = 0.0
    Z = 3.0 * (A @ model.coef_.T + model.intercept_)
    y = (Z + rng.gumbel(size=Z.shape)).argmax(axis=1)
    calibrated = model.calibrate(A, y)
    np.testing.assert_allclose(calibrated.coef_, 3.0 * model.coef_, rtol=0.03)
    np.testing.assert_allclose(calibrated.intercept_, 3.0 * model.intercept_, rtol=0.03)
    np.testing.assert_array_equal(calibrated.predict(A), model.predict(A))
    assert (calibrated.status_, calibrated.coef_[0, 1], model.status_) == ("calibrated", 0.0, "converged")
    assert np.isnan(calibrated.gap_)


def test_metadata_routing() -> None:
    a = np.where(Y == 0, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = Model(classes=[0, 1, 2]).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_validate(
            make_pipeline(MaxAbsScaler(), routed), X, Y, params={"sample_weight": a}, cv=3, return_estimator=True
        )
    for pipe in found["estimator"]:
        assert np.all(pipe.predict_proba(X)[:, 0] == 0.0)  # the class had no weight


def test_memory_is_a_few_arrays_of_scores() -> None:
    """Besides X, in arrays of n m numbers: so a fit of n m = 1e8 takes a few GB, and a prediction next to nothing."""
    rng = np.random.default_rng(0)
    n, m = 40_000, 50
    big, y = rng.normal(size=(n, 5)), rng.integers(0, m, n)
    model = Model(solver="lbfgs", tol=1e-2).fit(big[:200], np.arange(200) % m)
    peak = {}
    for name, call in {"fit": lambda: model.fit(big, y), "predict": lambda: model.predict(big)}.items():
        tracemalloc.start()
        call()
        peak[name] = tracemalloc.get_traced_memory()[1] / (8.0 * n * m)
        tracemalloc.stop()
    assert peak["predict"] < 0.5  # blocks of 2^18 scores
    assert peak["fit"] < 3.0
