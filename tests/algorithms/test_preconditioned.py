"""Methods in a metric of their own: the metric is the Hessian where it should be, units do not matter, and the rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from cases import draw

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.algorithms.auto import choose
from pianobench.algorithms.kronecker_metric import EIGEN_FLOPS, ROWS_EACH, kronecker_metric, sample, solved
from pianobench.algorithms.lbfgs import two_loop
from pianobench.algorithms.lbfgs_preconditioned import LbfgsPreconditioned
from pianobench.problems import L0, L1, L2, Problem
from pianobench.problems.kernels.compiled.quasi_newton import first_loop, second_loop


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_the_factors_are_the_sums_they_say(layout: type) -> None:
    X, y, weights = draw()
    problem = Problem(layout(X), y, sample_weight=weights)
    W = np.random.default_rng(0).normal(size=(problem.p, problem.m))
    L, G = problem.curvature(W).kronecker()
    V = np.column_stack([X, np.ones(len(X))])
    P = np.exp(V @ W)
    P /= P.sum(axis=1, keepdims=True)
    spread = sum(a * (np.diag(p) - np.outer(p, p)) for a, p in zip(weights, P, strict=True))
    np.testing.assert_allclose(L, spread / np.trace(spread), atol=1e-14)
    np.testing.assert_allclose(G, (V * (weights * (1.0 - (P * P).sum(axis=1)))[:, None]).T @ V, rtol=1e-12, atol=1e-12)


def test_at_zero_the_metric_is_the_hessian() -> None:
    X, y, weights = draw()
    problem = Problem(X, y, sample_weight=weights, penalty=L2(0.7), fit_intercept=False)
    H = problem.curvature(problem.zeros()).dense()
    R = np.random.default_rng(0).normal(size=(problem.p, problem.m))
    V = solved(kronecker_metric(problem, problem.zeros()), R)
    np.testing.assert_allclose(H @ V.T.ravel(), R.T.ravel(), rtol=1e-10)
    first, second = itertools.islice(iterate(LbfgsPreconditioned(), problem), 2)
    newton = np.linalg.solve(H, -first.G.T.ravel()).reshape(problem.m, problem.p).T
    np.testing.assert_allclose(second.W, newton, rtol=1e-9)


def test_a_column_without_entries_stays_apart() -> None:
    X, y, _ = draw()
    problem = Problem(np.column_stack([X, np.zeros(len(X))]), y, penalty=L2(2.0), fit_intercept=False)
    V = solved(kronecker_metric(problem, problem.zeros()), np.ones((problem.p, problem.m)))
    np.testing.assert_allclose(V[-1], 0.5, rtol=1e-14)
    assert not solve(LbfgsPreconditioned(), problem, max_steps=5).W[-1].any()


def test_some_rows_stand_for_all_where_the_metric_is_dear() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 60))
    y = (X[:, 0] + rng.normal(size=4000) > 0).astype(int)
    problem = Problem(X, y, penalty=L2(1.0))
    rows = sample(problem, rng)
    assert rows is not None
    assert rows.size == np.unique(rows).size == ROWS_EACH * problem.p
    cheap = Problem(X[:, :5], y, penalty=L2(1.0)), problem.rows(np.arange(2 * rows.size - 1)), Problem(X, y)
    assert [sample(one, rng) for one in cheap] == [None, None, None]  # few columns, few rows, no penalty
    W = rng.normal(size=(problem.p, problem.m))
    twice = problem.rows(np.repeat(np.arange(1500), 2))
    for one, half in zip(kronecker_metric(twice, W), kronecker_metric(twice, W, np.arange(0, 3000, 2)), strict=True):
        np.testing.assert_allclose(np.abs(one), np.abs(half), rtol=1e-6, atol=1e-12)
    first, second = itertools.islice(iterate(LbfgsPreconditioned(), problem, rng=rng), 2)
    assert first.drawn is not None
    assert second.drawn is first.drawn
    assert problem.meter.total.flops < problem.prices.product(problem.p / problem.m).flops + EIGEN_FLOPS * 70**3
    assert solve(LbfgsPreconditioned(), problem, tol=1e-9).steps < 20


def test_the_ring_is_the_two_loops() -> None:
    rng = np.random.default_rng(0)
    S = rng.normal(size=(3, 8))
    Y = S + 0.1 * rng.normal(size=(3, 8))
    G, gamma = rng.normal(size=(4, 2)), 0.5
    expected = two_loop(G, S.reshape(3, 4, 2), Y.reshape(3, 4, 2), gamma)
    ring_s, ring_y = np.full((2, 4, 8), np.nan)
    slots = [3, 0, 1]  # oldest to newest, around the end; slot 2 is free
    ring_s[slots], ring_y[slots] = S, Y
    rho, alpha, q = np.full(4, np.nan), np.empty(4), G.ravel().copy()
    rho[slots] = 1.0 / (S * Y).sum(axis=1)
    first_loop(q, ring_s, ring_y, 1, 3, rho, alpha)
    q *= gamma
    second_loop(q, ring_s, ring_y, 1, 3, rho, alpha)
    np.testing.assert_allclose(-q.reshape(4, 2), expected, rtol=1e-12)


@pytest.mark.parametrize("key", ["lbfgs-preconditioned", "newton-cg-preconditioned"])
def test_units_of_columns_do_not_matter_without_a_penalty(key: str) -> None:
    X, y, _ = draw()
    unit = 2.0 ** np.arange(-3, X.shape[1] - 3)
    steps = [
        [state.W for state in itertools.islice(iterate(make_solver(key), Problem(V, y)), 6)] for V in (X, X * unit)
    ]
    scale = np.append(unit, 1.0)[:, None]
    for plain, scaled in zip(*steps, strict=True):
        np.testing.assert_allclose(scaled * scale, plain, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("penalty", [None, L2(0.3)])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_the_row_space_has_the_same_scores_and_objective(penalty: object, layout: type) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 40))
    X[11] = X[10] - X[9]  # a rank of 11
    problem = Problem(layout(X), rng.integers(0, 3, 12), penalty=penalty, conditioning="scale")
    space = problem.row_space
    V = rng.normal(size=(space.problem.p, 3))
    assert space.problem.p == 12
    assert space.problem.value(V) == pytest.approx(problem.value(space.lift(V)), rel=1e-12)
    np.testing.assert_allclose(space.project(space.lift(V)), V, rtol=1e-10)
    with pytest.raises(TypeError, match="under l2 or without a penalty"):
        _ = problem.with_penalty(L1(1.0)).row_space


def test_steps_in_the_row_space_cost_what_its_columns_cost() -> None:
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(20, 2000)), rng.integers(0, 3, 20), penalty=L2(1.0))
    result = solve(make_solver("lbfgs-row-space"), problem, tol=1e-8)
    whole = solve(make_solver("lbfgs"), problem.off_the_clock(), tol=1e-8)
    assert result.status == whole.status == "converged"
    np.testing.assert_allclose(result.W, whole.W, atol=1e-4)
    assert result.checkpoints[-1].gradient_equivalents < 0.4 * whole.checkpoints[-1].gradient_equivalents


def test_the_rule() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    text = sp.random_array((30, 2000), density=0.01, format="csr", rng=rng)
    chosen = {
        name: type(choose(problem)).__name__
        for name, problem in {
            "narrow": Problem(rng.normal(size=(30, 5)), y, penalty=L2(1.0)),
            "wide": Problem(rng.normal(size=(30, 100)), y, penalty=L2(1.0)),
            "text": Problem(text, y, penalty=L2(1.0)),
            "none": Problem(rng.normal(size=(30, 5)), y),
            "l1": Problem(text, y, penalty=L1(1.0)),
            "l0": Problem(text, y, penalty=L0(1.0)),
        }.items()
    }
    assert chosen == {
        "narrow": "LbfgsPreconditioned",
        "wide": "LbfgsRowSpace",
        "text": "NewtonCgPreconditioned",
        "none": "LbfgsPreconditioned",
        "l1": "ProxNewtonActive",
        "l0": "PianoAccelerated",
    }


def test_the_choice_asks_for_no_memory_of_what_it_never_takes() -> None:
    size = {"n": 72, "p": 7130, "m": 2, "nnz": 72 * 7129, "itemsize": 8}  # (p, p) matrices would take 1.6 GB
    assert make_solver("lbfgs-row-space").memory(**size) <= make_solver("auto").memory(**size) < 1e8
    narrow = {"n": 10_000, "p": 1400, "m": 10, "nnz": 10**5, "itemsize": 8}
    assert make_solver("auto").memory(**narrow) >= make_solver("lbfgs-preconditioned").memory(**narrow)
