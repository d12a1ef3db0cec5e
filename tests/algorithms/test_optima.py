"""Optima of digits that other libraries have found: scikit-learn, cyanure and others, X = grey values / 16, lam = 1."""

from __future__ import annotations

import pytest
from sklearn.datasets import load_digits

from pianobench.algorithms import make_solver, solve
from pianobench.problems import L1, L2, Problem

L2_OPTIMA = {False: 363.507259569, True: 358.548947734}
L1_OPTIMA = {False: 430.19180360, True: 424.188999045}


@pytest.fixture(scope="module")
def digits() -> tuple[object, object]:
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


@pytest.mark.parametrize("intercept", [False, True])
def test_l2(digits: tuple[object, object], intercept: bool) -> None:
    problem = Problem(*digits, penalty=L2(1.0), fit_intercept=intercept)
    result = solve(make_solver("lbfgs"), problem, tol=1e-10)
    assert result.status == "converged"
    assert result.certificate.objective == pytest.approx(L2_OPTIMA[intercept], rel=1e-9)
    assert result.certificate.lower <= L2_OPTIMA[intercept] * (1 + 1e-11)


@pytest.mark.parametrize("intercept", [False, True])
def test_l1(digits: tuple[object, object], intercept: bool) -> None:
    """PIANO is 1e-8 above the optimum after 200,000 steps; after 200 its certified interval must hold it."""
    problem = Problem(*digits, penalty=L1(1.0), fit_intercept=intercept)
    result = solve(make_solver("piano"), problem, tol=1e-8, max_steps=200)
    for point in result.checkpoints:
        assert point.lower <= L1_OPTIMA[intercept] <= point.objective
    assert result.certificate.objective <= 1.5 * L1_OPTIMA[intercept]
    assert result.certificate.lower > 0.02 * L1_OPTIMA[intercept]
