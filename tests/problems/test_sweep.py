"""Coordinate sweeps: they descend, reach the certified optimum, and keep the margins, on dense and sparse columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from pianobench.problems import L1, ElasticNet, Problem, certificate
from pianobench.problems.kernels.coordinate import Rule

RNG = np.random.default_rng(0)
N, D, M = 40, 4, 3
X = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < 0.7)
Y = RNG.integers(0, M, N)
A = RNG.choice([0.0, 0.5, 2.0], N)
LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}


def make(layout: str, **changes: Any) -> Problem:
    return Problem(LAYOUTS[layout](X), Y, **({"sample_weight": A, "penalty": L1(1.0)} | changes))


def sweeps(problem: Problem, rule: Rule, count: int, **rest: Any) -> tuple[np.ndarray, Any, list[float]]:
    W, margins = problem.zeros(), problem.field(problem.m)
    order, values = np.arange(problem.p * problem.m), [problem.value(problem.zeros())]
    for _ in range(count):
        old = W.copy()
        W_new, f = problem.sweep(rule, W, margins, order, **rest)
        assert (old == W).all()  # not written
        W = W_new
        accuracy = 1e-12 if problem.dtype == np.float64 else 1e-6
        values.append(problem.value(W))
        assert f + problem.pen.nonsmooth(W) == pytest.approx(values[-1], rel=accuracy)
        if np.abs(W - old).max() <= 1e-11:
            break
    return W, margins, values


@pytest.mark.parametrize("bound", ["bohning", "quarter", "taylor"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("penalty", [L1(1.0), ElasticNet(0.5, 0.5)])
def test_descends_to_the_optimum(bound: Any, layout: str, penalty: Any) -> None:
    problem = make(layout, penalty=penalty)
    W, margins, values = sweeps(problem, Rule(bound), 1500)
    if bound != "taylor":  # a majoriser of the loss in each weight
        assert (np.diff(values) <= 1e-14 * values[0]).all()
    assert certificate(problem, W).gap <= 1e-8
    np.testing.assert_allclose(margins.export()[0], problem.scores(W).export()[0], atol=1e-11)


@pytest.mark.parametrize("changes", [{}, {"conditioning": "scale"}, {"fit_intercept": False}])
def test_sparse_columns_are_dense_ones(changes: dict[str, Any]) -> None:
    for groups, gamma, tau in ((1, 1.0, 0.0), (4, 0.5, 3.0), (100, 0.9, 0.1)):
        dense, sparse = (
            sweeps(make(layout, **changes), Rule("taylor", tau), 3, groups=groups, gamma=gamma)[0] for layout in LAYOUTS
        )
        np.testing.assert_allclose(sparse, dense, rtol=1e-9, atol=1e-12)


def test_one_weight_is_the_formula() -> None:
    """soft(w - g/h, l1/h), with g and h of the whole loss."""
    problem = make("dense", penalty=ElasticNet(0.7, 0.4))
    W = RNG.normal(size=(problem.p, M))
    _, G = problem.smooth(W)
    square = np.append(A @ X**2, A.sum())
    curvature = {
        "bohning": square[:, None] * (1 - 1 / M) / 2 + problem.pen.l2,
        "quarter": square[:, None] / 4 + problem.pen.l2,
        "taylor": problem.curvature(W).diag(),
    }
    for bound, h in curvature.items():
        h = h + 0.5
        V = W - G / h
        target = np.sign(V) * np.maximum(np.abs(V) - problem.pen.l1 / h, 0.0)
        expected = W + 0.8 * (target - W)
        order = RNG.permutation(problem.p * M)
        together, _ = problem.sweep(Rule(bound, 0.5), W, problem.scores(W), order, groups=order.size, gamma=0.8)
        np.testing.assert_allclose(together, expected, rtol=1e-11, atol=1e-13)  # each weight a group of its own
        for k in (0, 7, problem.p * M - 1):
            alone, _ = problem.sweep(Rule(bound, 0.5), W, problem.scores(W), np.array([k]), gamma=0.8)
            W_k = W.copy()
            W_k[divmod(k, M)] = expected[divmod(k, M)]
            np.testing.assert_allclose(alone, W_k, rtol=1e-11, atol=1e-13)


def test_dead_columns_are_left_alone() -> None:
    problem = Problem(np.column_stack([X[:, 0], np.zeros(N)]), Y, penalty=L1(1.0))
    W, _, _ = sweeps(problem, Rule("taylor"), 3)
    assert not W[1].any()
    assert W[0].any()


@pytest.mark.parametrize("start", [-30.0, 30.0])
def test_probabilities_stay_right_through_large_steps(start: float) -> None:
    """Steps that take exp(score) from 1e13 to 1 within a sweep: by differences alone all digits would be lost."""
    problem = Problem(np.ones((6, 2)), [0, 1, 2, 0, 1, 2], penalty=L1(0.01), fit_intercept=False)
    W = np.array([[start, 0.0, 0.0], [0.0, 0.0, 0.0]])
    order, rule = np.array([0, 3, 1, 4, 2, 5]), Rule("taylor", 0.2)
    together, margins = W, problem.scores(W)
    apart = W
    together, _ = problem.sweep(rule, together, margins, order)
    for k in order:  # the same steps, each with probabilities made anew
        apart, _ = problem.sweep(rule, apart, problem.scores(apart), np.array([k]))
    assert np.abs(apart - W).max() > 9
    np.testing.assert_allclose(together, apart, rtol=1e-9, atol=1e-9)


def test_float32_margins_stay_float32() -> None:
    problem = Problem(X.astype(np.float32), Y, penalty=L1(1.0))
    W, margins, values = sweeps(problem, Rule(), 3)
    assert (W.dtype, margins.export()[0].dtype) == (np.float32, np.float32)
    assert values[-1] < values[0]
