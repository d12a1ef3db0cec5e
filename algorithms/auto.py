"""The solver for a problem, by a rule on its shape; nothing is tried out. What it takes for smooth F is from [NW06].

none, l2   dense, d > 2 n            L-BFGS in the row space: its steps cost what n columns cost
           p <= 1500                 L-BFGS, preconditioned: its matrices (p, p) cost less than the steps they save
           sparse and wider          Newton-CG, preconditioned: six arrays of W's size move in a product, not sixty
           dense and wider           L-BFGS
l1, e.net  rows in one place         proximal Newton on a working set
           elsewhere                 OWL-QN
l0                                   PIANO, accelerated

What would take more memory than `MOST_BYTES` is left for the next that fits. The figures behind the rule: docs/auto.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from pianobench.algorithms.contract import Solver
from pianobench.algorithms.registry import SOLVERS, solver_refusal
from pianobench.problems import Problem
from pianobench.problems.penalties import Array

WIDE = 2  # features for each sample from which on the row space is smaller by enough
NARROW = 1500  # variables of a class up to which (p, p) matrices pay
MOST_ROWS = 5000  # of a decomposition
MOST_BYTES = 4 << 30
CHOICES = (
    *("lbfgs-row-space", "lbfgs-preconditioned", "newton-cg-preconditioned", "lbfgs"),
    *("prox-newton-active", "owl-qn", "piano-accelerated"),
)


def choose(problem: Problem, tol: float = 1e-6) -> Solver:
    """The solver for the problem, whatever relative gap `tol` is asked for."""
    del tol
    for key in _wanted(problem):
        solver = cast("Solver", SOLVERS[key].solver_class())
        if solver_refusal(solver, problem, MOST_BYTES) is None:
            return solver
    return solver


def _wanted(problem: Problem) -> list[str]:
    kind, dense = problem.pen.kind, problem.layout == "dense"
    if kind == "l0":
        return ["piano-accelerated"]
    if kind in ("l1", "elasticnet"):
        return ["prox-newton-active", "owl-qn"]
    wanted = ["lbfgs-row-space"] if dense and WIDE * problem.n < problem.d and problem.n <= MOST_ROWS else []
    wanted += ["lbfgs-preconditioned"] if problem.p <= NARROW else []
    return [*wanted, "lbfgs" if dense else "newton-cg-preconditioned", "lbfgs"]


@dataclass(frozen=True)
class Auto:
    """The solver that `choose` names."""

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l1", "l2", "elasticnet", "l0"})
    needs: ClassVar[frozenset[str]] = frozenset()
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one step of the solver chosen"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        apart = {"lbfgs-row-space": WIDE * n < p and n <= MOST_ROWS, "lbfgs-preconditioned": p <= NARROW}
        open_to_it = (key for key in CHOICES if apart.get(key, True))  # the rest the rule never takes at this size
        said = (SOLVERS[key].solver_class().memory(n, p, m, nnz, itemsize) for key in open_to_it)
        return max((one for one in said if one <= MOST_BYTES), default=0)

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> Any:
        return choose(problem).init(problem, W0, rng)

    def step(self, problem: Problem, state: Any) -> Any:
        return choose(problem).step(problem, state)
