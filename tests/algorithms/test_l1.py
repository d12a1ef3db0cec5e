"""Methods for l1: what they share with smooth methods, their pieces against brute force, their fixed points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cases import Case, draw
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.algorithms.admm_l1 import AdmmL1, Augmented
from pianobench.algorithms.centring import centred
from pianobench.algorithms.lbfgs import with_pair
from pianobench.algorithms.lc_proximal import LcProximal
from pianobench.algorithms.owl_qn import pseudo_gradient
from pianobench.algorithms.prox_newton import ProxNewton
from pianobench.problems import L1, L2, Penalty, Problem

METHODS = ("owl-qn", "admm-l1", "prox-newton", "lc-proximal", "piano-centred")
L1_DENSE = Case("l1", "dense", True, True, "float64")


# centring -------------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from([-2.0, -1.0, -0.25, 0.0, 0.0, 0.5, 3.0, 10.0]), min_size=2, max_size=7),
    st.sampled_from([0.0, 0.1, 1.0, 5.0]),
    st.sampled_from([0.0, 0.1, 1.0, 5.0]),
)
def test_no_shift_of_a_row_is_better_than_the_centred_one(row: list[float], l1: float, l2: float) -> None:
    W, pen = np.array([row]), Penalty(l1=np.array([[l1]]), l2=np.array([[l2]]))
    ours = pen.value(centred(W, pen))
    shifts = np.concatenate([W[0], np.linspace(W.min(), W.max(), 301)])
    assert ours <= min(pen.value(W - t) for t in shifts) + 1e-12 * max(1.0, ours)


def test_the_median_nearest_zero_is_taken() -> None:
    W = np.array([[1.0, 2.0, 3.0, 4.0], [-1.0, 0.5, -0.5, 3.0], [-4.0, -3.0, -1.0, 2.0], [1.0, 2.0, 3.0, 4.0]])
    strength = np.array([[1.0], [1.0], [1.0], [0.0]])
    moved = W - centred(W, Penalty(l1=strength))
    np.testing.assert_array_equal(moved[:, 0], [2.0, 0.0, -1.0, 0.0])


def test_centring_leaves_the_loss_and_what_may_not_move() -> None:
    problem, rng = L1_DENSE.problem(), np.random.default_rng(0)
    W = rng.normal(size=(problem.p, problem.m)) + 1.0
    bare = problem.with_penalty(None)
    assert bare.value(centred(W, problem.pen)) == pytest.approx(bare.value(W), rel=1e-13)
    active = np.ones(W.shape, bool)
    active[1, 2] = False
    moved = (centred(W, problem.pen, active) != W).any(axis=1)
    np.testing.assert_array_equal(moved, [True, False, True, False])  # not the row held, not the intercept


@pytest.mark.parametrize("penalty", [L2(0.05), L1(0.05)], ids=["l2", "l1"])
def test_centred_piano_needs_fewer_steps(penalty: Penalty) -> None:
    X, y, _ = draw(m=6, n=120)
    steps = [
        solve(make_solver(key), Problem(X, y, penalty=penalty), tol=1e-5, max_steps=8000).steps
        for key in ("piano", "piano-centred")
    ]
    assert steps[1] < 0.7 * steps[0]


# the optimum ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", METHODS)
@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
def test_the_optimum_is_the_same(key: str, penalty: str) -> None:
    problem = Case(penalty, "dense", False, True, "float64").problem()
    best = solve(make_solver("prox-newton"), problem, tol=1e-13, max_steps=100)
    other = solve(make_solver(key), problem, tol=1e-10, max_steps=20_000)
    assert other.status == "converged"
    assert other.certificate.objective == pytest.approx(best.certificate.objective, rel=2e-10)
    V, W = (w - np.median(w, axis=1, keepdims=True) for w in (other.W, best.W))
    np.testing.assert_allclose(V, W, atol=2e-4)


@pytest.mark.parametrize("key", METHODS)
def test_a_large_strength_gives_zeros(key: str) -> None:
    X, y, _ = draw()
    lam = Problem(X, y, penalty=L1(1.0)).lambda_max
    result = solve(make_solver(key), Problem(X, y, penalty=L1(1.01 * lam)), tol=1e-8, max_steps=3000)
    assert (result.status, result.certificate.nnz) == ("converged", 0)


# OWL-QN ---------------------------------------------------------------------------------------------------------------


def test_the_pseudo_gradient_is_the_shortest_subgradient() -> None:
    rng = np.random.default_rng(0)
    W, G, l1 = rng.normal(size=(40, 3)) * (rng.random((40, 3)) < 0.5), 2.0 * rng.normal(size=(40, 3)), 1.0
    shares = np.linspace(-1.0, 1.0, 401)[:, None, None]
    candidates = G + l1 * np.where(W != 0, np.sign(W), shares)
    shortest = np.take_along_axis(candidates, np.abs(candidates).argmin(axis=0)[None], axis=0)[0]
    np.testing.assert_allclose(pseudo_gradient(W, G, Penalty(l1=l1)), shortest, atol=0.006)


def test_owl_qn_keeps_to_its_orthant() -> None:
    problem = L1_DENSE.problem()
    penalised = np.asarray(problem.pen.l1)[:, 0] > 0
    old = None
    for state in itertools.islice(iterate(make_solver("owl-qn"), problem), 25):
        if old is not None:
            assert (old.W * state.W)[penalised].min() >= 0.0
        old = state


def test_owl_qn_is_l_bfgs_where_l1_touches_nothing() -> None:
    """l1 on a column of zeros alone: all rows that matter are free of orthants, and t = 1 suits both line searches."""
    X, y, _ = draw()
    X = np.column_stack([X, np.zeros(len(X))])
    on_last = np.array([[0.0], [0.0], [0.0], [1.0]])
    smooth, other = (Problem(X, y, penalty=Penalty(l1=l1, l2=2.0), fit_intercept=False) for l1 in (0.0, on_last))
    assert (smooth.pen.kind, other.pen.kind) == ("l2", "elasticnet")
    runs = iterate(make_solver("lbfgs"), smooth), iterate(make_solver("owl-qn"), other)
    for ours, theirs in itertools.islice(zip(*runs, strict=True), 10):
        np.testing.assert_allclose(theirs.W, ours.W, rtol=1e-9, atol=1e-12)


def test_a_pair_without_curvature_is_skipped_and_the_oldest_goes() -> None:
    rng = np.random.default_rng(0)
    S = rng.normal(size=(3, 2, 2))
    pairs = with_pair(S[:2], S[:2], 1.0, S[2], 2.0 * S[2], 2)
    np.testing.assert_array_equal(pairs[0], S[1:])
    assert pairs[2] == pytest.approx(0.5)
    unchanged = with_pair(S[:2], S[:2], 1.0, S[2], -S[2], 2)
    np.testing.assert_array_equal(unchanged[1], S[:2])
    assert unchanged[2] == 1.0


# ADMM -----------------------------------------------------------------------------------------------------------------


def test_admm_stays_at_the_optimum_for_any_rho() -> None:
    problem = L1_DENSE.problem()
    best = solve(make_solver("prox-newton"), problem, tol=1e-14, max_steps=60).W
    solver = AdmmL1(rho=0.7, balance_steps=0, inner_share=1e-6)
    state = solver.init(problem, best, np.random.default_rng(0))
    state.U = np.where(np.asarray(problem.pen.l1) > 0, -state.G / state.rho, 0.0)  # rho U = -G, a subgradient of l1
    for _ in range(3):
        state = solver.step(problem, state)
    np.testing.assert_allclose(state.W, best, atol=1e-6)


def test_a_step_of_admm_is_the_papers() -> None:
    problem, solver = L1_DENSE.problem(), AdmmL1(inner_share=1e-9)
    state = next(itertools.islice(iterate(solver, problem), 3, None))
    kept = np.asarray(problem.pen.l1) > 0
    split = Augmented(problem, state.W - state.U, state.rho * kept)
    new = AdmmL1(inner_share=1e-9, balance_steps=0).step(problem, state)

    def value(v: np.ndarray) -> float:
        return split.smooth(v.reshape(problem.p, problem.m))[0]

    assert value(new.V.ravel()) <= minimize(value, new.V.ravel() + 1e-3, method="BFGS").fun + 1e-9
    f, G = problem.smooth(new.V)
    assert new.f == pytest.approx(f, rel=1e-12)
    np.testing.assert_allclose(new.G, G, atol=1e-9)
    V_hat = 1.6 * new.V - 0.6 * state.W
    W = np.sign(V_hat + state.U) * np.maximum(np.abs(V_hat + state.U) - problem.pen.l1 / state.rho, 0.0)
    np.testing.assert_allclose(new.W, np.where(kept, W, new.V), atol=1e-14)
    np.testing.assert_allclose(new.U, np.where(kept, state.U + V_hat - W, 0.0), atol=1e-14)
    assert (new.U != 0.0).any()


def test_a_changed_rho_changes_the_dual_and_the_pairs_with_it() -> None:
    problem, solver = L1_DENSE.problem(), AdmmL1()
    state = next(itertools.islice(iterate(solver, problem), 6, None))
    assert len(state.pairs_s) > 0
    state.primal, state.dual = 1e6, 1.0
    kept = np.asarray(problem.pen.l1) > 0
    moved = solver._balanced(state, kept)
    assert moved.rho == 2.0 * state.rho
    np.testing.assert_allclose(moved.rho * moved.U, state.rho * state.U, rtol=1e-14)
    more = (moved.rho - state.rho) * kept * state.pairs_s
    np.testing.assert_allclose(moved.pairs_y - state.pairs_y, more, rtol=1e-6, atol=1e-9)
    state.primal, state.dual = 1e-9, 1e6
    assert solver._balanced(state, kept).rho == 0.5 * state.rho


# proximal Newton and LC -----------------------------------------------------------------------------------------------


def test_proximal_newtons_model_is_minimised() -> None:
    """The target of an accurate inner solve has a vanishing subgradient of the quadratic model."""
    problem = L1_DENSE.problem()
    solver = ProxNewton(eta=1e-9, inner_steps=20_000)
    state = next(itertools.islice(iterate(ProxNewton(), problem), 2, None))
    target, _, products = solver._minimised(problem, state)
    assert products < 20_000
    slope = state.G + problem.curvature(state.W) @ (target - state.W)
    shortest = pseudo_gradient(target, slope, problem.pen)
    assert np.abs(shortest).max() <= 1e-6 * np.abs(pseudo_gradient(state.W, state.G, problem.pen)).max()


def test_accurate_proximal_newton_is_quadratic() -> None:
    problem = L1_DENSE.problem()
    best = solve(make_solver("prox-newton"), problem, tol=1e-14, max_steps=60).certificate.objective
    solver = ProxNewton(eta=1e-8, inner_steps=20_000)
    over = [problem.value(state.W) / best - 1.0 for state in itertools.islice(iterate(solver, problem), 9)]
    assert over[8] <= 1e-13
    assert any(new <= 1e-3 * old and old < 1e-2 for old, new in itertools.pairwise(over))


def test_lcs_surrogate_falls_in_its_inner_steps() -> None:
    """LC's majoriser at W^k, with l1, is lower at W^{k+1} and above F: F falls by what it fell by at least."""
    problem = L1_DENSE.problem()
    X, y, weights = draw()
    Z1 = np.column_stack([X, np.ones(len(X))])
    states = list(itertools.islice(iterate(LcProximal(), problem), 5))
    for old, new in itertools.pairwise(states):
        Z, V = Z1 @ old.W, Z1 @ new.W
        lse = np.logaddexp.reduce(Z, axis=1)
        bound = weights @ (np.exp(V - lse[:, None]).sum(axis=1) - 1.0 + lse - V[np.arange(len(y)), y])
        bound += problem.pen.value(new.W)
        assert problem.value(new.W) <= bound * (1 + 1e-13)
        assert problem.value(new.W) < problem.value(old.W)
