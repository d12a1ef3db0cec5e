"""`StreamingLogisticRegression`: scikit-learn's conventions, bad batches, and what is kept in a file."""

import copy
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

from pianobench import MultinomialLogisticRegression, StreamingLogisticRegression
from pianobench.algorithms.stream.contract import RECORD, Record, Trained

D = 4
EXEMPT = {
    f"check_sample_weight_equivalence_on_{kind}_data": "rows are drawn: a row twice takes other draws than weight 2"
    for kind in ("dense", "sparse")
}


def batch(seed, n=200, sign=1.0, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    y = (sign * 3.0 * X[:, 0] + rng.logistic(size=n) > 0).astype(int)
    return (sp.csr_array(X) if sparse else X), y


def begun(*, batches=3, sparse=False, **options):
    model = StreamingLogisticRegression(**{"rows": 150, "kept": 100, **options})
    for seed in range(batches):
        model.partial_fit(*batch(seed, sparse=sparse), classes=[0, 1])
    return model


def facts(model):
    """All that a model is, but its parameters."""
    arrays = {**model._log.export(), **model._state.export(), "coef": model.coef_, "b": model.intercept_}
    return {name: np.asarray(values).tobytes() for name, values in arrays.items()} | {"d": model.n_features_in_}


def test_the_checks_of_scikit_learn():
    passed, failed, left_out = 0, {}, set()
    for own, check in estimator_checks_generator(StreamingLogisticRegression(tol=0.01)):
        name = str(getattr(check, "func", check).__name__)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some checks provoke scikit-learn's own
            try:
                check(own)
            except Exception as error:
                if type(error).__name__ == "SkipTest":
                    left_out.add(name)
                    continue
                failed[name] = str(error)
            else:
                passed += 1
    assert failed.keys() == EXEMPT.keys(), failed
    assert left_out <= {"check_array_api_input"}  # asks for SCIPY_ARRAY_API=1
    assert passed >= 58


def test_batches_and_what_came_of_them():
    model = begun(batches=4)
    assert model.records_.keys() == set(RECORD)
    assert model.records_["rows"].tolist() == [200.0] * 4
    assert np.isnan(model.records_["error"][0])
    assert isinstance(model.last_, Record)
    assert model.last_.log_loss == model.records_["log_loss"][-1]
    X, y = batch(9, 1000)
    assert model.score(X, y) > 0.8
    before = model.coef_.copy()
    model.partial_fit(*batch(5, sign=-1.0))
    assert model.last_.updated
    assert model.score(X, y) < 0.5
    assert not np.array_equal(model.coef_, before)
    assert model._log.kept == 100


def test_fit_begins_anew():
    X, y = batch(0, 500)
    one, other = begun(rows=1000).fit(X, y), StreamingLogisticRegression(rows=1000, kept=100).fit(X, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.records_["rows"].tolist() == [500.0]
    whole = MultinomialLogisticRegression().fit(X, y)
    fine = StreamingLogisticRegression("keep", tol=1e-8).fit(X, y)  # which holds no row out
    np.testing.assert_allclose(fine.coef_, whole.coef_, atol=1e-3)


def test_labels_of_any_kind_and_weights():
    X, y = batch(0)
    names = np.array(["no", "yes"], object)
    model = StreamingLogisticRegression().partial_fit(X, names[y], classes=["yes", "no", "never"])
    assert model.classes_.tolist() == ["never", "no", "yes"]
    assert set(model.predict(X)) == {"no", "yes"}
    assert model.predict_proba(X).shape == (200, 3)
    model.partial_fit(X, names[y], sample_weight=np.full(200, 2.0))
    assert model.last_.weight == 400.0


def test_rows_of_weight_0_are_as_if_they_had_not_come():
    X, y = batch(0)
    for row in range(40):  # some of which would be held out, alone
        weights = np.zeros(len(y))
        weights[[row, 150]] = 1.0
        StreamingLogisticRegression().partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    weights = (np.arange(len(y)) % 3 > 0).astype(float)
    some, fewer = begun(batches=1), begun(batches=1)
    some.partial_fit(X, 1 - y, sample_weight=weights)
    fewer.partial_fit(X[weights > 0], 1 - y[weights > 0])
    assert some.last_.updated
    assert facts(some) == facts(fewer)


def test_float32_stays():
    X, y = batch(0)
    model = StreamingLogisticRegression().partial_fit(X.astype(np.float32), y, classes=[0, 1])
    assert model.coef_.dtype == np.float32
    assert model.predict_proba(X.astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="give all batches in one layout and type"):
        model.partial_fit(X, y)


def test_sparse_batches_grow_in_width_and_narrow_ones_are_filled():
    model = begun(sparse=True, method="subsample-warm")
    X, y = batch(7, sparse=True)
    wide = sp.csr_array(sp.hstack([X, sp.csr_array(y[:, None] * 1.0), sp.csr_array((200, 2))]))
    model.partial_fit(wide, y)
    assert model.n_features_in_ == D + 3
    assert model.coef_.shape == (2, D + 3)
    assert model.coef_[1, D] > 0.0
    assert not model.coef_[:, D + 1 :].any()
    assert model.predict(wide).shape == (200,)
    with pytest.raises(ValueError, match=r"X has 4 features, but StreamingLogisticRegression is expecting 7"):
        model.predict(X)
    model.partial_fit(X, y)
    assert model.n_features_in_ == D + 3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda m: m.partial_fit(np.zeros((0, D)), []), "0 sample"),
        (lambda m: m.partial_fit(np.zeros((2, D)), [0, 2]), "2, which is not among the 2 classes"),
        (lambda m: m.partial_fit(np.zeros((2, D)), [0, 1], classes=[0, 1, 2]), "not the same as on last call"),
        (lambda m: m.partial_fit(np.zeros((2, D + 1)), [0, 1]), "X has 5 features"),
        (lambda m: m.partial_fit(np.full((2, D), np.inf), [0, 1]), "X holds inf"),
        (lambda m: m.partial_fit(np.zeros((2, D)), [0]), "X has 2 rows and y 1"),
        (lambda m: m.partial_fit(np.zeros((2, D)), [0, 1], sample_weight=[1, -1]), "sample_weight is -1"),
        (lambda m: m.partial_fit(np.zeros((2, D)), [0, 1], sample_weight=[0, 0]), "sample_weight is zero"),
        (lambda m: m.partial_fit(sp.csr_array((2, D)), [0, 1]), "give all batches in one layout and type"),
        (lambda m: m.set_params(lam=3.0).partial_fit(*batch(4)), "the stream began with lam=1.0"),
        (lambda m: m.set_params(n_threads=0).partial_fit(*batch(4)), "n_threads=0"),
    ],
)
def test_a_batch_that_is_refused_changes_nothing(wrong, message):
    model = begun()
    before = facts(model)
    with pytest.raises(ValueError, match=message):
        wrong(model)
    assert facts(model) == before
    model.set_params(lam=1.0, n_threads=None).partial_fit(*batch(5))
    assert len(model.records_["rows"]) == 4


def test_a_batch_interrupted_changes_nothing(monkeypatch):
    model, same = begun(), begun()
    before = facts(model)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pianobench.algorithms.stream.learner.Score.of", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(*batch(5, sign=-1.0))
    assert facts(model) == before
    assert facts(model.partial_fit(*batch(5))) == facts(same.partial_fit(*batch(5)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "sa-lbfg"}, "did you mean 'sa-lbfgs'"),
        ({"method": ["keep"]}, "stream method .* is unknown"),
        ({"method": "online", "penalty": "l1"}, "online takes 'l2'"),
        ({"method": "full-cold"}, "give kept=None"),
        ({"penalty": "l0"}, "takes 'l2' or 'l1' or 'elasticnet'"),
        ({"penalty": None}, "penalty=None"),
        ({"lam": -1.0}, "lam=-1.0"),
        ({"rows": 0}, "rows=0"),
        ({"kept": 2.5}, "kept=2.5"),
        ({"tol": 0.0}, "tol=0.0"),
        ({"fit_intercept": "no"}, "fit_intercept='no'"),
        ({"random_state": "x"}, "random_state='x'"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        StreamingLogisticRegression(**options).partial_fit(*batch(0), classes=[0, 1])


def test_the_first_call_needs_all_classes():
    model = StreamingLogisticRegression()
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        model.partial_fit(*batch(0))
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.partial_fit(*batch(0), classes=[0])
    with pytest.raises(NotFittedError):
        model.predict(batch(0)[0])
    model.partial_fit(*batch(0), classes=[1, 0])
    model.partial_fit(*batch(1), classes=[0, 1])


def test_a_batch_with_one_class():
    X, y = batch(0)
    model = StreamingLogisticRegression().partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert set(model.predict(X)) == {1}
    for seed in (1, 2):
        model.partial_fit(*batch(seed))
    X, y = batch(9, 1000)
    assert model.score(X, y) > 0.8
    model.partial_fit(X[y == 0], y[y == 0])
    assert np.isfinite(model.coef_).all()


def test_numbers_stay_in_their_range(monkeypatch):
    model = begun()
    before = facts(model)
    nothing = Trained(np.full((D + 1, 2), np.nan), {}, 1)
    X, y = batch(4)
    with pytest.raises(ValueError, match="scores or weights left the range of numbers at batch 4"):
        model.partial_fit(X * 1e250, y)
    assert facts(model) == before
    monkeypatch.setattr("pianobench.algorithms.stream.trainers.LbfgsRun.train", lambda *_: nothing)
    with pytest.raises(ValueError, match="scores or weights left the range of numbers at batch 4"):
        model.partial_fit(*batch(5, sign=-1.0))
    assert facts(model) == before


@pytest.mark.parametrize("sparse", [False, True])
def test_a_saved_model_goes_on_with_the_same_bits(tmp_path, sparse):
    model = begun(sparse=sparse, penalty="elasticnet", l1_ratio=0.3, random_state=5)
    model.save(tmp_path / "m.npz")
    again = StreamingLogisticRegression.load(tmp_path / "m.npz")
    assert again.get_params() == model.get_params()
    assert facts(again) == facts(model)
    for one in (model, again):
        one.partial_fit(*batch(6, sign=-1.0, sparse=sparse), classes=[0, 1])
    assert model.last_.updated
    assert facts(again) == facts(model)


def test_names_of_columns_and_classes_are_saved(tmp_path):
    import pandas as pd

    X, y = batch(0)
    table = pd.DataFrame(X, columns=list("abcd"))
    model = StreamingLogisticRegression().partial_fit(table, np.array(["n", "y"])[y], classes=["n", "y"])
    model.partial_fit(table, np.array(["n", "y"])[y])
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(table[list("dcba")], np.array(["n", "y"])[y])
    model.save(tmp_path / "m.npz")
    again = StreamingLogisticRegression.load(tmp_path / "m.npz")
    assert again.feature_names_in_.tolist() == list("abcd")
    assert again.predict(table).tolist() == model.predict(table).tolist()


def test_a_file_that_is_no_model(tmp_path):
    path = tmp_path / "m.npz"
    model = begun()
    model.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"or damaged .*: save the model anew"):
        StreamingLogisticRegression.load(path)
    MultinomialLogisticRegression().fit(*batch(0)).save(path)
    with pytest.raises(ValueError, match="is no pianobench streaming model file"):
        StreamingLogisticRegression.load(path)
    with pytest.raises(FileNotFoundError):
        StreamingLogisticRegression.load(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match=r"give a file in a folder .*'[^']*nowhere.m.npz'"):
        model.save(tmp_path / "nowhere" / "m.npz")
    with pytest.raises(ValueError, match="random_state"):
        begun(random_state=np.random.default_rng(0)).save(path)


def test_what_else_estimators_do():
    model = begun()
    X, y = batch(9)
    assert len(clone(model).get_params()) == 10
    exported = model.to_sklearn()
    np.testing.assert_allclose(exported.predict_proba(X), model.predict_proba(X), rtol=1e-9)
    assert model.calibrate(X, y).predict(X).tolist() == model.predict(X).tolist()
    other = copy.deepcopy(model).partial_fit(*batch(5))
    assert len(other.records_["rows"]) == 4
    assert len(model.records_["rows"]) == 3
