"""Hard input ends at its right value, or in a ValueError that says what to do.

Right values are of an independent minimiser in plain columns: how X was shifted and scaled is known here, so it is
undone by hand, and the penalty's strengths are changed as that asks for.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from pianobench import MultinomialLogisticRegression as Model

N, D, M = 150, 4, 3


def draw(noise: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose classes overlap; without noise they are separable."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return X, (X @ rng.normal(size=(D, M)) + noise * rng.gumbel(size=(N, M))).argmax(1)


def optimum(X: np.ndarray, y: np.ndarray, a: np.ndarray, l2: Any, l1: Any) -> tuple[float, np.ndarray]:
    """F* and the probabilities, by L-BFGS-B on split weights; strengths a column each."""
    n, d = X.shape
    m = int(y.max()) + 1
    l1, l2 = np.broadcast_to(l1, d)[:, None], np.broadcast_to(l2, d)[:, None]
    T = 1.0 / np.hypot(1.0, np.sqrt(l2 / n))  # of size 1 in every direction, or L-BFGS-B does not end

    def parts(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        U, V = v[: 2 * d * m].reshape(2, d, m) * T
        return U, V, v[2 * d * m :]

    def F(v: np.ndarray) -> tuple[float, np.ndarray]:
        U, V, b = parts(v)
        Z = X @ (U - V) + b
        Z -= Z.max(1, keepdims=True)
        E = np.exp(Z)
        loss = a @ (np.log(E.sum(1)) - Z[np.arange(n), y])
        R = (E / E.sum(1, keepdims=True) - np.eye(m)[y]) * a[:, None]
        G = X.T @ R + l2 * (U - V)
        value = loss + float((l2 / 2 * (U - V) ** 2).sum() + (l1 * (U + V)).sum())
        return value, np.concatenate([(T * (G + l1)).ravel(), (T * (l1 - G)).ravel(), R.sum(0)])

    bounds = [(0.0, None)] * (2 * d * m) + [(None, None)] * m
    found = scipy.optimize.minimize(
        F, np.zeros(2 * d * m + m), jac=True, bounds=bounds, options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9}
    )
    U, V, b = parts(found.x)
    Z = X @ (U - V) + b
    P = np.exp(Z - Z.max(1, keepdims=True))
    return float(found.fun), P / P.sum(1, keepdims=True)


SCALES = 10.0 ** np.array([-6.0, -2.0, 2.0, 6.0])
HARD: dict[str, tuple[float, Any]] = {  # shift, scale
    "plain": (0.0, 1.0),
    "shift 1e4": (1e4, 1.0),
    "shift 1e6": (1e6, 1.0),
    "columns 1e-6 to 1e6": (0.0, SCALES),
    "1e-8": (0.0, 1e-8),
    "1e8": (0.0, 1e8),
    "1e100": (0.0, 1e100),
}
BEYOND_FLOAT32 = ("1e100",)
PENALTIES = {"none": None, "l2": "l2", "l1": "l1", "elasticnet": "elasticnet"}


@pytest.mark.parametrize("kind", PENALTIES)
@pytest.mark.parametrize(
    ("case", "dtype"),
    [(case, np.float64) for case in HARD] + [(case, np.float32) for case in HARD if case not in BEYOND_FLOAT32],
)
def test_shifts_and_scales(case: str, kind: str, dtype: Any) -> None:
    X, y = draw()
    shift, scale = HARD[case]
    given = ((X + shift) * scale).astype(dtype)
    X = given.astype(np.float64) / scale - shift  # what is left after rounding
    l1, l2 = {"none": (0.0, 0.0), "l2": (0.0, 1.0), "l1": (1.0, 0.0), "elasticnet": (0.5, 0.5)}[kind]
    F, P = optimum(X, y, np.ones(N), l2 / np.square(scale), l1 / scale)
    model = Model(PENALTIES[kind]).fit(given, y)
    assert model.status_ == "converged"
    assert model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(F, rel=2e-6)
    assert model.coef_.dtype == dtype
    found = model.predict_proba(given)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, P, atol=4e-3)


def test_constant_and_zero_columns_change_nothing() -> None:
    X, y = draw()
    plain = Model().fit(X, y)
    model = Model().fit(np.column_stack([X, np.zeros(N), np.full(N, 1e6), np.full(N, 0.1)]), y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    assert np.all(model.coef_[:, D:] == 0.0)
    sparse = Model().fit(sp.csr_array(np.column_stack([X, np.zeros(N)])), y)
    assert np.all(sparse.coef_[:, D:] == 0.0)


@pytest.mark.parametrize("kind", ["l2", "l1"])
def test_separable_data_with_a_penalty(kind: str) -> None:
    X, y = draw(noise=0.0)
    model = Model(kind).fit(X, y)
    l1, l2 = (0.0, 1.0) if kind == "l2" else (1.0, 0.0)
    assert model.objective_ == pytest.approx(optimum(X, y, np.ones(N), l2, l1)[0], rel=2e-6)


def test_separable_data_without_a_penalty_have_no_minimiser() -> None:
    X, y = draw(noise=0.0)
    with pytest.warns(ConvergenceWarning, match=r"separable.*gap is [01]; give a penalty") as caught:
        model = Model(None, max_seconds=20.0).fit(X, y)
    assert len(caught) == 1
    assert model.status_ == "no-minimiser"
    assert model.score(X, y) == 1.0
    assert np.isfinite(model.coef_).all()


def test_weights() -> None:
    X, y = draw()
    twice = np.tile([1.0, 2.0, 0.0], N // 3)
    model = Model(tol=1e-10).fit(X, y, twice)
    rows = np.repeat(np.arange(N), twice.astype(int))
    again = Model(tol=1e-10).fit(X[rows], y[rows])
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-6)
    assert model.objective_ == pytest.approx(again.objective_, rel=1e-10)
    np.testing.assert_allclose(
        Model(tol=1e-10, class_weight="balanced").fit(X, y, twice).coef_,
        Model(tol=1e-10, class_weight="balanced").fit(X[rows], y[rows]).coef_,
        atol=1e-6,
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e30, 1e200, 1e300])
def test_huge_and_tiny_weights(size: float, dtype: Any) -> None:
    """Weights and strength times one number: the same minimiser, F times that number."""
    X, y = draw()
    plain = Model(tol=1e-8).fit(X.astype(dtype), y)
    model = Model(tol=1e-8, lam=size).fit(X.astype(dtype), y, np.full(N, size))
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-4)
    assert model.objective_ / size == pytest.approx(plain.objective_, rel=1e-6)
    assert model.gap_ <= 1e-8


def test_weights_that_overflow_with_those_of_classes_are_refused() -> None:
    X, y = draw()
    with pytest.raises(ValueError, match="sample_weight times class_weight overflows: divide one of them"):
        Model(class_weight={0: 1e300}).fit(X, y, np.full(N, 1e300))


def test_a_trace_of_l1_is_fitted_in_silence() -> None:
    X, y = draw()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Model("elasticnet", l1_ratio=1e-320).fit(X, y)
    assert model.objective_ == pytest.approx(Model("l2").fit(X, y).objective_, rel=2e-6)


def test_one_huge_weight_rules() -> None:
    X, y = draw()
    a = np.ones(N)
    a[7] = 1e12
    model = Model().fit(X, y, a)
    assert model.status_ == "converged"
    assert model.predict_proba(X[7:8])[0, y[7]] > 1 - 1e-9


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "negative": ({"sample_weight": np.where(np.arange(N) == 3, -1.0, 1.0)}, r"is -1\.0 at row 3: a finite number >= 0"),
    "all zero": ({"sample_weight": np.zeros(N)}, "zero in all rows: nothing is left to fit"),
    "nan weight": ({"sample_weight": np.full(N, np.nan)}, "is nan at row 0"),
    "nan": ({"X": np.nan}, r"X holds nan at row 5, column 1: fill missing values"),
    "inf": ({"X": np.inf}, r"X holds inf at row 5, column 1: .*bound infinite ones"),
    "one class": ({"y": np.zeros(N, int)}, r"one class 0; at least 2 classes are needed: give classes="),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    X, y = draw()
    given, message = REFUSED[case]
    X[5, 1] = given.get("X", X[5, 1])
    with pytest.raises(ValueError, match=message):
        Model().fit(X, given.get("y", y), given.get("sample_weight"))


@pytest.mark.parametrize("penalty", [None, "l2", "l1"])
def test_one_class_of_those_given_is_certain(penalty: str | None) -> None:
    X, _ = draw()
    model = Model(penalty, classes=["a", "b", "c"]).fit(X, np.full(N, "b"))
    assert model.objective_ == model.gap_ == 0.0
    np.testing.assert_array_equal(model.predict_proba(1e6 * X), np.tile([0.0, 1.0, 0.0], (N, 1)))


def test_an_absent_class_has_no_chance_and_changes_nothing() -> None:
    X, y = draw()
    model, plain = Model(classes=[0, 1, 2, 9]).fit(X, y), Model().fit(X, y)
    np.testing.assert_array_equal(model.coef_, np.vstack([plain.coef_, np.zeros(D)]))
    assert np.all(model.predict_proba(X)[:, 3] == 0.0)
    assert np.isfinite(model.predict_log_proba(X)).all()
    without = Model(classes=[0, 1, 2, 9], fit_intercept=False).fit(X, y)  # there it has weights like all others
    assert np.abs(without.coef_[3]).max() > 0.01


def test_a_class_of_one_sample() -> None:
    X, y = draw()
    y[0] = 3
    F, P = optimum(X, y, np.ones(N), 1.0, 0.0)
    model = Model().fit(X, y)
    assert model.objective_ == pytest.approx(F, rel=2e-6)
    np.testing.assert_allclose(model.predict_proba(X), P, atol=2e-3)


def test_duplicated_rows_are_a_weight() -> None:
    X, y = draw()
    model = Model(tol=1e-10).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    np.testing.assert_allclose(model.coef_, Model(tol=1e-10, lam=1 / 3).fit(X, y).coef_, atol=1e-6)


def test_small_shapes() -> None:
    X, y = draw()
    assert Model(classes=[0, 1]).fit(X[:1], [1]).predict(X[:1]) == [1]  # one sample
    one = Model().fit(X[:, :1], y)  # one column
    assert one.objective_ == pytest.approx(optimum(X[:, :1], y, np.ones(N), 1.0, 0.0)[0], rel=2e-6)
    many = Model().fit(X[:5], np.arange(5))  # a class a row
    assert many.objective_ == pytest.approx(optimum(X[:5], np.arange(5), np.ones(5), 1.0, 0.0)[0], rel=2e-6)
    more = Model(classes=np.arange(40)).fit(X[:5], np.arange(5))  # and classes without a row
    assert more.coef_.shape == (40, D)
    np.testing.assert_array_equal(more.predict(X[:5]), many.predict(X[:5]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_beyond_the_range_of_exp(dtype: Any) -> None:
    X, y = draw(noise=0.0)
    model = Model(lam=1e-7).fit(X.astype(dtype), y)
    Z = 1e3 * X.astype(dtype)
    assert np.abs(model.decision_function(Z)).max() > 700
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        P, logs = model.predict_proba(Z), model.predict_log_proba(Z)
    assert np.isfinite(P).all()
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_array_equal(P.argmax(axis=1), model.predict(Z))
