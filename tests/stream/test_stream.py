"""Learning from a stream: the log, the rules, the samples, the pairs carried over, and the special cases."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pianobench.algorithms import make_solver, solve
from pianobench.algorithms.adagrad import AdaGrad
from pianobench.algorithms.ogd import Ogd
from pianobench.algorithms.stream import (
    STREAMS,
    Learner,
    LeastSquares,
    Log,
    Score,
    StreamState,
    draw,
    make_stream,
    widened,
)
from pianobench.algorithms.stream.contract import RECORD
from pianobench.algorithms.stream.rules import Always, BatchRise, CumulativeRise
from pianobench.algorithms.stream.samples import ByRise, Newest, Uniform
from pianobench.algorithms.stream.trainers import AdaGradPass, GradientStep, LbfgsRun, OnlineStart
from pianobench.problems import L1, L2, Problem

D = 6
TRUE = 2.0 * np.random.default_rng(0).normal(size=D)


def batch(seed, n=300, weights=TRUE, m=2, sparse=False, shift=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    if m == 2:
        y = (X @ weights + shift + rng.logistic(size=n) > 0).astype(int)
    else:
        y = np.argmax(X @ np.random.default_rng(1).normal(size=(D, m)) + rng.gumbel(size=(n, m)), axis=1)
    return (sp.csr_array(X) if sparse else X), y


def run(learner, batches, *, capacity=None, classes=(0, 1), penalty=None, seed=0):
    log = Log(classes, penalty or L2(1.0), capacity=capacity)
    state = None
    for X, y in batches:
        log.add(X, y)
        state = learner.init(log, seed) if state is None else learner.step(log, state)
    return log, state


# the log --------------------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(cuts=st.lists(st.integers(1, 199), max_size=5, unique=True), capacity=st.integers(1, 250), sparse=st.booleans())
def test_rows_kept_do_not_depend_on_the_batches(cuts, capacity, sparse):
    X, y = batch(3, 200, sparse=sparse)
    logs = []
    for edges in ([0, 200], [0, *sorted(cuts), 200]):
        log = Log([0, 1], L2(1.0), capacity=capacity)
        for low, high in pairwise(edges):
            log.add(X[low:high], y[low:high])
        log.add(X[:1], y[:1])  # so that all rows before are old
        logs.append(log)
    a, b = (log.old_problem() for log in logs)
    assert a.n == b.n == min(capacity, 200)
    assert logs[1].complete == (capacity >= 200)
    W = np.random.default_rng(0).normal(size=(D + 1, 2))
    assert a.value(W) == pytest.approx(b.value(W), rel=1e-12)


def test_rows_kept_are_a_uniform_sample():
    counts = np.zeros(60)
    for seed in range(400):
        log = Log([0, 1], L2(1.0), capacity=10, seed=seed)
        for low in range(0, 60, 12):
            log.add(np.arange(low, low + 12, dtype=float)[:, None], np.zeros(12, int))
        log.add([[0.0]], [0])
        counts[log.old_problem().home.parts[0].design.X[:, 0].astype(int)] += 1
    expected = 400 * 10 / 60
    chi2 = ((counts - expected) ** 2 / (expected * (1 - 10 / 60))).sum()
    assert chi2 < 100  # 60 degrees of freedom: the chance is 1e-3


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("capacity", [None, 150])
def test_log_and_state_are_restored_to_the_bit(sparse, capacity):
    learner = make_stream("sa-lbfgs-repaired", rows=200)
    batches = [batch(s, weights=TRUE if s < 2 else -TRUE, sparse=sparse) for s in range(4)]
    log, state = run(learner, batches[:3], capacity=capacity)
    again = Log([0, 1], L2(1.0), capacity=capacity)
    again.load({name: values.copy() for name, values in log.export().items()})
    loaded = StreamState.load({name: np.array(values) for name, values in state.export().items()})
    for one in (log, again):
        one.add(*batches[3])
    a, b = learner.step(log, state), learner.step(again, loaded)
    assert a.t == b.t == 4
    np.testing.assert_array_equal(a.W, b.W)
    np.testing.assert_array_equal(a.past, b.past)
    assert log.export().keys() == again.export().keys()


def test_sample_keeps_the_weight_of_all_rows():
    log = Log([0, 1], L2(1.0))
    for seed in range(3):
        X, y = batch(seed)
        log.add(X, y, np.full(300, 2.0))
    problem = log.sample(50, 100, np.random.default_rng(0))
    assert problem.n == 150
    assert sum(part.weights.sum() for part in problem.home.parts) == pytest.approx(1800.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda log: log.add(np.zeros((0, D)), []), "at least one row"),
        (lambda log: log.add(np.zeros((2, D)), [0, 7]), "7, which is not among the 2 classes"),
        (lambda log: log.add(np.zeros((2, D + 1)), [0, 1]), "dense batches must all have the same ones"),
        (lambda log: log.add(sp.csr_array((2, D)), [0, 1]), "one layout and type"),
        (lambda log: log.add(np.full((2, D), np.nan), [0, 1]), "nan at row 0"),
        (lambda _: Log([0], L2(1.0)), "two classes at least"),
        (lambda _: Log([0, 1], L2(1.0), capacity=0), "capacity=0"),
        (lambda _: make_stream("sa-lbfg"), "did you mean 'sa-lbfgs'"),
        (lambda _: make_stream("sa-lbfgs", rows=0), "rows=0"),
        (lambda _: make_stream("sa-lbfgs", tol=2.0), "tol=2.0"),
    ],
)
def test_bad_input_is_refused_and_nothing_changes(wrong, message):
    log = Log([0, 1], L2(1.0))
    log.add(*batch(0))
    before = log.export()
    with pytest.raises(ValueError, match=message):
        wrong(log)
    after = log.export()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_all_rows_are_asked_of_a_log_that_keeps_some():
    with pytest.raises(ValueError, match="capacity=None"):
        run(make_stream("full-warm"), [batch(0), batch(1), batch(2)], capacity=10)


# learners -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", STREAMS)
@pytest.mark.parametrize(("m", "sparse"), [(2, True), (3, False)])
def test_every_learner_learns(key, m, sparse):
    classes = range(m)
    _, state = run(make_stream(key, rows=400), [batch(s, m=m, sparse=sparse) for s in range(4)], classes=classes)
    X, y = batch(99, 2000, m=m, sparse=sparse)
    test = Problem(X, y, classes=classes)
    best = solve(make_solver("lbfgs"), Problem(X, y, penalty=L2(1.0), classes=classes))
    known, found, blind = (Score.of(test, W).log_loss for W in (best.W, state.W, test.zeros()))
    assert found - known < 0.2 * (blind - known)
    assert np.isfinite(state.column("total_error")).all()


def test_full_cold_is_the_optimum_on_all_rows():
    batches = [batch(s) for s in range(3)]
    _, state = run(make_stream("full-cold", tol=1e-8), batches)
    X, y = (np.concatenate([b[i] for b in batches]) for i in (0, 1))
    problem = Problem(X, y, penalty=L2(1.0))
    best = solve(make_solver("newton-cg"), problem, tol=1e-10)
    assert problem.value(state.W) == pytest.approx(best.certificate.objective, rel=2e-8)


@pytest.mark.parametrize("capacity", [None, 100])
def test_totals_are_exact_where_it_is_said(capacity):
    batches = [batch(s, weights=TRUE if s < 3 else -TRUE) for s in range(6)]
    log, state = run(make_stream("sa-lbfgs-repaired", rows=300), batches, capacity=capacity)
    assert state.column("updated")[3] == 1
    X, y = (np.concatenate([b[i] for b in batches]) for i in (0, 1))
    truth = Score.of(Problem(X, y), state.W)
    kept = Score.read(state.score)
    assert kept.weight == truth.weight
    if capacity is None:
        np.testing.assert_allclose(kept.array, truth.array, rtol=1e-9)
        assert state.exact
        assert log.complete
    else:
        assert not state.exact
        assert kept.error == pytest.approx(truth.error, abs=0.15)
        assert kept.error != truth.error


def test_rule_as_written_goes_blind_and_the_repaired_one_does_not():
    """Error 0.2 +- 0.02 a batch, then a jump of 0.05: the rise over all rows shrinks as 1/t."""
    fires = {}
    for t in (3, 10, 40, 160):
        rng = np.random.default_rng(0)
        errors = 0.2 + 0.02 * rng.standard_normal(t)
        totals = np.cumsum(errors) / np.arange(1, t + 1)
        past = np.full((t, len(RECORD)), np.nan)
        n = 10_000.0
        known = {"error": errors, "weight": n, "total_error": totals, "rise": errors - totals, "updated": 0.0}
        for name, values in known.items():
            past[:, RECORD.index(name)] = values
        state = StreamState(
            W=np.zeros((1, 2)),
            t=t,
            seed=0,
            past=past,
            score=np.array([t * n, totals[-1] * t * n, 0.0, 0.0]),
            exact=True,
            unseen=np.array([t * n, totals[-1] * t * n, 0.0, 0.0]),
            memory={},
            total=t * n,
        )
        new = Score(n, 0.25 * n, 0.0, 0.0)
        written, repaired = CumulativeRise(), BatchRise("error")
        fires[t] = written.fires(*written.judge(state, new)), repaired.fires(*repaired.judge(state, new))
    assert fires == {3: (True, True), 10: (True, True), 40: (False, True), 160: (False, True)}


def test_small_batches_do_not_hide_a_change():
    """Batches of 20 rows rise and fall by 0.1 by chance alone: that says nothing of a batch of 10,000."""
    weights, rises = np.array([1e4] * 4 + [20.0] * 40), np.array([0.004, -0.004] * 2 + [0.1, -0.1] * 20)
    past = np.zeros((44, len(RECORD)))
    past[:, RECORD.index("weight")], past[:, RECORD.index("rise")] = weights, rises
    score = np.array([weights.sum(), 0.2 * weights.sum(), 0.0, 0.0])
    state = StreamState(
        W=np.zeros((1, 2)), t=44, seed=0, past=past, score=score, exact=True, unseen=score, memory={}, total=1.0
    )
    rule = BatchRise("error")
    fires = {n: rule.fires(*rule.judge(state, Score(n, 0.25 * n, 0.0, 0.0))) for n in (20.0, 10_000.0)}
    assert fires == {20.0: False, 10_000.0: True}


def test_errors_say_nothing_where_clicks_are_rare():
    """At 3 % clicks a good model, none and its reverse make the same errors, and log loss tells them apart."""
    X, y = batch(5, 20_000, shift=-4.0, weights=0.5 * TRUE)
    assert 0.005 < y.mean() < 0.05
    problem = Problem(X, y, penalty=L2(1.0))
    good = solve(make_solver("lbfgs"), problem).W
    constant = np.zeros_like(good)
    constant[-1] = np.log([1 - y.mean(), y.mean()])
    reverse = -good
    reverse[-1] = constant[-1]
    scores = [Score.of(problem, W) for W in (good, constant, reverse)]
    errors, losses = [s.error for s in scores], [s.log_loss for s in scores]
    assert max(errors) - min(errors) < 0.25 * y.mean()
    assert losses[0] < 0.95 * losses[1] < 0.95 * losses[2]


def test_no_update_without_drift_and_one_after_it():
    learner = make_stream("sa-lbfgs-repaired", rows=1000)
    _, state = run(learner, [batch(s, 1000, weights=TRUE if s < 8 else -TRUE) for s in range(9)])
    assert state.column("updated")[-1] == 1
    assert state.column("updated")[1:-1].sum() <= 1
    assert state.column("new_rows")[-1] > 10 * state.column("old_rows")[-1]


def test_a_second_drift_is_seen_as_the_first_one():
    """All rows so far are of three laws by then: the model of the second one is measured by what came since."""
    laws = [TRUE] * 6 + [-TRUE] * 8 + [TRUE[::-1]] * 2
    _, state = run(make_stream("sa-lbfgs-repaired", rows=1000), [batch(s, 1000, weights=w) for s, w in enumerate(laws)])
    assert state.column("updated")[[6, 14]].tolist() == [1, 1]
    assert state.column("spread")[14] < 2 * state.column("spread")[6]


def test_a_new_model_is_measured_by_rows_it_has_not_seen():
    """With many columns for the rows the model does better on its own batch, which is no rise of the next one."""
    rng = np.random.default_rng(0)
    batches = [(X := rng.normal(size=(400, 150)), (X[:, 0] > rng.logistic(size=400)).astype(int)) for _ in range(4)]
    fires = {}
    for held in (0.0, 0.1):
        learner = replace(make_stream("sa-lbfgs-repaired"), held=held)
        _, state = run(learner, batches)
        fires[held] = state.column("updated")[1]
        assert state.column("new_rows")[0] == pytest.approx(400 * (1 - held), abs=20)
    assert fires == {0.0: 1, 0.1: 0}
    log = Log([0, 1], L2(1.0))
    log.add(*batches[0])
    rest, held_out = log.held_out(0.25)
    assert rest.newest.n + held_out.n == log.newest.n == 400
    assert log.held_out(0.0) == (log, None)


def test_a_new_model_that_is_no_better_does_not_replace_the_one_at_hand():
    """Trained on few rows where nothing has changed it is worse than one of many rows; after a change it is better."""
    learner = replace(make_stream("sa-lbfgs-repaired", rows=20), rule=Always())
    first = [batch(0, 4000)]
    log, state = run(replace(learner, start=OnlineStart(then=LbfgsRun())), [*first, batch(1, 1000)])
    assert (state.last.updated, state.last.steps > 0) == (0, True)
    assert state.last.total_log_loss == pytest.approx(Score.of(log.whole_problem(), state.W).log_loss, rel=1e-9)
    more = replace(learner, sampling=ByRise(500))
    _, turned = run(more, [*first, batch(1, 1000, weights=-TRUE)])
    assert turned.last.updated == 1
    _, ungated = run(replace(learner, held=0.0), [*first, batch(1, 1000)])
    assert ungated.last.updated == 1


def test_sample_sizes_follow_the_rise():
    sampling = ByRise(1000, most=10.0)
    assert [round(sampling.share(mu), 4) for mu in (0.0, 1.0, 2.0, 10.0, math.inf)] == [0.0, 0.5, 0.8, 0.9901, 0.9901]
    log = Log([0, 1], L2(1.0))
    for seed in range(6):
        log.add(*batch(seed))
    _, new, old = sampling.choose(log, 1.0, np.random.default_rng(0))
    assert (new, old) == (300, 300)  # the batch has no more, and the ratio stays
    _, new, old = sampling.choose(log, 0.5, np.random.default_rng(0))
    assert (new, old) == (200, 800)


def test_a_sample_of_more_rows_than_numpy_counts():
    log = Log([0, 1], L2(1.0), capacity=50)
    for seed in range(2):
        log.add(*batch(seed))
    log.rows = 3 * 10**9
    problem, new, old = Uniform(40).choose(log, 0.0, np.random.default_rng(0))
    assert (new, old, problem.n) == (0, 40, 40)


# pairs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [L2(3.0), L1(3.0)], ids=["l2", "l1"])
def test_pairs_are_rescaled_to_the_new_rows(penalty):
    """Twice the rows: y of the loss doubles and that of the penalty does not, as on the double log."""
    X, y = batch(0)
    rng = np.random.default_rng(0)
    trainer = LbfgsRun(tol=1e-6)
    one = Problem(X, y, penalty=penalty)
    found = trainer.train(one, one.zeros(), {}, 0, rng)
    twice = Problem(np.vstack([X, X]), np.concatenate([y, y]), penalty=penalty)
    kept = trainer.rescaled(found.memory, 2.0)
    W, s = found.W, kept["pairs_s"][-1]
    after, before = twice.smooth(W)[1], twice.smooth(W - s)[1]
    np.testing.assert_allclose(kept["pairs_y"][-1] + twice.pen.l2 * s, after - before, atol=1e-6 * abs(before).max())
    cold = trainer.train(twice, W, {}, 0, rng)
    warm = trainer.train(twice, W, kept, 0, rng)
    assert warm.steps <= cold.steps


def test_new_features_start_at_zero_and_old_ones_stay():
    learner = make_stream("sa-lbfgs", rows=300)
    batches = [batch(0, sparse=True), batch(1, weights=-TRUE, sparse=True)]
    log, state = run(learner, batches)
    assert state.memory["pairs_s"].shape[1] == D + 1
    X, y = batch(2, sparse=True)
    wide = sp.csr_array(sp.hstack([X, sp.csr_array(np.ones((300, 2)))]))
    log.add(wide, y)
    after = learner.step(log, state)
    assert after.W.shape == (D + 3, 2)
    if not after.last.updated:
        np.testing.assert_array_equal(after.W[:D], state.W[:D])
        np.testing.assert_array_equal(after.W[-1], state.W[-1])
        assert not after.W[D:-1].any()
    log.add(*batch(3, sparse=True))  # a narrower one
    assert learner.step(log, after).W.shape == (D + 3, 2)


def test_features_that_move():
    learner = make_stream("sa-lbfgs-repaired")
    _, state = run(learner, [batch(0)])
    where = np.array([2, 0, -1, 1, 3, 4, 7])
    moved = widened(state, where, 8)
    np.testing.assert_array_equal(moved.W[[2, 0, 1, 3, 4, 7]], state.W[[0, 1, 3, 4, 5, 6]])
    assert not moved.W[[5, 6]].any()
    assert moved.memory["pairs_y"].shape[1] == 8


# special cases --------------------------------------------------------------------------------------------------------


def test_one_row_a_batch_is_online_gradient_descent():
    X, y = batch(0, 40)
    method = Ogd(eta=2.0)
    problem = Problem(X, y, fit_intercept=True)
    online = method.init(problem, problem.zeros(), np.random.default_rng(7))
    order = np.random.default_rng([online.seed, 0]).permutation(40)
    trainer = GradientStep(online.rate)
    learner = Learner(Always(), Newest(), trainer, trainer)
    log, state = Log([0, 1], None), None
    for row in order:
        log.add(X[[row]], y[[row]])
        state = learner.init(log) if state is None else learner.step(log, state)
    np.testing.assert_allclose(state.W, method.step(problem, online).W, rtol=1e-12, atol=1e-14)
    assert state.column("old_rows").sum() == 0


def test_online_sums_go_on_from_batch_to_batch():
    """The sums of squares of a batch begin where those of the batch before ended."""
    X, y = batch(0, 40)
    X[:] = np.sign(X)  # all columns have the same largest value
    first, second = (Problem(X[h], y[h], classes=[0, 1], fit_intercept=False) for h in (slice(0, 20), slice(20, 40)))
    rng = np.random.default_rng
    one = AdaGradPass().train(first, first.zeros(), {}, 0, rng(0))
    two = AdaGradPass().train(second, one.W, one.memory, 1, rng(1))
    method = AdaGrad()
    begun = method.init(second, one.W, rng(1))
    lockstep = method.step(second, replace(begun, A=one.memory["A"].copy()))
    np.testing.assert_array_equal(two.W, lockstep.W)
    assert not np.array_equal(two.W, method.step(second, begun).W)
    assert (two.memory["A"] >= one.memory["A"]).all()


def test_least_squares_with_equal_weights_is_ordinary():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    equal, forgetful = LeastSquares(4), LeastSquares(4)
    for low in range(0, 50, 10):
        rows = slice(low, low + 10)
        equal.add(X[rows], y[rows])
        forgetful.add(X[rows], y[rows], mu=1e80)
    np.testing.assert_allclose(equal.theta, np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-10)
    np.testing.assert_allclose(forgetful.theta, np.linalg.lstsq(X[40:], y[40:], rcond=None)[0], rtol=1e-8)
    with pytest.raises(ValueError, match="mu=-1"):
        equal.add(X, y, mu=-1.0)


def test_first_model_is_one_pass_as_written_and_solved_as_repaired():
    X, y = batch(0)
    problem = Problem(X, y, penalty=L2(1.0))
    rng = np.random.default_rng(0)
    written = OnlineStart().train(problem, problem.zeros(), {}, 0, rng)
    solved = OnlineStart(then=LbfgsRun(1e-6)).train(problem, problem.zeros(), {}, 0, rng)
    assert written.steps == 1
    assert problem.value(solved.W) < problem.value(written.W)


# draws ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sign", "consistent"), [(1.0, True), (-1.0, False)], ids=["same", "flipped labels"])
def test_draws_tell_a_batch_whose_labels_are_flipped(sign, consistent):
    learner = make_stream("sa-lbfgs-repaired", rows=600)
    log, state = run(learner, [batch(s, 1000) for s in range(3)])
    log.add(*batch(3, 1000, weights=sign * TRUE))
    found = draw(learner, log, state, draws=3)
    assert found.consistent == consistent
    assert found.W.shape == (3, 3, D + 1, 2)
    with pytest.raises(ValueError, match="draws=1"):
        draw(learner, log, state, draws=1)


def test_draws_of_more_rows_than_there_are():
    """Samples that take the whole batch would be alike, and the batch seem strange."""
    learner = make_stream("sa-lbfgs-repaired")
    log, state = run(learner, [batch(0, 6000)])
    log.add(*batch(1, 300))
    assert draw(learner, log, state).consistent
