"""Proximal Newton on a working set: its models against the Hessian they stand for, and what is hard for it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from cases import draw

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.problems import L1, ElasticNet, Penalty, Problem, quadratic
from pianobench.problems.kernels.newton_cd import Weights
from pianobench.problems.penalties import Array, soft
from pianobench.problems.quadratic import Quadratic


def model_of(layout: str, intercept: bool, conditioning: str = "none") -> tuple[Problem, Array, Array]:
    """An elastic net over weighted rows, a point where some weights are 0, and its gradient."""
    X, y, a = draw(n=90, d=6, m=4, seed=2)
    problem = Problem(
        sp.csr_array(X) if layout == "csr" else X, y, penalty=ElasticNet(1.0, 0.3), sample_weight=a,
        fit_intercept=intercept, conditioning=conditioning,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    W = rng.normal(size=(problem.p, problem.m)) * (rng.random((problem.p, problem.m)) < 0.5)
    return problem, W, problem.smooth(W)[1]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("layout", "conditioning"), [("dense", "none"), ("dense", "scale"), ("csr", "none")], ids=["dense", "scaled", "csr"]
)
def test_both_forms_of_the_model_find_the_minimum_under_the_whole_hessian(
    layout: str, conditioning: str, intercept: bool
) -> None:
    problem, W, G = model_of(layout, intercept, conditioning)
    chosen = np.flatnonzero(np.random.default_rng(1).random(W.size) < 0.8)
    if intercept:
        chosen = np.union1d(chosen, np.arange(problem.m) * problem.p + problem.d)
    l1 = np.broadcast_to(np.asarray(problem.pen.l1), (problem.p, 1))
    model = Quadratic(problem, W, G, problem.scores(W), chosen, l1, 1e-9, 3000)
    H = problem.curvature(W).dense()[np.ix_(chosen, chosen)]
    np.testing.assert_allclose(
        model.hessian(),
        H,
        rtol=1e-7 if layout == "dense" else 2e-4,
        atol=(1e-9 if layout == "dense" else 1e-6) * H.max(),
    )
    for name, (w, XD) in {"margins": model.by_margins(), "matrix": model.by_matrix(H)}.items():
        slope = model.g + H @ (w - model.w)
        h = H.diagonal()
        missed = soft(w - slope / h, model.l1 / h) - w
        np.testing.assert_allclose(missed, 0.0, atol=2e-6, err_msg=name)
        D = model.at(w) - W
        np.testing.assert_allclose(XD.export()[0], problem.scores(D).export()[0], atol=1e-10, err_msg=name)


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_a_hessian_of_rows_drawn_is_right_in_the_mean(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row's weight over its chance: the mean of many draws is the Hessian of all rows, and each is definite."""
    monkeypatch.setattr(quadratic, "CHEAP", 0.0)
    monkeypatch.setattr(quadratic, "EXACT", 0.0)
    problem, W, G = model_of(layout, True)
    chosen = np.flatnonzero(np.random.default_rng(1).random(W.size) < 0.6)
    model = Quadratic(problem, W, G, problem.scores(W), chosen, np.ones((problem.p, 1)), 0.1, 10)
    H, rng = problem.curvature(W).dense()[np.ix_(chosen, chosen)], np.random.default_rng(3)
    draws = [model.hessian(3.0, rng) for _ in range(400)]
    spread = np.linalg.norm(np.std(draws, axis=0))
    assert spread > 0.05 * np.linalg.norm(H)
    assert np.linalg.norm(np.mean(draws, axis=0) - H) < 3.0 * spread / 20.0
    assert min(np.linalg.eigvalsh(one).min() for one in draws) > 0.0


def test_rows_that_are_decided_are_seldom_drawn() -> None:
    """Few rows carry the Hessian: the same accuracy with rows drawn evenly would take nearly all."""
    X, _, _ = draw(n=2000, d=4, m=3, seed=8)
    y = (6.0 * X[:, :3]).argmax(axis=1)
    problem = Problem(X, y, penalty=L1(1.0))
    W = solve(make_solver("prox-newton-active"), problem).W
    XW = problem.scores(W)
    P = np.exp(XW.export()[0] - XW.export()[0].max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    chosen = Weights(np.tile(np.arange(5), 3), np.repeat(np.arange(3), 5))
    rows, a = quadratic.drawn(problem.home.parts[0], chosen, 40.0, 0.0, np.random.default_rng(0), P.T.copy())
    assert rows.size < 600
    undecided = 1.0 - np.square(P).sum(axis=1)
    assert undecided[rows].sum() > 0.7 * undecided.sum()
    assert a @ undecided[rows] == pytest.approx(undecided.sum(), rel=0.1)


def test_damping_shortens_the_step() -> None:
    for layout in ("dense", "csr"):
        problem, W, G = model_of(layout, True)
        given = problem, W, G, problem.scores(W), np.arange(W.size), np.ones((problem.p, 1)), 1e-6, 1000
        free, damped = (Quadratic(*given, mu) for mu in (0.0, 10.0))
        long, short = (np.linalg.norm(model.by_margins()[0] - model.w) for model in (free, damped))
        assert short < 0.5 * long


def hard(name: str) -> Problem:
    X, y, _ = draw(n=80, d=5, m=3)
    if name == "two classes":
        return Problem(X, y > 0, penalty=L1(0.5))
    if name == "dead columns":
        return Problem(np.column_stack([X, np.zeros(80), np.full(80, 3.0)]), y, penalty=L1(0.5))
    if name == "separable":
        return Problem(X, X[:, 0] > 0, penalty=ElasticNet(1e-3, 1e-3))
    if name == "scales":
        return Problem(X * np.logspace(-2, 2, 5), y, penalty=L1(0.5), conditioning="centre+scale")
    if name == "sampled rows":
        X, y, _ = draw(n=4000, d=8, m=5, seed=3)
        return Problem(X, y, penalty=L1(4.0))
    mask = np.random.default_rng(5).random((problem_size := Problem(X, y).p, 3)) < 0.7
    assert mask.shape == (problem_size, 3)
    return Problem(X, y, penalty=L1(0.5)).restrict(mask)


@pytest.mark.parametrize("name", ["two classes", "dead columns", "separable", "scales", "sampled rows", "restricted"])
def test_reaches_the_gap_where_it_is_hard(name: str) -> None:
    problem = hard(name)
    result = solve(make_solver("prox-newton-active"), problem, tol=1e-8, max_steps=100)
    assert result.status == "converged", result.reason
    if problem.active is not None:
        assert not result.W[~problem.active].any()


def many_classes(layout: str) -> Problem:
    """Rows of few words, each class with words of its own: at 0 all are as likely, and Newton's step too long."""
    rng = np.random.default_rng(4)
    y = np.repeat(np.arange(30), 12)
    X = (rng.random((360, 120)) < 0.03).astype(float)
    X[np.arange(360), 4 * y + rng.integers(0, 4, 360)] = 1.0
    problem = Problem(sp.csr_array(X) if layout == "csr" else X, y)
    return problem.with_penalty(L1(0.05 * problem.lambda_max))


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_many_classes_take_few_steps_from_zero(layout: str) -> None:
    result = solve(make_solver("prox-newton-active"), many_classes(layout), max_steps=40)
    assert result.status == "converged", result.reason
    assert result.steps <= 30


def test_a_kept_matrix_serves_several_steps_and_stays_definite() -> None:
    X, y, _ = draw(n=400, d=10, m=4, seed=6)
    states = []
    for state, _ in zip(
        iterate(make_solver("prox-newton-active"), Problem(X, y, penalty=L1(1.0))), range(12), strict=False
    ):
        states.append(state)
        if state.H is not None:
            assert np.linalg.eigvalsh(state.H).min() > 0.0
    assert 0 < states[-1].draws < len(states) - 3


@pytest.mark.parametrize("penalty", [L1(1.0), ElasticNet(0.5, 0.5)], ids=["l1", "elastic net"])
def test_a_start_that_is_off_by_a_common_shift_of_the_classes(penalty: Penalty) -> None:
    """The loss does not see it, and no coordinate leads back: the start is shifted to cost least."""
    X, y, a = draw(n=200, d=5, m=6, seed=1)
    problem = Problem(X, y, penalty=penalty, sample_weight=a)
    solver = make_solver("prox-newton-active")
    W = solve(solver, problem, tol=1e-8).W
    W[: problem.d] += np.linspace(-6e3, 1e4, problem.d)[:, None]
    given = W.copy()
    again = solve(solver, problem, W0=W, tol=1e-8, max_steps=20)
    assert again.status == "converged"
    assert again.steps <= 1
    np.testing.assert_array_equal(W, given)


def test_a_matrix_is_exact_where_it_is_cheap_and_in_the_end_where_rows_are_sparse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows drawn leave a ridge and what they miss: with all of them the last steps are Newton's, and few."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(40, 90))
    problem = Problem(X, (X[:, :3] + 0.5 * rng.normal(size=(40, 3))).argmax(axis=1))
    problem = problem.with_penalty(L1(0.02 * problem.lambda_max))
    exact = solve(make_solver("prox-newton-active"), problem, tol=1e-8).steps
    monkeypatch.setattr(quadratic, "EXACT", 0.0)
    drawn = solve(make_solver("prox-newton-active"), problem, tol=1e-8).steps
    assert exact < 0.75 * drawn
