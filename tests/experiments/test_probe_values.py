"""What probes measure on tiny problems in which the right value is known, and wrong ones that are planted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from probing import FOR_EVER, of, setting

from pianobench.algorithms.bohning import Bohning
from pianobench.algorithms.irls import Irls
from pianobench.algorithms.lbfgs import Lbfgs
from pianobench.algorithms.lc import Lc
from pianobench.algorithms.loop import solve
from pianobench.algorithms.piano import Piano
from pianobench.datasets import load
from pianobench.datasets.kdd12.encoded import Encoded
from pianobench.experiments.claims import ledger
from pianobench.experiments.probes import (
    error_function,
    grouping,
    inner,
    invariance,
    iterative_scaling,
    l0_points,
    memory,
    online,
    over_fitting,
    prediction,
    rates,
    speed_up,
    step_cost,
    support,
    surrogate,
    two_classes,
)
from pianobench.experiments.probes.setting import OutOfTime, Setting, Unmeasured, check_arrived
from pianobench.problems import L0, L1, L2, Penalty, Problem


def planted_sparse(text: str, penalty: Any = L1) -> Setting:
    data = load(f"planted_sparse:{text}")
    top = Problem(data.X, data.y, fit_intercept=False).lambda_max
    problem = Problem(data.X, data.y, penalty=penalty(0.1 * top), fit_intercept=False)
    return Setting(problem, data.X, data.y, 0.1 * top, 0.1, data.name, seconds=FOR_EVER)


@pytest.mark.parametrize("penalty", [None, L1(1.0), L2(1.0), L0(0.5)], ids=["none", "l1", "l2", "l0"])
def test_the_surrogate_lies_above_and_touches(penalty: Penalty | None) -> None:
    found = of("surrogate", setting(penalty))
    assert max(found.values()) < 1e-12


def test_a_surrogate_that_lies_below_or_beside_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    true = surrogate.elements
    monkeypatch.setattr(surrogate, "elements", lambda D, A, B, C, S: true(D, A, B, C, 0.5 * S))
    X, y = iterative_scaling.scaled(setting(None, sort="counts").X), setting(None).y
    tight = Setting(Problem(X, y, penalty=L1(1.0), fit_intercept=False), X, y, 1.0)
    assert of("surrogate", tight)["objective above surrogate", "piano"] > 1e-3
    monkeypatch.setattr(surrogate, "elements", lambda D, A, B, C, S: true(D, A, B, C, S) + 1.0 / D.size)
    given = setting(L1(1.0))
    least = given.problem.value(invariance.after(given.problem, 100))
    assert of("surrogate", given)["surrogate off at iterate", "piano"] == pytest.approx(1.0 / least)


def test_piano_rests_at_a_fixed_point_of_l0() -> None:
    assert of("l0-points", setting(L0(0.5)))["fixed-point residual", "piano"] <= 1e-8
    assert l0_points.change(np.array([4.0, 0.0]), np.array([2.0, 1.0])) == 0.5
    assert l0_points.change(np.zeros(2), np.ones(2)) == np.inf


@pytest.mark.parametrize(("ratio", "answer"), [(1.0, 0.5), (0.999, None)])
def test_what_never_rests_is_told_from_what_is_on_its_way(
    ratio: float, answer: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def states(_solver: Any, _problem: Any, W0: Any) -> Iterator[Any]:
        for k in itertools.count():
            yield SimpleNamespace(W=np.full(W0.shape, 2.0) + (k % 2) * 2.0 * ratio**k)

    monkeypatch.setattr(l0_points, "iterate", states)
    looks = itertools.count()
    monkeypatch.setattr(Setting, "left", lambda _, share: max(0.0, 300.0 * share - next(looks)))
    given = setting(L0(0.5))
    if answer is None:
        with pytest.raises(OutOfTime, match="PIANO is on its way after"):
            of("l0-points", given)
    else:
        assert of("l0-points", given)["fixed-point residual", "piano"] == answer


@pytest.mark.parametrize("intercept", [False, True])
def test_threads_and_orders_change_nothing_and_what_they_change_is_noticed(
    intercept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = setting(L1(1.0))
    problem = Problem(given.X, given.y, penalty=L1(1.0), fit_intercept=intercept)
    given = Setting(problem, given.X, given.y, 1.0)
    found = of("invariance", given)
    assert found["largest change of W", "threads"] == 0.0
    assert found["largest change of W", "permutations"] < 1e-12
    true = invariance.after
    monkeypatch.setattr(invariance, "after", lambda problem: true(problem) + 0.01 * np.arange(problem.p)[:, None])
    assert of("invariance", given)["largest change of W", "permutations"] > 1e-3


def test_the_speed_up_is_the_ratio_of_the_same_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    given = setting(L2(1.0), sort="two classes")
    assert 0.0 < speed_up.seconds(Piano(), given.problem, 1, 2) < speed_up.seconds(Piano(), given.problem, 1, 500)
    monkeypatch.setattr(speed_up, "available_cores", lambda: 2)
    monkeypatch.setattr(
        speed_up, "seconds", lambda solver, _, count, steps: steps * 1e-3 / (count if isinstance(solver, Piano) else 1)
    )
    found = of("threads", given)
    assert found["speed-up at two threads", "piano"] == pytest.approx(2.0)
    assert found["speed-up at two threads", "lc"] == pytest.approx(1.0)
    assert set(of("threads", setting(L2(1.0)))) == {("speed-up at two threads", "piano")}
    monkeypatch.setattr(speed_up, "available_cores", lambda: 1)
    with pytest.raises(RuntimeError, match="needs two cores"):
        of("threads", given)


def test_the_flops_of_an_update_are_counted_operation_by_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    given = setting(L1(1.0), 1.0)
    found = of("step-cost", given)
    assert 0.1 < found["seconds of a step over the plain one", "l1"] < 10.0
    # two exponentials, two products, two comparisons and what joins them are the least that l1 adds to an element
    plain, l1, l0 = (
        step_cost.of_the_update(given.problem.with_penalty(penalty), given.problem.zeros())
        for penalty in (None, L1(1.0), L0(1.0))
    )
    assert 50 * 9 < l1 - plain < 80 * 9
    assert l0 > l1
    assert found["flops of a step over the plain one", "l0"] > found["flops of a step over the plain one", "l1"] > 1.01
    monkeypatch.setattr(
        step_cost, "of_the_update", lambda problem, _: {"none": 1.0, "l1": 3.0, "l0": 6.0}[problem.pen.kind]
    )
    cost = {"none": (1.0, 1.0), "l1": (3.0, 1.0), "l0": (5.0, 2.0)}
    monkeypatch.setattr(step_cost, "step", lambda problem, _: cost[problem.pen.kind])
    assert list(of("step-cost", given).values()) == [3.0, 2.0, 5.0, 4.0]


def test_operations_with_a_counted_array_are_counted_by_element() -> None:
    one = step_cost._counted(np.ones(5))
    for operation, flops in (
        (lambda: np.exp(one) + one, 5 * 21),
        (lambda: np.where(one > 0, one * 2.0, 0.0), 15),
        (lambda: np.clip(np.ones((2, 5)) * one, -3.0, 3.0), 20),
    ):
        before = step_cost.Counted.flops
        assert isinstance(operation(), step_cost.Counted)
        assert step_cost.Counted.flops - before == flops


def test_planted_features_are_found_and_another_set_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    given = planted_sparse("n=400,d=8,m=2,k=2,signal=4")
    found = of("support", given)
    assert set(found.values()) == {1.0}, "an easy problem: every arm finds both, and so does the search of all supports"
    true = support.planted_features
    monkeypatch.setattr(support, "planted_features", lambda name, d: np.setdiff1d(np.arange(d), true(name, d)))
    assert set(of("support", given).values()) == {0.0}


def test_f1_is_that_of_features_and_where_nothing_is_planted_of_those_that_would_be() -> None:
    assert support.f1(np.array([1, 2, 3]), np.array([2, 3, 4, 5, 6])) == pytest.approx(
        2 * (2 / 3) * 0.4 / (2 / 3 + 0.4)
    )
    assert support.f1(np.array([], int), np.array([1])) == 0.0
    with_effect = support.planted_features("planted_sparse:d=50,k=3", 50)
    assert len(with_effect) == 3
    assert list(support.planted_features("planted_sparse:d=50,k=3,signal=0", 50)) == list(with_effect)
    with pytest.raises(Unmeasured, match="tells no true weights of 4 features"):
        support.planted_features("planted_sparse:d=50", 4)


def test_bytes_of_weights_are_counted_and_all_ways_predict_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    given = planted_sparse("n=200,d=30,m=3,k=2,signal=4")
    found = of("prediction", given)
    assert found["bytes of the weights", "dense"] == 8 * 30 * 3
    W = np.zeros((30, 3))
    W[4, 1], W[4, 2], W[7, 0] = 1.0, 2.0, 3.0
    dense, (as_sparse, by_rows) = prediction.kept(given.X, W, np.zeros(3))
    assert (dense[1], as_sparse[1], by_rows[1]) == (720, 3 * 12 + 31 * 4, 2 * 3 * 8 + 2 * 8)
    for way in (as_sparse, by_rows):
        assert np.array_equal(way[0](), np.argmax(given.X @ W, axis=1))
    true = prediction.kept
    monkeypatch.setattr(prediction, "kept", lambda X, W, b: (true(X, W, b)[0], true(X, -W, b)[1]))
    with pytest.raises(RuntimeError, match="the ways to predict agree on"):
        of("prediction", given)


def test_memory_is_that_of_the_problem_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    given, true, held = setting(L2(1.0)), memory.iterate, 48_000_000

    def states(solver: Irls, problem: Problem) -> Iterator[Any]:
        ballast = np.ones(held // 8) if problem.p == 3 else None
        yield from true(solver, problem)
        del ballast

    monkeypatch.setattr(memory, "iterate", states)
    found = of("memory", given)["bytes above a small problem", "irls"]
    assert found == pytest.approx(held, rel=0.1)


def test_the_share_of_inner_flops(monkeypatch: pytest.MonkeyPatch) -> None:
    given = setting(L2(1.0))
    assert inner.share(Lc(inner_accuracy=1.0), given) == 0.0, "no inner step is made"
    assert 0.5 < of("inner", given)["share of inner flops", "lc"] < 1.0
    W = given.problem.zeros()
    monkeypatch.setattr(inner, "flops", lambda lc, _: iter([(W, 10.0 if lc.inner_steps == 0 else 40.0)] * 3))
    assert of("inner", given)["share of inner flops", "lc"] == 0.75


def test_two_classes_are_logistic_regression_at_half_the_strength(monkeypatch: pytest.MonkeyPatch) -> None:
    given = setting(L2(3.0), 3.0, "two classes")
    found = of("two-classes", given)
    assert found["difference from logistic regression", "objective"] < 1e-10
    assert found["difference from logistic regression", "probabilities"] < 1e-6
    true = two_classes.logistic
    monkeypatch.setattr(two_classes, "logistic", lambda X, y, lam, intercept: true(X, y, 2 * lam, intercept))
    assert of("two-classes", given)["difference from logistic regression", "probabilities"] > 1e-3


def test_iterative_scaling_is_piano_on_rows_of_one_sum() -> None:
    given = setting(None, sort="counts")
    assert of("iterative-scaling", given)["difference from iterative scaling", "piano"] < 1e-12
    X = iterative_scaling.scaled(given.X)
    assert X.sum(axis=1) == pytest.approx(np.ones(40))
    assert iterative_scaling.difference(Piano(cap=0.01), X, given.y, 3) > 0.1
    empirical = X.T @ np.eye(3)[given.y]
    *_, factors = iterative_scaling.scaling(X, empirical)
    P = np.exp(X @ np.log(factors))
    off = np.abs(X.T @ (P / P.sum(axis=1, keepdims=True)) - empirical)
    assert off.max() < 0.05, "it fits the sums, its constraints"
    with pytest.raises(Unmeasured, match="takes numbers of 0 and above"):
        of("iterative-scaling", setting(None))


def test_noise_is_over_fitted_and_a_feature_that_tells_is_chosen() -> None:
    rng, y = np.random.default_rng(0), np.arange(60) % 3
    noise = rng.normal(size=(60, 100))
    for X, lost, chosen in ((noise, 0.4, (0.0, 0.7)), (np.column_stack([20 * np.eye(3)[y], noise]), 0.0, (0.95, 1.0))):
        problem = Problem(X, y, penalty=L1(1e-3), fit_intercept=False)
        found = of("over-fitting", Setting(problem, X, y, 1e-3, 1e-4, seconds=FOR_EVER))
        assert found["accuracy lost on held-out samples", "almost no penalty"] >= lost
        assert chosen[0] <= found["held-out accuracy", "l1 by inner folds"] <= chosen[1]


def test_each_row_is_left_out_once_and_classes_evenly() -> None:
    y = np.array([0] * 10 + [1] * 3 + [2])
    parts = over_fitting.split(y, 5, np.random.default_rng(1))
    assert sorted(row for _, out in parts for row in out) == list(range(14))
    assert [int(np.sum(y[out] == 0)) for _, out in parts] == [2] * 5
    assert all(set(kept) | set(out) == set(range(14)) for kept, out in parts)
    _kept, out = over_fitting.split(y, 3, np.random.default_rng(1))[0]
    assert [int(np.sum(y[out] == code)) for code in range(3)] == [3, 1, 0]


def _at_rest(given: Setting) -> tuple[Problem, Any, Setting]:
    return given.problem, rates.minimiser(given.problem), given


def test_the_contraction_is_what_the_curvatures_say(monkeypatch: pytest.MonkeyPatch) -> None:
    given = setting(L2(2.0), 2.0)
    measured, true = (
        {one: rates.contraction(one, *_at_rest(given), 1.0) for one in (Piano(), Bohning())},
        rates.smallest,
    )
    monkeypatch.setattr(rates, "contraction", lambda solver, *_: measured[solver])
    for value in of("rates", given).values():
        assert value == pytest.approx(1.0, abs=0.02)
    (bounds,) = (ask for ask in next(one for one in ledger() if one.id == "P18").rule if ask.arm == "piano")
    assert bounds.above is not None
    assert bounds.below is not None
    for factor in (0.5, 2.0):
        monkeypatch.setattr(rates, "smallest", lambda *where, by=factor: min(1.0, by * true(*where)))
        for value in of("rates", given).values():
            assert not bounds.above < value < bounds.below, "half of an eigenvalue, or twice, contradicts"


def test_rows_of_several_views_are_as_many_rows_and_a_lost_view_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    views = rng.integers(1, 5, 40).astype(np.int32)
    rows = Encoded(
        np.sort(rng.permuted(np.tile(np.arange(9), (40, 1)), axis=1)[:, :3], axis=1).astype(np.uint16),
        rng.integers(0, views + 1).astype(np.int32), views, 9,
    )  # fmt: skip
    monkeypatch.setattr(grouping, "prepared", lambda _: SimpleNamespace(train=rows))
    given = setting(L2(1.0), dataset="kdd12_small")
    assert max(of("grouping", given).values()) < 1e-12
    true = Encoded.labelled
    lost = Encoded(rows.columns, rows.clicks, np.maximum(views - 1, rows.clicks), 9)
    monkeypatch.setattr(Encoded, "labelled", lambda one, kind: true(lost if kind == "expanded" else one, kind))
    assert min(of("grouping", given).values()) > 1e-3
    with pytest.raises(Unmeasured, match="iris is no click log"):
        of("grouping", setting(L2(1.0), dataset="iris"))


def test_what_online_methods_pay_and_how_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    given = setting(L2(1.0), 1.0)
    assert 0.0 < of("regret", given)["regret", "adagrad"] < 40 * np.log(3)
    found = of("online", given)
    train, test = online.split(given, given.rng())
    W = solve(Lbfgs(), train.problem(given.problem.classes, L2(1.0)), tol=1e-10).W
    Z = test.X @ W
    loss = np.mean(np.log(np.exp(Z).sum(axis=1)) - Z[np.arange(len(Z)), test.y])
    assert found["held-out log loss", "lbfgs"] == pytest.approx(loss, rel=1e-4)
    assert loss < found["held-out log loss", "adagrad"] < np.log(3)
    assert (len(train.y), len(test.y)) == (27, 13)
    least = solve(Lbfgs(), given.problem.with_penalty(None), tol=1e-8).certificate.objective
    monkeypatch.setattr(online, "passed", lambda _, problem, __: (problem.zeros(), least + 7.0))
    assert of("regret", given)["regret", "adagrad"] == pytest.approx(7.0, abs=1e-3)
    assert of("online", given)["held-out log loss", "ogd"] == pytest.approx(np.log(3))


def test_the_error_function_of_weights_that_fit_of_a_constant_and_of_reversed_ones() -> None:
    x = np.linspace(-3.0, 1.0, 80)
    X, y = x[:, None], (x > 0).astype(int)
    found = of("fit", Setting(Problem(X, y, penalty=L2(1e-3), fit_intercept=False), X, y, 1e-3, seconds=FOR_EVER))
    assert found["I as written", "fitting"] < 0.05
    assert found["I as written", "constant"] == pytest.approx(0.25, abs=0.1), "the share of the rarer class"
    assert found["I as written", "reversed"] > 0.6


def test_the_error_function_is_that_of_views(monkeypatch: pytest.MonkeyPatch) -> None:
    views = np.full(60, 10, np.int32)
    rows = Encoded(np.arange(60)[:, None].astype(np.uint16) % 3, np.where(np.arange(60) % 3, 1, 9), views, 3)
    monkeypatch.setattr(online, "prepared", lambda _: SimpleNamespace(train=rows, test=rows))
    found = of("fit", setting(L2(1e-3), sort="two classes", dataset="kdd12:rows=60"))
    assert found["I as written", "fitting"] == pytest.approx(0.1), "one view of ten is the other way in each row"
    assert found["I as written", "constant"] == pytest.approx((9 + 1 + 1) / 30)


def test_the_seconds_of_one_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count(0.0, 0.5)
    monkeypatch.setattr(error_function.time, "perf_counter", lambda: next(ticks))
    assert of("cost", setting(None, began=0.0)) == {("seconds of I", "I"): 0.5}


def test_a_solution_that_is_not_there_is_told_from_one_that_had_no_time() -> None:
    problem = setting(L2(1.0)).problem
    check_arrived(solve(Lbfgs(), problem), "here")
    with pytest.raises(OutOfTime, match="not here: timeout, the 1e-09 seconds allowed are over"):
        check_arrived(solve(Lbfgs(), problem, max_seconds=1e-9), "not here")
    with pytest.raises(Unmeasured, match="not here: budget") as refused:
        check_arrived(solve(Lbfgs(), problem, max_steps=1), "not here")
    assert not isinstance(refused.value, OutOfTime)
