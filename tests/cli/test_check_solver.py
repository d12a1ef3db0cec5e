"""`check-solver`: our solvers pass, and each broken promise fails its own check in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import here

from pianobench.algorithms import SOLVERS, make_solver
from pianobench.experiments import solver_check, solver_choice

HERE = Path(__file__).parent


@pytest.mark.parametrize("key", [key for key, entry in SOLVERS.items() if hasattr(entry.solver_class, "step")])
def test_our_own_solvers_keep_the_contract(key: str) -> None:
    findings = list(solver_check.check(make_solver(key)))
    assert [f for f in findings if f.mark == "FAIL"] == []
    kinds = len(SOLVERS[key].penalties)
    assert len(findings) == len(solver_check.DECLARATIONS) + kinds * len(solver_check.BEHAVIOUR)


@pytest.mark.parametrize(
    ("name", "mark", "check", "text"),
    [
        ("NotFrozen", "FAIL", "frozen dataclass", "NotFrozen is not frozen: put @dataclass(frozen=True) above it"),
        ("NoDataclass", "FAIL", "frozen dataclass", "NoDataclass is no dataclass: put @dataclass"),
        ("NoDataclass", "FAIL", "declarations", "penalties = None: a frozenset is expected"),
        ("UnknownPenalty", "FAIL", "declarations", "penalties holds l3; known: elasticnet, l0, l1, l2, none"),
        ("NeedsMagic", "FAIL", "declarations", "needs holds magic; known: columns, curvature"),
        ("NoClaim", "FAIL", "declarations", "monotone is missing: True where F provably never rises"),
        ("NoDataclass", "FAIL", "memory", "memory(n, p, m, nnz, itemsize) is missing"),
        ("BadMemory", "FAIL", "memory", "memory(...) gives 0.5: a whole number"),
        ("Raises", "FAIL", "init and step (l2)", "KeyError: 'forgotten' (faulty.py, line "),
        ("BreaksDown", "FAIL", "init and step (l2)", "breaks down within 5 steps: cannot go on"),
        ("WrongShape", "FAIL", "init and step (l2)", "state.W is an array (12,): an array (4, 3) is expected"),
        ("NotANumber", "FAIL", "init and step (l2)", "state.W is not finite after 5 steps"),
        ("WritesStart", "FAIL", "leaves its start alone (l2)", "W0 is written to: start from W0.copy()"),
        ("KeepsStart", "FAIL", "leaves its start alone (l2)", "state.W is W0 itself or a view of it"),
        ("WritesData", "FAIL", "leaves its start alone (l2)", "X is written to"),
        ("Forgets", "FAIL", "resumes (l2)", "10 steps are not 5 and 5: W differs after load"),
        ("OwnDraws", "FAIL", "repeats (l2)", "two runs with the same seed differ: draw from the rng"),
        ("DenseOnly", "FAIL", "forms of data (l2)", "TypeError: a dense array is needed (faulty.py, line "),
        ("DoublePrecision", "FAIL", "forms of data (l2)", "state.W is float64 on data of float32"),
        ("Rises", "FAIL", "monotone (l2)", "monotone = True, but step "),
        ("Slow", "note", "reaches 1e-6 (l2)", "not to 1e-06: budget: the 300 steps allowed are done; gap 0."),
        ("Explodes", "FAIL", "reaches 1e-6 (l2)", "F is "),
    ],
)
def test_each_broken_promise_fails_its_own_check(
    name: str, mark: str, check: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solver_check, "MOST_STEPS", 300)
    solver = solver_choice.make(f"faulty.py:{name}", str(HERE / "faulty.py"), {})
    findings = list(solver_check.check(solver))
    (found,) = [f for f in findings if f.check == check]
    assert (found.mark, found.text[: len(text)]) == (mark, text)
    others = {"NoDataclass", "Rises", "OwnDraws", "WritesData"}  # whose fault more than one check sees
    assert name in others or [f for f in findings if f.mark == "FAIL"] == ([found] if mark == "FAIL" else [])
    assert not any("\n" in f.text for f in findings)


def test_the_command_prints_a_line_a_check_and_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver_check, "MOST_STEPS", 300)
    done = here("check-solver", "faulty.py:Good", cwd=HERE)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == "ok    frozen dataclass: Good(rate)"
    assert lines[-1] == "faulty.py:Good: the contract is kept, 10 checks"
    assert all(line.startswith("ok    ") for line in lines[:-1])
    done = here("check-solver", "faulty.py:Good(rate=1e-5)", cwd=HERE)
    assert (done.returncode, done.stdout.count("note  reaches 1e-6")) == (0, 1)


def test_a_failed_check_is_exit_code_one_and_json_has_them_all() -> None:
    done = here("check-solver", "faulty.py:KeepsStart", "--json", cwd=HERE)
    assert done.returncode == 1
    findings = json.loads(done.stdout)
    assert [set(f) for f in findings] == [{"mark", "check", "text"}] * 10
    assert [f["check"] for f in findings if f["mark"] == "FAIL"] == ["leaves its start alone (l2)"]


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        ("pianoo", "pianoo: there is no such solver; did you mean 'piano'?"),
        ("absent.py:X", "absent.py:X: there is no file absent.py"),
        ("faulty.py:X", "faulty.py:X: faulty.py has no class 'X'; it has "),
        ("faulty.py:Good(rat=1)", "Good has no parameter 'rat': did you mean rate?"),
    ],
)
def test_a_solver_that_cannot_be_made_is_one_line(solver: str, message: str) -> None:
    done = here("check-solver", solver, cwd=HERE)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
