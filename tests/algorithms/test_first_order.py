"""Gradient descent and FISTA: backtracking, the published formulas, restarts."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from cases import Case, draw

from pianobench.algorithms import Breakdown, iterate, make_solver, solve
from pianobench.algorithms.line_search import armijo
from pianobench.problems import L2, Problem


def test_backtracking_takes_the_first_half_that_is_enough() -> None:
    calls: list[float] = []

    def phi(t: float) -> tuple[float, float]:
        calls.append(t)
        return (t - 1.0) ** 2 if t < 5.0 else math.inf, 2.0 * (t - 1.0)

    assert armijo(phi, 1.0, -2.0, 8.0) == 1.0  # 2 gives back what 1 gained: f(2) = f(0)
    assert calls == [8.0, 4.0, 2.0, 1.0]
    assert armijo(phi, 1.0, -2.0, 8.0, sufficient=0.6) == 0.5
    assert armijo(lambda t: (1.0 + t, 1.0), 1.0, -1.0, 1.0) is None


def test_backtracking_trusts_slopes_where_values_are_rounding() -> None:
    def phi(t: float) -> tuple[float, float]:
        return 1.0 + 2e-16, 1e-9 * (t - 1.0)

    assert armijo(phi, 1.0, -1e-9, 1.0, noise=1e-15) == 1.0
    assert armijo(phi, 1.0, -1e-9, 4.0, noise=1e-15) == 1.0  # the slope at 4 and at 2 says too far


def test_gradient_descent_moves_along_the_gradient_and_doubles_its_first_trial() -> None:
    problem = Case("l2", "dense", True, True, "float64").problem()
    for old, new in itertools.pairwise(itertools.islice(iterate(make_solver("gd"), problem), 8)):
        f, G = problem.smooth(old.W)
        np.testing.assert_allclose(new.W, old.W - new.t * G, rtol=1e-12, atol=1e-13)
        halvings = math.log2(2.0 * old.t / new.t)
        assert halvings == round(halvings) >= 0
        assert new.f <= f - 0.3 * new.t * np.vdot(G, G)
        if halvings:
            assert problem.value(old.W - 2.0 * new.t * G) > f - 0.3 * 2.0 * new.t * np.vdot(G, G)


def test_gradient_descent_breaks_down_with_a_reason() -> None:
    problem = Case("l2", "dense", False, False, "float64").problem()
    solver = make_solver("gd")
    state = next(itertools.islice(iterate(solver, problem), 3, None))
    with pytest.raises(Breakdown, match="no step along the gradient"):
        solver.step(problem, replace(state, G=-state.G))
    with pytest.raises(Breakdown, match="zero to rounding"):
        solver.step(problem, replace(state, G=0.0 * state.G))


@pytest.mark.parametrize("penalty", ["none", "l1", "elasticnet"])
def test_fista_takes_the_steps_of_the_paper(penalty: str) -> None:
    """At a constant L, until the first restart: (4.1) to (4.3) of the paper, written out."""
    problem = Case(penalty, "dense", True, True, "float64").problem()
    L = 0.5 * float(np.linalg.eigvalsh(problem.gram(problem.weights()))[-1]) + float(np.max(problem.pen.l2))
    solver = make_solver("fista")
    state = replace(solver.init(problem, problem.zeros(), np.random.default_rng(0)), L=L)
    x = y = problem.zeros()
    t, compared = 1.0, 0
    for _ in range(40):
        state = solver.step(problem, state)
        if state.restarts:
            break
        v = y - problem.smooth(y)[1] / L
        new = np.sign(v) * np.maximum(np.abs(v) - problem.pen.l1 / L, 0.0)
        t_new = (1.0 + math.sqrt(1.0 + 4.0 * t * t)) / 2.0
        y, x, t = new + (t - 1.0) / t_new * (new - x), new, t_new
        np.testing.assert_allclose(state.W, x, rtol=1e-10, atol=1e-13)
        assert L == state.L
        compared += 1
    assert compared >= 8


def test_fista_grows_its_constant_only_where_the_quadratic_is_too_low() -> None:
    problem = Case("l1", "csr", True, False, "float64").problem()
    solver = make_solver("fista")
    start = solver.init(problem, problem.zeros(), np.random.default_rng(0))
    bound = 0.5 * float(np.linalg.eigvalsh(problem.gram())[-1])
    states = [solver.step(problem, replace(start, L=start.L / 1024))]
    for _ in range(30):
        states.append(solver.step(problem, states[-1]))
    constants = [state.L for state in states]
    assert constants[0] > start.L / 1024
    half, (f, G) = constants[0] / 2.0, problem.smooth(problem.zeros())
    W = problem.prox(-G / half, 1.0 / half)
    assert problem.value(W) > f + np.vdot(W, G) + 0.5 * half * np.vdot(W, W) + problem.pen.nonsmooth(W)
    assert (np.diff(constants) >= 0).all()
    assert constants[-1] <= 2.0 * bound


def test_restarts_make_fista_fast_where_gradient_descent_crawls() -> None:
    X, y, _ = draw()
    problem = Problem(X * [1.0, 6.0, 0.2], y, penalty=L2(0.05))
    fast, slow = (solve(make_solver(key), problem, tol=1e-9, max_steps=20_000) for key in ("fista", "gd"))
    assert fast.status == slow.status == "converged"
    assert fast.state.restarts >= 2
    assert fast.steps < 0.25 * slow.steps
