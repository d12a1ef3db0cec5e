"""The registry of peers, what each refuses, and what it is handed."""

import subprocess
import sys
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cases import draw
from remote import problem_in_parts

from pianobench.algorithms import SOLVERS
from pianobench.algorithms.peers import PEERS, contract, make_peer, rerun
from pianobench.problems import L0, L1, L2, ElasticNet, Penalty, Problem

X, Y, WEIGHTS = draw()


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    probe = (
        "import sys, pianobench.algorithms\n"
        "print(any(name.startswith('pianobench.algorithms.peers') for name in sys.modules))\n"
        "from pianobench.algorithms.peers import PEERS, make_peer\n"
        "[make_peer(key) for key in PEERS]\n"
        "print({'sklearn', 'cyanure', 'pylibvw'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "set()"]


def test_keys_are_those_of_no_solver_and_each_has_a_default_and_a_best() -> None:
    assert not set(PEERS) & set(SOLVERS)
    defaults = [key for key in PEERS if not key.endswith("-best")]
    assert set(PEERS) == {*defaults, *(f"{key}-best" for key in defaults)}
    for key, peer in PEERS.items():
        assert peer.key == key
        assert (make_peer(key).max_iter is None) == key.endswith("-best")
        assert peer.penalties >= {"none", "l2"}
        assert peer.step_is.startswith("one ")
        assert peer.citation.startswith(peer.library)
        assert {name.rpartition(".")[2] for name in peer.modules} >= {"rerun", "registry"}
    assert len({peer.title for peer in PEERS.values()}) == len(PEERS)


@pytest.mark.parametrize("key", [key for key in PEERS if not key.endswith("-best") and not key.startswith("vw-")])
def test_defaults_are_those_the_library_ships(key: str) -> None:
    model: Any
    if key == "cyanure":
        from cyanure.estimators import Classifier

        model = Classifier()
    else:
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression()
    box = make_peer(key)
    names = {f.name for f in fields(box)} & set(model.get_params())  # type: ignore[arg-type]
    assert {"tol", "max_iter"} <= names
    chosen = PEERS[key].settings
    assert {name: getattr(box, name) for name in names - set(chosen)} == {
        name: model.get_params()[name] for name in names - set(chosen)
    }


def test_a_wrong_key_or_setting_names_the_right_ones() -> None:
    with pytest.raises(ValueError, match="did you mean 'sklearn-lbfgs'"):
        make_peer("sklearn-lbfg")
    with pytest.raises(ValueError, match="no parameter 'tool': it has solver, tol, max_iter"):
        make_peer("sklearn-sag", tool=1)
    with pytest.raises(ValueError, match="one of lbfgs, newton-cg"):
        make_peer("sklearn-sag", solver="liblinear")
    assert make_peer("sklearn-sag", tol=1e-3).tol == 1e-3  # type: ignore[attr-defined]


@pytest.mark.parametrize("broken", [False, True])
def test_an_absent_library_is_a_refusal_with_its_remedy(monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    contract.trouble_with.cache_clear()

    def absent(_: str) -> None:
        raise ImportError("libgfortran is missing") if broken else ModuleNotFoundError("no", name="cyanure")

    monkeypatch.setattr(contract, "import_module", absent)
    try:
        refusal = make_peer("cyanure").refusal(Problem(X, Y, penalty=L2(1.0)))
        assert refusal is not None
        assert refusal == PEERS["cyanure"].available()
        assert ("libgfortran" if broken else "pip install 'pianobench[peers]'") in refusal
        with pytest.raises(ValueError, match="cyanure"):
            rerun(make_peer("cyanure"), Problem(X, Y, penalty=L2(1.0)))
    finally:
        contract.trouble_with.cache_clear()


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("sklearn-lbfgs", {"penalty": L1(1.0)}, "takes l2, none, not l1"),
    ("sklearn-sag", {"penalty": ElasticNet(1.0, 1.0)}, "not elasticnet"),
    ("sklearn-saga", {"penalty": L0(1.0)}, "not l0"),
    ("sklearn-saga", {"penalty": Penalty(l2=np.arange(1.0, 4.0)[:, None]), "fit_intercept": False}, "one strength"),
    ("sklearn-lbfgs", {"classes": [0, 1, 2, 7]}, "'7' has none"),
    ("cyanure", {"sample_weight": WEIGHTS}, "no sample weights"),
]


@pytest.mark.parametrize(("key", "arguments", "words"), REFUSED)
def test_refusals_name_method_and_reason(key: str, arguments: dict[str, Any], words: str) -> None:
    refusal = make_peer(key).refusal(Problem(X, Y, **{"penalty": L2(1.0), **arguments}))
    assert refusal is not None
    assert words in refusal
    assert refusal.startswith(make_peer(key).title)


def test_more_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(X, Y, penalty=L2(1.0))
    some = problem.restrict(np.eye(4, 3, dtype=bool))
    assert "restricted" in str(make_peer("sklearn-lbfgs").refusal(some))
    monkeypatch.setattr(Problem, "nnz", property(lambda _: 2**31))
    sparse = Problem(sp.csr_array(X), Y, penalty=L2(1.0))
    assert "32-bit" in str(make_peer("sklearn-saga").refusal(sparse))
    assert make_peer("sklearn-lbfgs").refusal(sparse) is None
    monkeypatch.setattr(Problem, "p", property(lambda _: 10**8))
    assert "for its Hessian" in str(make_peer("sklearn-newton-cholesky").refusal(problem))

    class Elsewhere:
        pass

    problem.home = Elsewhere()  # type: ignore[assignment]
    assert "needs X in this process" in str(make_peer("sklearn-lbfgs").refusal(problem))


def test_the_users_matrix_is_handed_over_whatever_the_conditioning() -> None:
    scaled = X * np.array([1e-6, 1.0, 1e6]) + np.array([0.0, 0.0, 1e6])
    plain = contract.hand_over(Problem(scaled, Y, penalty=ElasticNet(2.0, 3.0), conditioning="centre+scale"))
    assert np.shares_memory(plain.X, scaled)
    assert (plain.l1, plain.l2, plain.m, plain.intercept, plain.weights) == (2.0, 3.0, 3, True, None)
    sparse = sp.csr_array(X * np.array([1e-6, 1.0, 1e6]))
    for dtype in (np.float64, np.float32):
        given = contract.hand_over(Problem(sparse.astype(dtype), Y, conditioning="scale"))
        assert given.X.dtype == dtype
        assert (sparse.astype(dtype) != given.X).nnz == 0
    unscaled = Problem(sparse, Y)
    assert np.shares_memory(contract.hand_over(unscaled).X.data, sparse.data)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_rows_in_parts_are_put_together(make: Any) -> None:
    native = contract.hand_over(problem_in_parts(make(X), Y, sample_weight=WEIGHTS, penalty=L2(1.0)))
    assert np.array_equal(native.X if make is np.asarray else native.X.toarray(), X)
    assert np.array_equal(native.codes, Y)
    assert native.weights is not None
    assert np.array_equal(native.weights, WEIGHTS)


def test_input_is_untouched() -> None:
    inputs = [X.copy(), Y.copy(), WEIGHTS.copy()]
    problem = Problem(inputs[0], inputs[1], sample_weight=inputs[2], penalty=L2(1.0))
    for key in PEERS:
        if make_peer(key).refusal(problem) is None:
            rerun(make_peer(key), problem, max_budget=2)
    assert all(np.array_equal(now, before) for now, before in zip(inputs, (X, Y, WEIGHTS), strict=True))
