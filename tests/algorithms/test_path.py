"""Paths: every point certified, the same as solved alone, and what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cases import draw

from pianobench.algorithms import iterate, make_solver, solve
from pianobench.algorithms import path as paths
from pianobench.problems import L0, L1, L2, ElasticNet, Penalty, Problem, certificate


def wide(penalty: Penalty, layout: str = "dense") -> Problem:
    """Far more features than rows, of which a few matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 400)) * (rng.random((60, 400)) < (0.3 if layout == "csr" else 1.0))
    y = (X[:, :3] @ rng.normal(size=(3, 3)) * 2 + rng.gumbel(size=(60, 3))).argmax(axis=1)
    return Problem(sp.csr_array(X) if layout == "csr" else X, y, penalty=penalty)


def tall(penalty: Penalty) -> Problem:
    X, y, a = draw(n=150, d=8, m=4, seed=1)
    return Problem(X, y, penalty=penalty, sample_weight=a)


@pytest.mark.parametrize(
    ("problem", "key"),
    [
        (tall(L1(1.0)), None),
        (tall(ElasticNet(1.0, 0.5)), None),
        (tall(L2(1.0)), None),
        (wide(L1(1.0)), None),
        (wide(L1(1.0), "csr"), None),
        (wide(ElasticNet(2.0, 1.0)), None),
        (wide(L1(1.0)), "prox-newton"),
    ],
    ids=["l1", "elasticnet", "l2", "wide", "wide-csr", "wide-elasticnet", "other-solver"],
)
def test_each_point_is_certified_and_is_the_solution_alone(problem: Problem, key: str | None) -> None:
    solver = None if key is None else make_solver(key)
    points = paths.path(problem, count=6, smallest=0.1, tol=1e-7, solver=solver)
    assert len(points) == 6
    np.testing.assert_allclose([point.strength for point in points], problem.lambda_max * np.geomspace(1, 0.1, 6))
    for point in points:
        here = problem.with_penalty(point.penalty)
        assert point.status == "converged", point.reason
        assert point.certificate.gap <= 1e-7
        assert certificate(here, point.W).gap <= 1e-7
        assert here.pen.kind == problem.pen.kind
    last = problem.with_penalty(points[-1].penalty)
    alone = solve(make_solver(paths.DEFAULT[problem.pen.kind]), last, tol=1e-7)
    assert points[-1].certificate.objective == pytest.approx(alone.certificate.objective, rel=2e-7)
    if problem.pen.kind != "l2":
        assert points[0].certificate.nnz <= 1 < points[-1].certificate.nnz  # one stands at its edge


def test_an_elastic_net_keeps_its_proportion() -> None:
    points = paths.path(tall(ElasticNet(2.0, 0.5)), strengths=[8.0, 4.0])
    assert [(float(p.penalty.l1), float(p.penalty.l2)) for p in points] == [(8.0, 2.0), (4.0, 1.0)]


@pytest.mark.parametrize("key", [None, "prox-newton"])
def test_a_wrong_guess_of_the_rule_is_found_and_mended(key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rule that leaves out all features at 0, what is missing can come in by the check alone."""
    problem, strengths = wide(L1(1.0)), [12.0, 6.0]
    right = paths.path(problem, strengths, solver=None if key is None else make_solver(key))
    seen: list[int] = []
    honest = Problem.restrict

    def counted(self: Problem, active: Any) -> Problem:
        seen.append(int(active.any(axis=1).sum()))
        return honest(self, active)

    monkeypatch.setattr(paths, "strong", lambda *given: np.zeros(given[0].shape, bool))
    monkeypatch.setattr(Problem, "restrict", counted)
    points = paths.path(problem, strengths, solver=None if key is None else make_solver(key))
    assert len(seen) > 1
    assert seen[0] < seen[-1]
    assert points[1].status == "converged"
    assert points[1].certificate.objective == pytest.approx(right[1].certificate.objective, rel=2e-6)


def test_what_is_left_out_costs_nothing() -> None:
    problem = wide(L1(1.0))
    points = paths.path(problem, count=20, smallest=0.05)
    work = sum(point.gradient_equivalents for point in points)
    assert work == pytest.approx(problem.gradient_equivalents(problem.meter.total))
    last = problem.with_penalty(points[-1].penalty)
    solve(make_solver("prox-newton-active"), last)
    assert work < 4.0 * last.gradient_equivalents(last.meter.total)  # 4.3 with all features at every point


@pytest.mark.parametrize(
    ("penalty", "given", "message"),
    [
        (None, {}, "the problem's penalty is none"),
        (L0(1.0), {}, "the problem's penalty is l0"),
        (L1(1.0), {"strengths": [1.0, 2.0]}, "they must descend"),
        (L1(1.0), {"strengths": [1.0, -2.0]}, "finite and above 0"),
        (L1(1.0), {"strengths": []}, "at least one"),
        (L1(1.0), {"count": 0}, "count=0"),
        (L1(1.0), {"smallest": 2.0}, "smallest=2.0"),
    ],
)
def test_mistakes_are_named(penalty: Penalty | None, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paths.path(tall(L1(1.0)).with_penalty(penalty), **given)


def test_a_certificate_is_asked_for_only_where_it_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """One a point and few more, where steps are judged by their own gradient."""
    problem, asked, honest = wide(L1(1.0)), [0], certificate

    def counted(*given: Any) -> Any:
        asked[0] += 1
        return honest(*given)

    monkeypatch.setattr(paths, "certificate", counted)
    points = paths.path(problem, count=20, smallest=0.05)
    assert {point.status for point in points} == {"converged"}
    assert asked[0] <= 22


@pytest.mark.parametrize("penalty", [L1(1.0), ElasticNet(1.0, 0.5)], ids=["l1", "elasticnet"])
def test_the_gap_expected_is_about_the_one_certified(penalty: Penalty) -> None:
    problem = tall(penalty)
    gaps = []
    for state, _ in zip(iterate(make_solver("prox-newton-active"), problem), range(12), strict=False):
        gap = certificate(problem, state.W).gap
        if 1e-10 < gap < 1e-2:
            gaps.append((gap, paths.shortfall(problem, state)))
    assert len(gaps) >= 2
    assert all(gap / 20.0 < expected < 20.0 * gap for gap, expected in gaps)


def test_a_guess_ahead_is_taken_where_it_is_nearer() -> None:
    """Along the straight line of the last two points; a weight that would change its sign is left at 0."""
    problem = tall(L1(1.0))
    solver = make_solver("prox-newton-active")
    first, second, third = (solve(solver, problem.with_penalty(L1(lam)), tol=1e-9).W for lam in (3.0, 2.8, 2.6))
    here = problem.with_penalty(L1(2.6))
    state = solve(solver, here, W0=second, max_steps=0).state
    place = paths._Place(problem.with_penalty(L1(2.8)), state, 2.8, before=(first, 3.0))
    guess = paths._ahead(place, 2.6)
    assert guess is not None
    assert np.linalg.norm(guess - third) < 0.5 * np.linalg.norm(second - third)
    assert (guess[:-1] * second[:-1] >= 0.0).all()
    np.testing.assert_array_equal(paths._nearer(solver, here, state, guess).W, guess)
    assert paths._nearer(solver, here, state, 10.0 * guess) is state
