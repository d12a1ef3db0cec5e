"""The loop of black boxes, on a scripted one: budgets, time, endings, and what a library says."""

import math
import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from cases import Case
from threadpoolctl import threadpool_info

from pianobench.algorithms import Checkpoint, make_solver, solve
from pianobench.algorithms.peers import fits, make_peer, rerun, warm_up
from pianobench.algorithms.peers.rerun import WALL
from pianobench.problems import Problem

PROBLEM = Case("l2", "dense", True, False, "float64").problem()
OPTIMUM = PROBLEM.to_user(solve(make_solver("lbfgs"), PROBLEM, tol=1e-14, max_steps=1000).W)


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


CLOCK = Clock()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """What the loop takes for the time."""
    monkeypatch.setattr(fits, "time", CLOCK)
    return CLOCK


@dataclass(frozen=True)
class Scripted:
    """Goes from W = 0 to the optimum, geometrically; takes so long; does what it is told at some budget."""

    rate: float = 0.5
    seconds: float = 0.0
    power: float = 1.0
    ends_at: int | None = None
    raises_at: int | None = None
    nan_at: int | None = None
    says: str = ""
    prints: str = ""
    max_iter: int | None = None

    title = "scripted"
    penalties = frozenset({"l2"})
    step_is = "one line of a script"

    def refusal(self, problem: Problem) -> str | None:
        return None if problem.pen.kind == "l2" else "scripted takes l2 alone"

    def convert(self, problem: Problem) -> None:
        CLOCK.now += 1.0

    def fit(self, native: None, budget: int, threads: int, seed: int = 0) -> tuple[Any, Any, dict[str, Any]]:
        if self.raises_at is not None and budget >= self.raises_at:
            raise ZeroDivisionError("of the library\nand more")
        iterations = budget if self.ends_at is None else min(budget, self.ends_at)
        CLOCK.now += self.seconds * iterations**self.power
        if self.says:
            warnings.warn(self.says, RuntimeWarning, stacklevel=1)
        os.write(1, self.prints.encode())
        size = math.nan if self.nan_at is not None and budget >= self.nan_at else 1.0 - self.rate**iterations
        pools = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
        info = {
            "iterations": iterations,
            "ended": iterations < budget,
            "pools": pools,
            "seed": seed,
            "threads": threads,
        }
        return size * OPTIMUM[0], size * OPTIMUM[1], info


def budgets(result: Any) -> list[int]:
    return [fit["budget"] for fit in result.state.fits]


def test_budgets_grow_by_half_and_the_last_is_narrowed() -> None:
    seen: list[Checkpoint] = []
    result = rerun(Scripted(rate=0.8), PROBLEM, tol=1e-6, on_checkpoint=seen.append)
    assert result.status == "converged"
    tried = budgets(result)
    assert tried[:8] == [1, 2, 3, 5, 8, 12, 18, 27]
    assert seen == result.checkpoints
    steps = [point.step for point in seen]
    assert steps == sorted(steps)
    assert [point.gap > 1e-6 for point in seen] == [True] * (len(seen) - 1) + [False]
    # the smallest budget that would do is within a tenth below the one it says
    needed = next(b for b in range(1, 200) if rerun(Scripted(rate=0.8, max_iter=b), PROBLEM).certificate.gap <= 1e-6)
    assert needed <= result.steps <= 1.1 * needed + 1
    assert result.certificate.gap == seen[-1].gap


@pytest.mark.usefixtures("clock")
def test_seconds_are_of_one_fit_and_work_is_unknown() -> None:
    result = rerun(Scripted(seconds=0.25), PROBLEM, tol=1e-3)
    assert len(result.checkpoints) > 3
    for point in result.checkpoints:
        assert point.seconds == 0.25 * point.step  # neither the second of `convert` nor the sum of all
        assert math.isnan(point.gradient_equivalents)
        assert math.isnan(point.passes)
    assert (result.seconds, result.setup_seconds) == (result.checkpoints[-1].seconds, 0.0)
    assert result.state.convert_seconds == 1.0
    assert result.state.wall_seconds == 1.0 + sum(fit["seconds"] for fit in result.state.fits)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("each", [0.1, 0.11, 0.12, 0.13, 0.14])
@pytest.mark.parametrize(("power", "longest"), [(1.0, 30.0), (0.5, 30.0), (2.0, 30.0 * 1.25)])
def test_no_fit_is_started_that_is_seen_to_take_too_long(power: float, longest: float, each: float) -> None:
    result = rerun(Scripted(rate=0.9999, seconds=each, power=power), PROBLEM, max_seconds=30.0)
    assert result.status == "timeout"
    assert "would take about" in result.reason
    reached = max(fit["seconds"] for fit in result.state.fits)
    assert 0.6 * 30.0 < reached <= longest  # what grows dearer is foreseen in part
    assert result.state.wall_seconds <= WALL * 30.0
    assert budgets(result) == sorted(budgets(result))


@pytest.mark.usefixtures("clock")
def test_the_wall_bounds_all_fits_together() -> None:
    result = rerun(Scripted(rate=0.9999, seconds=0.1), PROBLEM, max_seconds=60.0, max_wall=40.0)
    assert result.status == "timeout"
    assert 20.0 < result.state.wall_seconds <= 40.0
    narrow = rerun(Scripted(rate=0.9, seconds=1.0), PROBLEM, max_wall=560.0)
    assert narrow.status == "converged"
    assert narrow.state.wall_seconds <= 560.0


def test_a_box_that_changes_nothing_more_is_stalled() -> None:
    result = rerun(Scripted(ends_at=4), PROBLEM)
    assert (result.status, budgets(result)) == ("stalled", [1, 2, 3, 5])
    assert result.reason.startswith("reports success after 4 iterations, at relative gap ")
    told = rerun(Scripted(ends_at=4, says="Line search failed\nand so on"), PROBLEM)
    assert told.reason.startswith("gives up after 4 iterations, at relative gap ")
    assert told.reason.endswith("'RuntimeWarning: Line search failed'")
    assert rerun(Scripted(rate=1.0), PROBLEM).reason.startswith("neither F nor its gap fell for 4 fits")


@pytest.mark.usefixtures("clock")
def test_a_box_with_a_limit_of_its_own_is_fitted_once() -> None:
    claims = rerun(Scripted(max_iter=100, ends_at=5), PROBLEM)
    assert (claims.status, claims.steps, budgets(claims)) == ("stalled", 5, [100])
    assert claims.reason.startswith("reports success after 5 iterations, at relative gap ")
    assert len(claims.checkpoints) == 1
    stopped = rerun(Scripted(max_iter=4), PROBLEM)
    assert (stopped.status, stopped.steps) == ("stalled", 4)  # no time would have taken it further
    assert stopped.reason.startswith("stopped at its documented limit of 4 iterations")
    cut = rerun(Scripted(max_iter=4), PROBLEM, max_budget=2)
    assert cut.status == "budget"
    assert cut.reason.startswith("stopped at the limit of 2")
    assert rerun(Scripted(max_iter=60), PROBLEM).status == "converged"
    assert rerun(Scripted(max_iter=4, seconds=0.02), PROBLEM, max_seconds=0.05).status == "timeout"


def test_budget_diverged_and_breakdown_are_rows() -> None:
    assert (out := rerun(Scripted(), PROBLEM, max_budget=4)).status == "budget"
    assert budgets(out) == [1, 2, 3, 4]
    assert rerun(Scripted(nan_at=3), PROBLEM).status == "diverged"
    broken = rerun(Scripted(raises_at=3), PROBLEM)
    assert (broken.status, broken.steps) == ("breakdown", 2)
    assert broken.reason == "scripted raised ZeroDivisionError: of the library"
    assert broken.certificate.gap == broken.checkpoints[-1].gap
    at_once = rerun(Scripted(raises_at=1), PROBLEM)
    assert (at_once.status, at_once.steps, at_once.checkpoints) == ("breakdown", 0, [])
    assert not at_once.W.any()
    with pytest.raises(ValueError, match="takes l2 alone"):
        rerun(Scripted(), PROBLEM.with_penalty(None))


def test_what_a_library_says_is_kept_and_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    result = rerun(Scripted(says="mind the gap", prints="compiled words\n"), PROBLEM, max_budget=1)
    print("ours")
    assert capfd.readouterr() == ("ours\n", "")
    (fit,) = result.state.fits
    assert fit["warnings"] == ["RuntimeWarning: mind the gap"]
    assert fit["printed"] == "compiled words"


def test_threads_are_set_for_the_fit_and_the_seed_is_one() -> None:
    before = [pool["num_threads"] for pool in threadpool_info()]
    result = rerun(Scripted(), PROBLEM, threads=1, max_budget=3, rng=np.random.default_rng(5))
    assert all(fit["pools"] == {1} and fit["threads"] == 1 for fit in result.state.fits)
    assert len({fit["seed"] for fit in result.state.fits}) == 1
    assert rerun(Scripted(), PROBLEM, max_budget=1).state.fits[0]["seed"] != result.state.fits[0]["seed"]
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_the_bound_of_an_earlier_fit_serves_later_ones_and_all_are_true() -> None:
    result = rerun(make_peer("sklearn-saga-best"), PROBLEM, tol=1e-9, max_budget=500)
    F = PROBLEM.value(PROBLEM.from_user(*OPTIMUM))
    lower = [point.lower for point in result.checkpoints]
    assert max(lower) <= F * (1 + 1e-12)
    assert min(point.objective for point in result.checkpoints) >= F * (1 - 1e-12)
    assert all(point.certificate == "dual" for point in result.checkpoints[3:])
    assert lower == sorted(lower)


def test_separable_classes_without_penalty_have_no_minimiser() -> None:
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    problem = Problem(X, [0, 0, 1, 1], fit_intercept=False)
    result = rerun(make_peer("sklearn-lbfgs"), problem, tol=1e-9)
    assert result.status == "no-minimiser", result.reason


def test_a_default_claims_what_the_certificate_does_not_find(digits: tuple[np.ndarray, np.ndarray]) -> None:
    from pianobench.problems import L2

    problem = Problem(*digits, penalty=L2(1.0))
    default, best = (rerun(make_peer(key), problem, tol=1e-5) for key in ("sklearn-lbfgs", "sklearn-lbfgs-best"))
    assert (default.status, best.status) == ("stalled", "converged")
    assert default.reason.startswith("reports success after")
    assert default.certificate.gap > 1e-4
    saga = rerun(make_peer("sklearn-saga"), problem)
    assert saga.status == "stalled"
    assert any("ConvergenceWarning" in text for text in saga.state.fits[0]["warnings"])


def test_warm_up_has_a_row_of_every_class() -> None:
    y = np.repeat(np.arange(100), 2)
    problem = Problem(np.random.default_rng(0).normal(size=(200, 2)), y, penalty=PROBLEM.penalty)
    warm_up(make_peer("sklearn-lbfgs"), problem)
