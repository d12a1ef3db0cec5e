"""Which solver a problem gets where none is named."""

from __future__ import annotations

from pianobench.algorithms.contract import Solver
from pianobench.algorithms.registry import make_solver
from pianobench.problems import Problem

RULE = {"none": "lbfgs", "l1": "prox-newton-active", "elasticnet": "prox-newton-active", "l0": "piano-accelerated"}
SCORES = 10**7  # n m up to which Newton's method keeps arrays of that size


def choose(problem: Problem, tol: float) -> Solver:
    """The solver for the problem's penalty and size, whatever relative gap `tol` is asked for."""
    del tol
    if problem.pen.kind == "l2":
        return make_solver("newton-cg" if problem.n * problem.m <= SCORES else "lbfgs")
    return make_solver(RULE[problem.pen.kind])
