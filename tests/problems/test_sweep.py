"""Coordinate sweeps: they descend, reach the certified optimum, and keep the margins, on dense and sparse columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import plain_sweep
import pytest
import scipy.sparse as sp

from pianobench.problems import L1, ElasticNet, Penalty, Problem, certificate
from pianobench.problems.kernels.compiled import threads
from pianobench.problems.kernels.compiled.exponential import exp_of_either_sign
from pianobench.problems.kernels.compiled.jit import compiled
from pianobench.problems.kernels.coordinate import Rule, coordinate_sweep

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


@compiled
def exponentials_of_either_sign(x: Any) -> Any:
    out = np.empty_like(x)
    for j in range(x.size):
        out[j] = exp_of_either_sign(x[j])
    return out


CASES = [  # bound, tau, groups, gamma, size of the scores
    ("bohning", 0.0, 1, 1.0, 1.0),
    ("quarter", 0.3, 7, 0.5, 1.0),
    ("taylor", 0.1, 1, 0.9, 1.0),
    ("taylor", 1.0, 3, 0.3, 300.0),
    ("bohning", 0.0, 2, 1.0, 1e5),
]


def random_sweep(layout: str, conditioning: str, dtype: Any, case: Any, n: int = 300, d: int = 7, m: int = 4) -> Any:
    """A problem with dead, constant and repeated columns and weights of 0, where to start, and strengths (p, m)."""
    rng = np.random.default_rng(n + d)
    V = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3) + (3.0 if conditioning == "centre+scale" else 0.0)
    V[:, 1], V[:, 2], V[:, 3] = 0.0, 2.0, V[:, 0]
    a = rng.choice([0.0, 0.5, 2.0], n)
    problem = Problem(
        LAYOUTS[layout](V.astype(dtype)), rng.permutation(np.arange(n) % m), sample_weight=a, conditioning=conditioning
    )
    W = (case[-1] * rng.normal(size=(problem.p, m))).astype(dtype)
    order = rng.permutation(np.append(np.arange(W.size), [0, 5, W.size - 1]))  # some weights twice
    strengths = rng.random((2, problem.p, m)) * (rng.random((2, problem.p, m)) < 0.7)
    return problem, W, order, Penalty(strengths[0], strengths[1])


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(
    ("layout", "conditioning", "dtype"),
    [
        ("dense", "none", "f8"),
        ("dense", "centre+scale", "f8"),
        ("dense", "scale", "f4"),
        ("csr", "scale", "f8"),
        ("csr", "none", "f4"),
    ],
)
def test_is_the_plain_sweep(layout: str, conditioning: str, dtype: str, case: Any) -> None:
    problem, W, order, pen = random_sweep(layout, conditioning, dtype, case)
    bound, tau, groups, gamma, _ = case
    (part,) = problem.home.parts  # type: ignore[attr-defined]
    V = part.design.values(np.dtype(np.float64))
    V = np.hstack([V if layout == "dense" else V.toarray(), np.ones((problem.n, 1))])
    stored = np.ones_like(V, bool) if layout == "dense" else V != 0
    margins = (V @ W).astype(dtype)
    expected_W, expected_margins = plain_sweep.sweep(
        V, stored, part.codes, part.weights, W, margins, order, bound=bound, tau=tau, groups=groups, gamma=gamma,
        l1=pen.l1, l2=pen.l2,
    )  # fmt: skip
    got = margins.copy()
    W_new, loss = coordinate_sweep(part, Rule(bound, tau), W, order, groups, gamma, pen, got)
    accuracy = 1e-12 if dtype == "f8" else 2e-6
    for mine, theirs in ((W_new, expected_W), (got, expected_margins)):
        np.testing.assert_allclose(mine, theirs, rtol=accuracy, atol=accuracy * np.abs(theirs).max())
    Z = got.astype(np.float64)
    losses = np.logaddexp.reduce(Z, axis=1) - Z[np.arange(problem.n), part.codes]
    assert loss == pytest.approx(part.weights @ losses, rel=accuracy)
    assert np.abs(W_new - W).max() > 1e-3


@pytest.mark.parametrize("layout", LAYOUTS)
def test_same_bits_for_any_number_of_threads(layout: str) -> None:
    problem, W, _, _ = random_sweep(layout, "none", "f8", CASES[0], n=3000, d=30, m=5)
    once = np.arange(W.size)
    for order in (once, np.tile(once[:20], 5)):  # the second: each group moves what the one before it has moved
        results = []
        for count in (1, 2, 3):
            with threads.limit(count):
                margins = problem.scores(W)
                W_new, f = problem.sweep(Rule("taylor", 1.0), W, margins, order, groups=5, gamma=0.5)
            results.append((W_new.tobytes(), margins.export()[0].tobytes(), f))
        assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_score_that_is_no_number_comes_out(layout: str) -> None:
    problem = make(layout, sample_weight=None)
    margins = problem.field(M)
    (Z,) = margins.parts  # type: ignore[attr-defined]
    Z[3, 1] = np.nan
    Z[5, 0] = np.inf  # a probability of 1: no harm
    W, f = problem.sweep(Rule("taylor", 1.0), problem.zeros(), margins, np.arange(problem.p * M))
    touched = np.append(X[3] != 0, True)
    seen = touched if layout == "csr" else np.ones(D + 1, bool)
    assert np.isnan(W[seen][1:]).all()
    assert np.isnan(f)
    assert np.isnan(Z[3, 1])


def test_exponential_of_either_sign() -> None:
    x = np.concatenate([np.linspace(-760, 715, 100_001), [0.0, 709.782, 1e300, -1e300, np.inf, -np.inf, np.nan]])
    with np.errstate(over="ignore"):
        expected = np.exp(x)
    np.testing.assert_allclose(exponentials_of_either_sign(x), expected, rtol=4e-16, atol=5e-324)


def test_what_fits_no_weight_is_refused() -> None:
    problem = make("dense")
    W, margins = problem.zeros(), problem.field(M)
    for order in (np.array([problem.p * M]), np.array([-1]), np.array([0.0]), np.array([[0]])):
        with pytest.raises(ValueError, match="numbers of weights"):
            problem.sweep(Rule(), W, margins, order)
    with pytest.raises(ValueError, match="a field has shape"):
        problem.sweep(Rule(), W, problem.field(M + 1), np.array([0]))
    assert problem.sweep(Rule(), W, margins, np.array([], int))[1] == pytest.approx(problem.value(W))
