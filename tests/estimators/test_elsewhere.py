"""Models in files and in other libraries: the same numbers there, and the same objective."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from pianobench import L1, L2, ElasticNet, MultinomialLogisticRegressionCV, Problem, certificate, make_solver
from pianobench import MultinomialLogisticRegression as Model
from pianobench.algorithms.estimators import LIBRARIES, lam_of, strength_for
from pianobench.algorithms.peers import PEERS
from pianobench.algorithms.peers.contract import halves

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    ("parameters", "labels"),
    [
        ({}, np.array([3, 1, 2])),
        ({"class_weight": {"b": 2.0}, "classes": ["a", "b", "c", "d"]}, np.array(["b", "a", "c"], object)),
        ({"penalty": "l1", "solver": make_solver("fista"), "tol": 1e-3}, np.array([b"b", b"a", b"c"])),
        ({"C": 2.0, "random_state": np.int64(3)}, np.array([2**53, 2**53 + 1, 0])),
    ],
)
def test_a_file_gives_the_model_back(parameters: dict[str, Any], labels: np.ndarray, tmp_path: Path) -> None:
    model = Model(**parameters).fit(X, labels[Y])
    model.save(tmp_path / "model.npz")
    again = Model.load(tmp_path / "model.npz")
    assert repr(again.get_params()) == repr({**model.get_params(), "random_state": again.random_state})
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.predict(X).dtype == model.predict(X).dtype
    assert vars(again).keys() == vars(model).keys()
    assert (again.gap_, again.status_, again.lam_) == (model.gap_, model.status_, model.lam_)
    np.testing.assert_array_equal(again.history_["gap"], model.history_["gap"])
    with np.load(tmp_path / "model.npz", allow_pickle=False) as saved:  # which refuses objects
        assert set(saved.files) >= {"model.json", "coef_", "intercept_"}
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_a_chosen_model_is_kept_with_its_choice(tmp_path: Path) -> None:
    model = MultinomialLogisticRegressionCV(lams=[10.0, 1.0], cv=2).fit(X, Y)
    model.save(tmp_path / "cv.npz")
    again = MultinomialLogisticRegressionCV.load(tmp_path / "cv.npz")
    np.testing.assert_array_equal(again.mean_score_, model.mean_score_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match=r"holds a MultinomialLogisticRegressionCV: load it with"):
        Model.load(tmp_path / "cv.npz")


def rewritten(path: Path, **changes: Any) -> None:
    """The file with other entries in its head."""
    with np.load(path) as saved:
        arrays = {name: saved[name] for name in saved.files}
    head = json.loads(arrays["model.json"].tobytes()) | changes
    np.savez(path, **{**arrays, "model.json": np.frombuffer(json.dumps(head).encode(), np.uint8)})  # type: ignore[arg-type]


def test_files_that_are_no_models(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    with pytest.raises(FileNotFoundError):
        Model.load(path)
    Model().fit(X, Y).save(path)
    rewritten(path, version=99)
    with pytest.raises(ValueError, match="has format 99, and this pianobench reads up to 1"):
        Model.load(path)
    rewritten(path, version=1, classes={"array": [0, 1], "dtype": "<i8"})
    with pytest.raises(ValueError, match=r"is damaged \(coef_ has shape \(3, 4\) for 2 classes"):
        Model.load(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="is not a model that `save` wrote"):
        Model.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "")
    with pytest.raises(ValueError, match="is not a model that `save` wrote"):
        Model.load(path)


def test_what_cannot_be_kept(tmp_path: Path) -> None:
    model = Model(random_state=np.random.default_rng(0)).fit(X, Y)
    with pytest.raises(ValueError, match=r"random_state=Generator.* cannot be written to a file"):
        model.save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rows", [slice(None), slice(100)], ids=["three classes", "two classes"])
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet", None])
def test_a_model_of_scikit_learn(penalty: str | None, rows: slice) -> None:
    """The same probabilities; and fitted anew under the parameters it got, its objective is ours at its minimum."""
    A, y = X[rows], Y[rows]
    if penalty is None:  # else separable
        rng = np.random.default_rng(0)
        A, y = rng.normal(size=(90, 3)), rng.integers(0, 3 if rows.stop is None else 2, 90)
    model = Model(penalty, lam=3.0, tol=1e-9).fit(A, y)
    exported = model.to_sklearn()
    assert isinstance(exported, LogisticRegression)
    np.testing.assert_allclose(exported.predict_proba(A), model.predict_proba(A), rtol=1e-9)
    np.testing.assert_array_equal(exported.predict(A), model.predict(A))
    refitted = exported.set_params(max_iter=20000, tol=1e-10).fit(A, y)
    np.testing.assert_allclose(refitted.predict_proba(A), model.predict_proba(A), atol=1e-4)


def test_l0_is_not_exported() -> None:
    model = Model("l0", lam=5.0, tol=1e-3).fit(X, Y)
    with pytest.raises(ValueError, match="penalty='l0' is none of scikit-learn's"):
        model.to_sklearn()


def written(loss: str, s: float, n: int, m: int) -> tuple[float, float]:
    """What a library minimises, from its documentation: the factors of the summed loss and of R at strength s."""
    return {"C": (s, 1.0), "mean": (1.0 / n, s), "mean over classes": (1.0 / (n * m), s), "sum": (1.0, s)}[loss]


@pytest.mark.parametrize("m", [2, 5])
@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_objectives_are_proportional(library: str, ratio: float, m: int) -> None:
    rng = np.random.default_rng(0)
    n, lam, loss = 30, 0.7, 12.3
    W = rng.normal(size=(m, 4))
    if m == 2:
        W -= W.mean(axis=0)  # what a minimiser has
    one = LIBRARIES[library].one_vector and m == 2
    weights = W[1] - W[0] if one else W
    strength, theirs = strength_for(library, lam, n=n, m=m, l1_ratio=ratio)
    before, after = written(LIBRARIES[library].loss, strength, n, m)
    R = theirs * np.abs(weights).sum() + (1 - theirs) / 2 * np.square(weights).sum()
    F = loss + lam * (ratio * np.abs(W).sum() + (1 - ratio) / 2 * np.square(W).sum())
    assert (before * loss + after * R) / before == pytest.approx(F, rel=1e-12)
    assert lam_of(library, strength, n=n, m=m, l1_ratio=theirs) == pytest.approx((lam, ratio), rel=1e-12)


@pytest.mark.parametrize("rows", [slice(None), slice(100)], ids=["three classes", "two classes"])
@pytest.mark.parametrize("ratio", [0.0, 1.0, 0.4])
def test_cyanure_minimises_our_objective(ratio: float, rows: slice) -> None:
    trouble = PEERS["cyanure"].available()
    if trouble is not None:
        pytest.skip("cyanure has no wheel for this Python or machine")
    from cyanure.estimators import Classifier

    A, y = (X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0), Y[rows]  # or it takes long
    m = len(np.unique(y))
    key = "cyanure, two classes" if m == 2 else "cyanure"
    strength, theirs = strength_for(key, 2.0, n=len(A), m=m, l1_ratio=ratio)
    mixed = 0.0 < theirs < 1.0
    fit = Classifier(
        loss="logistic" if m == 2 else "multiclass-logistic",
        penalty="elasticnet" if mixed else "l1" if theirs else "l2",
        lambda_1=strength * theirs if mixed else strength,
        lambda_2=strength * (1 - theirs) if mixed else 0.0,
        tol=1e-10,
        max_iter=2000,
        verbose=False,
    ).fit(A, y)
    coef, b = fit.coef_.reshape(4, -1).T, np.ravel(fit.intercept_)
    coef, b = halves(coef, b) if m == 2 else (coef, b)
    penalty = L1(2.0) if ratio == 1.0 else ElasticNet(2.0 * ratio, 2.0 * (1.0 - ratio)) if ratio else L2(2.0)
    problem = Problem(A, y, penalty=penalty)
    assert certificate(problem, problem.from_user(coef, b)).gap < 1e-2  # it may stop a little early
    kind = {0.0: "l2", 1.0: "l1"}.get(ratio, "elasticnet")
    ours = Model(kind, lam=2.0, l1_ratio=ratio).fit(A, y)
    assert problem.value(problem.from_user(coef, b)) == pytest.approx(ours.objective_, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: strength_for("sklern", 1.0, n=1, m=3), "library='sklern' is unknown: scikit-learn"),
        (lambda: strength_for("glmnet", -1.0, n=1, m=3), r"lam=-1\.0"),
        (lambda: lam_of("glmnet", 1.0, n=1, m=3, l1_ratio=2), "l1_ratio=2"),
    ],
)
def test_mistakes(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
