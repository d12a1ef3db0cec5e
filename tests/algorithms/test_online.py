"""AdaGrad and online gradient descent: against one row at a time in NumPy, and their regret against its bound."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cases import Case, draw

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.problems import L2, Problem
from pianobench.problems.penalties import Array

KEYS = ("adagrad", "ogd")


@dataclass
class Played:
    """What the plain methods did: the points of all rounds, with gradients and losses as functions of the point."""

    points: list[Array]
    batches: list[Array]
    A: Array
    rates: list[Array]  # of ogd: eta_t (p, 1) of each round


def rows_of(problem: Problem) -> tuple[Array, Array, Array]:
    (part,) = problem.home.parts
    return np.asarray(part.design.dot(np.eye(problem.p))), part.codes, part.weights


def loss_gradient(V: Array, y: Array, a: Array, W: Array) -> tuple[float, Array]:
    Z = V @ W
    lse = np.logaddexp.reduce(Z, axis=1)
    R = np.exp(Z - lse[:, None])
    R[np.arange(len(y)), y] -= 1.0
    return float(a @ (lse - Z[np.arange(len(y)), y])), V.T @ (a[:, None] * R)


def play(key: str, problem: Problem, passes: int, W0: Array, eta: float, batch: int, eps: float = 1.0) -> Played:
    """The published methods, a batch at a time, all weights touched in each round."""
    V, y, a = rows_of(problem)
    n, weighing = problem.n, a > 0
    rounds = -(-int(weighing.sum()) // batch)
    seed = int(np.random.default_rng(0).integers(2**62))
    lam, W, t = problem.pen.l2 / rounds, W0.copy(), 0
    peak = np.abs(V[weighing]).max(axis=0, keepdims=True).T
    peak[peak == 0] = 1.0
    k = ((V[weighing] / peak.T) ** 2).sum() / weighing.sum()
    curvature = batch * (a @ V**2).sum() / (2.0 * weighing.sum())
    sums, played = np.zeros_like(W), Played([], [], np.zeros(0), [])
    for epoch in range(passes):
        order = np.random.default_rng([seed, epoch]).permutation(n)
        order = order[weighing[order]]
        for at in range(0, len(order), batch):
            t += 1
            B = order[at : at + batch]
            _, g = loss_gradient(V[B], y[B], a[B], W)
            played.points.append(W)
            played.batches.append(B)
            if key == "adagrad":
                sums = sums + g**2
                step = eta / (peak * np.sqrt(k)) / np.sqrt(eps * peak**2 + sums)
                W = (W - step * g) / (1.0 + lam * step)
            else:
                rate = np.where(lam > 0, 1.0 / (lam * t + curvature / eta), eta / (curvature * np.sqrt(t)))
                played.rates.append(rate)
                W = W - rate * (g + lam * W)
    played.points.append(W)
    played.A = sums
    return played


@pytest.mark.parametrize("layout", ["dense", "csr", "centre+scale"])
@pytest.mark.parametrize("penalty", ["none", "l2"])
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("key", KEYS)
def test_passes_are_those_of_one_row_at_a_time(key: str, batch: int, penalty: str, layout: str) -> None:
    """Columns come and go (a third is empty in most rows), so that what the penalty does meanwhile is made up for."""
    X, y, a = draw(d=8)
    X[:, 2:] *= np.random.default_rng(5).random((len(X), 6)) < 0.15
    X[:, 4] = 0.0
    problem = Problem(
        sp.csr_array(X) if layout == "csr" else X,
        y,
        penalty=L2(3.0) if penalty == "l2" else None,
        sample_weight=a,
        conditioning=layout if layout == "centre+scale" else "none",
    )
    W0 = np.random.default_rng(1).normal(size=(problem.p, problem.m))
    solver = make_solver(key, eta=0.7, batch=batch)
    played = play(key, problem, 3, W0, 0.7, batch)
    state = next(itertools.islice(iterate(solver, problem, W0), 3, None))
    np.testing.assert_allclose(state.W, played.points[-1], rtol=1e-9, atol=1e-12)
    V, codes, weights = rows_of(problem)
    pairs = zip(played.batches, played.points, strict=False)
    paid = sum(loss_gradient(V[B], codes[B], weights[B], W)[0] for B, W in pairs)
    assert state.paid == pytest.approx(paid, rel=1e-10)
    assert state.t == len(played.batches)


def test_the_published_length_of_a_step_is_one_over_the_rounds_times_lam() -> None:
    X, y, _ = draw()
    problem = Problem(X, y, penalty=L2(30.0), fit_intercept=False)
    state = next(itertools.islice(iterate(make_solver("ogd", eta=np.inf), problem), 1, None))
    order = np.random.default_rng([state.seed, 0]).permutation(len(y))
    W, lam = problem.zeros(), 30.0 / len(y)
    for t, j in enumerate(order, start=1):
        W = W - (loss_gradient(X[[j]], y[[j]], np.ones(1), W)[1] + lam * W) / (lam * t)
    np.testing.assert_allclose(state.W, W, rtol=1e-10)
    with pytest.raises(ValueError, match=r"eta=inf has no meaning for weights without l2"):
        solve(make_solver("ogd", eta=np.inf), problem.with_penalty(None))


def regrets(problem: Problem, played: Played, U: Array) -> Array:
    """Regret against U after each round, penalties included."""
    V, y, a = rows_of(problem)
    lam = problem.pen.quadratic
    rounds = -(-int((a > 0).sum()) // len(played.batches[0]))
    each = [
        loss_gradient(V[B], y[B], a[B], W)[0] - loss_gradient(V[B], y[B], a[B], U)[0] + (lam(W) - lam(U)) / rounds
        for B, W in zip(played.batches, played.points, strict=False)
    ]
    return np.cumsum(each)


PASSES = 60


@pytest.mark.parametrize("penalty", ["none", "l2"])
@pytest.mark.parametrize("key", KEYS)
def test_the_regret_keeps_to_its_bound_and_its_mean_goes_down(key: str, penalty: str) -> None:
    problem = Case(penalty, "dense", False, True, "float64").problem()
    U = solve(make_solver("lbfgs"), problem, tol=1e-12).W
    played = play(key, problem, PASSES, problem.zeros(), 1.0, 1)
    regret = regrets(problem, played, U)
    ours = next(itertools.islice(iterate(make_solver(key), problem), PASSES, None))
    np.testing.assert_allclose(ours.W, played.points[-1], rtol=1e-8, atol=1e-12)  # so it is our regret
    V, y, a = rows_of(problem)
    bound, T = np.zeros(len(regret)), np.arange(1.0, len(regret) + 1.0)
    gradients = [loss_gradient(V[B], y[B], a[B], W)[1] for B, W in zip(played.batches, played.points, strict=False)]
    away = np.maximum.accumulate([np.square(W - U) for W in played.points[:-1]])
    if key == "adagrad":
        (part,) = problem.home.parts
        peak = np.abs(part.design.X[a > 0]).max(axis=0)[:, None]
        eta = ours.rate / peak
        G = np.cumsum(np.square(gradients), axis=0)
        bound = (away * np.sqrt(peak**2 + G) / (2.0 * eta) + eta * np.sqrt(G)).sum(axis=(1, 2))
    elif penalty == "none":
        squares = np.cumsum([r[0, 0] * np.sum(g**2) / 2.0 for r, g in zip(played.rates, gradients, strict=True)])
        farthest = np.maximum.accumulate([np.sum((W - U) ** 2) for W in played.points[:-1]])
        bound = farthest * np.sqrt(T) / (2.0 * ours.rate) + squares
    else:
        lam = problem.pen.l2 / len(V)
        whole = [g + lam * W for g, W in zip(gradients, played.points, strict=False)]
        squares = np.cumsum([r[0, 0] * np.sum(g**2) / 2.0 for r, g in zip(played.rates, whole, strict=True)])
        bound = np.sum(U**2) / (2.0 * ours.rate) + squares
        rounds = int((a > 0).sum())  # of a pass: log T, and so far less than sqrt(T), at the end
        assert bound[-1] - bound[len(bound) // 4] < 0.5 * bound[rounds]
    assert (regret <= bound * (1 + 1e-12)).all()
    quarter = len(regret) // 4
    assert regret[-1] / len(regret) < 0.6 * regret[quarter - 1] / quarter  # 1/2 by sqrt(T), and less by log T
    assert regret[-1] > 0.0


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_units_of_the_columns_do_not_matter_as_far_as_the_method_can_help_it(key: str, layout: str) -> None:
    """All columns in other units: the same path. Each in its own: AdaGrad's metric makes good for it."""
    X, y, a = draw()
    for unit in (1e-6, 1e5, *([np.array([1e-4, 1.0, 1e6])] if key == "adagrad" else [])):
        values = []
        for V in (X, X * unit):
            V = sp.csr_array(V) if layout == "csr" else V
            problem = Problem(V, y, sample_weight=a, fit_intercept=key == "adagrad")
            values.append([problem.value(s.W) for s in itertools.islice(iterate(make_solver(key), problem), 4)])
        np.testing.assert_allclose(*values, rtol=1e-9)
        assert values[0][-1] < 0.9 * values[0][0]


@pytest.mark.parametrize("key", KEYS)
def test_weights_held_at_zero_stay_there_and_absent_columns_are_not_touched(key: str) -> None:
    whole = Case("l2", "csr", True, True, "float64").problem()
    active = np.random.default_rng(8).random((whole.p, whole.m)) < 0.6
    problem = whole.restrict(active)
    W = next(itertools.islice(iterate(make_solver(key), problem), 3, None)).W
    assert W.any()
    assert not W[~problem.active].any()
    X, y, _ = draw()
    X[:, 1] = 0.0
    empty = Problem(sp.csr_array(X), y)
    W0 = np.ones((empty.p, empty.m))
    W = next(itertools.islice(iterate(make_solver(key), empty, W0), 2, None)).W
    np.testing.assert_array_equal(W[1], W0[1])
    assert (W[0] != W0[0]).all()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"eta": 0.0}, r"eta=0\.0: a number above 0"),
        ({"eta": np.nan}, "eta=nan"),
        ({"batch": 0}, "batch=0: a whole number of rows"),
        ({"batch": 2.5}, r"batch=2\.5"),
    ],
)
def test_refuses_parameters_that_mean_nothing(key: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_solver(key, **parameters)
