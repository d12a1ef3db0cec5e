"""Conditioned columns: objective, solution and certificate stay those of the user's columns, at every W."""

from __future__ import annotations

from typing import Any

import numpy as np
import plain
import pytest
import scipy.sparse as sp

from pianobench.problems import L0, L1, L2, ElasticNet, Penalty, Problem, certificate

N, M = 50, 3
PENALTIES: dict[str, Penalty | None] = {
    "none": None,
    "l1": L1(0.7),
    "l2": L2(0.7),
    "elasticnet": ElasticNet(0.5, 0.3),
    "l0": L0(0.2),
}


def draw() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)) * (rng.random((N, 4)) < 0.7)
    a = rng.choice([0.0, 0.5, 1.0, 3.0], N)
    return X, rng.integers(0, M, N), a


def columns(kind: str, dtype: Any) -> np.ndarray:
    X, _, a = draw()
    big = 1e6 if dtype is np.float64 else 1e3
    made = {
        "plain": X,
        "shifted": X + big,
        "sizes 1e-6 to 1e6": X * np.array([1e-6, 1.0, 1e3, 1e6]),
        "sizes 0.1 to 100": X * np.array([0.1, 1.0, 10.0, 100.0]),
        "constant": np.column_stack([X[:, 0], np.full(N, big + 0.1), np.zeros(N), np.full(N, -0.3)]),
        "constant but for rows of weight 0": np.column_stack([X[:, :3], np.where(a > 0, 0.1, 9.0)]),
        "a few units in the last place": np.column_stack(
            [X[:, :3], np.nextafter(dtype(big), dtype(2 * big)) * (X[:, 3] > 0) + big * (X[:, 3] <= 0)]
        ),
        "tiny": X * (1e-100 if dtype is np.float64 else 1e-20),
        "huge": X * (1e100 if dtype is np.float64 else 1e20),
    }[kind]
    return made.astype(dtype)


WAYS = [
    *[("dense", "none", d) for d in (np.float64, np.float32)],
    *[("dense", "scale", d) for d in (np.float64, np.float32)],
    *[("dense", "centre+scale", d) for d in (np.float64, np.float32)],
    *[("csr", "scale", d) for d in (np.float64, np.float32)],
]
KINDS = ["plain", "shifted", "sizes 1e-6 to 1e6", "constant", "constant but for rows of weight 0", "tiny", "huge"]
KINDS += ["a few units in the last place"]


@pytest.mark.parametrize(("layout", "conditioning", "dtype"), WAYS, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_is_the_user_s(layout: str, conditioning: str, dtype: Any, kind: str) -> None:
    """Exactly so in float64, also for X in float32: scaling rounds nothing, and centring is done in float64."""
    X, (_, y, a) = columns(kind, dtype), draw()
    form = sp.csr_array(X) if layout == "csr" else X
    rng = np.random.default_rng(1)
    for penalty in PENALTIES.values():
        problem = Problem(form, y, penalty=penalty, sample_weight=a, conditioning=conditioning)
        size = np.abs(X[a > 0] - problem._conditioned.centre).max(axis=0)  # scores of about 1, whatever the columns
        coef = rng.normal(size=(M, 4)) / np.where(size > 0, size, 1.0)
        coef[0, 0] = 0.0
        W = problem._conditioned.from_user(coef, rng.normal(size=M) - coef @ problem._conditioned.centre, True)
        back, b = problem.to_user(W)
        np.testing.assert_allclose(back, coef, rtol=1e-14)
        if kind.startswith("a few"):  # b = -1e6 coef has no digits left in float64 for what differs: judge without it
            expected = plain.objective(X - problem._conditioned.centre, y, a, back, W[4], penalty)
        else:
            expected = plain.objective(X, y, a, back, b, penalty)
        assert problem.value(W) == pytest.approx(expected, rel=1e-8 if kind in ("shifted", "constant") else 1e-12)
        assert certificate(problem, W).objective == problem.value(W)


@pytest.mark.parametrize("conditioning", ["scale", "centre+scale"])
@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back(conditioning: str, kind: str) -> None:
    problem = Problem(columns(kind, np.float64), draw()[1], sample_weight=draw()[2], conditioning=conditioning)
    W = np.random.default_rng(2).normal(size=(5, M))
    coef, b = problem.to_user(W)
    again = problem.from_user(coef, b)
    np.testing.assert_allclose(again[:4], W[:4], rtol=1e-15)
    np.testing.assert_allclose(
        again[4], W[4], atol=1e-14 * (1 + np.abs(b).max() + np.abs(coef * problem._conditioned.centre).max())
    )
    assert np.log2(problem._conditioned.unit) == pytest.approx(np.round(np.log2(problem._conditioned.unit)), abs=0)


def test_columns_are_of_size_one() -> None:
    _, y, a = draw()
    for kind in ("plain", "shifted", "sizes 1e-6 to 1e6", "tiny", "huge"):
        problem = Problem(columns(kind, np.float64), y, sample_weight=a, conditioning="centre+scale")
        K = problem.gram(problem.weights()) / a.sum()
        assert (np.abs(np.diag(K) - 1.25) <= 0.75).all()  # the nearest power of two: between 1/2 and 2
        np.testing.assert_allclose(K[-1, :4], 0.0, atol=1e-9)


@pytest.mark.parametrize("name", ["none", "l1", "l2", "elasticnet"])
@pytest.mark.parametrize("kind", ["shifted", "sizes 0.1 to 100", "constant"])
def test_solution_and_gap_are_the_user_s(name: str, kind: str) -> None:
    """The user's optimum, found by other means, has gap 0 in every conditioning."""
    _, y, a = draw()
    X, pen = columns(kind, np.float64), PENALTIES[name]
    given = pen or Penalty()
    best, W = plain.minimum(X, y, a, M, given.l1, given.l2, intercept=True)
    for conditioning in ("none", "scale", "centre+scale"):
        if kind == "shifted" and conditioning != "centre+scale":  # that is what centring is for
            continue
        problem = Problem(X, y, penalty=pen, sample_weight=a, conditioning=conditioning)
        proof = certificate(problem, problem.from_user(W[:4].T, W[4]))
        assert proof.objective == pytest.approx(best, rel=1e-9)
        assert proof.kind == "dual"
        assert proof.gap <= 1e-8


def test_a_constant_column_becomes_nothing() -> None:
    """Exactly 0 after centring, whatever the rounding of its mean; its weight changes no score."""
    _, y, a = draw()
    X = np.full((N, 4), [0.1, -1e6 - 0.1, 0.0, 1e-300])
    problem = Problem(X, y, sample_weight=a * 0.7, conditioning="centre+scale")
    assert (problem.scores(np.eye(5)).export()[0] == [0, 0, 0, 0, 1]).all()
    assert (problem._conditioned.unit == 1.0).all()
    assert (problem._conditioned.centre == X[0]).all()


def test_strengths_are_in_the_user_s_units() -> None:
    X, y, _ = draw()
    problem = Problem(X * 64, y, penalty=ElasticNet(2.0, 3.0), conditioning="scale")
    unit = problem._conditioned.unit
    assert (unit >= 16).all()
    np.testing.assert_allclose(problem.pen.l1[:, 0], np.r_[2.0 / unit, 0.0])
    np.testing.assert_allclose(problem.pen.l2[:, 0], np.r_[3.0 / unit**2, 0.0])
    counted = problem.with_penalty(L0(4.0)).pen
    np.testing.assert_allclose(np.broadcast_to(counted.l0, (5, 1))[:, 0], [4.0, 4.0, 4.0, 4.0, 0.0])


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100, 1e300])
def test_the_unit_of_x_changes_nothing(scale: float) -> None:
    """X s with l1 strength lam s has the coefficients over s, and the same F and bound."""
    X, y, _ = draw()
    one = Problem(X, y, penalty=L1(0.5), conditioning="centre+scale")
    other = Problem(X * scale, y, penalty=L1(0.5 * scale), conditioning="centre+scale")
    coef, b = np.random.default_rng(0).normal(size=(M, 4)), np.zeros(M)
    V, W = one.from_user(coef, b), other.from_user(coef / scale, b)
    assert other.value(W) == pytest.approx(one.value(V), rel=1e-12)
    assert certificate(other, W).lower == pytest.approx(certificate(one, V).lower, rel=1e-8)
    assert other.lambda_max == pytest.approx(one.lambda_max * scale, rel=1e-12)


def test_float32_weights_on_shifted_float64_columns() -> None:
    """Columns are centred before they are rounded to the type of W."""
    X, y, _ = draw()
    problem = Problem(X + 1e6, y, penalty=L2(1.0), conditioning="centre+scale")
    W = np.random.default_rng(0).normal(size=(5, M))
    assert problem.value(W.astype(np.float32)) == pytest.approx(problem.value(W), rel=1e-6)
