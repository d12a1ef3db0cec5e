"""Input at the edges: squares that overflow, columns that are empty, classes without a row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from cases import PENALTIES, data, draw

from pianobench.algorithms import SOLVERS, Breakdown, iterate, make_solver, solve
from pianobench.problems import L1, Problem

BY_SQUARES = (
    *("irls", "bohning", "gd", "fista", "admm-mlr", "admm-l1", "lc", "lc-proximal"),
    *("flexa", "inexact-gj", "gj-flexa", "ogd", "l1-reweighted"),
)


def first_penalty(key: str) -> str:
    return next(name for name in PENALTIES if name in SOLVERS[key].penalties)


@pytest.mark.parametrize("key", BY_SQUARES)
def test_squares_that_overflow_are_refused_with_the_remedy(key: str) -> None:
    X, y, _ = draw()
    penalty = PENALTIES[first_penalty(key)]
    for V in (X * 1e200, (X * 1e30).astype(np.float32)):
        if V.dtype == np.float32 and key in ("irls", "bohning", "admm-mlr"):
            continue  # these form them in float64
        problem = Problem(V, y, penalty=penalty, fit_intercept=False)
        with pytest.raises(Breakdown, match=r"overflow float(32|64): give conditioning='scale'"):
            next(itertools.islice(iterate(make_solver(key), problem), 1, None))
    remedied = Problem(X * 1e200, y, penalty=penalty, fit_intercept=False, conditioning="scale")
    states = list(itertools.islice(iterate(make_solver(key), remedied), 6))
    values = [remedied.value(state.W) for state in states]
    assert np.isfinite(values).all()
    assert values[-1] < values[0]


@pytest.mark.parametrize("key", ["lc", "lc-centred"])
def test_lc_takes_columns_whose_squares_are_numbers(key: str) -> None:
    X, y, _ = draw()
    problem = Problem(X * 1e150, y, penalty=PENALTIES["l2"], fit_intercept=False)
    values = [problem.value(state.W) for state in itertools.islice(iterate(make_solver(key), problem), 6)]
    assert values[-1] < 0.9 * values[0]


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize(
    ("key", "parameters"),
    [
        *((key, {}) for key, entry in SOLVERS.items() if "l1" in entry.penalties),
        ("inexact-gj", {"tau": 0.0}),
    ],
)
def test_l1_takes_the_weights_of_an_empty_column_to_zero(key: str, parameters: dict[str, float], layout: str) -> None:
    """F has no other term in them: a start that is not 0 there must not be kept."""
    X, y, _ = data("dependent")
    W0 = np.ones((X.shape[1], 3))
    problem = Problem(sp.csr_array(X) if layout == "csr" else X, y, penalty=L1(1.5), fit_intercept=False)
    state = next(itertools.islice(iterate(make_solver(key, **parameters), problem, W0), 150, None))
    np.testing.assert_allclose(state.W[4], 0.0, atol=1e-6)
    smooth = make_solver(key, **parameters)
    if "none" in smooth.penalties and "columns" in smooth.needs:
        free = next(itertools.islice(iterate(smooth, problem.with_penalty(None), W0), 3, None))
        np.testing.assert_array_equal(free.W[4], W0[4])


@pytest.mark.parametrize("key", SOLVERS)
def test_a_class_that_no_row_has_leaves_all_numbers_finite(key: str) -> None:
    X, y, _ = draw()
    problem = Problem(X, y, penalty=PENALTIES[first_penalty(key)], classes=np.arange(4))
    result = solve(make_solver(key), problem, max_steps=30)
    assert np.isfinite(result.W).all()
    assert result.certificate.objective < problem.value(problem.zeros())
