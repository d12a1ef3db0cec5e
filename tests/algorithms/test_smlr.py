"""SMLR and its parallel forms: conflicts of columns, the damped majoriser, stages that may be done at once."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cases import Case, draw

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.problems import L1, ElasticNet, Problem
from pianobench.problems.kernels.coordinate import Rule

FIRST = np.random.default_rng(0)


def sparse_text(seed: int = 0, n: int = 80, d: int = 30, m: int = 3) -> tuple[sp.csr_array, np.ndarray]:
    """Few non-zeros a row, so that a colour has several features; some zeros are stored, a column is empty."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.08)
    X[:, 7] = 0.0
    X = sp.csr_array(X)
    X.data[::3] = 0.0
    y = rng.integers(0, m, n)
    y[:m] = np.arange(m)
    return X, y


def at_step(solver: Any, problem: Problem, k: int, W0: np.ndarray | None = None) -> Any:
    return next(itertools.islice(iterate(solver, problem, W0), k, None))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("layout", ["dense", "csr", "centred"])
def test_squares_and_colours_are_those_of_the_columns(layout: str, intercept: bool) -> None:
    X, y = sparse_text()
    a = np.random.default_rng(1).choice([0.0, 0.5, 2.0], len(y))
    conditioning = "centre+scale" if layout == "centred" and intercept else "none"
    problem = Problem(
        X if layout == "csr" else X.toarray(), y, sample_weight=a, fit_intercept=intercept, conditioning=conditioning
    )
    (part,) = problem.home.parts
    V = np.asarray(part.design.dot(np.eye(problem.p)))  # the matrix itself, conditioned, with the constant column
    np.testing.assert_allclose(problem.squares()[:, 0], a @ V**2, rtol=1e-12)
    np.testing.assert_allclose(problem.squares(crowded=True)[:, 0], (a * (V != 0).sum(axis=1)) @ V**2, rtol=1e-12)
    colours: list[int] = []
    for l in range(problem.p):
        taken = {colours[k] for k in range(l) if np.any((V[:, k] != 0) & (V[:, l] != 0))}
        colours.append(next(c for c in itertools.count() if c not in taken))
    np.testing.assert_array_equal(problem.colours(), colours)
    assert conditioning != "none" or max(colours) < problem.p - 1


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0])
def test_the_damped_model_lies_above(layout: str, intercept: bool, scale: float) -> None:
    X, y, a = draw(d=6, m=4)
    problem = Problem(
        sp.csr_array(X) if layout == "csr" else X,
        y,
        sample_weight=a,
        penalty=ElasticNet(1.0, 0.3),
        fit_intercept=intercept,
    )
    rng = np.random.default_rng(2)
    for _ in range(30):
        W, D = scale * rng.normal(size=(2, problem.p, problem.m))
        f, G = problem.smooth(W)
        B = make_solver("smlr-damped").init(problem, W, FIRST).B
        above = f + np.sum(G * D) + 0.5 * np.sum(B * D**2)
        assert problem.smooth(W + D)[0] <= above + 1e-12 * abs(above)


def test_the_damped_model_is_tight_for_two_classes_and_equal_columns() -> None:
    """Where both bounds are equalities: nothing smaller than the count of conflicts would do."""
    problem = Problem(np.ones((10, 5)), [0, 1] * 5, fit_intercept=False)
    D = 1e-4 * np.ones((5, 1)) * [[1.0, -1.0]]
    f, G = problem.smooth(problem.zeros())
    B = make_solver("smlr-damped").init(problem, problem.zeros(), FIRST).B
    rest = problem.smooth(D)[0] - f - np.sum(G * D)
    assert rest == pytest.approx(0.5 * np.sum(B * D**2), rel=1e-5)


def test_a_damped_step_is_the_formula() -> None:
    X, y, a = draw()
    problem = Problem(X, y, sample_weight=a, penalty=ElasticNet(0.7, 0.4))
    W0 = np.random.default_rng(3).normal(size=(problem.p, problem.m))
    count, V = (X != 0).sum(axis=1) + 1, np.hstack([X, np.ones((len(X), 1))])
    B = 0.5 * ((a * count) @ V**2)[:, None] + problem.pen.l2
    _, G = problem.smooth(W0)
    U = W0 - G / B
    expected = np.sign(U) * np.maximum(np.abs(U) - problem.pen.l1 / B, 0.0)
    np.testing.assert_allclose(at_step(make_solver("smlr-damped"), problem, 1, W0).W, expected, rtol=1e-12, atol=1e-14)


def test_undamped_steps_of_all_elements_at_once_raise_the_objective() -> None:
    """What the damping is for: SMLR's own curvature, all elements at once."""
    X = 1.0 + 0.1 * np.random.default_rng(4).normal(size=(40, 8))
    problem = Problem(X, np.arange(40) % 3, penalty=L1(0.1), fit_intercept=False)
    at_once = make_solver("flexa", sigma=0.0, tau=0.0, gamma=1.0, theta=0.0, model="bohning")
    W0 = np.random.default_rng(5).normal(size=(8, 3))
    plain, damped = (
        [problem.value(state.W) for state in itertools.islice(iterate(s, problem, W0), 5)]
        for s in (at_once, make_solver("smlr-damped"))
    )
    assert plain[1] > 1.5 * plain[0]
    assert (np.diff(damped) < 0).all()


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_elements_of_a_stage_may_move_at_once(layout: str) -> None:
    X, y = sparse_text()
    problem = Problem(X if layout == "csr" else X.toarray(), y, penalty=L1(0.3), fit_intercept=True)
    solver = make_solver("smlr-coloured")
    state = at_step(solver, problem, 1)
    assert state.stages < 0.7 * state.W.size
    colour, (feature, klass) = problem.colours(), np.divmod(state.order, problem.m)
    starts = np.flatnonzero(np.diff(colour[feature] * problem.m + klass)) + 1
    stages = np.split(state.order, starts)
    assert len(stages) == state.stages
    one = solver.step(problem, state).W
    W = state.W
    for stage in stages:  # each element a group of its own, from probabilities made anew
        W, _ = problem.sweep(Rule(), W, problem.scores(W), stage, groups=stage.size)
    np.testing.assert_allclose(W, one, rtol=1e-10, atol=1e-13)
    rng = np.random.default_rng(6)
    state.order = np.concatenate([rng.permutation(stage) for stage in stages])
    np.testing.assert_array_equal(solver.step(problem, state).W, one)  # any order within a stage: the same bits


def test_on_full_rows_colouring_is_plain_smlr() -> None:
    X = np.random.default_rng(7).normal(size=(30, 4))
    problem = Problem(X, np.arange(30) % 3, penalty=L1(0.3))
    plain, coloured = (at_step(make_solver(key), problem, 6) for key in ("smlr", "smlr-coloured"))
    assert coloured.stages == plain.W.size
    np.testing.assert_array_equal(plain.W, coloured.W)


def test_the_smaller_curvature_saves_sweeps() -> None:
    X, y, _ = draw(n=80, d=6, m=5)
    problem = Problem(X, y, penalty=L1(0.8))
    sweeps = [solve(make_solver("smlr", curvature=c), problem, tol=1e-8, max_steps=3000).steps for c in (None, 0.25)]
    assert sweeps[1] < 0.8 * sweeps[0] < 2400
    two = Problem(X, y % 2, penalty=L1(0.8))  # and is the same with two classes
    W = [at_step(make_solver("smlr", curvature=c), two, 5).W for c in (None, 0.25)]
    np.testing.assert_array_equal(*W)
    with pytest.raises(ValueError, match=r"curvature=0\.3: 0\.25, or none"):
        make_solver("smlr", curvature=0.3)


@pytest.mark.parametrize(
    ("key", "parameters"),
    [
        *((key, {}) for key in ("smlr", "smlr-damped", "smlr-coloured", "flexa", "inexact-gj", "gj-flexa")),
        ("flexa", {"sigma": 0.0}),
        ("gj-flexa", {"sigma": 0.0}),
    ],
)
def test_weights_held_at_zero_stay_there(key: str, parameters: dict[str, float]) -> None:
    whole = Case("l1", "csr", True, True, "float64").problem()
    active = np.random.default_rng(8).random((whole.p, whole.m)) < 0.6
    problem = whole.restrict(active)
    W = at_step(make_solver(key, **parameters), problem, 5).W
    assert W.any()
    assert not W[~problem.active].any()


def test_a_sweep_costs_what_it_visits_and_moves() -> None:
    X, y, _ = draw()
    still = Problem(X, y, penalty=L1(1e3), fit_intercept=False)  # nothing moves
    moving = still.with_penalty(None)
    W, order, ends = still.zeros(), np.arange(9), 2 * still.prices.softmax.flops
    for problem, flops in ((still, 6.0), (moving, 32.0)):
        for part in (order, order[:3]):
            before = problem.meter.total
            problem.sweep(Rule(), W, problem.field(3), part, groups=2)
            assert problem.meter.total.flops - before.flops == pytest.approx(flops * len(X) * len(part) + ends)
            assert problem.meter.total.depth - before.depth == -(-len(part) // 2) + 2  # a softmax at both ends
