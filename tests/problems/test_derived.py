"""Problems made from problems: parts of the weights, some of the rows, another penalty; and what calls cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import plain
import pytest
import scipy.sparse as sp

from pianobench.problems import L0, L1, L2, ElasticNet, Problem, certificate, kkt_residual
from pianobench.problems.cost import Cost

RNG = np.random.default_rng(0)
N, D, M = 40, 4, 3
X = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < 0.8)
Y = RNG.integers(0, M, N)
A = RNG.choice([0.0, 0.5, 2.0], N)
LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}


def make(layout: str = "dense", **changes: Any) -> Problem:
    return Problem(LAYOUTS[layout](X), Y, **({"sample_weight": A, "penalty": L1(1.0)} | changes))


def masks() -> dict[str, np.ndarray]:
    some = np.random.default_rng(2).random((D + 1, M)) < 0.5
    some[1], some[-1] = False, True
    rest = np.ones((D + 1, M), bool)
    rest[-1] = False
    only = ~rest
    return {"some": some, "no intercept": rest, "intercept only": only, "one": np.eye(D + 1, M, dtype=bool)}


@pytest.mark.parametrize("name", masks())
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("conditioning", ["none", "scale"])
def test_a_restricted_problem_is_the_whole_one_with_weights_held_at_0(
    name: str, layout: str, conditioning: str
) -> None:
    whole, active = make(layout, penalty=ElasticNet(0.5, 0.3), conditioning=conditioning), masks()[name]
    part = whole.restrict(active)
    w = part.project(np.random.default_rng(1).normal(size=(whole.p, M)))
    W = part.lift(w)
    assert (W[~active] == 0).all()
    assert (part.project(W) == w).all()
    assert part.p == active.any(axis=1).sum()
    assert part.value(w) == pytest.approx(whole.value(W), rel=1e-14)
    f, g = part.smooth(w)
    assert f == pytest.approx(whole.smooth(W)[0], rel=1e-14)
    np.testing.assert_allclose(part.lift(g), np.where(active, whole.smooth(W)[1], 0.0), atol=1e-12)
    v = part.project(np.random.default_rng(3).normal(size=W.shape))
    np.testing.assert_allclose(
        part.lift(part.curvature(w) @ v), np.where(active, whole.curvature(W) @ part.lift(v), 0), atol=1e-12
    )
    np.testing.assert_allclose(part.lift(part.prox(w, 0.5)), np.where(active, whole.prox(W, 0.5), 0))
    np.testing.assert_allclose(part.line(w, v)(0.4), whole.line(W, part.lift(v))(0.4), rtol=1e-12)
    H, v = part.curvature(w).dense(), v + 1.0  # what a product is given where a weight is held does not count
    np.testing.assert_allclose((part.curvature(w) @ v).T.ravel(), H @ v.T.ravel(), atol=1e-12)
    for mine, theirs in zip(part.to_user(w), whole.to_user(W), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-14)
    other = part.with_penalty(L2(2.0))
    assert other.value(w) == pytest.approx(whole.with_penalty(L2(2.0)).value(W), rel=1e-14)


def test_the_solution_of_a_restricted_problem() -> None:
    """Two columns of four: the problem with these two, and its certificate."""
    active = np.zeros((D + 1, M), bool)
    active[[0, 2, D]] = True
    for pen in (L1(1.0), L2(1.0), ElasticNet(1.0, 0.1), None):
        part = make(penalty=pen).restrict(active)
        best, W = plain.minimum(X[:, [0, 2]], Y, A, M, getattr(pen, "l1", 0.0), getattr(pen, "l2", 0.0), True)
        proof = certificate(part, W)
        assert proof.objective == pytest.approx(best, rel=1e-10)
        assert proof.gap <= 1e-8
        assert kkt_residual(part, W) <= 1e-6
        for V in (part.zeros(), W + 0.3 * RNG.normal(size=W.shape)):
            assert certificate(part, V).lower <= best * (1 + 1e-12)


@pytest.mark.parametrize("pen", [L1(1.0), L2(1.0), None])
def test_a_certificate_with_single_weights_held_is_true(pen: Any) -> None:
    """Its F* is not below that of the whole problem, and any point that the mask allows is not below its bound."""
    part = make(penalty=pen).restrict(masks()["some"])
    w = part.zeros()
    for _ in range(4000):
        w = part.prox(w - part.smooth(w)[1] / 150.0, 1.0 / 150.0)
    reached = part.value(w)
    for v in (part.zeros(), w, part.project(RNG.normal(size=(D + 1, M)))):
        assert certificate(part, v).lower <= reached * (1 + 1e-12)
    assert kkt_residual(part, w) < 1e-6


def test_nothing_active() -> None:
    part = make(fit_intercept=False).restrict(np.zeros((D, M), bool))
    proof = certificate(part, part.zeros())
    assert proof.objective == pytest.approx(A.sum() * np.log(M))
    assert proof.residual == 0.0


def test_what_a_restricted_problem_refuses() -> None:
    part = make().restrict(masks()["some"])
    for call, message in (
        (lambda: part.restrict(part.active), "restricted already"),
        (lambda: part.lambda_max, "ask the whole one"),
        (lambda: part.from_user(np.zeros((M, D))), "project what the whole"),
        (lambda: make().lift(part.zeros()), "not restricted: lift and project"),
        (lambda: make().restrict(np.ones((2, 2), bool)), r"bool of shape \(2, 2\): bool of shape \(5, 3\)"),
        (lambda: make().restrict(np.ones((D + 1, M))), r"float64 of shape"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("conditioning", ["none", "scale"])
def test_some_rows(layout: str, conditioning: str) -> None:
    whole = make(layout, conditioning=conditioning)
    index, weight = np.array([3, 39, 3, 10, 0]), np.array([1.0, 2.0, 0.5, 0.0, 1.0])
    W = np.random.default_rng(1).normal(size=(whole.p, M))
    coef, b = whole.to_user(W)
    batch = whole.rows(index, weight)
    assert batch.n == 5
    assert batch.value(W) == pytest.approx(plain.objective(X[index], Y[index], (A[index] * weight), coef, b, L1(1.0)))
    scaled = whole.rows(index, weight, total=A.sum())
    loss = batch.value(W) - batch.pen.value(W)
    assert scaled.value(W) - scaled.pen.value(W) == pytest.approx(loss * A.sum() / (A[index] @ weight))
    everything = whole.rows(np.arange(N))
    np.testing.assert_allclose(everything.smooth(W)[1], whole.smooth(W)[1])
    assert (whole.lambda_max, whole.reach[0, 0]) != (batch.lambda_max, batch.reach[0, 0])
    assert batch.lambda_max == whole.rows(index, weight).lambda_max  # not that of the whole problem, kept
    assert batch.class_sums.sum() != whole.class_sums.sum()


def test_rows_that_are_not_there_are_refused() -> None:
    problem = make()
    for arguments, message in (
        (([N],), "row numbers 0 .. 39 are expected"),
        (([-1],), "row numbers"),
        ((np.ones(N, bool),), "index is bool"),
        (([0, 1], np.ones(3)), r"weight has shape \(3,\)"),
        ((np.flatnonzero(A == 0), None, 1.0), "add up to 0.0: they cannot be scaled"),
    ):
        with pytest.raises(ValueError, match=message):
            problem.rows(*arguments)


def test_tiny_is_of_the_same_kind() -> None:
    for form in (np.ones((200, 3), np.float32), sp.csr_array(np.ones((200, 3)))):
        problem = Problem(form, np.arange(200) % 2, penalty=L0(1.0))
        tiny = problem.tiny()
        assert (tiny.n, tiny.p, tiny.m, tiny.dtype, tiny.layout) == (64, 4, 2, problem.dtype, problem.layout)
        assert tiny.pen is problem.pen
        assert make().tiny().n == N


def test_another_penalty_on_the_same_rows() -> None:
    one = make(conditioning="centre+scale", penalty=L2(1.0))
    other, made = one.with_penalty(L1(0.3)), make(conditioning="centre+scale", penalty=L1(0.3))
    W = np.random.default_rng(1).normal(size=(one.p, M))
    assert other.value(W) == made.value(W)
    assert other.home is one.home
    assert one.penalty == L2(1.0)
    assert one.with_penalty(None).pen.kind == "none"


def test_every_call_is_charged_once_and_costs_add() -> None:
    problem = make(penalty=L2(1.0))
    W, field = np.ones((problem.p, M)), problem.field(M)
    unit = problem.prices.smooth
    assert problem.gradient_equivalents(unit) == 1.0
    assert (unit.rows, unit.flops) == (N, 4.0 * N * (D + 1) * M + 25.0 * N * M)

    def cost(call: Any) -> Cost:
        before = problem.meter.total
        call()
        total = problem.meter.total
        return Cost(*(getattr(total, k) - getattr(before, k) for k in ("rows", "flops", "bytes", "depth")))

    line, curvature = problem.line(W, W), problem.curvature(W)
    calls = {
        "value": lambda: problem.value(W),
        "smooth": lambda: problem.smooth(W),
        "moments": lambda: problem.moments_map(W, lambda *given: given[0]),
        "line": lambda: line(0.5),
        "line.smooth": lambda: line.smooth(0.5),
        "line.turn": lambda: line.turn(0.5, W),
        "product": lambda: curvature @ W,
        "xw": lambda: problem.xw(W, field),
        "xt": lambda: problem.xt(field),
    }
    problem.moments_map(W, lambda *given: given[0])  # C, S and signs are charged to who asks first
    each = {name: cost(call) for name, call in calls.items()}
    before = problem.meter.total
    for call in calls.values():
        call()
    total = before
    for part in each.values():
        total = total + part
    assert problem.meter.total == total
    passes = {name: c.rows / N for name, c in each.items()}
    assert passes == dict.fromkeys(calls, 1.0) | {"line": 0.0}
    assert each["smooth"] == unit
    assert each["xw"].flops < each["value"].flops < unit.flops < each["moments"].flops
    assert problem.off_the_clock().meter.total == Cost()
