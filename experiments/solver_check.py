"""Whether a solver keeps the contract, checked on tiny problems; what our own tests check, for a solver of anybody.

Each check is a function of the solver and the problems, which returns what it saw, or raises `Failed` with what is
wrong. `check` runs them in order and never raises: what a stranger's code may throw ends as a failed check.
"""

from __future__ import annotations

import dataclasses
import io
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from pianobench.algorithms import Breakdown, iterate, solve
from pianobench.problems import L0, L1, L2, ElasticNet, Penalty, Problem
from pianobench.problems.sample_space import ANYWHERE, IN_ONE_PLACE

PENALTIES: dict[str, Penalty | None] = {
    "none": None,
    "l1": L1(1.5),
    "l2": L2(2.0),
    "elasticnet": ElasticNet(1.0, 1.0),
    "l0": L0(0.5),
}
ASKABLE = ANYWHERE | IN_ONE_PLACE
STEPS, MOST_STEPS, MOST_SECONDS = 5, 5000, 20.0
TOLERANCE = 1e-6
RISE = 1e-13  # relative rise of F that is rounding

Mark = Literal["ok", "note", "FAIL"]


class Failed(Exception):
    """The contract is not kept; the message says where."""


class Noted(Exception):
    """Nothing is wrong, but the user should know."""


@dataclass(frozen=True)
class Finding:
    """What one check saw: ``ok``, ``note`` (worth knowing) or ``FAIL``."""

    mark: Mark
    check: str
    text: str


def check(solver: Any) -> Iterator[Finding]:
    """All checks, one after another; without the declarations the others cannot run."""
    declared = True
    for about, function in DECLARATIONS:
        finding = _run(about, function, solver)
        declared = declared and finding.mark != "FAIL"
        yield finding
    if not declared:
        return
    for kind in sorted(solver.penalties, key=list(PENALTIES).index):
        for about, function in BEHAVIOUR:
            finding = _run(f"{about} ({_spoken(kind)})", function, solver, kind)
            yield finding
            if about == BEHAVIOUR[0][0] and finding.mark == "FAIL":  # it does not even start: the rest says the same
                break


def problem(kind: str, layout: str = "dense", dtype: str = "float64") -> Problem:
    """A tiny problem: 80 rows (more than a warm-up has), 3 features, 3 classes, weights, intercept; not separable."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * (rng.random((80, 3)) < 0.7)
    Z = X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(80, 3))
    y = Z.argmax(axis=1)
    y[:3] = np.arange(3)
    weights = rng.choice([0.5, 1.0, 2.0], size=80)
    X = X.astype(dtype)
    return Problem(sp.csr_array(X) if layout == "csr" else X, y, penalty=PENALTIES[kind], sample_weight=weights)


# declarations ---------------------------------------------------------------------------------------------------------


def is_frozen(solver: Any) -> str:
    cls = type(solver)
    if not dataclasses.is_dataclass(cls):
        raise Failed(f"{cls.__name__} is no dataclass: put @dataclass(frozen=True) above it")
    if not getattr(cls, "__dataclass_params__").frozen:  # noqa: B009
        raise Failed(f"{cls.__name__} is not frozen: put @dataclass(frozen=True) above it, and state into the State")
    return f"{cls.__name__}({', '.join(f.name for f in dataclasses.fields(cls))})"


def declares(solver: Any) -> str:
    for name, known in (("penalties", frozenset(PENALTIES)), ("needs", ASKABLE)):
        value = getattr(solver, name, None)
        if not isinstance(value, frozenset):
            raise Failed(f"{name} = {value!r}: a frozenset is expected, ClassVar[frozenset[str]]")
        if value - known:
            raise Failed(
                f"{name} holds {', '.join(sorted(map(str, value - known)))}; known: {', '.join(sorted(known))}"
            )
    if not solver.penalties:
        raise Failed("penalties is empty: name the kinds of penalty that it takes, or 'none' for none")
    if not isinstance(getattr(solver, "monotone", None), bool):
        raise Failed("monotone is missing: True where F provably never rises, else False")
    if not isinstance(getattr(solver, "step_is", None), str):
        raise Failed("step_is is missing: one step in words")
    needs = f", needs {', '.join(sorted(solver.needs))}" if solver.needs else ""
    return f"takes {', '.join(_spoken(kind) for kind in sorted(solver.penalties))}{needs}; a step is {solver.step_is}"


def tells_memory(solver: Any) -> str:
    try:
        size = solver.memory(n=1000, p=20, m=5, nnz=20000, itemsize=8)
    except AttributeError:
        raise Failed("memory(n, p, m, nnz, itemsize) is missing: bytes that it takes besides X") from None
    if not isinstance(size, int) or size < 0:
        raise Failed(f"memory(...) gives {size!r}: a whole number of bytes is expected")
    return f"{size:,} bytes besides X for n, p, m = 1000, 20, 5"


# behaviour on a penalty -----------------------------------------------------------------------------------------------


def steps(solver: Any, kind: str) -> str:
    p = problem(kind)
    state = _states(solver, p)[-1]
    if not isinstance(getattr(state, "W", None), np.ndarray) or state.W.shape != (p.p, p.m):
        raise Failed(f"state.W is {_described(getattr(state, 'W', None))}: an array {(p.p, p.m)} is expected")
    if state.W.dtype != p.dtype:
        raise Failed(f"state.W is {state.W.dtype} on data of {p.dtype}")
    if not np.isfinite(state.W).all():
        raise Failed(f"state.W is not finite after {STEPS} steps")
    F0, F = p.value(p.zeros()), p.value(state.W)
    return f"F from {F0:.6g} to {F:.6g} in {STEPS} steps"


def leaves_start(solver: Any, kind: str) -> str:
    p = problem(kind)
    W0 = np.random.default_rng(1).normal(size=(p.p, p.m))
    before = W0.copy()
    states = _states(solver, p, W0)
    if not np.array_equal(W0, before):
        raise Failed("W0 is written to: start from W0.copy()")
    if any(np.shares_memory(state.W, W0) for state in states):
        raise Failed("state.W is W0 itself or a view of it: start from W0.copy()")
    if not np.array_equal(_rows(p), _rows(problem(kind))):
        raise Failed("X is written to")
    return "W0 and X as they were"


def resumes(solver: Any, kind: str) -> str:
    p, other = problem(kind), problem(kind)
    half = _states(solver, p)[-1]
    file = io.BytesIO()
    np.savez(file, **half.export())
    file.seek(0)
    with np.load(file, allow_pickle=False) as saved:
        resumed = type(half).load(other, dict(saved))
    for _ in range(STEPS):
        half, resumed = _step(solver, p, half), _step(solver, other, resumed)
    ours, theirs = half.export(), resumed.export()
    different = [k for k in ours if k not in theirs or not np.array_equal(ours[k], theirs[k], equal_nan=True)]
    if different:
        raise Failed(f"{2 * STEPS} steps are not {STEPS} and {STEPS}: {', '.join(different)} differs after load")
    return f"{STEPS} steps, export, load, {STEPS} steps: the bits of {2 * STEPS}"


def repeats(solver: Any, kind: str) -> str:
    first, second = (_states(solver, problem(kind))[-1].W for _ in range(2))
    if not np.array_equal(first, second):
        raise Failed("two runs with the same seed differ: draw from the rng that init gets, and from nothing else")
    return "same seed, same bits"


def reaches(solver: Any, kind: str) -> str:
    result = solve(solver, problem(kind), tol=TOLERANCE, max_steps=MOST_STEPS, max_seconds=MOST_SECONDS)
    if result.status in ("converged", "stationary"):
        return f"{result.reason}, {result.steps} steps"
    if result.status == "diverged":
        raise Failed(result.reason)
    raise Noted(f"not to {TOLERANCE:g}: {result.status}: {result.reason}; gap {result.certificate.gap:.2g}")


def descends(solver: Any, kind: str) -> str:
    if not solver.monotone:
        return "not claimed"
    p = problem(kind)
    values = []
    try:
        for state in islice(iterate(solver, p, rng=np.random.default_rng(3)), 12 * STEPS + 1):
            values.append(p.value(state.W))
    except Breakdown as breakdown:  # at the rounding level a method may have nowhere to go
        if len(values) <= STEPS:
            raise Failed(f"breaks down after {len(values) - 1} steps: {breakdown}") from breakdown
    for k, (old, new) in enumerate(pairwise(values), 1):
        if not new <= old * (1.0 + RISE):
            raise Failed(f"monotone = True, but step {k} takes F from {old:.12g} to {new:.12g}")
    return f"F never rises in {len(values) - 1} steps"


def takes_forms(solver: Any, kind: str) -> str:
    dense = _states(solver, problem(kind))[-1].W
    sparse = _states(solver, problem(kind, layout="csr"))[-1].W
    single = _states(solver, problem(kind, dtype="float32"))[-1].W
    if not np.allclose(dense, sparse, rtol=1e-6, atol=1e-8):  # on different ways they must come to the same F
        ends = [solve(solver, problem(kind, layout=layout), max_steps=500) for layout in ("dense", "csr")]
        if {end.status for end in ends} != {"converged"}:
            raise Failed(
                f"dense and CSR rows differ by {np.abs(dense - sparse).max():.2g} after {STEPS} steps, and after at "
                f"most 500 one has {ends[0].status}, the other {ends[1].status}"
            )
    if single.dtype != np.float32:
        raise Failed(f"state.W is {single.dtype} on data of float32: make arrays with problem.zeros() or of W's type")
    return "CSR like dense, float32 stays float32"


Check = Callable[..., str]
DECLARATIONS: tuple[tuple[str, Check], ...] = (
    ("frozen dataclass", is_frozen),
    ("declarations", declares),
    ("memory", tells_memory),
)
BEHAVIOUR: tuple[tuple[str, Check], ...] = (
    ("init and step", steps),
    ("leaves its start alone", leaves_start),
    ("resumes", resumes),
    ("repeats", repeats),
    ("forms of data", takes_forms),
    ("monotone", descends),
    ("reaches 1e-6", reaches),
)


def _run(about: str, function: Check, *arguments: Any) -> Finding:
    try:
        return Finding("ok", about, function(*arguments))
    except Noted as note:
        return Finding("note", about, str(note))
    except Failed as failure:
        return Finding("FAIL", about, str(failure))
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        file = frames[-1].filename.replace("\\", "/").rpartition("/")[2]
        text = (str(error).strip() or "no message").splitlines()[0]
        return Finding("FAIL", about, f"{type(error).__name__}: {text} ({file}, line {frames[-1].lineno})")


def _states(solver: Any, p: Problem, W0: Any = None) -> list[Any]:
    """States of init and of `STEPS` steps."""
    try:
        return list(islice(iterate(solver, p, W0, np.random.default_rng(3)), STEPS + 1))
    except Breakdown as breakdown:
        raise Failed(f"breaks down within {STEPS} steps: {breakdown}") from breakdown


def _step(solver: Any, p: Problem, state: Any) -> Any:
    try:
        return solver.step(p, state)
    except Breakdown:
        return state


def _rows(p: Problem) -> Any:
    home: Any = p.home
    return home.parts[0].design.X


def _described(value: Any) -> str:
    return f"an array {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


def _spoken(kind: str) -> str:
    return "no penalty" if kind == "none" else kind
