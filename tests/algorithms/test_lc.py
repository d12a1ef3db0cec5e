"""LC: its bound, its class problems, its L-BFGS, and what centring does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cases import Case, draw
from scipy.optimize import minimize

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.algorithms.lbfgs import two_loop
from pianobench.algorithms.lc import _Lbfgs
from pianobench.problems import L2, Problem
from pianobench.problems.kernels import classwise
from pianobench.problems.penalties import Array


def margins(A: Array, W: Array) -> Array:
    """log P (n, m)."""
    Z = A @ W
    return np.asarray(Z - np.logaddexp.reduce(Z, axis=1, keepdims=True))


@pytest.mark.parametrize("penalty", [None, L2(0.5)], ids=["none", "l2"])
def test_a_step_solves_each_class_alone(penalty: L2 | None) -> None:  # type: ignore[valid-type]
    """With the inner problem solved to the end, a step is the minimiser that another program finds, class by class."""
    X, y, a = draw()
    problem, A = Problem(X, y, penalty=penalty, sample_weight=a), np.column_stack([X, np.ones(len(X))])
    W0 = 0.3 * np.random.default_rng(1).normal(size=(problem.p, problem.m))
    solver = make_solver("lc", inner_steps=200, inner_accuracy=1e-10)
    W = next(itertools.islice(iterate(solver, problem, W0), 1, None)).W
    Z = A @ W0
    lse, Y, l2 = np.logaddexp.reduce(Z, axis=1), np.eye(3)[y], np.broadcast_to(problem.pen.l2, (problem.p, 1))[:, 0]
    for i in range(problem.m):

        def bound(w: Array, i: int = i) -> tuple[float, Array]:
            E, z = a * np.exp(A @ w - lse), A @ w
            return E.sum() - (a * Y[:, i]) @ z + 0.5 * l2 @ w**2, A.T @ (E - a * Y[:, i]) + l2 * w

        best = minimize(bound, W0[:, i], jac=True, method="BFGS", options={"gtol": 1e-9})
        np.testing.assert_allclose(W[:, i], best.x, atol=1e-6)
        assert bound(W[:, i])[0] <= best.fun + 1e-12 * abs(best.fun)


def test_the_row_arithmetic_is_exact_and_skips_rows_left_out() -> None:
    problem = Case("none", "dense", True, True, "float64").problem()
    rng = np.random.default_rng(2)
    W, D, t = rng.normal(size=(problem.p, 3)), rng.normal(size=(problem.p, 3)), np.array([0.0, 0.7, -1.3])
    M, XD, R = problem.field(3), problem.scores(D), problem.field(3)
    problem.map_rows(classwise.log_probabilities, M, W=W)
    (part,) = problem.home.parts
    A = np.column_stack([part.design.X, np.ones(problem.n)])
    np.testing.assert_allclose(M.parts[0], margins(A, W), rtol=1e-13, atol=1e-14)
    M.parts[0][part.weights == 0] = 1e4  # would overflow
    mass, rise, bend = problem.map_rows(classwise.along, M, XD, R, parameters=(t,))
    E = part.weights[:, None] * np.exp(np.where(part.weights[:, None] > 0, M.parts[0], 0.0) + t * (A @ D))
    np.testing.assert_allclose(R.parts[0], E, rtol=1e-13)
    for ours, power in zip((mass, rise, bend), range(3), strict=True):
        np.testing.assert_allclose(ours, (E * (A @ D) ** power).sum(axis=0), rtol=1e-12)
    M.parts[0][part.weights > 0] += 1e4
    mass, _, _ = problem.map_rows(classwise.along, M, XD, R, parameters=(t,))
    assert np.isposinf(mass).all()  # a trial too far must not pass for a good one
    before = M.parts[0].copy()
    problem.map_rows(classwise.advance, M, XD, parameters=(t,))
    np.testing.assert_array_equal(M.parts[0], before + t * (A @ D))


def test_classes_share_nothing_in_the_inner_method() -> None:
    """Each column of the joint L-BFGS is L-BFGS on that class alone, with its own pairs; a flat pair is left out."""
    rng, joint, most = np.random.default_rng(3), _Lbfgs(3), 3
    pairs = [(s, s * rng.uniform(0.5, 2.0, size=(4, 3))) for s in rng.normal(size=(5, 4, 3))]
    pairs[3][1][:, 1] *= -1.0
    for s, y in pairs:
        joint.learn(s, y)
    G = rng.normal(size=(4, 3))
    for i in range(3):
        own = [(s[:, [i]], y[:, [i]]) for s, y in pairs[-most:] if np.vdot(s[:, i], y[:, i]) > 0]
        s, y = (np.array(each) for each in zip(*own, strict=True))
        gamma = np.vdot(s[-1], y[-1]) / np.vdot(y[-1], y[-1])
        np.testing.assert_allclose(joint.direction(G)[:, [i]], two_loop(G[:, [i]], s, y, float(gamma)), rtol=1e-12)


@pytest.mark.parametrize("parameters", [{"inner_steps": 1}, {"inner_accuracy": 0.5}, {"memory_pairs": 1}], ids=str)
def test_an_inexact_inner_solve_descends_too(parameters: dict[str, float]) -> None:
    problem = Case("l2", "csr", True, True, "float64").problem()
    values = [problem.value(s.W) for s in itertools.islice(iterate(make_solver("lc", **parameters), problem), 40)]
    assert (np.diff(values) <= 1e-14 * values[0]).all()
    assert values[-1] < 0.9 * values[0]


def test_an_inner_problem_without_a_minimiser_ends() -> None:
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    problem = Problem(X, [0, 0, 1, 1], fit_intercept=False)
    states = list(itertools.islice(iterate(make_solver("lc", inner_steps=3, inner_accuracy=0.0), problem), 5))
    values = [problem.value(state.W) for state in states]
    assert np.isfinite(values).all()
    assert (np.diff(values) < 0).all()
    assert [state.inner for state in states] == [0, 3, 6, 9, 12]


def test_centring_shifts_penalised_rows_and_saves_steps() -> None:
    X, y, _ = draw(m=5)
    problem = Problem(X, y, penalty=L2(0.05))
    plain, centred = (solve(make_solver(key), problem, tol=1e-6, max_steps=2000) for key in ("lc", "lc-centred"))
    assert plain.status == centred.status == "converged"
    assert centred.steps < 0.3 * plain.steps
    step, W0 = make_solver("lc").step, problem.zeros() + np.arange(5.0)
    moved = next(itertools.islice(iterate(make_solver("lc-centred"), problem, W0), 1, None)).W
    V = step(problem, make_solver("lc").init(problem, W0, np.random.default_rng(0))).W
    np.testing.assert_allclose(moved[:-1], V[:-1] - V[:-1].mean(axis=1, keepdims=True), atol=1e-14)
    np.testing.assert_array_equal(moved[-1], V[-1])
