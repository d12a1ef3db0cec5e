"""ADMM for MLR: its row problem, its ridge regression, its fixed points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cases import Case, draw
from scipy.optimize import minimize

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.algorithms.admm_mlr import _diagonalise
from pianobench.problems import L2, Problem
from pianobench.problems.design import Dense
from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.admm import split_step


@pytest.mark.parametrize("rho", [1e-6, 1e-2, 1.0, 1e4])
@pytest.mark.parametrize("spread", [1.0, 300.0])
def test_row_problem_against_scipy(rho: float, spread: float) -> None:
    rng, n, m = np.random.default_rng(0), 12, 4
    weights = rng.choice([0.0, 1e-3, 1.0, 5.0], size=n)
    V = rng.normal(size=(n, m)) * spread
    part = Part(Dense(V, False), rng.integers(0, m, n), weights, m)
    Z, U, T = np.zeros((3, n, m))
    split_step(part, np.eye(m), rho, 1.0, 1e-12, 100, Z, U, T)
    np.testing.assert_array_equal(U, V - Z)
    np.testing.assert_array_equal(T, Z - U)
    for j in range(n):

        def h(z: np.ndarray, j: int = j) -> float:
            return weights[j] * (np.logaddexp.reduce(z) - z[part.codes[j]]) + rho / 2 * np.sum((z - V[j]) ** 2)

        E = np.exp(Z[j] - Z[j].max())
        p = E / E.sum()
        g = weights[j] * (p - np.eye(m)[part.codes[j]]) + rho * (Z[j] - V[j])
        assert np.abs(g).max() <= 1e-9 * (weights[j] + rho * np.abs(V[j]).max())
        assert h(Z[j]) <= minimize(h, Z[j] + 0.1, method="Nelder-Mead").fun + 1e-9 * abs(h(Z[j]))


@pytest.mark.parametrize("l2", ["none", "all", "but the last"])
@pytest.mark.parametrize("n", [3, 40], ids=["n<p", "n>p"])
def test_one_factorisation_solves_the_ridge_for_every_rho(l2: str, n: int) -> None:
    rng, p = np.random.default_rng(1), 6
    X = rng.normal(size=(n, p))
    strengths = np.full((p, 1), 0.0 if l2 == "none" else 0.3)
    if l2 == "but the last":
        strengths[-1] = 0.0
    B, mu, nu = _diagonalise(X.T @ X, strengths)
    for rho in (1e-3, 1.0, 1e3):
        R = X.T @ rng.normal(size=(n, 2))
        W = B @ ((B.T @ (rho * R)) / (rho * mu + nu))
        np.testing.assert_allclose(
            (rho * X.T @ X + np.diag(strengths[:, 0])) @ W, rho * R, atol=1e-9 * np.abs(rho * R).max()
        )


@pytest.mark.parametrize("penalty", ["none", "l2"])
def test_the_optimum_is_a_fixed_point(penalty: str) -> None:
    """With U = a (P - Y) / rho at the optimum no variable moves, whatever rho."""
    problem = Case(penalty, "dense", True, True, "float64").problem()
    best = solve(make_solver("lbfgs"), problem, tol=1e-14, max_steps=300).W
    solver = make_solver("admm-mlr", rho=0.7, balance_steps=0)
    state = solver.init(problem, best, np.random.default_rng(0))
    (Z,), (U,), (T,), (part,) = state.Z.parts, state.U.parts, state.T.parts, problem.home.parts
    P = np.exp(Z - np.logaddexp.reduce(Z, axis=1, keepdims=True))
    U[...] = part.weights[:, None] * (P - part.one_hot(P.dtype)) / 0.7
    T[...] = Z - U
    for _ in range(3):
        state = solver.step(problem, state)
    np.testing.assert_allclose(state.W, best, atol=1e-6)
    assert state.primal <= 1e-5


def test_balancing_keeps_the_dual_and_saves_steps() -> None:
    X, y, _ = draw()
    problem = Problem(30.0 * X, y, penalty=L2(5.0))
    steps = {
        balance: solve(make_solver("admm-mlr", balance_steps=balance), problem, tol=1e-6, max_steps=3000).steps
        for balance in (0, 100)
    }
    assert steps[100] < 0.7 * steps[0]


def test_a_changed_rho_leaves_the_iteration_consistent() -> None:
    """One step with rho doubled from the start equals a step after a change of rho: the dual is rescaled."""
    problem = Case("l2", "dense", True, False, "float64").problem()
    solver = make_solver("admm-mlr", rho=1.0)
    state = next(itertools.islice(iterate(solver, problem), 3, None))
    (Z,), (U,) = (np.array(f.parts[0]) for f in (state.Z,)), (np.array(f.parts[0]) for f in (state.U,))
    state.primal, state.dual = 100.0, 1.0  # as if the primal residual were large: rho is doubled
    moved = solver.step(problem, state)
    assert moved.rho == 2.0 * state.rho
    fresh = make_solver("admm-mlr", rho=moved.rho, balance_steps=0)
    other = fresh.init(problem, problem.zeros(), np.random.default_rng(0))
    other.Z.load([Z])
    other.U.load([0.5 * U])
    other.T.load([Z - 0.5 * U])
    np.testing.assert_allclose(fresh.step(problem, other).W, moved.W, rtol=1e-10)


def test_the_decomposition_is_charged() -> None:
    rng, p = np.random.default_rng(2), 80
    problem = Problem(rng.normal(size=(10, p)), np.arange(10) % 3, penalty=L2(1.0), fit_intercept=False)
    solver = make_solver("admm-mlr")
    state = solver.init(problem, problem.zeros(), rng)
    started = problem.meter.total
    assert 24 * p**3 < started.flops < 24 * p**3 + 30 * problem.prices.smooth.flops
    assert started.depth >= 2 * p
    solver.step(problem, state)
    rows = problem.prices.product(2.0) + problem.prices.rowwise(split_step.flops)  # type: ignore[attr-defined]
    assert problem.meter.total.flops - started.flops >= rows.flops + 4 * state.basis.size * 3
