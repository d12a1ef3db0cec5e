"""FLEXA, inexact Gauss-Jacobi, GJ-FLEXA: where they coincide, and their rules for tau and gamma."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import Case

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.problems import L1, Problem

KEYS = ("flexa", "inexact-gj", "gj-flexa")


def states(key: str, problem: Problem, count: int, **parameters: Any) -> list[Any]:
    return list(itertools.islice(iterate(make_solver(key, **parameters), problem), count + 1))


def lean(layout: str = "dense", penalty: str = "l1") -> Problem:
    return Case(penalty, layout, True, True, "float64").problem()


@pytest.fixture(scope="module")
def wide() -> Problem:
    """n < d: where the published rules fail."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 60)), rng.integers(0, 3, 40)
    y[:3] = np.arange(3)
    problem = Problem(X, y, fit_intercept=False)
    return problem.with_penalty(L1(0.1 * problem.lambda_max))


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("penalty", ["l1", "elasticnet", "none"])
@pytest.mark.parametrize("parameters", [{}, {"tau": 3.0, "gamma": 0.5}, {"model": "quarter"}, {"model": "bohning"}])
def test_one_element_a_group_is_flexa_without_selection(layout: str, penalty: str, parameters: Any) -> None:
    problem = lean(layout, penalty)
    one = states("inexact-gj", problem, 20, groups=problem.p * problem.m, **parameters)
    other = states("flexa", problem, 20, sigma=0.0, **parameters)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a.W, b.W, rtol=1e-9, atol=1e-12)
        assert (a.tau, a.rejected, a.falls, a.changes) == (b.tau, b.rejected, b.falls, b.changes)
        assert a.gamma == pytest.approx(b.gamma, rel=1e-12)


@pytest.mark.parametrize("groups", [1, 3])
def test_gj_flexa_that_selects_all_is_inexact_gj(groups: int) -> None:
    one = states("gj-flexa", lean(), 20, sigma=0.0, groups=groups)
    other = states("inexact-gj", lean(), 20, groups=groups)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.W, b.W)


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize(("model", "curvature"), [("bohning", None), ("quarter", 0.25)])
def test_one_group_with_smlrs_bound_is_smlr(layout: str, model: str, curvature: float | None) -> None:
    problem = lean(layout)
    one = states("inexact-gj", problem, 10, groups=1, tau=0.0, gamma=1.0, theta=0.0, model=model)
    other = states("smlr", problem, 10, curvature=curvature)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.W, b.W)


def test_a_step_takes_the_elements_that_would_move_farthest() -> None:
    problem = lean(penalty="elasticnet")
    start = states("flexa", problem, 3)[-1]
    h = problem.curvature(start.W).diag() + start.tau
    U = start.W - problem.smooth(start.W)[1] / h
    D = np.sign(U) * np.maximum(np.abs(U) - problem.pen.l1 / h, 0.0) - start.W
    for sigma in (0.0, 0.3, 0.9, 1.0):
        solver = make_solver("flexa", sigma=sigma)
        chosen = np.abs(D) >= sigma * np.abs(D).max()
        assert sigma in (0.0, 0.3) or not chosen.all()
        moved = solver.step(problem, start)
        np.testing.assert_allclose(moved.W, start.W + start.gamma * chosen * D, rtol=1e-10, atol=1e-12)
        sequential = make_solver("gj-flexa", sigma=sigma).step(problem, start)
        np.testing.assert_array_equal((sequential.W != start.W) & ~chosen, False)
        assert (sequential.W != start.W).any()


@pytest.mark.parametrize("key", KEYS)
def test_a_step_that_raises_the_objective_is_thrown_away(key: str) -> None:
    X = 1.0 + 0.3 * np.random.default_rng(4).normal(size=(40, 8))  # columns alike: what one does all do
    problem = Problem(X, np.arange(40) % 3, penalty=L1(0.1), fit_intercept=False)
    parameters: dict[str, Any] = {"sigma": 0.0} if key == "flexa" else {"groups": 24}
    solver = make_solver(key, **(parameters | ({"sigma": 0.0} if key == "gj-flexa" else {})))
    start = replace(states(key, problem, 2)[-1], tau=1e-6, falls=5)  # too small a tau
    after = solver.step(problem, start)
    assert (after.tau, after.rejected, after.falls, after.changes) == (2e-6, start.rejected + 1, 0, start.changes)
    np.testing.assert_array_equal(after.W, start.W)
    fixed = replace(solver, tau=1e-6).step(problem, start)  # a number: taken all the same
    assert fixed.F > start.F
    assert fixed.tau == start.tau
    published = replace(solver, tau="published")
    assert published.step(problem, start).changes == start.changes + 1
    assert published.step(problem, replace(start, changes=100)).F > start.F  # unchecked
    assert solver.step(problem, replace(start, changes=100)).F == start.F


def test_tau_starts_at_half_the_mean_square_and_is_halved_after_ten_falls(wide: Problem) -> None:
    run = states("flexa", wide, 40)
    (part,) = wide.home.parts
    assert run[0].tau == pytest.approx(np.sum(part.design.X**2) / (2 * 60 * 3), rel=1e-12)
    falls = 0
    for before, after in itertools.pairwise(run):
        if after.F < before.F:
            falls += 1
        elif after.W is before.W:
            assert after.tau == 2 * before.tau
            falls = 0
            continue
        if falls == 10 or after.merit(wide) <= 1e-3:
            assert after.tau == 0.5 * before.tau
            assert after.changes == before.changes + 1
            falls = 0
        else:
            assert after.tau == before.tau
    assert run[-1].changes > 0


def test_gamma_falls_by_the_merit() -> None:
    problem = lean()
    for before, after in itertools.pairwise(states("inexact-gj", problem, 60, theta=0.01)):
        merit = after.merit(problem)
        assert after.gamma == pytest.approx(before.gamma * (1 - min(1, 1e-4 / merit) * 0.01 * before.gamma), rel=1e-12)
    assert 0.5 < after.gamma < 0.899


def test_the_merit_vanishes_at_the_optimum_alone() -> None:
    problem = lean()
    result = solve(make_solver("gj-flexa"), problem, tol=1e-13, max_steps=2000)
    assert result.state.merit(problem) < 1e-6
    assert states("gj-flexa", problem, 1)[-1].merit(problem) > 1.0


def test_the_published_limit_lets_the_objective_rise(wide: Problem) -> None:
    published, converging = (
        np.array([s.F for s in states("flexa", wide, 600, tau=t)]) for t in ("published", "converging")
    )
    assert published.min() < 1.001 * converging[-1]  # it had been there
    assert published[-1] > 1.5 * published.min()
    assert (np.diff(converging) <= 1e-14 * converging[0]).all()


@pytest.mark.parametrize("key", KEYS)
def test_the_default_never_rises_and_converges(wide: Problem, key: str) -> None:
    run = states(key, wide, 300)
    assert (np.diff([wide.value(s.W) for s in run]) <= 1e-14 * run[0].F).all()
    assert solve(make_solver(key), wide, tol=1e-8, max_steps=4000).status == "converged"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tau": "late"}, "tau='late': 'converging', 'published' or a number"),
        ({"tau": -1.0}, r"tau=-1\.0"),
        ({"gamma": 0.0}, r"gamma=0\.0: a number in"),
        ({"model": "newton"}, "model='newton': one of taylor, bohning, quarter"),
    ],
)
def test_refuses_parameters_that_mean_nothing(parameters: Any, message: str) -> None:
    for key in KEYS:
        with pytest.raises(ValueError, match=message):
            make_solver(key, **parameters)
