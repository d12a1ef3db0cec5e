"""PIANO's moments and S, also with a kept log-sum-exp, on parts of the weights, and where probabilities underflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from pianobench.problems import L2, ElasticNet, Problem
from pianobench.problems.kernels.softmax import log_sum_exp
from pianobench.problems.problem import FLOOR

RNG = np.random.default_rng(0)
N, D, M = 30, 4, 3
X = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < 0.7)
Y = RNG.integers(0, M, N)
A = RNG.choice([0.0, 0.5, 2.0], N)
LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}


def moments(problem: Problem, W: np.ndarray, lse: Any = None) -> dict[str, Any]:
    """What the update is given, and what comes back."""
    seen: dict[str, Any] = {}

    def update(*given: Any) -> np.ndarray:
        seen.update(zip(("W", "A", "B", "C", "S", "pen"), given, strict=True))
        return given[0] + 1

    seen["new"], seen["f"] = problem.moments_map(W, update, lse)
    return seen


def softmax(Z: np.ndarray) -> np.ndarray:
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("signed", [False, True])
def test_the_formulas(layout: str, intercept: bool, signed: bool) -> None:
    V = X if signed else np.abs(X)
    problem = Problem(LAYOUTS[layout](V), Y, penalty=L2(2.0), sample_weight=A, fit_intercept=intercept)
    V = np.hstack([V, np.ones((N, 1))]) if intercept else V
    W = np.random.default_rng(1).normal(size=(problem.p, M))
    seen = moments(problem, W)
    P = A[:, None] * softmax(V @ W)
    np.testing.assert_allclose(seen["A"], np.maximum(V, 0).T @ P, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(seen["B"], np.maximum(-V, 0).T @ P, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(seen["C"], V.T @ (A[:, None] * np.eye(M)[Y]), atol=1e-13)
    assert problem.signed == signed
    assert (seen["A"] >= 0).all()
    assert (seen["B"] >= 0).all()
    assert signed or not seen["B"].any()
    f, G = problem.smooth(W)
    np.testing.assert_allclose(seen["A"] - seen["B"] - seen["C"], G - problem.pen.l2 * W, atol=1e-12)
    assert seen["f"] == pytest.approx(f, rel=1e-14)  # at the old W
    assert (seen["W"] == W).all()
    assert (seen["new"] == W + 1).all()
    assert seen["pen"] is problem.pen
    assert seen["S"].shape == (1, 1)
    assert seen["S"][0, 0] == pytest.approx(np.abs(V)[A > 0].sum(axis=1).max())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_with_a_kept_log_sum_exp(layout: str) -> None:
    """At the lse of W itself nothing changes; at that of another point f is the tangent of the log there, above f."""
    problem = Problem(LAYOUTS[layout](X), Y, penalty=ElasticNet(0.3, 0.2), sample_weight=A)
    W, V = np.random.default_rng(1).normal(size=(2, problem.p, M))
    lse = problem.field(1)
    problem.map_rows(log_sum_exp, lse, W=W)
    fresh, same, other = moments(problem, W), moments(problem, W, lse), moments(problem, V, lse)
    for name in ("A", "B", "C", "S"):
        np.testing.assert_allclose(same[name], fresh[name], rtol=1e-12)
    assert same["f"] == pytest.approx(fresh["f"], rel=1e-13)
    design, kept = np.hstack([X, np.ones((N, 1))]), lse.export()[0]
    Z = design @ V
    each = np.exp(Z - kept).sum(axis=1) - 1 + kept[:, 0] - Z[np.arange(N), Y]
    assert other["f"] == pytest.approx(A @ each + 0.1 * np.sum(V[:D] ** 2), rel=1e-12)
    assert other["f"] > problem.smooth(V)[0]
    np.testing.assert_allclose(
        other["A"], np.maximum(np.hstack([X, np.ones((N, 1))]), 0).T @ (A[:, None] * np.exp(Z - kept))
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_probability_that_underflows_is_floored(dtype: Any) -> None:
    problem = Problem(np.array([[1.0], [-1.0]], dtype), [0, 1], fit_intercept=False)
    W = np.array([[2000.0, -2000.0]], dtype)
    seen = moments(problem, W)
    floor = FLOOR[np.dtype(dtype).itemsize]
    np.testing.assert_allclose(seen["A"], [[1.0, floor]], rtol=1e-6)
    np.testing.assert_allclose(seen["B"], [[floor, 1.0]], rtol=1e-6)
    assert seen["A"].dtype == dtype
    assert np.finfo(dtype).tiny < floor


@pytest.mark.parametrize("conditioning", ["none", "scale", "centre+scale"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reach(conditioning: str, dtype: Any) -> None:
    """S is the largest sum of |x| over a class's active features, in the columns the solver sees."""
    problem = Problem((X + 1).astype(dtype), Y, sample_weight=A, conditioning=conditioning)
    seen = problem.scores(np.eye(problem.p, dtype=dtype)).export()[0]
    assert problem.reach.shape == (1, 1)
    np.testing.assert_allclose(problem.reach[0], np.abs(seen)[A > 0].sum(axis=1).max(), rtol=1e-6)
    active = np.random.default_rng(3).random((problem.p, M)) < 0.5
    active[:, 2] = False
    part = problem.restrict(active)
    expected = [(np.abs(seen)[A > 0] @ active[:, i]).max() or 1.0 for i in range(M)]
    np.testing.assert_allclose(part.reach[0], expected, rtol=1e-6)
    assert part.reach[0, 2] == 1.0  # nothing is active: no division by 0
    new = moments(part, part.zeros())["new"]
    assert (new == active[active.any(axis=1)]).all()
