"""The certified bound is never above the minimum, tight at the optimum, and says what it rests on."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import plain
import pytest
import scipy.sparse as sp

from pianobench.algorithms import make_solver, solve
from pianobench.problems import (
    L0,
    L1,
    L2,
    ElasticNet,
    Penalty,
    Problem,
    certificate,
    certificates,
    kkt_residual,
    separability,
)
from pianobench.problems.engines.memory import MemoryRows
from pianobench.problems.kernels import dual
from pianobench.problems.kernels.compiled import passes, threads
from pianobench.problems.unpenalised import bound_without_penalty

KINDS = ("none", "l1", "l2", "elasticnet")


def draw(seed: int) -> dict[str, Any]:
    """A small problem of any shape: m = 2..5, absent classes, zeros, weights of any size, float32."""
    rng = np.random.default_rng(seed)
    n, d, m = int(rng.integers(12, 40)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8) + rng.choice([0.0, 3.0])
    y = (X @ rng.normal(size=(d, m)) + 2 * rng.gumbel(size=(n, m))).argmax(axis=1)
    if seed % 4 == 1:
        y[y == m - 1] = 0  # an absent class
    weights = [np.ones(n), rng.choice([0.0, 1.0, 3.0], n), 10.0 ** rng.uniform(-8, 8, n)][seed % 3]
    weights[0] = max(weights[0], 1.0)
    if seed % 5 == 2:
        X = X.astype(np.float32)
    return {"X": X, "y": y, "a": weights, "m": m, "intercept": seed % 2 == 0, "rng": rng}


def penalty(kind: str, strongest: float, rng: np.random.Generator) -> Penalty | None:
    lam = (strongest or 1.0) * 10.0 ** rng.uniform(-3, -0.1)
    return {
        "none": None,
        "l1": L1(lam),
        "l2": L2(lam),
        "elasticnet": ElasticNet(lam, lam * 10.0 ** rng.uniform(-6, 1)),
    }[kind]


@cache
def solved(kind: str, seed: int) -> tuple[Problem, float, np.ndarray, np.random.Generator]:
    """The problem, its F* and W* by other means, W* where it exists."""
    case = draw(seed)
    X, y, a, m, intercept, rng = (case[name] for name in ("X", "y", "a", "m", "intercept", "rng"))
    form = sp.csr_array(X) if seed % 7 == 3 else X
    problem = Problem(form, y, sample_weight=a, fit_intercept=intercept, classes=range(m))
    problem = problem.with_penalty(penalty(kind, problem.lambda_max, rng))
    pen = problem.penalty or Penalty()
    there = np.unique(y[a > 0])  # with an intercept a class without rows has probability 0 at the infimum
    if intercept and there.size < m:
        codes = np.searchsorted(there, np.where(np.isin(y, there), y, there[0]))
        best, V = plain.minimum(X, codes, a, there.size, pen.l1, pen.l2, True)
        W = np.zeros((problem.p, m))
        W[:, there] = V
        W[-1, np.setdiff1d(np.arange(m), there)] = -800.0
        return problem, best, W, rng
    best, W = plain.minimum(X, y, a, m, pen.l1, pen.l2, intercept)
    return problem, best, W, rng


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_never_above_the_minimum(kind: str, seed: int) -> None:
    problem, best, W, rng = solved(kind, seed)
    at_zero = problem.value(problem.zeros().astype(float))
    size = np.abs(W).clip(0.1, 10.0)
    for distance in (0.0, 1e-4, 0.1, 10.0):
        V = W + distance * size * rng.normal(size=W.shape)
        proof = certificate(problem, V)
        assert proof.lower <= best + 1e-12 * at_zero, distance
        assert 0.0 <= proof.lower <= proof.objective
        assert 0.0 <= proof.gap <= 1.0
    assert certificate(problem, np.zeros_like(W)).lower <= best + 1e-12 * at_zero


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [*range(15), 212])  # 212: a class of 1e-16 of the weight
def test_tight_at_the_optimum(kind: str, seed: int) -> None:
    problem, best, W, _ = solved(kind, seed)
    proof = certificate(problem, W)
    if kind == "none" and separability(problem) != "none":  # W only comes near the infimum
        assert separability(problem) == "quasi" or proof.lower == 0.0
        return
    assert proof.objective == pytest.approx(best, rel=1e-9)
    assert proof.kind == "dual"
    assert proof.gap <= (1e-9 if seed % 3 < 2 else 1e-6)  # weights of 1e-8 to 1e8 cost the other solver digits
    assert proof.residual <= 1e-6


@pytest.mark.parametrize("apart", [1e-2, 1e-5, 1e-8, 1e-11])
@pytest.mark.parametrize("seed", [100, 117, 125])
def test_columns_that_hardly_differ(apart: float, seed: int) -> None:
    """What tells the two apart lowers F*, however little it is beside them: no bound may overlook it."""
    case = draw(seed)
    X = case["X"].astype(np.float64)
    X[:, 1] = X[:, 0] + apart * X[:, 1]
    easy = X.copy()
    easy[:, 1] = (X[:, 1] - X[:, 0]) / apart  # exact, and another basis of the same columns
    best, _ = plain.minimum(easy, case["y"], case["a"], case["m"], intercept=case["intercept"])
    for unit in (1.0, 2.0**-30):
        X[:, 1] *= unit
        rest = {"sample_weight": case["a"], "fit_intercept": case["intercept"], "classes": range(case["m"])}
        problem = Problem(X, case["y"], **rest)
        for W in (problem.zeros(), 0.3 * case["rng"].normal(size=(problem.p, problem.m))):
            assert certificate(problem, W).lower <= best + 1e-11 * problem.value(problem.zeros())


def test_units_of_the_columns_change_no_bound() -> None:
    """A column of small numbers is no dependent one: it may lower F as any other."""
    case = draw(3)
    X = np.column_stack([case["X"], np.random.default_rng(0).normal(size=case["y"].size)]).astype(np.float64)
    expected = certificate(Problem(X, case["y"]), np.zeros((X.shape[1] + 1, len(set(case["y"])))))
    assert expected.kind == "dual"
    for unit in (2.0**-60, 2.0**60):
        other = X.copy()
        other[:, -1] *= unit
        problem = Problem(other, case["y"])
        assert certificate(problem, problem.zeros()).lower == pytest.approx(expected.lower, rel=1e-10)


FIXED = draw(3)


def fixed(pen: Penalty | None, intercept: bool = False) -> tuple[Problem, np.ndarray]:
    problem = Problem(FIXED["X"], FIXED["y"], penalty=pen, sample_weight=FIXED["a"], fit_intercept=intercept)
    return problem, 0.1 * np.random.default_rng(0).normal(size=(problem.p, problem.m))


def test_l2_gap_is_the_gradient_squared() -> None:
    problem, W = fixed(L2(300.0))
    proof = certificate(problem, W)
    _, slope = problem.smooth(W)
    assert proof.objective - proof.lower == pytest.approx(np.sum(slope**2) / 600.0, rel=1e-9)


@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e9])
def test_l1_gap_is_the_formula(lam: float) -> None:
    problem, W = fixed(L1(lam))
    _, G = problem.smooth(W)
    s = max(1.0, np.abs(G).max() / lam)
    Z = problem.scores(W).export()[0]
    P = np.exp(Z - np.logaddexp.reduce(Z, axis=1)[:, None])
    Q = np.eye(problem.m)[FIXED["y"]] * (1 - 1 / s) + P / s
    D = -FIXED["a"] @ np.where(Q > 0, Q * np.log(np.maximum(Q, 1e-300)), 0.0).sum(axis=1)
    proof = certificate(problem, W)
    assert proof.lower >= D * (1 - 1e-12)  # never worse; better where the search finds a smaller s
    if s == 1:
        assert proof.lower == pytest.approx(D, rel=1e-12)
        assert proof.objective - proof.lower == pytest.approx(np.sum(G * W) + lam * np.abs(W).sum(), rel=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_weak_quadratic_part_spoils_nothing(intercept: bool) -> None:
    """l2 = 1e-6 is nearly l1 alone: the bound must not fall to that of Q = P."""
    problem, W = fixed(ElasticNet(1.0, 1e-6), intercept)
    alone = certificate(problem.with_penalty(L1(1.0)), W)
    assert certificate(problem, W).lower >= alone.lower * (1 - 1e-9)
    assert alone.lower > 0


def test_what_is_not_finite_has_no_bound() -> None:
    for pen in (None, L1(1.0), L2(1.0), L0(1.0)):
        problem, W = fixed(pen)
        for wrong in (np.nan, np.inf, 1e308):
            proof = certificate(problem, np.full_like(W, wrong) * np.sign(W))
            assert not np.isfinite(proof.objective)
            assert (proof.gap, proof.lower, proof.kind) == (1.0, 0.0, "zero")


def test_an_objective_of_zero_has_no_gap() -> None:
    problem = Problem([[1.0], [-1.0]], [0, 1], fit_intercept=False)
    proof = certificate(problem, np.array([[1000.0, -1000.0]]))
    assert (proof.objective, proof.lower, proof.gap) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("pen", [None, L1(1.0), L2(1.0)])
def test_a_better_reference_is_taken(pen: Penalty | None) -> None:
    problem, W = fixed(pen, intercept=True)
    own = certificate(problem, W)
    better = own.lower + 0.5 * (own.objective - own.lower)
    assert certificate(problem, W, better).kind == "reference"
    assert certificate(problem, W, better).lower == better
    if pen is not None:  # without a penalty the long road to a bound of our own is not taken where one is given
        assert certificate(problem, W, own.lower - 1.0) == own
    assert certificate(problem, W, 10 * own.objective).gap == 0.0  # cut at F: a gap is never negative


def test_l0_is_called_stationary_and_no_more() -> None:
    problem, W = fixed(L0(1.0), intercept=True)
    W[0, 0] = 0.0
    proof = certificate(problem, W, reference=1.0)
    assert (proof.kind, proof.lower, proof.gap) == ("stationary", 0.0, 1.0)
    assert proof.nnz == np.count_nonzero(W[:-1]) < W[:-1].size
    slope = np.abs(problem.smooth(W)[1])
    slope[0, 0] = 0.0  # the penalty keeps it there
    assert proof.residual * largest_at_zero(problem) == pytest.approx(slope.max())


def largest_at_zero(problem: Problem) -> float:
    return float(np.abs(problem.with_penalty(None).smooth(np.zeros((problem.p, problem.m)))[1]).max())


@pytest.mark.parametrize("kind", KINDS)
def test_the_residual_vanishes_at_optima_and_has_no_unit(kind: str) -> None:
    case = draw(6)
    X, y, a = case["X"].astype(np.float64), case["y"], case["a"]
    problem = Problem(X, y, sample_weight=a)
    pen = penalty(kind, problem.lambda_max, np.random.default_rng(0))
    given = pen or Penalty()
    _, W = plain.minimum(X, y, a, problem.m, given.l1, given.l2, True)
    assert kkt_residual(problem.with_penalty(pen), W) <= 1e-7
    V = W + 0.1 * np.random.default_rng(0).normal(size=W.shape)
    first = kkt_residual(problem.with_penalty(pen), V)
    scaled = {"none": None, "l1": L1, "l2": L2, "elasticnet": ElasticNet}[kind]
    for times in (1e-6, 1e6):  # weights and strengths times one number
        strengths = [times * s for s in (given.l1, given.l2) if s]
        other = Problem(X, y, sample_weight=times * a, penalty=scaled(*strengths) if scaled else None)
        assert kkt_residual(other, V) == pytest.approx(first, rel=1e-9)
    assert first > 1e-3
    assert kkt_residual(problem.with_penalty(L1(2 * problem.lambda_max)), start(problem)) <= 1e-7


def start(problem: Problem) -> np.ndarray:
    """W = 0 with the best intercept."""
    shares = np.bincount(problem.home.parts[0].codes, problem.home.parts[0].weights)  # type: ignore[attr-defined]
    return np.vstack([np.zeros((problem.d, problem.m)), np.log(shares / shares.sum())])


@pytest.mark.parametrize("conditioning", ["none", "scale", "centre+scale"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("absent", [False, True])
def test_lambda_max(conditioning: str, intercept: bool, absent: bool) -> None:
    """Just above it W = 0 (with the best intercept) is optimal, just below it is not; the elastic net has the same."""
    if conditioning == "centre+scale" and not intercept:
        return
    rng = np.random.default_rng(1)
    X, y, a = 5 * rng.normal(size=(40, 3)) + 2, rng.integers(0, 3, 40), rng.choice([0.0, 1.0, 4.0], 40)
    rest = {"classes": range(4 if absent else 3), "fit_intercept": intercept, "conditioning": conditioning}
    problem = Problem(X, y, sample_weight=a, **rest)
    W = np.zeros((problem.p, problem.m))
    if intercept:
        W[-1] = np.log(np.maximum(np.bincount(y, a, minlength=problem.m) / a.sum(), 1e-300))
    for make in (L1, lambda lam: ElasticNet(lam, 1.0)):
        above, below = (problem.with_penalty(make(problem.lambda_max * (1 + s))) for s in (1e-6, -1e-3))
        assert kkt_residual(above, W) <= 1e-12
        assert certificate(above, W).gap <= 1e-12
        assert kkt_residual(below, W) > 1e-5
        assert certificate(below, W).gap > 1e-9
    raw = Problem(X, y, sample_weight=a, **(rest | {"conditioning": "none"}))
    assert problem.lambda_max == pytest.approx(raw.lambda_max)


def test_rows_of_weight_0_have_no_say_whatever_they_hold() -> None:
    """A class with rows of weight 0 only, and a row far outside."""
    X, y, a = np.array([[1.0], [-1.0], [0.5], [1e300]]), [0, 1, 1, 2], [1.0, 1.0, 1.0, 0.0]
    for pen in (None, L1(0.1), L2(0.1)):
        problem = Problem(X, y, sample_weight=a, penalty=pen)
        fewer = Problem(X[:3], y[:3], classes=[0, 1, 2], penalty=pen)
        W = np.array([[0.3, -0.3, 0.0], [0.1, 0.0, -1.0]])
        one, two = certificate(problem, W), certificate(fewer, W)
        assert one.lower == pytest.approx(two.lower, rel=1e-9)
        assert one.objective == pytest.approx(two.objective, rel=1e-14)
        assert problem.lambda_max == fewer.lambda_max


@pytest.mark.parametrize("kind", ["l1", "l2", "elasticnet"])
@pytest.mark.parametrize("off", [0.1, 3.0, 30.0, 1000.0])
def test_a_wrong_intercept_costs_no_tightness(kind: str, off: float) -> None:
    """It is fitted anew for the bound, so the bound is that of the same weights with the best intercept."""
    problem, best, W, _ = solved(kind, 0)
    assert problem.fit_intercept
    for seed in range(3):
        V = W.copy()
        V[-1] += off * np.random.default_rng(seed).normal(size=problem.m)
        assert certificate(problem, V).lower == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("rare", [1e-4, 1e-10, 1e-16])
def test_a_rare_class_costs_no_tightness(rare: float) -> None:
    """Its class sum must hold beside its own weight, not beside the total."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 3
    a = np.where(y == 2, rare, 1.0)
    best, W = plain.minimum(X, y, a, 3, l2=1.0, intercept=True)
    W[-1] += [0.0, 0.1, 0.3]
    proof = certificate(Problem(X, y, sample_weight=a, penalty=L2(1.0)), W)
    assert proof.lower == pytest.approx(best, rel=1e-9)
    assert proof.lower <= best * (1 + 1e-13)


def test_a_row_of_weight_0_need_not_fit_the_simplex() -> None:
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0], [1e6]]), [0, 1, 0, 1, 0]
    problem = Problem(X, y, sample_weight=[1, 1, 1, 1, 0])
    fewer = Problem(X[:4], y[:4])
    W = plain.minimum(X[:4], y[:4], np.ones(4), 2, intercept=True)[1] + np.array([[1e-3, 0.0], [0.0, 0.0]])
    bounds = [bound_without_penalty(p, W, most_steps=0) for p in (problem, fewer)]
    assert bounds[0] > 0
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-13)


@pytest.mark.parametrize("n", [1, 64, 1000])  # of blocks that are not full and of several chunks too
def test_the_passes_against_plain_formulas(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "ALONE", 0)  # threads for small problems too
    rng, m = np.random.default_rng(n), 5
    y, a = rng.integers(0, m, n), rng.choice([1.0, 0.0, 2.5], n)
    a[0] = 1.0
    problem = Problem(rng.normal(size=(n, 2)), y, sample_weight=a, classes=range(m), penalty=L2(1.0))
    W = 2.0 * rng.normal(size=(problem.p, m))
    Z, b, u, t, c = problem.scores(W), rng.normal(size=m), np.array([0.0, 0.1, 0.0, 0.2, 0.0]), 0.3, 0.9
    scores = Z.export()[0] + b
    P = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    f, g, H = problem.home.reduce(dual.intercept_newton, b, fields=(Z,))
    assert f == pytest.approx(-a @ np.log(P[np.arange(n), y]), rel=1e-12)
    np.testing.assert_allclose(g, a @ (P - np.eye(m)[y]), atol=1e-12 * n)
    np.testing.assert_allclose(H, np.diag(a @ P) - P.T @ (a[:, None] * P), atol=1e-12 * n)
    for args in ((0.0, 0.0 * u, 1.0), (t, u, c)):
        Q = (1 - args[2]) * np.eye(m)[y] + args[2] * ((1 - args[0]) * P + args[1])
        (found,) = problem.home.reduce(dual.mixed_entropy, b, *args, fields=(Z,))
        assert found == pytest.approx(-a @ (Q * np.log(Q)).sum(axis=1), rel=1e-12)
    with threads.limit(1):
        alone = certificate(problem, W)
    with threads.limit(3):
        assert certificate(problem, W) == alone


def test_a_bound_with_an_intercept_that_is_not_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """P is then mixed until it has the class sums of Y; the bound is D there, by its plain formula."""
    problem, W = fixed(L2(1e4), intercept=True)
    monkeypatch.setattr(certificates, "INTERCEPT_STEPS", 0)
    monkeypatch.setattr(certificates, "FAR", 2.0)
    W[-1] += np.linspace(0.0, 1.0, problem.m)
    X, a, Y = np.column_stack([FIXED["X"], np.ones(problem.n)]), FIXED["a"], np.eye(problem.m)[FIXED["y"]]
    P = np.exp(X @ W)
    P /= P.sum(axis=1, keepdims=True)
    t = 1.0 - min(1.0, float((a @ Y / (a @ P)).min()))
    Q = (1.0 - t) * P + (a @ Y - (1.0 - t) * (a @ P)) / a.sum()
    assert t > 0.1
    np.testing.assert_allclose(a @ Q, a @ Y)
    V = X.T @ (a[:, None] * (Y - Q))
    D = -a @ (Q * np.log(Q)).sum(axis=1) - np.square(V[:-1]).sum() / 2e4
    assert certificate(problem, W).lower == pytest.approx(D, rel=1e-9)


def test_what_a_certificate_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, since timings are not reliable: near the optimum few passes over n m numbers, and few products."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = (X @ rng.normal(size=(3, 8)) + rng.gumbel(size=(2000, 8)) + np.linspace(0, 8, 8)).argmax(axis=1)  # some rare
    problem = Problem(X, y, penalty=L2(1.0))
    W = solve(make_solver("lbfgs"), problem, tol=1e-7).W
    count: Counter[str] = Counter()
    reduce = MemoryRows.reduce

    def counting(self: MemoryRows, kernel: Any, *args: Any, **rest: Any) -> tuple[Any, ...]:
        count[kernel.__name__] += 1
        return reduce(self, kernel, *args, **rest)

    monkeypatch.setattr(MemoryRows, "reduce", counting)
    assert certificate(problem, W).gap <= 1e-7
    assert count.pop("intercept_newton") <= 4
    assert count.pop("mixed_entropy") == 2
    assert count == {"loss": 1, "loss_gradient": 2, "class_sums": 1, "scores": 1, "totals": 2}


def test_certificates_are_off_the_clock() -> None:
    problem, W = fixed(None, intercept=True)
    before = problem.meter.total
    certificate(problem, W)
    kkt_residual(problem, W)
    certificate(problem.with_penalty(L1(1.0)), W)
    assert problem.meter.total == before
    assert "class_sums" not in vars(problem)
