"""Accelerated PIANO and PIANO on a working set: safeguard, signs, metric and sets."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from cases import PENALTIES, Case, draw

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.algorithms.piano_accelerated import PianoAccelerated, extrapolated
from pianobench.algorithms.piano_working_set import PianoWorkingSet, working_set
from pianobench.problems import L1, L2, Penalty, Problem
from pianobench.problems.penalties import Array


def wide(penalty: Penalty) -> Problem:
    """More features than rows, few of which matter."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 120))
    y = (X[:, :4] @ rng.normal(size=(4, 4)) + rng.gumbel(size=(40, 4))).argmax(axis=1)
    return Problem(X, y, penalty=penalty)


# acceleration ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", PENALTIES)
def test_without_a_memory_it_is_piano_centred(penalty: str) -> None:
    case = Case(penalty, "dense", True, True, "float64")
    plain = "piano" if penalty in ("none", "l0") else "piano-centred"
    ours, theirs = (iterate(make, case.problem()) for make in (PianoAccelerated(memory_pairs=0), make_solver(plain)))
    for one, other in itertools.islice(zip(ours, theirs, strict=True), 20):
        np.testing.assert_array_equal(one.W, other.W)


@pytest.mark.parametrize("penalty", [L1(0.05), L2(0.01)], ids=["l1", "l2"])
def test_f_falls_by_half_of_what_the_surrogate_promised(penalty: Penalty) -> None:
    X, y, _ = draw(m=6, n=120)
    problem = Problem(X * [1.0, 30.0, 0.01], y, penalty=penalty)
    states = list(itertools.islice(iterate(make_solver("piano-accelerated"), problem), 60))
    F = [problem.value(state.W) for state in states]
    assert states[-1].rejected > 0, "no extrapolation was refused: the safeguard was not tried"
    for before, after, state in zip(F, F[1:], states, strict=False):
        assert after - before <= 0.5 * state.promised + 1e-14 * F[0]
        assert problem.value(state.T) - before <= state.promised + 1e-14 * F[0]


def test_it_needs_a_fraction_of_the_steps_of_centred_piano() -> None:
    X, y, _ = draw(m=6, n=120)
    for penalty in (L2(0.05), L1(0.05)):
        plain, ours = (
            solve(make_solver(key), Problem(X, y, penalty=penalty), tol=1e-4, max_steps=8000)
            for key in ("piano-centred", "piano-accelerated")
        )
        assert ours.status == "converged", ours.reason
        assert ours.state.updates < 0.4 * plain.steps


def test_an_extrapolation_that_overflows_is_refused() -> None:
    problem = Case("l2", "dense", True, False, "float64").problem()
    solver = make_solver("piano-accelerated")
    state = next(itertools.islice(iterate(solver, problem), 4, None))
    wild = replace(state, pairs_w=state.pairs_w * 1e300)
    new = solver.step(problem, wild)
    assert new.rejected == state.rejected + 1
    np.testing.assert_array_equal(new.W, state.T)
    assert len(new.pairs_w) == 1


def test_zeros_and_signs_are_those_of_the_plain_step() -> None:
    problem = wide(L1(2.0))
    moved = 0
    for state in itertools.islice(iterate(make_solver("piano-accelerated"), problem), 2, 40):
        V = extrapolated(state, problem.pen)
        features, plain = V[:-1], state.T[:-1]
        assert (features[plain == 0] == 0).all()
        assert (features * plain >= 0).all()
        moved += np.count_nonzero(V != state.T)
    assert moved > 0


def test_the_extrapolation_does_not_depend_on_the_units_of_the_features() -> None:
    problem = Case("l2", "dense", False, False, "float64").problem()
    state = next(itertools.islice(iterate(make_solver("piano-accelerated"), problem), 6, None))
    unit = np.array([[1e-3], [1.0], [1e4]])
    other = replace(
        state, W=state.W * unit, T=state.T * unit, h=state.h / unit**2,
        pairs_w=state.pairs_w * unit, pairs_r=state.pairs_r * unit,
    )  # fmt: skip
    here, there = (extrapolated(one, problem.pen) for one in (state, other))
    np.testing.assert_allclose(there / unit, here, rtol=1e-6, atol=1e-9)


# working set ----------------------------------------------------------------------------------------------------------


def test_a_set_has_what_is_not_zero_the_free_rows_and_the_worst_of_the_rest() -> None:
    W = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    PG = np.array([[0.0, 3.0], [5.0, 0.0], [4.0, 1.0], [9.0, 9.0]])
    l1 = np.array([[1.0], [1.0], [1.0], [0.0]])

    def chosen(growth: float, least: int) -> Array:
        return working_set(W, PG, l1, growth, least)

    free = [True, True]
    np.testing.assert_array_equal(chosen(3.0, 0), [[1, 0], [1, 0], [1, 0], free])
    np.testing.assert_array_equal(chosen(1.0, 2), [[1, 1], [1, 0], [1, 0], free])
    np.testing.assert_array_equal(chosen(1.0, 50), [[1, 1], [1, 0], [1, 1], free])  # never one without a slope
    np.testing.assert_array_equal(chosen(0.0, 0), [[1, 0], [1, 0], [0, 0], free])  # the worst one always


@pytest.mark.parametrize("start", ["zero", "dense"])
def test_a_small_set_gives_the_certified_optimum_of_all_weights(start: str) -> None:
    problem = wide(L1(1.0))
    W0 = np.random.default_rng(0).normal(size=(problem.p, problem.m)) if start == "dense" else None
    result = solve(make_solver("piano-working-set"), problem, W0=W0, tol=1e-8, max_steps=100)
    assert result.status == "converged", result.reason
    assert result.state.size < 0.4 * problem.p * problem.m
    if start == "zero":
        whole = solve(make_solver("piano-accelerated"), wide(L1(1.0)), tol=1e-8, max_steps=20_000)
        assert result.checkpoints[-1].gradient_equivalents < 0.5 * whole.checkpoints[-1].gradient_equivalents


def test_a_round_is_charged_for_its_steps() -> None:
    problem = wide(L1(1.0))
    solver = PianoWorkingSet()
    state = solver.init(problem, problem.zeros(), np.random.default_rng(0))
    before = problem.meter.total
    state = solver.step(problem, state)
    rows = problem.meter.total.rows - before.rows
    assert rows >= (state.updates + 1) * problem.n  # the full gradient and each step in the set


def test_at_the_optimum_it_refuses_to_move() -> None:
    X, y, _ = draw()
    problem = Problem(X, y, fit_intercept=False, penalty=L1(1e6))
    first, second = itertools.islice(iterate(make_solver("piano-working-set"), problem), 2)
    assert second.rejected == 1
    np.testing.assert_array_equal(second.W, first.W)
