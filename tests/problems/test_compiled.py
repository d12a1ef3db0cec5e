"""Compiled kernels against long double: every digit of the loss, its gradient and the moments, at extreme inputs too.

Scores are exact here: X and W hold small multiples of powers of two. So what is seen is the kernels' own error, and not
that of a product, which grows with the scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plain
import pytest
import scipy.sparse as sp

from pianobench.problems import Problem
from pianobench.problems.kernels import softmax as kernels
from pianobench.problems.kernels.compiled import dense, passes
from pianobench.problems.kernels.compiled.exponential import exponentials, logarithms
from pianobench.problems.problem import FLOOR

LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}
# Errors allowed: of the loss relative to it; of a gradient relative to the sum of its terms' absolute values.
LOSS, TERMS = {4: 2e-6, 8: 1e-14}, {4: 1e-5, 8: 1e-13}
WEIGHTS = {
    "ones": [1.0],
    "zeros": [0.0, 2.0],
    "of 600 decades": [1e-300, 0.0, 1e300],
}


def ulps(found: np.ndarray, exact: np.ndarray) -> Any:
    """Largest error in units in the last place; among subnormals these are all alike."""
    return np.max(np.abs(found - exact) / np.spacing(np.abs(exact).astype(found.dtype)).astype(np.longdouble))


@pytest.mark.parametrize(("dtype", "least"), [(np.float32, -103.9), (np.float64, -745.1)])
def test_exp(dtype: Any, least: float) -> None:
    """Measured on 600,000 points: 0.93 ulp in float64, 1.06 in float32, subnormal results included."""
    halves = np.arange(2 * np.floor(least / np.log(2)), 1) * np.log(2) / 2  # where the reduction changes over
    points = [-np.geomspace(np.finfo(dtype).tiny, 1, 20_000), np.linspace(least, 0, 60_001), halves]
    x = np.maximum(np.concatenate(points), least).astype(dtype)
    found = np.empty_like(x)
    exponentials(x, found)
    assert ulps(found, np.exp(x.astype(np.longdouble))) < 1.5
    special, found = np.array([0, -0.0, -np.inf, np.nan, 4 * least, np.finfo(dtype).min], dtype), np.empty(6, dtype)
    exponentials(special, found)
    np.testing.assert_array_equal(found, [1, 1, 0, np.nan, 0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log1p(dtype: Any) -> None:
    """Measured on 700,000 points: 0.77 ulp of float64, whatever the argument's type."""
    numbers = np.finfo(dtype)
    points = [np.geomspace(numbers.smallest_subnormal, numbers.max / 2, 60_000), np.linspace(0, 4, 20_001)]
    x = np.concatenate(points).astype(dtype)
    found = np.empty(x.size)
    logarithms(x, found)
    assert ulps(found, np.log1p(x.astype(np.longdouble))) < 1.0
    special, found = np.array([0, -0.0, np.inf, np.nan], dtype), np.empty(4)
    logarithms(special, found)
    np.testing.assert_array_equal(found, [0, 0, np.inf, np.nan])


def draw(n: int, m: int, scale: float, dtype: Any, layout: str, intercept: bool, d: int = 7) -> tuple[Any, ...]:
    """X, y and W with exact scores of about `scale`; a constant column, an empty one, and ties where scale is 0."""
    rng = np.random.default_rng(n * m)
    X = rng.integers(-8, 9, (n, d)) / 8 * (rng.random((n, d)) < 0.8)
    X[:, 2:3], X[:, 4:5] = 1.0, 0.0
    step = 2.0 ** np.round(np.log2(max(scale, 1e-9) / 8))
    W = (0.0 if scale == 0 else step) * rng.integers(-4, 5, (d + intercept, m))
    return LAYOUTS[layout](X.astype(dtype)), rng.integers(0, m, n), W.astype(dtype)


def compare(X: Any, y: np.ndarray, W: np.ndarray, a: np.ndarray, intercept: bool) -> float:
    """Loss, gradient and moments, element by element; returns the loss."""
    problem = Problem(X, y, sample_weight=a, fit_intercept=intercept, classes=range(W.shape[1]))
    size, V, weight = W.dtype.itemsize, plain.matrix(X, W), a.astype(np.longdouble)[:, None]
    under, P = np.finfo(W.dtype).tiny * len(y), plain.probabilities(X, W)  # the first is what underflow may lose
    loss, G = problem.smooth(W)
    exact = plain.loss(X, y, a, W)
    assert abs(loss - exact) <= LOSS[size] * exact
    assert problem.value(W) == loss
    bound = TERMS[size] * (abs(V).T @ (weight * (P + np.eye(W.shape[1])[y])))
    assert (np.abs(G - plain.gradient(X, y, a, W)) <= bound + under).all()
    assert G.dtype == W.dtype
    floor = FLOOR[size]
    also, *found = problem.home.reduce(kernels.moments, W, floor)
    assert also == loss
    for part, sign in zip(found, (1, -1), strict=True):
        right = np.maximum(sign * V, 0).T @ (weight * np.maximum(P, floor))
        assert (np.abs(part - right) <= TERMS[size] * right + under).all(), "no term is negative: all digits are right"
    return loss


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("m", [2, 3, 9, 10, 11, 200])
@pytest.mark.parametrize("scale", [0.0, 1.0, 700.0, 1e4])
def test_numbers_of_classes_and_sizes_of_scores(layout: str, m: int, scale: float) -> None:
    for dtype, n, intercept in ((np.float64, 1, True), (np.float64, 450, m % 2 == 0), (np.float32, 131, True)):
        X, y, W = draw(n, m, scale, dtype, layout, intercept)
        compare(X, y, W, np.ones(n), intercept)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 48, 71])
def test_numbers_of_columns(d: int, dtype: Any) -> None:
    """Whole and broken vectors and pairs of them, of any width, by every number of classes in a tile."""
    for m in (2, 3, 4, 5, 6, 7, 13):
        X, y, W = draw(23 * m, m, 2.0, dtype, "dense", d % 2 == 0, d)
        compare(X, y, W, np.ones(len(y)), d % 2 == 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("d", "m"), [(31, 173), (71, 160), (230, 51), (2100, 11)])
def test_blocks_that_are_not_small(d: int, m: int, dtype: Any) -> None:
    """Products that BLAS is not asked for, by blocks of 192, 96 and 48 rows, and a last one of a few."""
    assert passes.block(d * np.dtype(dtype).itemsize) * d * m > dense.SMALL
    X, y, W = draw(101, m, 2.0, dtype, "dense", d < 100, d)
    compare(X, y, W, np.ones(101), d < 100)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights(layout: str, weights: str) -> None:
    X, y, W = draw(210, 4, 3.0, np.float64, layout, True)
    compare(X, y, W, np.resize(WEIGHTS[weights], 210), True)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("margin", [12.0, 30.0, 600.0])
def test_a_loss_far_below_that_of_the_start(layout: str, margin: float) -> None:
    """Well separated rows: log(1 + rest) and rest / (1 + rest), nothing of which is a difference."""
    X, y, _ = draw(150, 5, 0.0, np.float64, layout, False)
    X = np.hstack([X.toarray() if sp.issparse(X) else X, np.eye(5)[y]])
    W = np.vstack([np.zeros((7, 5)), margin * np.eye(5)])
    loss = compare(LAYOUTS[layout](X), y, W, np.ones(150), False)
    assert 0 < loss < 1.1 * 150 * 4 * np.exp(-margin)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_small_negative_elements_beside_large_positive_ones(layout: str) -> None:
    X, y, W = draw(250, 3, 0.0, np.float64, layout, True)
    V = np.abs(X.toarray() if sp.issparse(X) else X) * 1e20
    V[7, 0], V[200, 1] = -1e-20, -3e-5
    compare(LAYOUTS[layout](V), y, W, np.ones(250), True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arithmetic_has_the_type_of_W(layout: str, dtype: Any) -> None:
    """A float32 X and a float64 W, and the reverse."""
    other = np.float64 if dtype == np.float32 else np.float32
    X, y, W = draw(300, 4, 2.0, dtype, layout, True)
    compare(X, y, W.astype(other), np.ones(300), True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_infinity_and_nan_come_out(layout: str) -> None:
    X, y, W = draw(300, 4, 2.0, np.float64, layout, True)
    problem = Problem(X, y, classes=range(5))
    W = np.hstack([W, np.full((8, 1), 0.0)])
    W[-1, 4] = -np.inf  # a class that no row has
    loss, G = problem.home.reduce(kernels.loss_gradient, W)
    exact = plain.loss(X, y, np.ones(300), W[:, :4])
    assert loss == pytest.approx(float(exact), rel=1e-14)
    assert np.isfinite(G).all()
    assert not G[:, 4].any()
    for bad in (np.inf, np.nan):
        W[2, 1] = bad
        assert not np.isfinite(problem.value(W))
        loss, G = problem.smooth(W)
        assert not np.isfinite(loss)
        _, A, _ = problem.home.reduce(kernels.moments, W, FLOOR[8])
        assert bad == np.inf or not (np.isfinite(G[2]).any() or np.isfinite(A[2]).any())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_beyond_float64_are_no_error(layout: str) -> None:
    """Finite sums of chunks whose sum is none, and infinite ones of both signs."""
    X, W = np.repeat(-np.eye(2), 1000, axis=0), np.array([[1e3, 0.0], [1e3, 0.0]])
    problem = Problem(
        LAYOUTS[layout](X), np.zeros(2000), sample_weight=np.full(2000, 1e302), fit_intercept=False, classes=range(2)
    )
    assert problem.value(W) == problem.smooth(W)[0] == np.inf
    value, slope = problem.line(W, np.array([[1e8, 0.0], [-1e8, 0.0]]))(0.0)
    assert value == np.inf
    assert np.isnan(slope)


def test_weights_of_another_shape_are_refused() -> None:
    """Compiled loops would read beyond them."""
    X, y, _ = draw(30, 4, 0.0, np.float64, "dense", True)
    for shape in ((7, 4), (9, 4)):
        with pytest.raises(ValueError, match=f"W has {shape[0]} rows: one a column is expected, 8"):
            Problem(X, y, classes=range(4)).smooth(np.zeros(shape))
