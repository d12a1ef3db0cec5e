"""l0 against the best of all supports: the starts, the path, and what the report says of a point."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from pianobench.algorithms import solve
from pianobench.algorithms.l0_exhaustive import exhaustive
from pianobench.algorithms.l0_path import (
    STARTS,
    Stationarity,
    best,
    from_starts,
    path,
    shifted,
    start,
    stationarity,
    strengths,
)
from pianobench.algorithms.registry import make_solver
from pianobench.problems import L0, L1, L2, Problem, certificate
from pianobench.problems.penalties import Array

LAM = 1.5


def draw(n: int = 50, d: int = 3, m: int = 3, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    T = np.where(np.arange(d * m).reshape(d, m) % 3 == 0, 2.0, 0.0)  # few weights have an effect
    y = (X @ T + rng.gumbel(size=(n, m))).argmax(axis=1)
    y[:m] = np.arange(m)
    return X, y


def plain(X: Array, y: Array, W: Array, lam: float, intercept: bool) -> tuple[float, Array]:
    """F and the gradient of the loss, written anew; the intercept is W's last row."""
    A = np.column_stack([X, np.ones(len(X))]) if intercept else X
    Z = A @ W
    P = np.exp(Z - logsumexp(Z, axis=1, keepdims=True))
    loss = float((logsumexp(Z, axis=1) - Z[np.arange(len(y)), y]).sum())
    P[np.arange(len(y)), y] -= 1.0
    return loss + lam * np.count_nonzero(W[: X.shape[1]]), A.T @ P


@pytest.mark.parametrize(("d", "m"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("intercept", [True, False])
def test_exhaustive_search_is_the_least_of_all_supports_solved_one_by_one(d: int, m: int, intercept: bool) -> None:
    """All 2^(d m) of them, those that the search leaves out too."""
    X, y = draw(40, d, m, seed=3)
    least = np.inf
    for bits in itertools.product((False, True), repeat=d * m):
        mask = np.vstack([np.reshape(bits, (d, m)), np.full((int(intercept), m), True)])

        def value(w: Array, mask: Array = mask) -> tuple[float, Array]:
            W = np.zeros(mask.shape)
            W[mask] = w
            F, G = plain(X, y, W, 0.0, intercept)
            return F, G[mask]

        F = (
            float(minimize(value, np.zeros(mask.sum()), jac=True, tol=1e-12).fun)
            if mask.any()
            else value(np.zeros(0))[0]
        )
        least = min(least, F + LAM * sum(bits))
    found = exhaustive(X, y, LAM, fit_intercept=intercept)
    assert found.objective == pytest.approx(least, rel=1e-8)
    assert plain(X, y, found.W, LAM, intercept)[0] == pytest.approx(found.objective, rel=1e-10)
    assert 0 < found.support.sum() < d * m
    assert found.supports == (2**m - 1) ** d if m > 2 else 2**d


@pytest.mark.parametrize("shape", [(60, 3, 3), (60, 2, 4), (80, 8, 2)])
def test_no_start_and_no_path_is_below_the_global_minimum_and_the_report_is_true(shape: tuple[int, int, int]) -> None:
    n, d, m = shape
    X, y = draw(n, d, m, seed=1)
    least, problem = exhaustive(X, y, LAM), Problem(X, y, penalty=L0(LAM))
    assert d * m <= 16
    found = from_starts(problem)
    assert tuple(found) == STARTS
    reports = [report for _, report in found.values()]
    points = path(problem, [4 * LAM, LAM])
    reports += [point.report for point in points if point.lam == LAM]
    weights = [result.W for result, _ in found.values()] + [point.result.W for point in points if point.lam == LAM]
    assert all(result.status == "stationary" for result, _ in found.values())
    for W, report in zip(weights, reports, strict=True):
        F, G = plain(X, y, W, LAM, True)
        assert report.objective == pytest.approx(F, rel=1e-12)
        assert report.objective >= least.objective * (1.0 - 1e-9)
        assert (report.support == (W[:d] != 0)).all()
        assert report.nnz == np.count_nonzero(W[:d])
        assert report.within(1e-5)
        free = np.vstack([report.support, np.full((1, m), True)])
        scale = np.abs(plain(X, y, np.zeros_like(W), LAM, True)[1]).max()
        assert report.kkt_residual == pytest.approx(np.abs(G[free]).max() / scale, abs=1e-12)
        assert float(report.S.max()) == pytest.approx((1.0 + np.abs(X).sum(axis=1)).max())
        assert "no bound on the minimum" in str(report)
    assert min(report.objective for report in reports) <= certificate(problem, problem.zeros()).objective


def test_the_report_of_a_point_that_does_not_rest() -> None:
    X, y = draw()
    problem = Problem(X, y, penalty=L0(LAM))
    W = from_starts(problem, ["dense"], tol=1e-9)["dense"][0].W
    moved = W.copy()
    row, column = np.argwhere(W[:3] != 0)[0]
    moved[row, column] += 0.1
    at, off = stationarity(problem, W), stationarity(problem, moved)
    assert at.within(1e-6)
    assert off.kkt_residual > 1e-3
    assert off.fixed_point_residual > 1e-3
    assert not off.within(1e-6)
    # each residual counts by itself: a weight that should leave is no slope on the support
    assert not Stationarity(1.0, 1.0, 0.0, at.support, at.S).within(1e-6)
    assert not Stationarity(1.0, 0.0, 1.0, at.support, at.S).within(1e-6)
    before = problem.meter.total
    stationarity(problem, W)
    assert problem.meter.total == before


def test_a_weight_that_brings_less_than_it_costs_shows_in_the_fixed_point_alone() -> None:
    """A minimiser on the full support is flat there; under a large strength PIANO drops weights from it."""
    X, y = draw()
    full = solve(make_solver("lbfgs"), Problem(X, y, penalty=None), tol=1e-10).W
    report = stationarity(Problem(X, y, penalty=L0(30.0)), full)
    assert report.kkt_residual < 1e-3
    assert report.fixed_point_residual > 0.1


def test_the_starts_are_what_they_say_and_do_not_mind_units() -> None:
    X, y = draw(80, 4, 4, seed=2)
    problem = Problem(X, y, penalty=L0(LAM))
    assert not start(problem, "zero").any()
    ridge = 1e-3 * np.square(X).sum(axis=0).mean()
    weak = solve(make_solver("lbfgs"), Problem(X, y, penalty=L2(ridge)), tol=1e-6).W
    dense = start(problem, "dense")
    np.testing.assert_array_equal(dense, weak)
    assert dense.all()
    assert np.abs(problem.with_penalty(None).smooth(start(problem, "dense", weak=0.0))[1]).max() < 1e-2 * len(y)
    l1 = start(problem, "l1")
    some = [
        solve(make_solver("prox-newton"), Problem(X, y, penalty=L1(factor * problem.lambda_max))).W
        for factor in (0.5, 0.1, 0.01)
    ]
    assert problem.value(l1) <= min(map(problem.value, some)) * (1 + 1e-6)
    assert 0 < np.count_nonzero(l1[:4]) < 16
    larger = Problem(1000.0 * X, y, penalty=L0(LAM))
    for name in STARTS:
        near, far = start(problem, name), start(larger, name)
        np.testing.assert_allclose(far[:4] * 1000.0, near[:4], rtol=1e-3, atol=1e-3)


def test_a_shift_takes_a_weight_from_each_full_row_and_leaves_the_loss_alone() -> None:
    X, y = draw(40, 4, 3, seed=6)
    problem = Problem(X, y, penalty=L0(LAM))
    W = np.random.default_rng(0).normal(size=(5, 3))
    W[1, 2] = 0.0
    moved = shifted(problem, W)
    assert (np.count_nonzero(moved[:4], axis=1) == 2).all()
    np.testing.assert_array_equal(moved[[1, 4]], W[[1, 4]])  # a row with a 0, and the intercept
    assert problem.value(moved) == pytest.approx(problem.value(W) - 3 * LAM, rel=1e-12)


def test_with_two_classes_the_shift_halves_the_support() -> None:
    X, y = draw(60, 4, 2, seed=1)
    problem = Problem(X, y, penalty=L0(0.5))
    plain_, better = (from_starts(problem, ["l1"], shift=shift)["l1"] for shift in (False, True))
    assert plain_[1].support.all(axis=1).any()
    assert not better[1].support.all(axis=1).any()
    assert better[1].objective <= plain_[1].objective - 0.5
    assert better[0].status == "stationary"
    assert better[1].objective >= exhaustive(X, y, 0.5).objective * (1.0 - 1e-9)


def test_a_path_goes_down_and_up_and_the_best_of_both_is_taken() -> None:
    X, y = draw(60, 3, 3, seed=4)
    problem = Problem(X, y)
    lams = strengths(problem, 6, 0.01)
    points = path(problem, lams)
    assert [point.lam for point in points] == [*lams, *lams[::-1]]
    assert [point.way for point in points] == ["down"] * 6 + ["up"] * 6
    assert points[0].report.nnz == 0
    assert points[6].report.nnz > points[5].report.nnz >= points[0].report.nnz  # up begins dense, down at zero
    chosen = best(points)
    assert [point.lam for point in chosen] == list(lams)
    for point in chosen:
        both = [other.report.objective for other in points if other.lam == point.lam]
        assert point.report.objective == min(both)
        assert point.report.objective >= exhaustive(X, y, point.lam).objective * (1.0 - 1e-9)
    # warm: a point starts where the one before it came to rest
    cold = solve(make_solver("piano"), problem.with_penalty(L0(lams[-2])), W0=points[6].result.W)
    np.testing.assert_array_equal(points[7].result.W, cold.W)


def test_above_the_largest_strength_of_a_path_no_weight_pays() -> None:
    X, y = draw(50, 3, 3, seed=5)
    for intercept in (True, False):
        top = strengths(Problem(X, y, fit_intercept=intercept), 2)[0]
        null = exhaustive(X, y, top, fit_intercept=intercept)
        assert null.support.sum() == 0
        assert null.objective == pytest.approx(top, rel=1e-9)
        assert exhaustive(X, y, 0.05 * top, fit_intercept=intercept).support.any()


def test_mistakes_are_named() -> None:
    X, y = draw()
    problem, l0 = Problem(X, y, penalty=L1(1.0)), Problem(X, y, penalty=L0(1.0))
    for call in (lambda: stationarity(problem, problem.zeros()), lambda: start(problem, "zero")):
        with pytest.raises(ValueError, match=r"penalty of the problem is l1: L0\(lam\)"):
            call()
    with pytest.raises(ValueError, match="'warm' is unknown: one of zero, dense, l1"):
        start(l0, "warm")
    with pytest.raises(ValueError, match="weak = -1"):
        start(l0, "dense", weak=-1.0)
    with pytest.raises(ValueError, match=r"W has shape \(2, 2\)"):
        stationarity(l0, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="way 'left' is unknown"):
        path(l0, [1.0], ways=["left"])
    with pytest.raises(ValueError, match="lams is empty"):
        path(l0, [])
    with pytest.raises(ValueError, match="finite number above 0"):
        path(l0, [1.0, -1.0])
    with pytest.raises(ValueError, match="ratio in"):
        strengths(l0, 3, 2.0)
    with pytest.raises(ValueError, match=r"d \* m = 20: at most 16"):
        exhaustive(np.zeros((9, 4)), np.arange(9) % 5, 1.0)
    with pytest.raises(ValueError, match="lam = 0"):
        exhaustive(X, y, 0.0)
