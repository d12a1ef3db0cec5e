"""No solver knows where rows are: with rows in two other processes each gives the W it gives in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp
from cases import PENALTIES, draw
from remote import Workers, problem_in_parts

from pianobench.algorithms import SOLVERS, iterate, make_solver, solve, solver_refusal
from pianobench.problems import Problem
from pianobench.problems.sample_space import IN_ONE_PLACE

STEPS = 12


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(2) as both:
        yield both


PAIRS = [
    (key, penalty)
    for key, penalty in itertools.product(SOLVERS, PENALTIES)
    if solver_refusal(make_solver(key), Problem(*draw()[:2], penalty=PENALTIES[penalty])) is None
    and not make_solver(key).needs & IN_ONE_PLACE
    and key != "auto"  # which chooses by where rows are
]


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize(("key", "penalty"), PAIRS)
def test_the_same_weights_as_in_memory(workers: Workers, key: str, penalty: str, layout: str) -> None:
    X, y, weights = draw()
    X = sp.csr_array(X) if layout == "csr" else X
    arguments = {"penalty": PENALTIES[penalty], "sample_weight": weights}
    whole = Problem(X, y, **arguments)
    parts = problem_in_parts(X, y, **arguments)
    remote = problem_in_parts(X, y, workers, **arguments)
    runs = [itertools.islice(iterate(make_solver(key), problem), STEPS) for problem in (whole, parts, remote)]
    for one, two, far in zip(*runs, strict=True):
        np.testing.assert_array_equal(far.W, two.W)  # the same sums in the same order: the same bits
        rounding = 1e3 if key == "piano-working-set" else 1.0  # a step there is many of an extrapolated map
        np.testing.assert_allclose(far.W, one.W, rtol=1e-9 * rounding, atol=1e-11 * rounding)


def test_the_whole_loop_runs_on_rows_elsewhere(workers: Workers) -> None:
    X, y, weights = draw()
    arguments = {"penalty": PENALTIES["l2"], "sample_weight": weights}
    near = solve(make_solver("lbfgs"), Problem(X, y, **arguments), tol=1e-8)
    far = solve(make_solver("lbfgs"), problem_in_parts(X, y, workers, **arguments), tol=1e-8)
    assert far.status == near.status == "converged"
    assert far.steps == near.steps
    assert far.certificate.objective == pytest.approx(near.certificate.objective, rel=1e-14)


def test_a_state_with_fields_elsewhere_is_stored_and_resumed(workers: Workers) -> None:
    X, y, _ = draw()
    solver, problem = make_solver("admm-mlr"), problem_in_parts(X, y, workers, penalty=PENALTIES["l2"])
    states = iterate(solver, problem)
    state = next(itertools.islice(states, 5, None))
    saved = state.export()
    assert {"Z/0", "Z/1"} <= saved.keys()
    other = problem_in_parts(X, y, penalty=PENALTIES["l2"])  # and the rest in this process
    resumed = type(state).load(other, saved)
    for _ in range(5):
        state, resumed = solver.step(problem, state), solver.step(other, resumed)
    np.testing.assert_array_equal(state.W, resumed.W)
