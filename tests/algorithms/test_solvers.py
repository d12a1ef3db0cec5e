"""Every registered solver on every problem of the list: the day a solver is registered, it is tested here."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import GAP_PAIRS, MONOTONE_PAIRS, PAIRS, Case, lower_bound, pair_id

from pianobench.algorithms import Breakdown, State, iterate, make_solver, solve
from pianobench.problems import Problem

TOLERANCE = 1e-8
FLOAT32_TOLERANCE = {"flexa": 1e-4, "inexact-gj": 1e-4}  # whose tau is raised by rises of F that are rounding
FLOAT32_FIXED_POINT = 1e-5  # S |d| to which float32 settles; the gap has no such limit, F is flat at the optimum

pairs = pytest.mark.parametrize(("key", "case"), PAIRS, ids=pair_id)
gap_pairs = pytest.mark.parametrize(("key", "case"), GAP_PAIRS, ids=pair_id)
monotone_pairs = pytest.mark.parametrize(("key", "case"), MONOTONE_PAIRS, ids=pair_id)


@gap_pairs
def test_reaches_the_certified_gap(key: str, case: Case) -> None:
    problem = case.problem()
    if not case.convex:
        tol = TOLERANCE if case.dtype == "float64" else FLOAT32_FIXED_POINT
        result = solve(make_solver(key), problem, tol=tol, max_steps=20_000)
        assert (result.status, result.certificate.kind) == ("stationary", "stationary"), result.reason
        return
    # The gap that a float32 gradient can certify under l1 ends near 1e-7; that F is as low as in float64 shows against
    # the bound of a float64 run. In float64 nothing but the solver's own point is used.
    reference = lower_bound(case) if case.dtype == "float32" else None
    tol = FLOAT32_TOLERANCE.get(key, TOLERANCE) if case.dtype == "float32" else TOLERANCE
    result = solve(make_solver(key), problem, tol=tol, max_steps=20_000, reference=reference)
    assert result.status == "converged", result.reason
    assert result.W.dtype == problem.dtype
    assert result.certificate.kind in (("dual",) if reference is None else ("dual", "reference"))


@monotone_pairs
def test_never_rises_where_that_is_proven(key: str, case: Case) -> None:
    solver, problem = make_solver(key), case.problem()
    values = []
    try:
        for state in itertools.islice(iterate(solver, problem), 60):
            values.append(problem.value(state.W))
    except Breakdown:
        assert len(values) > 5
    assert (np.diff(values) <= 1e-14 * values[0]).all()
    assert values[-1] < values[0]


@pairs
def test_ten_steps_are_five_and_five(key: str, case: Case, tmp_path: Path) -> None:
    solver, problem = make_solver(key), case.problem()
    rng = np.random.default_rng(0)
    state = solver.init(problem, problem.zeros(), rng)
    state = advanced(solver, problem, state)
    np.savez(tmp_path / "state.npz", **state.export())
    state = advanced(solver, problem, state)
    other = case.problem()  # the rest in another process: nothing but the file is left of the first five
    with np.load(tmp_path / "state.npz", allow_pickle=False) as saved:
        resumed = type(state).load(other, dict(saved))
    resumed = advanced(solver, other, resumed)
    ours, theirs = state.export(), resumed.export()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert value.dtype == theirs[name].dtype, name
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


def advanced(solver: Any, problem: Problem, state: Any) -> Any:
    """Five steps on, or where the method ends: a fast one stands at the optimum by then."""
    for _ in range(5):
        try:
            state = solver.step(problem, state)
        except Breakdown:
            break
    return state


@pairs
def test_leaves_its_start_and_the_data_alone(key: str, case: Case) -> None:
    problem = case.problem()
    W0 = np.random.default_rng(1).normal(size=(problem.p, problem.m)).astype(problem.dtype)
    W0.flags.writeable = False
    (part,) = problem.home.parts
    stored = part.design.X.data if case.layout == "csr" else part.design.X
    before = [np.array(v) for v in (stored, part.codes, part.weights)]
    states: list[State] = list(itertools.islice(iterate(make_solver(key), problem, W0), 6))
    assert not any(np.shares_memory(state.W, W0) for state in states)
    for old, new in zip(before, (stored, part.codes, part.weights), strict=True):
        np.testing.assert_array_equal(old, new)


@pairs
def test_gives_the_same_bits_again(key: str, case: Case) -> None:
    solver, ends = make_solver(key), []
    for _ in range(2):
        problem = case.problem()
        state = solver.init(problem, problem.zeros(), np.random.default_rng(3))
        ends.append(advanced(solver, problem, state))
    first, second = ends
    np.testing.assert_array_equal(first.W, second.W)
