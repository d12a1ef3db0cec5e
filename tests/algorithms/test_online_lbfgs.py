"""One online pass, then L-BFGS: it is its two parts, and a better start than zero where rows are many."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from cases import Case

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.problems import L2, Problem


def test_it_is_a_pass_of_adagrad_and_then_lbfgs_from_there() -> None:
    problem = Case("l2", "csr", True, True, "float64").problem()
    settings = {"eta": 0.7, "eps": 0.5, "batch": 3}
    W0 = np.random.default_rng(0).normal(size=(problem.p, problem.m))
    online = iterate(make_solver("adagrad", **settings), problem, W0, rng=np.random.default_rng(1))
    _, first = itertools.islice(online, 2)
    ours = iterate(make_solver("online-lbfgs", **settings, memory_pairs=2), problem, W0, rng=np.random.default_rng(1))
    plain = iterate(make_solver("lbfgs", memory_pairs=2), problem, first.W)
    pairs = list(itertools.islice(zip(ours, plain, strict=True), 7))
    assert not np.array_equal(pairs[0][0].W, W0)
    for mine, theirs in pairs:
        assert np.array_equal(mine.W, theirs.W)
        assert np.array_equal(mine.pairs_y, theirs.pairs_y)  # type: ignore[attr-defined]


def clicks() -> Problem:
    """Many rows with few entries each, two classes, the second rare; columns with a long tail."""
    rng, n, d = np.random.default_rng(0), 5000, 100
    columns = np.minimum((rng.pareto(1.0, 8 * n) * 5).astype(int), d - 1)
    X = sp.csr_array((rng.beta(2.0, 30.0, 8 * n), (np.repeat(np.arange(n), 8), columns)), shape=(n, d))
    z = 10.0 * (X @ rng.normal(0.0, 0.3, d)) - 3.0
    return Problem(10.0 * X, rng.random(n) < 1.0 / (1.0 + np.exp(-z)), penalty=L2(1.0))


def test_an_online_pass_saves_more_gradients_than_it_costs() -> None:
    problem = clicks()
    spent = {}
    for key in ("lbfgs", "online-lbfgs"):
        result = solve(make_solver(key), problem, tol=1e-2)
        assert result.status == "converged"
        spent[key] = result.checkpoints[-1].gradient_equivalents
    assert spent["online-lbfgs"] < 0.8 * spent["lbfgs"], spent


def test_a_wrong_pace_is_refused_as_adagrad_does() -> None:
    with pytest.raises(ValueError, match=r"eta=-1\.0: a number above 0 is expected"):
        make_solver("online-lbfgs", eta=-1.0)
