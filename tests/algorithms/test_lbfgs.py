"""L-BFGS: its direction, its line search, and its independence of scale."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from cases import Case, draw
from scipy.optimize import minimize

from pianobench.algorithms import Breakdown, iterate, make_solver, solve
from pianobench.algorithms.lbfgs import two_loop, with_pair
from pianobench.algorithms.line_search import strong_wolfe
from pianobench.problems import L2, Problem


def test_two_loop_equals_the_bfgs_matrix() -> None:
    rng, gamma, size = np.random.default_rng(0), 0.7, 6
    hessian = np.cov(rng.normal(size=(size, 40)))
    S = rng.normal(size=(4, size))
    Y = S @ hessian
    H = gamma * np.eye(size)
    for s, y in zip(S, Y, strict=True):  # (6.17) of the book, the whole matrix
        rho = 1.0 / (y @ s)
        V = np.eye(size) - rho * np.outer(y, s)
        H = V.T @ H @ V + rho * np.outer(s, s)
    G = rng.normal(size=size)
    shape = (4, 3, 2)
    D = two_loop(G.reshape(3, 2), S.reshape(shape), Y.reshape(shape), gamma)
    np.testing.assert_allclose(D.ravel(), -H @ G, rtol=1e-12)


FUNCTIONS = {
    "quadratic": (lambda t: (t - 3.0) ** 2, lambda t: 2 * (t - 3.0)),
    "far": (lambda t: (t - 1e6) ** 2, lambda t: 2 * (t - 1e6)),
    "near": (lambda t: (t - 1e-9) ** 2, lambda t: 2 * (t - 1e-9)),
    "steep then flat": (lambda t: math.log1p(math.exp(-5 * t)) + 1e-3 * t, lambda t: -5 / (1 + math.exp(5 * t)) + 1e-3),
    "wall": (lambda t: -t + (math.inf if t > 1e-4 else 1e4 * t * t), lambda t: math.nan if t > 1e-4 else -1 + 2e4 * t),
    "quartic": (lambda t: (t - 2) ** 4, lambda t: 4 * (t - 2) ** 3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("first", [1e-6, 1.0, 1e3])
def test_line_search_satisfies_the_strong_wolfe_conditions(name: str, first: float) -> None:
    f, slope = FUNCTIONS[name]
    if name.startswith("steep"):
        first = min(first, 100.0)  # beyond, exp overflows in this toy
    calls: list[float] = []

    def phi(t: float) -> tuple[float, float]:
        calls.append(t)
        return f(t), slope(t)

    t = strong_wolfe(phi, f(0.0), slope(0.0), first, most=60)
    assert t is not None
    assert calls[-1] == t
    assert f(t) <= f(0.0) + 1e-4 * t * slope(0.0)
    assert abs(slope(t)) <= 0.9 * abs(slope(0.0))


def test_line_search_gives_up_on_a_line_without_an_end() -> None:
    assert strong_wolfe(lambda t: (-t, -1.0), 0.0, -1.0, 1.0, most=20) is None


def test_line_search_trusts_slopes_where_values_are_rounding() -> None:
    """Values that differ by noise alone refuse every step; the slopes still say where the minimum is."""

    def phi(t: float) -> tuple[float, float]:
        return 1.0 + (2e-16 if t > 0 else 0.0), 1e-9 * (t - 1.0)

    assert strong_wolfe(phi, 1.0, -1e-9, 1.0) is None
    assert strong_wolfe(phi, 1.0, -1e-9, 1.0, noise=1e-15) == 1.0


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
def test_the_scale_of_X_changes_nothing(scale: float) -> None:
    X, y, _ = draw()
    scale = 2.0 ** round(math.log2(scale))  # a power of two: then not even the rounding changes
    plain, scaled = (Problem(X * s, y, penalty=L2(1.0 * s * s), fit_intercept=False) for s in (1.0, scale))
    for ours, theirs in itertools.islice(
        zip(*(iterate(make_solver("lbfgs"), p) for p in (plain, scaled)), strict=True), 8
    ):
        np.testing.assert_allclose(theirs.W * scale, ours.W, rtol=1e-9, atol=1e-12)


def test_takes_one_gradient_a_step() -> None:
    problem = Case("l2", "dense", True, False, "float64").problem()
    result = solve(make_solver("lbfgs"), problem, tol=1e-8)
    calls = result.checkpoints[-1].gradient_equivalents
    assert result.steps <= calls <= 1.3 * result.steps + 4


def test_agrees_with_scipy() -> None:
    problem = Case("l2", "dense", True, True, "float64").problem()
    ours = solve(make_solver("lbfgs"), problem, tol=1e-13, max_steps=500)

    def smooth(w: np.ndarray) -> tuple[float, np.ndarray]:
        f, G = problem.smooth(w.reshape(problem.p, problem.m))
        return f, G.ravel()

    theirs = minimize(smooth, problem.zeros().ravel(), jac=True, method="BFGS", options={"gtol": 1e-10})
    np.testing.assert_allclose(ours.certificate.objective, theirs.fun, rtol=1e-12)


def test_ends_at_the_rounding_level_and_not_later() -> None:
    problem = Case("l2", "dense", False, False, "float64").problem()
    result = solve(make_solver("lbfgs"), problem, tol=0.0, max_steps=2000)
    assert result.status in ("breakdown", "stalled", "converged")
    assert result.certificate.gap <= 1e-14
    assert result.steps < 2000


def test_breaks_down_with_a_reason_where_no_step_descends() -> None:
    """A gradient that does not belong to f: no step along it lowers f, with or without memory."""
    problem = Case("l2", "dense", False, False, "float64").problem()
    solver = make_solver("lbfgs")
    states = iterate(solver, problem)
    state = next(itertools.islice(states, 3, None))
    state.G = -state.G
    state.pairs_s, state.pairs_y = state.pairs_s[:0], state.pairs_y[:0]
    with pytest.raises(Breakdown, match="no step along the gradient"):
        solver.step(problem, state)


def test_forgets_a_spoilt_memory_once() -> None:
    problem = Case("l2", "dense", False, False, "float64").problem()
    solver = make_solver("lbfgs")
    state = next(itertools.islice(iterate(solver, problem), 4, None))
    state.pairs_y, state.gamma = -state.pairs_y, -state.gamma  # -H for H: its direction goes up
    fresh = solver.step(problem, state)
    assert (fresh.rejected, len(fresh.pairs_s)) == (1, 0)
    assert fresh.W is state.W
    assert problem.value(solver.step(problem, fresh).W) < problem.value(state.W)


def test_starts_at_the_optimum() -> None:
    problem = Problem(np.array([[1.0], [-1.0], [1.0], [-1.0]]), [0, 0, 1, 1], penalty=L2(1.0))
    result = solve(make_solver("lbfgs"), problem)  # W = 0 is optimal
    assert (result.status, result.steps) == ("converged", 0)


def test_a_gradient_whose_square_is_below_all_numbers_spoils_no_memory() -> None:
    """Separable data without a penalty: F and its gradient fall to zero, and s'y outlives |y|^2."""
    none, s = np.empty((0, 2, 3)), np.ones((2, 3))
    pairs_s, pairs_y, gamma = with_pair(none, none, 0.5, s, 1e-170 * s, 10)
    assert (len(pairs_s), len(pairs_y), gamma) == (0, 0, 0.5)
