"""Value, gradient, curvature and lines against the formulas, derivatives and long double arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import plain
import pytest
import scipy.sparse as sp

from pianobench.problems import L0, L1, L2, ElasticNet, Penalty, Problem, certificate

N, D, M = 40, 4, 3
PENALTIES: dict[str, Penalty | None] = {
    "none": None,
    "l1": L1(0.7),
    "l2": L2(0.7),
    "elasticnet": ElasticNet(0.5, 0.3),
    "l0": L0(0.2),
}
LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}
SHAPES = [(intercept, weighted) for intercept in (False, True) for weighted in (False, True)]


def draw(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7)
    return X, rng.integers(0, M, N), rng.choice([0.0, 0.5, 1.0, 3.0], N)


def make(penalty: str = "none", layout: str = "dense", intercept: bool = True, weighted: bool = True) -> Problem:
    X, y, a = draw()
    weights = a if weighted else None
    return Problem(
        LAYOUTS[layout](X),
        y,
        penalty=PENALTIES[penalty],
        sample_weight=weights,
        fit_intercept=intercept,
        classes=range(M),
    )


def points(problem: Problem, count: int = 1, scale: float = 1.0) -> Any:
    rng = np.random.default_rng(5)
    drawn = [scale * rng.normal(size=(problem.p, problem.m)) for _ in range(count)]
    return drawn if count > 1 else drawn[0]


def flat(W: np.ndarray) -> np.ndarray:
    """Class outer, feature inner, as `Curvature.dense` has it."""
    return W.T.ravel()


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("intercept", "weighted"), SHAPES)
def test_value_and_gradient(penalty: str, layout: str, intercept: bool, weighted: bool) -> None:
    problem = make(penalty, layout, intercept, weighted)
    X, y, a = draw()
    a = a if weighted else np.ones(N)
    W = points(problem)
    W[1, 0] = 0.0
    V, pen = W[:D], PENALTIES[penalty] or Penalty()
    quadratic = 0.5 * pen.l2 * np.sum(V * V)
    nonsmooth = pen.l1 * np.abs(V).sum() + pen.l0 * np.count_nonzero(V)
    f, G = problem.smooth(W)
    expected = float(plain.loss(X, y, a, W))
    slope = plain.gradient(X, y, a, W).astype(float)
    slope[:D] += pen.l2 * V
    assert f == pytest.approx(expected + quadratic, rel=1e-14)
    assert problem.value(W) == pytest.approx(expected + quadratic + nonsmooth, rel=1e-14)
    np.testing.assert_allclose(G, slope, rtol=1e-12, atol=1e-13 * N)


def test_many_blocks_of_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 3)), rng.integers(0, 4, 20_000)
    for form in (X, sp.csr_array(X)):
        problem = Problem(form, y)
        assert len(list(problem.home.parts[0].blocks())) > 2  # type: ignore[attr-defined]
        W = points(problem)
        f, G = problem.smooth(W)
        assert f == pytest.approx(float(plain.loss(X, y, np.ones(20_000), W)), rel=1e-13)
        np.testing.assert_allclose(G, plain.gradient(X, y, np.ones(20_000), W).astype(float), rtol=1e-10, atol=1e-9)


def slopes(remainders: list[float]) -> np.ndarray:
    """Orders at which a remainder falls when its step is halved."""
    return np.log2(np.array(remainders[:-1]) / np.array(remainders[1:]))


@pytest.mark.parametrize("penalty", ["none", "elasticnet"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_taylor(penalty: str, layout: str) -> None:
    problem = make(penalty, layout)
    W, V = points(problem, 2)
    f, G = problem.smooth(W)
    HV = problem.curvature(W) @ V
    steps = [0.1 * 0.5**k for k in range(6)]
    first = [abs(problem.smooth(W + t * V)[0] - f - t * np.sum(G * V)) for t in steps]
    second = [abs(problem.smooth(W + t * V)[0] - f - t * np.sum(G * V) - t * t / 2 * np.sum(HV * V)) for t in steps]
    product = [float(np.linalg.norm(problem.smooth(W + t * V)[1] - G - t * HV)) for t in steps]
    np.testing.assert_allclose(slopes(first)[-3:], 2.0, atol=0.1)
    np.testing.assert_allclose(slopes(second)[-3:], 3.0, atol=0.2)
    np.testing.assert_allclose(slopes(product)[-3:], 2.0, atol=0.1)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("intercept", "weighted"), SHAPES)
def test_curvature_agrees_with_itself(layout: str, intercept: bool, weighted: bool) -> None:
    problem = make("l2", layout, intercept, weighted)
    W, V = points(problem, 2)
    curvature = problem.curvature(W)
    H = curvature.dense()
    np.testing.assert_allclose(H, H.T, atol=1e-13)
    np.testing.assert_allclose(flat(curvature @ V), H @ flat(V), atol=1e-12)
    np.testing.assert_allclose(flat(curvature.diag()), np.diag(H), atol=1e-12)
    for k in range(H.shape[0]):
        E = np.eye(H.shape[0])[k].reshape(problem.m, problem.p).T
        difference = (problem.smooth(W + 1e-5 * E)[1] - problem.smooth(W - 1e-5 * E)[1]) / 2e-5
        np.testing.assert_allclose(flat(difference), H[:, k], atol=1e-7)
    with pytest.raises(MemoryError, match=f"{8 * H.size:,} bytes, 10 are allowed: use a method"):
        curvature.dense(10)


@pytest.mark.parametrize("penalty", ["none", "l1", "elasticnet"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_line(penalty: str, layout: str) -> None:
    problem = make(penalty, layout)
    W, V, U = points(problem, 3)
    line = problem.line(W, V)
    turned = line.turn(0.3, U)
    for made, start, direction in ((line, W, V), (turned, W + 0.3 * V, U)):
        for t in (0.0, 1e-3, 0.5, -2.0, 30.0):
            f, G = problem.smooth(start + t * direction)
            value, slope = made(t)
            again, G_line = made.smooth(t)
            assert value == pytest.approx(f, rel=1e-12)
            assert again == pytest.approx(f, rel=1e-12)
            assert slope == pytest.approx(float(np.sum(G * direction)), rel=1e-10)
            np.testing.assert_allclose(G_line, G, rtol=1e-9, atol=1e-10)
            np.testing.assert_allclose(made.take(t), start + t * direction, rtol=1e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("intercept", [False, True])
def test_products(layout: str, intercept: bool) -> None:
    problem = make("l2", layout, intercept)
    X, _, a = draw()
    A = np.hstack([X, np.ones((N, 1))]) if intercept else X
    W, V = points(problem, 2)
    field, other = problem.scores(W), problem.field(5)
    other.load([np.arange(5.0 * N).reshape(N, 5)])
    np.testing.assert_allclose(field.export()[0], A @ W, atol=1e-13)
    np.testing.assert_allclose(problem.xt(field), A.T @ (A @ W), atol=1e-12)
    np.testing.assert_allclose(problem.xt(other), A.T @ np.arange(5.0 * N).reshape(N, 5), atol=1e-10)
    assert np.sum(problem.scores(V).export()[0] * field.export()[0]) == pytest.approx(np.sum(V * problem.xt(field)))
    np.testing.assert_allclose(problem.gram(), A.T @ A, atol=1e-12)
    np.testing.assert_allclose(problem.gram(problem.weights()), A.T @ (a[:, None] * A), atol=1e-12)
    assert problem.gram().dtype == np.float64
    np.testing.assert_allclose(problem.weights().export()[0][:, 0], a)


@pytest.mark.parametrize("penalty", ["none", "l1", "l2"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("conditioning", ["none", "scale", "centre+scale"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_are_repeated_rows(penalty: str, intercept: bool, conditioning: str, layout: str) -> None:
    if conditioning == "centre+scale" and not (intercept and layout == "dense"):
        return
    X, y, _ = draw()
    X = X + 0.5
    times = np.arange(N) % 3
    X[0], y[0], X[4] = 1e3, 0, 9.0  # the row left out is the largest of all, S would show it
    times[0], times[4] = 0, 2
    rest = {"penalty": PENALTIES[penalty], "fit_intercept": intercept, "conditioning": conditioning}
    weighted = Problem(LAYOUTS[layout](X), y, sample_weight=times, **rest)
    repeated = Problem(LAYOUTS[layout](np.repeat(X, times, axis=0)), np.repeat(y, times), **rest)
    W = points(weighted, scale=0.3)
    for name in ("reach", "lambda_max", "class_sums"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-12, atol=1e-11, err_msg=name
        )
    for one, two in zip(everything(weighted, W), everything(repeated, W), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)


def everything(problem: Problem, W: np.ndarray) -> list[Any]:
    A, B = np.empty_like(W), np.empty_like(W)

    def keep(*given: Any) -> Any:
        A[:], B[:] = given[1], given[2]
        return given[0]

    _, f = problem.moments_map(W, keep)
    proof = certificate(problem, W)
    return [
        problem.value(W),
        problem.smooth(W)[1],
        (f, *A.ravel(), *B.ravel()),
        problem.curvature(W).diag(),
        problem.line(W, W)(0.3),
        problem.gram(problem.weights()),
        np.concatenate([v.ravel() for v in problem.to_user(W)]),
        (proof.objective, proof.lower, proof.residual),
    ]


def test_intercept_is_a_constant_column_without_penalty() -> None:
    X, y, a = draw()
    ours = Problem(X, y, penalty=ElasticNet(0.4, 0.3), sample_weight=a)
    column = Problem(np.hstack([X, np.ones((N, 1))]), y, sample_weight=a, fit_intercept=False)
    W = points(ours)
    assert ours.smooth(W)[0] - 0.15 * np.sum(W[:D] ** 2) == pytest.approx(column.smooth(W)[0], rel=1e-14)
    assert ours.value(W) == pytest.approx(ours.smooth(W)[0] + 0.4 * np.abs(W[:D]).sum(), rel=1e-14)
    assert (ours.pen.l1[-1], ours.pen.l2[-1], ours.reach) == (0.0, 0.0, column.reach)
    np.testing.assert_allclose(ours.prox(W, 1.0)[-1], W[-1])


def test_shifting_all_classes_changes_nothing() -> None:
    problem = make()
    W = points(problem)
    f, G = problem.smooth(W)
    assert np.abs(G.sum(axis=1)).max() < 1e-13 * np.abs(G).sum()
    assert problem.smooth(W + np.arange(5.0)[:, None])[0] == pytest.approx(f, rel=1e-14)


@pytest.mark.parametrize("t", [1.0, 10.0, 20.0, 30.0])
def test_a_small_loss_keeps_its_digits(t: float) -> None:
    """Well separated rows: F falls to 1e-40 of F(0)."""
    X = np.vstack([np.eye(3), 2 * np.eye(3)])
    y, W = np.tile(np.arange(3), 2), t * (np.eye(3) + 0.25 * np.ones((3, 3)))
    problem = Problem(X, y, fit_intercept=False)
    expected = plain.loss(X, y, np.ones(6), W)
    f, G = problem.smooth(W)
    assert float(f / expected) == pytest.approx(1.0, rel=1e-13)
    assert problem.value(W) == f
    assert problem.line(W, W)(0.0)[0] == f
    np.testing.assert_allclose(G, plain.gradient(X, y, np.ones(6), W).astype(float), rtol=1e-11, atol=1e-20)
    off = ~np.eye(3, dtype=bool)
    assert (np.diag(G) < 0).all()
    assert (G[off] > 0).all()


@pytest.mark.parametrize("size", [800.0, 1e5, 1e300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_scores(size: float, dtype: Any) -> None:
    size = min(size, float(np.finfo(dtype).max) / 4)
    X, y = np.array([[1.0], [-1.0], [0.5]], dtype), [0, 1, 1]
    problem = Problem(X, y, fit_intercept=False)
    W = np.array([[size, -size]], dtype)
    f, G = problem.smooth(W)
    assert f == pytest.approx(size, rel=1e-6)  # the third row alone is wrong, by 2 * size / 2
    np.testing.assert_allclose(G, [[0.5, -0.5]], rtol=1e-6)
    assert problem.value(-W) == pytest.approx(4 * size, rel=1e-6)


SCALES = [1e-300, 1e-100, 1e-8, 1e8, 1e100, 1e200, 1e307]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_unit_of_the_columns(scale: float, layout: str) -> None:
    """F(X s, W / s) is F(X, W); and what overflows is not finite, never wrong, and no warning."""
    X, y, _ = draw()
    ours = Problem(LAYOUTS[layout](X * scale), y, fit_intercept=False)
    plain_units = Problem(X, y, fit_intercept=False)
    W = points(ours, scale=0.5)
    if scale < 1e300:
        assert ours.value(W / scale) == pytest.approx(plain_units.value(W), rel=1e-12)
        f, G = ours.smooth(W / scale)
        np.testing.assert_allclose(G / scale, plain_units.smooth(W)[1], rtol=1e-9, atol=1e-12)
    big = 1e30 * W
    exact = float(plain.loss(X * scale, y, np.ones(N), big))
    for f in (ours.value(big), ours.smooth(big)[0], ours.line(big, big)(0.0)[0]):
        assert not np.isfinite(f) or f == pytest.approx(exact, rel=1e-9)
    curvature = ours.curvature(W)
    for number in (curvature @ W, curvature.diag(), curvature.dense(), ours.gram(), ours.lambda_max, ours.reach):
        assert number is not None
    assert 0.0 <= certificate(ours, big).gap <= 1.0
    assert 0.0 <= certificate(ours.with_penalty(L2(1.0)), big).gap <= 1.0
