"""Reweighted l1: its rounds, its fixed points, and the support that it is for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from cases import Case, draw

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.algorithms.l1_reweighted import L1ReweightedState
from pianobench.problems import L0, L1, Problem
from pianobench.problems.penalties import Array

CASE = Case("l0", "dense", True, True, "float64")


def rounds(problem: Problem, count: int, W0: Array | None = None, **parameters: float) -> list[L1ReweightedState]:
    return list(itertools.islice(iterate(make_solver("l1-reweighted", **parameters), problem, W0), count + 1))


def test_the_first_round_is_plain_l1_and_the_next_has_strengths_of_its_weights() -> None:
    problem = CASE.problem()
    X, _, a = draw()
    u = 1.0 / np.sqrt(np.append(a @ X**2, a.sum()) / a.sum())[:, None]
    first, second = rounds(problem, 2, inner_steps=500)[1:]
    strengths = np.where(np.arange(4)[:, None] < 3, 0.5 / u, 0.0) * np.ones((4, 3))
    for state, s in ((first, strengths), (second, problem.pen.l0 / (np.abs(first.W) + 0.1 * u))):
        G = problem.smooth(state.W)[1]  # a minimiser of l(V) + sum s |v|
        assert (np.abs(G) <= s + 1e-6).all()
        np.testing.assert_allclose(G[state.W != 0], -(s * np.sign(state.W))[state.W != 0], atol=1e-6)
    assert (second.s[-1] == 0).all()  # the intercept is free
    assert second.change == pytest.approx(np.max(np.abs(second.W - first.W) / u), rel=1e-12)


def test_the_concave_penalty_does_not_rise_and_ends_where_it_is_stationary() -> None:
    problem = CASE.problem()
    result = solve(make_solver("l1-reweighted"), problem, tol=1e-9, max_steps=400)
    assert (result.status, result.certificate.kind) == ("stationary", "stationary")
    W, e = result.W, 0.1 * result.state.u
    G, s = problem.smooth(W)[1], problem.pen.l0 / (np.abs(W) + e)
    np.testing.assert_allclose(G[W != 0], -(s * np.sign(W))[W != 0], atol=1e-6)
    assert (np.abs(G) <= s + 1e-6).all()
    values = [
        problem.smooth(state.W)[0] + float(np.sum(problem.pen.l0 * np.log(np.abs(state.W) / e + 1.0)))
        for state in rounds(problem, 12)[1:]
    ]
    assert (np.diff(values) <= 1e-10 * values[0]).all()
    assert values[-1] < values[0] - 0.01


def test_the_planted_support_is_found_where_plain_l1_takes_more() -> None:
    rng = np.random.default_rng(11)
    n, d, m = 300, 12, 3
    X, V = rng.normal(size=(n, d)), np.zeros((d, m))
    V[:3] = 2.0 * np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]])
    y = (X @ V + rng.gumbel(size=(n, m))).argmax(axis=1)
    found = solve(make_solver("l1-reweighted"), Problem(X, y, penalty=L0(6.0)), tol=1e-7, max_steps=300)
    assert found.status == "stationary"
    np.testing.assert_array_equal((found.W[:d] != 0).any(axis=1), np.arange(d) < 3)
    plain = solve(make_solver("fista"), Problem(X, y, penalty=L1(6.0)), tol=1e-8, max_steps=5000)
    rows = np.abs(plain.W[:d]).max(axis=1)
    assert rows[3:].max() > 0.0  # at the same strength


@pytest.mark.parametrize("unit", [1e-4, 1e5, "each its own"])
def test_units_of_the_columns_do_not_matter(unit: float | str) -> None:
    X, y, a = draw()
    factor = np.array([0.5, 1.0, 3.0]) if unit == "each its own" else float(unit)
    ours, theirs = (
        solve(
            make_solver("l1-reweighted", inner_steps=250),
            Problem(V, y, penalty=L0(0.5), sample_weight=a, fit_intercept=False),
            max_steps=5,
            tol=1e-12,
        ).certificate
        for V in (X, sp.csr_array(X * factor))
    )
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
    assert ours.nnz == theirs.nnz > 0


def test_weights_held_at_zero_stay_there_and_its_work_is_charged() -> None:
    whole = CASE.problem()
    active = np.random.default_rng(8).random((whole.p, whole.m)) < 0.6
    problem = whole.restrict(active)
    W = rounds(problem, 3)[-1].W
    assert W.any()
    assert not W[~problem.active].any()
    before = whole.meter.total.flops
    rounds(whole, 2)
    assert whole.meter.total.flops - before > 2 * 50 * whole.prices.smooth.flops


@pytest.mark.parametrize("parameters", [{"eps": 0.0}, {"eps": np.inf}, {"inner_steps": 0}], ids=str)
def test_refuses_parameters_that_mean_nothing(parameters: dict[str, float]) -> None:
    (name, value) = next(iter(parameters.items()))
    with pytest.raises(ValueError, match=f"{name}={value}"):
        make_solver("l1-reweighted", **parameters)
