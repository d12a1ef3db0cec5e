"""The one list that feeds the tests: tiny problems, and every registered solver that takes them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from pianobench.algorithms import SOLVERS, make_solver, solve, solver_refusal
from pianobench.problems import L0, L1, L2, ElasticNet, Penalty, Problem

PENALTIES: dict[str, Penalty | None] = {
    "none": None,
    "l1": L1(1.5),
    "l2": L2(2.0),
    "elasticnet": ElasticNet(1.0, 1.0),
    "l0": L0(0.5),
}
LAYOUTS = ("dense", "csr")
DTYPES = ("float64", "float32")


def draw(n: int = 60, d: int = 3, m: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X (n, d) with zeros, labels drawn from a true softmax (so not separable), weights (n,), some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    X = X.astype(np.float32).astype(np.float64)  # both types hold the same numbers
    Z = X @ rng.normal(size=(d, m)) + rng.gumbel(size=(n, m))
    y = Z.argmax(axis=1)
    y[:m] = np.arange(m)
    return X, y, rng.choice([0.0, 0.5, 1.0, 2.0], size=n, p=[0.1, 0.3, 0.3, 0.3])


SETS = ("signed", "two classes", "counts", "six classes", "dependent", "units")


@cache
def data(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One of six tiny sets, none of them separable: X, labels, weights."""
    if name == "two classes":
        return draw(m=2, seed=1)
    if name == "six classes":
        return draw(n=100, m=6, seed=2)
    X, y, weight = draw()
    if name == "counts":  # no value is negative
        X = np.floor(2.0 * np.abs(X))
    elif name == "dependent":  # one column twice, one empty, and one constant
        X = np.column_stack([X, X[:, 1], np.zeros(len(X)), np.full(len(X), 0.5)])
    elif name == "units":
        X = X * [0.25, 1.0, 4.0] + [0.5, 0.0, 0.0]
    return X, y, weight


@dataclass(frozen=True)
class Case:
    """One problem of the list; `problem()` makes it anew."""

    penalty: str
    layout: str
    intercept: bool
    weighted: bool
    dtype: str
    conditioning: str = "none"
    data: str = "signed"

    def __str__(self) -> str:
        words = [self.penalty, self.layout, "b" * self.intercept, "a" * self.weighted, self.dtype, self.conditioning]
        return "-".join(word for word in (*words, self.data) if word)

    def problem(self, **changes: Any) -> Problem:
        """The problem, with other arguments where given."""
        X, y, weight = data(self.data)
        X = X.astype(changes.pop("dtype", self.dtype))
        arguments: dict[str, Any] = {
            "penalty": PENALTIES[self.penalty],
            "sample_weight": weight if self.weighted else None,
            "fit_intercept": self.intercept,
            "conditioning": self.conditioning,
        }
        return Problem(sp.csr_array(X) if self.layout == "csr" else X, y, **(arguments | changes))

    @property
    def convex(self) -> bool:
        """Whether a gap can be certified."""
        return self.penalty != "l0"


# Every penalty x layout x intercept x weights x dtype. The six sets take turns, each penalty beginning with another, so
# that every method meets each set in either dtype under each penalty that it takes.
CASES = [
    Case(penalty, *one, data=SETS[(start + turn // 2) % len(SETS)])
    for start, penalty in enumerate(PENALTIES)
    for turn, one in enumerate(itertools.product(LAYOUTS, (False, True), (False, True), DTYPES))
] + [
    Case(penalty, "dense", True, True, dtype, "centre+scale") for penalty in PENALTIES for dtype in DTYPES
] + [Case(penalty, "csr", False, True, "float64", "scale") for penalty in PENALTIES]  # fmt: skip


@cache
def takes(key: str, case: Case) -> bool:
    """Whether the solver accepts the problem."""
    return solver_refusal(make_solver(key), case.problem()) is None


PAIRS = [(key, case) for key in SOLVERS for case in CASES if takes(key, case)]
# The closed list of what need not reach the certified gap. Two more are no cases of the list: separable data without a
# penalty or with l0, which have no minimiser (the loop then says so), and FLEXA as published, which is not its default.
BY_REGRET = frozenset({"adagrad", "ogd"})  # their last point need not converge: see test_online
GAP_PAIRS = [(key, case) for key, case in PAIRS if key not in BY_REGRET]
MONOTONE_PAIRS = [(key, case) for key, case in PAIRS if case.dtype == "float64" and make_solver(key).monotone]


def pair_id(value: Any) -> str:
    """Test name of one of a pair's two members."""
    return str(value)


@cache
def lower_bound(case: Case) -> float:
    """A bound on F* of the case in float64, from the solver that the registry lists for its penalty, to 1e-10."""
    problem = case.problem(dtype="float64")
    key = "lbfgs" if case.penalty in ("none", "l2") else "prox-newton"
    result = solve(make_solver(key), problem, tol=1e-10, max_steps=40_000)
    assert result.status == "converged", result.reason
    return result.certificate.lower
