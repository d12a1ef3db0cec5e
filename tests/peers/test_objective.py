"""What a library minimises is our F: its point is optimal by our certificate, and to the digits of known optima."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from cases import PENALTIES, Case, pair_id

from pianobench.algorithms.peers import PEERS, make_peer, rerun
from pianobench.algorithms.peers.contract import halves
from pianobench.algorithms.peers.fits import Fitter
from pianobench.problems import L1, L2, ElasticNet, Penalty, Problem

# Vowpal Wabbit, of two classes and in float32, has tests of its own.
BEST = [key for key in PEERS if key.endswith("-best") and PEERS[key].library != "vowpalwabbit"]
# Enough for 60 rows. More would tell no more: what ends by itself stops before, and the others are at rest.
BUDGET = {"sklearn-sag-best": 1000, "sklearn-saga-best": 3000, "cyanure-best": 1000}
# layout, weighted, dtype, conditioning
KINDS = [
    ("dense", True, "float64", "none"),
    ("csr", False, "float64", "none"),
    ("dense", False, "float32", "none"),
    ("csr", True, "float32", "scale"),
]
CASES = [
    Case(penalty, layout, intercept, weighted, dtype, conditioning)
    for penalty in ("none", "l1", "l2", "elasticnet")
    for intercept in (False, True)
    for layout, weighted, dtype, conditioning in KINDS
] + [Case("l2", "dense", True, False, "float64", "centre+scale")]
PAIRS = [
    (key, case)
    for key in BEST
    for case in CASES
    if case.penalty in PEERS[key].penalties and not (case.weighted and key == "cyanure-best")
]


def fitted(key: str, problem: Problem, budget: int | None = None) -> tuple[float, float]:
    """F and certified gap after one fit."""
    box = make_peer(key)
    assert box.refusal(problem) is None
    fit = Fitter(box, problem, 1, 0, None).fit(budget or BUDGET.get(key, 300))
    assert fit.W.dtype == problem.dtype
    return fit.certificate.objective, fit.certificate.gap


@pytest.mark.parametrize(
    ("key", "case"), [pair for pair in PAIRS if pair[1].penalty in PEERS[pair[0]].penalties], ids=pair_id
)
def test_a_fit_minimises_our_objective(key: str, case: Case) -> None:
    assert fitted(key, case.problem())[1] < (1e-3 if case.dtype == "float32" else 1e-6)


# F* of digits, X / 16, lam = 1, made with other software and to all digits shown.
OPTIMA = {
    ("l2", False): 363.507259569,
    ("l2", True): 358.548947734,
    ("l1", False): 430.19180360,
    ("l1", True): 424.188999045,
}


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("key", "kind", "budget"),
    [
        ("sklearn-lbfgs-best", "l2", 500),
        ("sklearn-newton-cg-best", "l2", 20),
        ("sklearn-newton-cholesky-best", "l2", 10),
        ("cyanure-best", "l2", 100),
        ("cyanure-best", "l1", 150),
    ],
)
def test_known_optima_of_digits(
    digits: tuple[np.ndarray, np.ndarray], key: str, kind: str, intercept: bool, budget: int
) -> None:
    problem = Problem(*digits, penalty=L2(1.0) if kind == "l2" else L1(1.0), fit_intercept=intercept)
    F, gap = fitted(key, problem, budget)
    assert pytest.approx(OPTIMA[kind, intercept], rel=3e-9) == F
    assert gap < 1e-6


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "penalty", [L2(2.0), L1(1.0), ElasticNet(1.0, 1.0), None], ids=lambda p: p.kind if p else "none"
)
@pytest.mark.parametrize("key", BEST)
def test_two_classes(
    three_or_eight: tuple[np.ndarray, np.ndarray], key: str, penalty: Penalty | None, intercept: bool
) -> None:
    X, y = three_or_eight
    if penalty is None:  # few columns: else separable, and without a minimiser
        X = X[:, 20:23]
    problem = Problem(X, y, penalty=penalty, fit_intercept=intercept)
    if problem.pen.kind not in make_peer(key).penalties:
        assert make_peer(key).refusal(problem) is not None
        return
    slow = problem.pen.kind == "l1"  # for saga and cyanure: F is flat along some columns
    F, gap = fitted(key, problem, 1200 if slow else 500)
    assert gap < (3e-3 if slow else 1e-6)
    if not intercept and slow:
        assert pytest.approx(41.785675484, rel=3e-6) == F  # of other software, which knows one vector only
    if not intercept and problem.pen.kind == "l2":
        assert pytest.approx(35.31505554, rel=1e-9) == F


def test_halves_of_a_vector_cost_what_the_vector_costs() -> None:
    rng = np.random.default_rng(0)
    v, b = rng.normal(size=(1, 5)), rng.normal(size=1)
    coef, intercept = halves(v, b)
    assert np.array_equal(coef[1] - coef[0], v[0])
    assert np.array_equal(intercept[1] - intercept[0], b[0])
    assert np.isclose(L1(3.0).value(coef), 3.0 * np.abs(v).sum())
    assert np.isclose(L2(3.0).value(coef), 3.0 / 4 * np.square(v).sum())


def test_weight_two_is_the_row_twice() -> None:
    case = Case("l2", "dense", True, True, "float64")
    problem = case.problem()
    weights = np.concatenate([part.weights for part in problem.home.parts])  # type: ignore[attr-defined]
    twice = problem.rows(np.repeat(np.arange(problem.n), 2), np.full(2 * problem.n, 0.5))
    assert weights.max() == 2.0
    for key in ("sklearn-lbfgs", "sklearn-lbfgs-best", "sklearn-sag-best"):
        assert fitted(key, twice, 500)[0] == pytest.approx(fitted(key, problem, 500)[0], rel=1e-6)


def test_sag_runs_in_circles_unless_weights_are_scaled() -> None:
    problem = Case("none", "dense", True, True, "float64").problem()
    scaled = make_peer("sklearn-sag-best")
    plain = replace(scaled, scale_weights=False)  # type: ignore[type-var]
    gaps = [Fitter(box, problem, 1, 0, None).fit(1000).certificate.gap for box in (scaled, plain)]
    assert gaps[0] < 1e-8
    assert gaps[1] > 1e-3


@pytest.mark.parametrize("key", ["cyanure"])
def test_cyanure_diverges_on_sparse_rows_with_intercept_and_not_at_its_best(
    digits: tuple[np.ndarray, np.ndarray], key: str
) -> None:
    X, y = digits
    problem = Problem(sp.csr_array(X), y, penalty=L2(1.0))
    result = rerun(make_peer(key), problem)
    assert result.reason.startswith("reports success after")
    assert result.certificate.objective > problem.value(problem.zeros())
    assert fitted(f"{key}-best", problem, 100)[1] < 1e-4


def test_all_penalties_are_tried() -> None:
    assert {case.penalty for _, case in PAIRS} == set(PENALTIES) - {"l0"}
