"""Vowpal Wabbit minimises our F, to what float32 allows, and its weights are read back as they are."""

import gc
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from pianobench.algorithms import make_solver, solve
from pianobench.algorithms.peers import PEERS, make_peer, rerun, vowpal_wabbit, vowpal_wabbit_process
from pianobench.algorithms.peers.contract import hand_over
from pianobench.algorithms.peers.fits import Fit, Fitter
from pianobench.problems import L2, Problem

BOTH = ["vw-bfgs-best", "vw-online-bfgs-best"]
Rows = tuple[np.ndarray, np.ndarray]


def fitted(key: str, problem: Problem, budget: int, threads: int = 1, **settings: Any) -> Fit:
    """One fit."""
    box = make_peer(key, **settings)
    assert box.refusal(problem) is None
    return Fitter(box, problem, threads, 0, None).fit(budget)


def optimum(problem: Problem) -> float:
    """F* of our own L-BFGS, in float64."""
    return solve(make_solver("lbfgs"), problem, tol=1e-12, max_steps=1000).certificate.objective


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("intercept", "weighted"), [(False, False), (True, True)])
@pytest.mark.parametrize("key", BOTH)
def test_both_sides_reach_the_same_objective(
    three_or_eight: Rows, key: str, intercept: bool, weighted: bool, make: Any
) -> None:
    X, y = three_or_eight
    weights = np.random.default_rng(0).uniform(0.0, 3.0, len(y)) if weighted else None
    if weights is not None:
        weights[:20] = 0.0
    problem = Problem(make(X), y, penalty=L2(2.0), fit_intercept=intercept, sample_weight=weights)
    F = fitted(key, problem, 100).certificate.objective
    # its line search compares sums in float32: 1e-7 of F is as far as it sees
    assert -1e-12 < F / optimum(problem) - 1 < 3e-7
    if not intercept and not weighted:
        assert pytest.approx(35.31505554, rel=3e-7) == F  # of other software


@pytest.mark.parametrize("key", BOTH)
def test_the_intercept_is_not_penalised_nor_anything_without_a_penalty(three_or_eight: Rows, key: str) -> None:
    X, y = three_or_eight
    far = Problem(X[:, 20:23] + 1.0, y, penalty=None)
    F = optimum(far)
    assert fitted(key, far, 100).certificate.objective / F - 1 < 1e-6
    # without any penalty it ends at once, and says why
    bare = fitted(key, far, 100, least_l2=0.0)
    assert bare.certificate.objective / F - 1 > 1e-3
    assert bare.info["ended"]
    assert "Zero or negative curvature" in bare.info["printed"]


@pytest.mark.parametrize("key", BOTH)
def test_the_point_after_each_pass_is_that_of_a_fit_of_so_many(three_or_eight: Rows, key: str) -> None:
    X, y = three_or_eight
    box: Any = make_peer(key)
    native = box.convert(Problem(X, y, penalty=L2(2.0), fit_intercept=True))
    passes, info = box.passes(native, 6, 1)
    assert len(passes) == 6
    for budget in (2, 5):
        coef, b, _ = box.fit(native, budget, 1)
        np.testing.assert_array_equal(passes[budget].coef, coef)
        np.testing.assert_array_equal(passes[budget].b, b)
        assert b.any()
    seconds = [one.seconds for one in passes]
    assert seconds == sorted(seconds)
    assert seconds[-1] == info["seconds"]


def test_the_settings_are_those_of_the_library() -> None:
    assert (make_peer("vw-bfgs").tol, make_peer("vw-bfgs").mem) == (1e-3, 15)  # type: ignore[attr-defined]
    problem = Problem(np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2, penalty=L2(1.0))
    (plain,) = rerun(make_peer("vw-bfgs"), problem).state.fits
    assert plain["ended"]
    assert "Termination condition reached" in plain["printed"]
    assert plain["iterations"] < 20
    assert "Enabled learners: gd" in rerun(make_peer("vw-online-bfgs"), problem).state.fits[0]["printed"]
    other = fitted("vw-bfgs-best", problem, 4)
    assert (other.info["iterations"], other.info["ended"]) == (4, False)
    assert other.info["printed"].count("wolfe1") == 1  # the heads of one run's columns
    assert np.array_equal(other.W, fitted("vw-bfgs-best", problem, 4, mem=15).W)
    assert not np.array_equal(other.W, fitted("vw-bfgs-best", problem, 4, mem=1).W)


def test_an_online_pass_is_a_better_start_than_zero(three_or_eight: Rows) -> None:
    X, y = three_or_eight
    problem = Problem(np.tile(X, (5, 1)), np.tile(y, 5), penalty=L2(2.0))
    cold, warm = (fitted(key, problem, 1).certificate.objective for key in BOTH)
    assert warm < 0.5 * cold


@pytest.mark.parametrize("key", ["vw-bfgs-best"])
def test_weights_are_read_from_their_places(key: str) -> None:
    # each row has one feature, whose weight is a function of its own rows alone: a shared place would show
    d = 1400  # the intercept's place in a table of 2048 is 1372, so that one of 4096 is needed
    X = sp.csr_array(sp.vstack([sp.eye_array(d), sp.eye_array(d)], format="csr"))
    weights = np.random.default_rng(0).uniform(1.0, 9.0, 2 * d)
    problem = Problem(X, np.repeat([0, 1], d), penalty=L2(2.0), sample_weight=weights)
    fit = fitted(key, problem, 60)
    star = solve(make_solver("newton-cg"), problem, tol=1e-12, max_steps=100)
    ours, theirs = (problem.to_user(W)[0] for W in (star.W, fit.W))
    assert np.abs(ours).max() > 0.5
    np.testing.assert_allclose(theirs, ours, atol=2e-3)


def test_no_two_features_share_a_place() -> None:
    for d in (*range(1, 3000), 10**6, vowpal_wabbit.CONSTANT):
        bits = vowpal_wabbit.bits_for(d, True)
        assert d <= vowpal_wabbit.CONSTANT % 2**bits
        assert vowpal_wabbit.bits_for(d, False) == max(1, int(np.ceil(np.log2(d))))
    assert vowpal_wabbit.bits_for(1000, True) == 11


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_rows_are_written_to_the_last_bit_of_float32(make: Any) -> None:
    rng = np.random.default_rng(0)
    X = (10.0 ** rng.uniform(-30, 30, (9, 4))).astype(np.float32) * (rng.random((9, 4)) < 0.6)
    X[3] = 0.0
    weights = rng.uniform(0.0, 5.0, 9)
    native = hand_over(Problem(make(X), [0, 1] * 4 + [1], penalty=L2(2.0)))
    back = [json.loads(line) for line in vowpal_wabbit.lines(native, weights)]
    labels = [row.pop("_label") for row in back]
    assert [label["Label"] for label in labels] == [-1, 1] * 4 + [1]
    assert np.array_equal(np.float32([label["Weight"] for label in labels]), weights.astype(np.float32))
    assert np.array_equal([[np.float32(row.get(str(j), 0)) for j in range(4)] for row in back], X)
    assert not back[3]


def test_rows_beyond_the_first_thousands_are_written_too(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sp.random_array((25, 6), density=0.4, format="csr", rng=np.random.default_rng(0))
    native = hand_over(Problem(X, np.arange(25) > 9, penalty=L2(2.0)))
    at_once = list(vowpal_wabbit.lines(native, np.arange(25.0)))
    monkeypatch.setattr(vowpal_wabbit, "ROWS", 4)
    assert list(vowpal_wabbit.lines(native, np.arange(25.0))) == at_once


@pytest.mark.parametrize("key", ["vw-online-bfgs-best"])
def test_seconds_and_memory_are_of_its_own_process_and_its_files_go(key: str) -> None:
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(500, 3)), np.arange(500) % 2, penalty=L2(1.0))
    ballast = np.ones(30_000_000)  # 240 MB in this process, of which a new one inherits nothing
    fitter = Fitter(make_peer(key), problem, 1, 0, None)
    folder: Path = fitter.native.folder
    began = fitter.wall
    fit = fitter.fit(10)
    assert 0.0 < fit.seconds == fit.info["seconds"] < fitter.wall - began
    assert fitter.record.fits[0]["seconds"] == fit.seconds
    assert fit.info["cpu_seconds"] > 0.0
    if sys.platform == "linux":
        assert 5e6 < fit.info["peak_bytes"] < 2e8 < ballast.nbytes
    assert sorted(path.name for path in folder.iterdir()) == ["answer.json", "cache", "order.json", "start"]
    del fitter
    gc.collect()
    assert not folder.exists()


def test_a_process_that_fails_is_a_breakdown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    problem = Problem(np.eye(4), [0, 1, 0, 1], penalty=L2(1.0))
    assert "RuntimeError: unrecognised option" in broken(problem, "--mem", "--memory", monkeypatch)
    script = tmp_path / "dies.py"
    script.write_text("import os; os._exit(3)\n", "utf-8")
    fitter = Fitter(make_peer("vw-bfgs-best"), problem, 1, 0, None)
    monkeypatch.setattr(vowpal_wabbit_process, "__file__", str(script))
    with pytest.raises(Exception, match="ended with code 3"):
        fitter.fit(2)


def broken(problem: Problem, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The reason of a run of which one option is misspelt."""
    run = vowpal_wabbit._run

    def misspelt(cache: Any, runs: list[list[str]], wanted: dict[str, Any]) -> dict[str, Any]:
        return run(cache, [[wrong if word == right else word for word in words] for words in runs], wanted)

    with monkeypatch.context() as patch:
        patch.setattr(vowpal_wabbit, "_run", misspelt)
        result = rerun(make_peer("vw-bfgs-best"), problem)
    assert result.status == "breakdown"
    return result.reason


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(9, 2))
    for key in (key for key in PEERS if key.startswith("vw-")):
        three = make_peer(key).refusal(Problem(X, np.arange(9) % 3, penalty=L2(1.0)))
        assert three == f"{make_peer(key).title} takes two classes, not 3: its one-against-all is not softmax"
    box = make_peer("vw-bfgs")
    y = np.arange(9) % 2
    for problem in (Problem(X * 1e39, y, penalty=L2(1.0)), Problem(sp.csr_array(X * 1e39), y, penalty=L2(1.0))):
        assert "in float32, whose largest is 3.4e38" in str(box.refusal(problem))
    monkeypatch.setattr(vowpal_wabbit, "CONSTANT", 1)  # the place of the second column
    assert "share a weight with the intercept" in str(box.refusal(Problem(X, y, penalty=L2(1.0))))
    assert box.refusal(Problem(X, y, penalty=L2(1.0), fit_intercept=False)) is None
