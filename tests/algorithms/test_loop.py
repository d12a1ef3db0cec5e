"""The loop: statuses with reasons, the clock, the checkpoints, the start."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from cases import Case, draw

from pianobench.algorithms import SOLVERS, Breakdown, State, make_solver, solve, solver_refusal
from pianobench.algorithms.registry import Entry
from pianobench.problems import L0, L1, L2, Problem
from pianobench.problems import certificates as certificates_module
from pianobench.problems.penalties import Array
from pianobench.problems.sample_space import ANYWHERE, IN_ONE_PLACE


@dataclass(frozen=True)
class Planted:
    """A solver that goes wrong in the way asked for, after two good steps."""

    fault: str

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l1", "l2", "elasticnet", "l0"})
    needs: ClassVar[frozenset[str]] = frozenset()
    monotone: ClassVar[bool] = False
    step_is: ClassVar[str] = "a step"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return 10**18 if self.fault == "greedy" else 0

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> State:
        if self.fault == "start":
            raise Breakdown("it never could")
        return State(W0.copy())

    def step(self, problem: Problem, state: State) -> State:
        _, G = problem.smooth(state.W)
        if problem.meter.total.rows < 3 * problem.n:
            return replace(state, W=state.W - 1e-3 * G)
        if self.fault == "nan":
            return replace(state, W=state.W * np.nan)
        if self.fault == "breakdown":
            raise Breakdown("the planted reason")
        if self.fault == "slow":
            time.sleep(0.02)
        return state


@pytest.fixture
def problem() -> Problem:
    return Case("l2", "dense", True, False, "float64").problem()


@pytest.mark.parametrize(
    ("fault", "limits", "status", "reason"),
    [
        ("nan", {}, "diverged", "F is nan"),
        ("breakdown", {}, "breakdown", "the planted reason"),
        ("stall", {}, "stalled", "neither F nor its gap fell"),
        ("stall", {"max_steps": 7}, "budget", "7 steps"),
        ("stall", {"max_gradient_equivalents": 9.0}, "budget", "9 gradient equivalents"),
        ("slow", {"max_seconds": 0.1}, "timeout", "0.1 seconds"),
    ],
)
def test_each_ending_has_its_status_and_reason(
    problem: Problem, fault: str, limits: dict[str, float], status: str, reason: str
) -> None:
    result = solve(Planted(fault), problem, **limits)
    assert result.status == status
    assert reason in result.reason
    assert len(result.checkpoints) >= 1  # the curve so far is kept
    assert result.certificate.kind in ("dual", "zero")


def test_a_breakdown_keeps_the_point_before_it(problem: Problem) -> None:
    result = solve(Planted("breakdown"), problem)
    assert np.isfinite(result.W).all()
    assert result.W.any()
    assert result.steps == 2


def test_what_cannot_start_says_so(problem: Problem) -> None:
    with pytest.raises(ValueError, match="could not start: it never could"):
        solve(Planted("start"), problem)


@pytest.mark.parametrize(("penalty", "key"), [(None, "piano"), (None, "lbfgs"), (L0(1e-3), "piano")])
def test_separable_data_without_a_penalty_have_no_minimiser(penalty: object, key: str) -> None:
    X = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    result = solve(make_solver(key), Problem(X, [0, 0, 1, 1], penalty=penalty), max_steps=50)
    if result.status == "stationary":  # l0 may stop where the surrogate does
        pytest.fail("F falls for ever along w = (t, -t)")
    assert result.status == "no-minimiser"
    assert "completely separable" in result.reason


def test_a_class_without_rows_and_a_free_intercept_still_certify() -> None:
    X, y, _ = draw()
    problem = Problem(X, y, penalty=L2(1.0), classes=[0, 1, 2, 3])
    result = solve(make_solver("lbfgs"), problem, tol=1e-8)
    assert result.status == "converged"
    assert result.certificate.objective == pytest.approx(
        solve(make_solver("lbfgs"), Problem(X, y, penalty=L2(1.0)), tol=1e-10).certificate.objective, rel=1e-7
    )


def test_certificates_are_off_the_clock_and_off_the_meter(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = solve(make_solver("lbfgs"), problem.with_penalty(L2(2.0)), tol=1e-8)
    honest = certificates_module.certificate

    def slow(*args: object, **named: object) -> object:
        time.sleep(0.05)
        return honest(*args, **named)

    monkeypatch.setattr("pianobench.algorithms.loop.certificate", slow)
    start = time.perf_counter()
    slowed = solve(make_solver("lbfgs"), problem.with_penalty(L2(2.0)), tol=1e-8)
    wall = time.perf_counter() - start
    assert wall - slowed.seconds >= 0.05 * len(slowed.checkpoints)
    assert [c.gradient_equivalents for c in slowed.checkpoints] == [c.gradient_equivalents for c in plain.checkpoints]


def test_setting_up_is_on_the_clock(problem: Problem) -> None:
    result = solve(make_solver("admm-mlr"), problem, max_steps=1)
    first = result.checkpoints[0]
    assert first.step == 0
    assert 0 < result.setup_seconds == first.seconds <= result.seconds
    assert first.gradient_equivalents > 0  # the Gram matrix and X W0 are charged


def test_checkpoints_grow_apart_and_are_reported_as_they_come(problem: Problem) -> None:
    seen: list[int] = []
    result = solve(make_solver("piano"), problem, tol=1e-8, on_checkpoint=lambda c: seen.append(c.step))
    assert seen == [c.step for c in result.checkpoints]
    work = np.array([c.gradient_equivalents for c in result.checkpoints])
    assert (np.diff(work)[:-1] >= np.maximum(0.15 * work[:-2], 1.0) - 1e-9).all()  # but for the last
    assert (np.diff([c.objective for c in result.checkpoints]) <= 0).all()


def test_a_refusal_comes_before_the_start(problem: Problem) -> None:
    l1 = problem.with_penalty(L1(1.0))
    with pytest.raises(ValueError, match=r"L-BFGS takes l2 or no penalty, not l1"):
        solve(make_solver("lbfgs"), l1)
    assert "needs 1,000,000,000,000,000,000 bytes" in str(solver_refusal(Planted("greedy"), problem, 10**9))
    assert solver_refusal(make_solver("piano"), l1) is None


@pytest.mark.parametrize("W0", [np.zeros((2, 3)), np.zeros((4, 3), np.float32)], ids=["shape", "type"])
def test_a_start_of_another_shape_or_type_is_refused(problem: Problem, W0: Array) -> None:
    with pytest.raises(ValueError, match=r"float64 of shape \(4, 3\) is expected"):
        solve(make_solver("piano"), problem, W0=W0)


def test_an_unknown_solver_or_parameter_is_named_with_what_exists() -> None:
    with pytest.raises(ValueError, match=r"'pianno' is unknown: did you mean 'piano'\?.*lbfgs"):
        make_solver("pianno")
    with pytest.raises(ValueError, match="'piano' has no parameter 'step': it has cap"):
        make_solver("piano", step=1)


@pytest.mark.parametrize("entry", SOLVERS.values(), ids=lambda e: e.key)
def test_a_registered_solver_keeps_the_contract(entry: Entry) -> None:
    solver = make_solver(entry.key)
    cls = type(solver)
    assert cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert entry.penalties <= {"none", "l1", "l2", "elasticnet", "l0"}
    assert solver.needs <= ANYWHERE | IN_ONE_PLACE
    assert entry.step_is
    assert solver.memory(10**6, 1000, 10, 10**9, 8) > 0
    assert entry.citation in (__import__(entry.module, fromlist=["x"]).__doc__ or "")
    assert hash(solver) == hash(make_solver(entry.key))


@pytest.mark.parametrize("key", SOLVERS)
def test_memory_is_of_the_right_size(key: str) -> None:
    """What a solver says it needs holds what its state keeps, within a factor of ten."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    takes = make_solver(key).penalties
    penalty = L2(1.0) if "l2" in takes else L1(1.0) if "l1" in takes else L0(1.0)
    problem = Problem(X, rng.integers(0, 5, 400), penalty=penalty)
    state = solve(make_solver(key), problem, max_steps=12, tol=0.0).state
    kept = sum(v.nbytes for v in state.export().values())
    said = make_solver(key).memory(problem.n, problem.p, problem.m, problem.nnz, 8)
    fields = 8 * (problem.nnz + problem.n * problem.m)  # what a step keeps while it lasts: columns of X, margins
    assert kept <= said <= 10 * kept + 1000 * problem.m * problem.p + 6 * fields
