"""PIANO's surrogate and its minimiser, element by element."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from cases import CASES, Case
from hypothesis import given
from hypothesis import strategies as st

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.algorithms.piano import minimiser, surrogate
from pianobench.problems import L0, L1, L2, ElasticNet, Penalty, Problem
from pianobench.problems.penalties import Array

FREE = [case for case in CASES if case.penalty == "none" and case.dtype == "float64"]


def moments(problem: Problem, W: Array) -> tuple[Array, Array, Array, Array, float]:
    """A, B, C, S and the loss at W."""
    seen: list[Array] = []

    def keep(W: Array, A: Array, B: Array, C: Array, S: Array, _pen: Penalty) -> Array:
        seen.extend((A, B, C, S))
        return W

    _, f = problem.moments_map(W, keep)
    A, B, C, S = seen
    return A, B, C, S, f


@pytest.mark.parametrize("case", FREE, ids=str)
def test_surrogate_touches_and_majorises(case: Case) -> None:
    problem, rng = case.problem(), np.random.default_rng(5)
    for size in (1e-3, 0.1, 1.0, 10.0):
        for _ in range(10):
            W, D = (rng.normal(size=(problem.p, problem.m)) * scale for scale in (1.0, size))
            A, B, C, S, f = moments(problem, W)
            assert surrogate(np.zeros_like(D), A, B, C, S).sum() == 0.0
            np.testing.assert_allclose(A - B - C, problem.smooth(W)[1], atol=1e-12 * problem.n)
            assert f + surrogate(D, A, B, C, S).sum() >= problem.value(W + D) - 1e-12 * f


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_surrogate_of_a_restricted_problem_has_a_smaller_reach_and_still_majorises(layout: str) -> None:
    rng = np.random.default_rng(6)
    whole = Case("none", layout, True, True, "float64").problem()
    active = rng.random((whole.p, whole.m)) < 0.6
    problem = whole.restrict(active)
    assert (problem.reach <= whole.reach).all()
    assert (problem.reach < whole.reach).any()
    for _ in range(20):
        W, D = (problem.only_active(rng.normal(size=(problem.p, problem.m))) for _ in range(2))
        A, B, C, S, f = moments(problem, W)
        assert f + surrogate(D, A, B, C, S).sum() >= whole.value(problem.lift(W + D)) - 1e-12 * f


SIZES = (0.0, 1e-300, 1e-12, 1.0, 1e6)
MOMENTS = [(A, B, C) for A, B in itertools.product(SIZES, SIZES) for C in (-1e6, -1.0, -1e-12, 0.0, 1e-9, 1.0, 1e6)]


@pytest.mark.parametrize("S", [1e-6, 1.0, 50.0])
@pytest.mark.parametrize("w", [0.0, 1e-9, -0.3, 2.0, -40.0])
@pytest.mark.parametrize(
    "penalty", [Penalty(), L1(0.7), L1(1e5), L2(0.7), L2(1e-9), ElasticNet(0.7, 0.3), L0(0.5), L0(1e-9)], ids=repr
)
def test_minimiser_equals_brute_force(penalty: Penalty, w: float, S: float) -> None:
    """With any vanishing, tiny or huge moments the element found is as good as the best of a fine grid."""
    cap = 30.0
    A, B, C = (np.array(column)[None, :] for column in zip(*MOMENTS, strict=True))
    W = np.full_like(A, w)
    found = minimiser(W, A, B, C, np.array([[S]]), penalty.by_row(np.ones(1)), cap)
    assert np.isfinite(found).all()
    assert (np.abs(found - w) * S <= cap * (1 + 1e-12) + np.abs(w) * S * (found == 0)).all()
    reach = cap / S
    steps = np.concatenate([s * np.geomspace(1e-14, 1.0, 400) * reach for s in (-1, 1)] + [[0.0, -w]])
    steps = steps[np.abs(steps) <= reach]

    def cost(V: Array) -> Array:
        value = surrogate(V - w, A, B, C, np.array([[S]]))
        return value + penalty.l1 * abs(V) + penalty.l2 / 2 * V**2 + penalty.l0 * (V != 0)

    best = np.min([cost(np.full_like(A, w + step)) for step in steps], axis=0)
    start, mine = cost(W), cost(found)
    size = np.abs(best) + np.abs(start) + np.abs(C * (found - w)) + A / S + B / S
    unresolved = penalty.l2 * (1e-15 / S) ** 2  # S d is found to 1e-15
    assert (mine <= best + 1e-9 * size + unresolved).all()
    assert (mine <= start + 1e-14 * size + unresolved).all()


@given(
    w=st.floats(-50, 50),
    A=st.floats(0, 1e8),
    B=st.floats(0, 1e8),
    C=st.floats(-1e8, 1e8),
    S=st.floats(1e-4, 1e4),
    strength=st.floats(1e-6, 1e6),
    kind=st.sampled_from(["none", "l1", "l2", "elasticnet", "l0"]),
)
def test_a_step_never_raises_the_surrogate(
    w: float, A: float, B: float, C: float, S: float, strength: float, kind: str
) -> None:
    penalty = {
        "none": Penalty(),
        "l1": L1(strength),
        "l2": L2(strength),
        "elasticnet": ElasticNet(strength, 0.1 * strength),
        "l0": L0(strength),
    }[kind]
    one = [np.array([[v]]) for v in (w, A, B, C, S)]
    v = float(minimiser(*one, penalty.by_row(np.ones(1)), 30.0)[0, 0])
    change = float(surrogate(np.array([[v - w]]), *one[1:])[0, 0])
    l1, l2, l0 = (float(s) for s in (penalty.l1, penalty.l2, penalty.l0))
    total = change + l1 * (abs(v) - abs(w)) + l2 / 2 * (v * v - w * w) + l0 * ((v != 0) - (w != 0))
    size = (A + B) / S + abs(C * (v - w)) + l1 * abs(w) + l2 * w * w + l0
    assert total <= 1e-12 * size


@pytest.mark.parametrize("penalty", [L0(0.5), L1(0.5), L2(0.1)], ids=lambda p: p.kind)
@pytest.mark.parametrize("scale", [50.0, 1e4])
def test_stays_monotone_where_probabilities_underflow(penalty: Penalty, scale: float) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(30, 2)) * scale
    problem = Problem(X, rng.integers(0, 3, 30), penalty=penalty)
    W0 = rng.normal(size=(3, 3)) * 5.0
    values = [problem.value(s.W) for s in itertools.islice(iterate(make_solver("piano"), problem, W0), 50)]
    assert np.isfinite(values).all()
    assert (np.diff(values) <= 1e-13 * values[0]).all()


def test_a_class_without_mass_in_a_feature_goes_as_far_as_the_cap_allows() -> None:
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    problem = Problem(X, [0, 0, 1, 1], fit_intercept=False)
    state = next(itertools.islice(iterate(make_solver("piano", cap=2.0), problem), 1, None))
    assert np.isclose(
        np.abs(state.W).max(), 2.0
    )  # S = 1; C is 0 for class 1 in feature 0, so its element would be -inf
    assert problem.value(state.W) < problem.value(problem.zeros())


def test_dead_columns_stay_where_they_are() -> None:
    X = np.column_stack([np.arange(12.0) % 5 - 2, np.zeros(12)])
    W0 = np.array([[0.1, -0.1, 0.0], [1.0, 2.0, 3.0]])
    problem = Problem(X, np.arange(12) % 3, fit_intercept=False)
    states = itertools.islice(iterate(make_solver("piano"), problem, W0), 5)
    assert all((state.W[1] == W0[1]).all() for state in states)


def test_non_negative_data_have_no_falling_part() -> None:
    rng = np.random.default_rng(8)
    X = rng.random((20, 3)) * (rng.random((20, 3)) < 0.5)
    for V in (X, sp.csr_array(X)):
        problem = Problem(V, rng.integers(0, 3, 20), fit_intercept=True)
        A, B, *_ = moments(problem, problem.zeros())
        assert (B == 0).all()
        assert (A >= 0).all()
        assert not problem.signed


@pytest.mark.parametrize("start", ["zero", "dense"])
def test_an_l0_fixed_point_is_stationary_on_its_support_and_no_element_should_leave_or_enter(start: str) -> None:
    case = Case("l0", "dense", True, False, "float64")
    problem = case.problem()
    W0 = None if start == "zero" else solve(make_solver("piano"), problem.with_penalty(None), tol=1e-6).W
    result = solve(make_solver("piano"), problem, W0=W0, tol=1e-9, max_steps=20_000)
    assert result.status == "stationary"
    assert "no statement about the minimum" in result.reason
    assert result.certificate.residual <= 1e-7
    again = next(itertools.islice(iterate(make_solver("piano"), problem, result.W), 1, None))
    assert ((again.W != 0) == (result.W != 0)).all()


@pytest.mark.paper
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("size", [1.0, 4.0])
def test_on_rows_of_one_sum_piano_is_generalised_iterative_scaling(layout: str, size: float) -> None:
    """X >= 0 with rows that add up to S: w_li <- w_li + log(observed_li / expected_li) / S [DR72]."""
    rng = np.random.default_rng(9)
    X = rng.random((50, 6)) * (rng.random((50, 6)) < 0.6)
    X[:, 0] += 0.1
    X *= size / X.sum(axis=1, keepdims=True)
    y, a = rng.integers(0, 3, 50), rng.choice([0.0, 1.0, 2.5], size=50)
    y[:3], a[:3] = np.arange(3), 1.0
    problem = Problem(sp.csr_array(X) if layout == "csr" else X, y, sample_weight=a, fit_intercept=False)
    observed = X.T @ (a[:, None] * np.eye(3)[y])
    assert (observed > 0).all()
    W = problem.zeros()
    for state in itertools.islice(iterate(make_solver("piano"), problem), 1, 40):
        Z = X @ W
        P = np.exp(Z - np.logaddexp.reduce(Z, axis=1, keepdims=True))
        W = W + np.log(observed / (X.T @ (a[:, None] * P))) / size
        np.testing.assert_allclose(state.W, W, rtol=1e-12, atol=1e-13)
