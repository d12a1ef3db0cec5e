"""IRLS, Böhning's method and Newton-CG: against the matrices they stand for, and against each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cases import Case, draw

from pianobench.algorithms import Breakdown, iterate, make_solver, solve, solver_refusal
from pianobench.problems import L2, Problem
from pianobench.problems.oracles import Curvature
from pianobench.problems.penalties import Array


def matrix(X: Array, intercept: bool) -> Array:
    """X with its constant column."""
    return np.column_stack([X, np.ones(len(X))]) if intercept else X


def strengths(problem: Problem) -> Array:
    """Diagonal (m p,) of the penalty's Hessian."""
    return np.broadcast_to(problem.pen.l2, (problem.p, problem.m)).T.ravel()


@pytest.mark.parametrize("rows", [60, 2], ids=["n>p", "n<p"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", [None, L2(0.7)], ids=["none", "l2"])
def test_bohning_is_the_step_with_the_whole_matrix(rows: int, intercept: bool, penalty: object) -> None:
    X, y, a = (v[:rows] for v in draw(m=4))
    a = a + 0.1
    problem = Problem(X, y, penalty=penalty, sample_weight=a, fit_intercept=intercept, classes=np.arange(4))
    A, m = matrix(X, intercept), problem.m
    B = 0.5 * np.kron(np.eye(m) - 1.0 / m, A.T @ (a[:, None] * A)) + np.diag(strengths(problem))
    inverse, W = np.linalg.pinv(B, rcond=1e-12), problem.zeros()
    for state in itertools.islice(iterate(make_solver("bohning"), problem), 1, 8):
        _, G = problem.smooth(W)
        W = W - (inverse @ G.T.ravel()).reshape(m, -1).T
        # where X has nothing to say the two may differ, and no score does
        np.testing.assert_allclose(A @ state.W, A @ W, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("lam", [0.0, 3.0])
def test_newton_with_two_classes_is_logistic_irls(lam: float, intercept: bool) -> None:
    """v = w_1 - w_0 takes the steps of reweighted least squares; l2 on W is lam/2 on v."""
    X, y, a = draw(m=2)
    problem = Problem(X, y, penalty=L2(lam) if lam else None, sample_weight=a, fit_intercept=intercept)
    A, v = matrix(X, intercept), np.zeros(problem.p)
    ridge = np.full(problem.p, lam / 2)
    if intercept:
        ridge[-1] = 0.0
    for state in itertools.islice(iterate(make_solver("irls"), problem), 1, 7):
        p = 1.0 / (1.0 + np.exp(-A @ v))
        S = p * (1.0 - p)
        z = A @ v + (y - p) / S  # the working response
        v = np.linalg.solve(A.T @ (a * S * A.T).T + np.diag(ridge), A.T @ (a * S * z))
        np.testing.assert_allclose(state.W[:, 1] - state.W[:, 0], v, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(state.W.sum(axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize("deficient", [False, True])
@pytest.mark.parametrize("penalty", [None, L2(2.0)], ids=["none", "l2"])
def test_newton_takes_the_step_of_the_pseudo_inverse(penalty: object, deficient: bool) -> None:
    X, y, a = draw()
    if deficient:
        X = np.column_stack([X, X[:, 0] * 10 - X[:, 1], np.zeros(len(X))])
    problem = Problem(X, y, penalty=penalty, sample_weight=a)
    W = problem.zeros()
    for state in itertools.islice(iterate(make_solver("irls"), problem), 1, 6):
        _, G = problem.smooth(W)
        D = -(np.linalg.pinv(problem.curvature(W).dense(), rcond=1e-13) @ G.T.ravel()).reshape(problem.m, -1).T
        W = W + D
        A = matrix(X, True)
        np.testing.assert_allclose(A @ state.W, A @ W, rtol=1e-7, atol=1e-9)
        if not deficient:
            np.testing.assert_allclose(state.W, W, rtol=1e-9, atol=1e-11)


def test_newton_is_damped_where_a_full_step_goes_up() -> None:
    problem = Case("l2", "dense", True, False, "float64").problem().with_penalty(L2(1e-3))
    W0 = 8.0 * np.random.default_rng(2).normal(size=(problem.p, problem.m))
    _, G = problem.smooth(W0)
    full = W0 - np.linalg.lstsq(problem.curvature(W0).dense(), G.T.ravel())[0].reshape(problem.m, -1).T
    assert problem.value(full) > problem.value(W0)
    for key in ("irls", "newton-cg"):
        result = solve(make_solver(key), problem, W0=W0, tol=1e-10, max_steps=60)
        assert result.status == "converged"
        assert (np.diff([c.objective for c in result.checkpoints]) <= 0).all()


@pytest.mark.parametrize("penalty", ["none", "l2"])
def test_newton_cg_solved_to_the_end_is_newton(penalty: str) -> None:
    problem = Case(penalty, "csr", True, True, "float64").problem()
    exact = iterate(make_solver("irls"), problem)
    truncated = iterate(make_solver("newton-cg", forcing=1e-11), problem)
    for ours, theirs in itertools.islice(zip(truncated, exact, strict=True), 5):
        np.testing.assert_allclose(ours.W, theirs.W, rtol=1e-8, atol=1e-9)


def test_newton_cg_counts_its_products_and_keeps_to_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Case("none", "dense", True, True, "float64").problem()
    calls, product = [0], Curvature.__matmul__

    def counted(H: Curvature, V: Array) -> Array:
        calls[0] += 1
        return product(H, V)

    monkeypatch.setattr(Curvature, "__matmul__", counted)
    for state in itertools.islice(iterate(make_solver("newton-cg", forcing=1e-9, inner_steps=3), problem), 5):
        assert state.products == calls[0]
    assert state.products == 12
    for state in itertools.islice(iterate(make_solver("newton-cg"), problem), 5):
        assert state.products <= calls[0] - 12  # counted also where the residual is small enough before the limit
    assert 4 < state.products == calls[0] - 12


@pytest.mark.parametrize("key", ["irls", "newton-cg"])
def test_a_sub_problem_is_solved_in_its_own_weights(key: str) -> None:
    whole = Case("l2", "dense", True, False, "float64").problem()
    active = np.random.default_rng(4).random((whole.p, whole.m)) < 0.6
    problem = whole.restrict(active)
    best = solve(make_solver("lbfgs"), problem, max_gradient_equivalents=200, tol=0.0)
    W = solve(make_solver(key), problem, max_steps=60, tol=0.0).W
    assert (W[~problem.active] == 0).all()
    assert problem.value(W) <= problem.value(best.W) * (1 + 1e-9)


def test_bohning_refuses_a_sub_problem_with_weights_held_within_a_row() -> None:
    problem = Case("l2", "dense", True, False, "float64").problem()
    active = np.ones((problem.p, problem.m), bool)
    active[1] = False
    assert solve(make_solver("bohning"), problem.restrict(active), max_steps=500).status == "converged"
    active[2, 0] = False
    with pytest.raises(ValueError, match="beyond it"):
        solve(make_solver("bohning"), problem.restrict(active))


def test_irls_is_refused_where_the_hessian_does_not_fit() -> None:
    problem = Case("l2", "dense", True, False, "float64").problem()
    size = 8 * (problem.p * problem.m) ** 2
    assert solver_refusal(make_solver("irls"), problem, 10 * size) is None
    assert f"more than the {size:,} there are" in str(solver_refusal(make_solver("irls"), problem, size))
    wide = Problem(np.zeros((3, 400_000)), [0, 1, 2], penalty=L2(1.0))
    with pytest.raises(MemoryError, match=r"not tried: IRLS needs 19,2.* bytes besides the data"):
        solve(make_solver("irls"), wide)


def test_irls_says_so_where_probabilities_are_0_and_1() -> None:
    X = np.array([[1.0, 0.2], [-1.0, 0.1], [2.0, 0.0], [-2.0, 0.3]])
    problem = Problem(X, [0, 1, 0, 1], fit_intercept=False)
    solver = make_solver("irls")
    state = solver.init(problem, np.array([[800.0, -800.0], [0.0, 0.0]]), np.random.default_rng(0))
    with pytest.raises(Breakdown, match="singular to rounding"):
        solver.step(problem, state)


@pytest.mark.parametrize("key", ["irls", "newton-cg"])
def test_newton_rests_at_the_rounding_level(key: str) -> None:
    problem = Case("l2", "dense", True, True, "float64").problem()
    states = list(itertools.islice(iterate(make_solver(key), problem), 30))
    assert np.abs(problem.smooth(states[-1].W)[1]).max() <= 1e-12
    result = solve(make_solver(key), problem, tol=0.0)
    assert result.status in ("stalled", "converged")
    assert result.certificate.gap <= 1e-14
