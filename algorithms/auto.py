"""Which solver a problem gets where none is named."""

from __future__ import annotations

from pianobench.algorithms.contract import Solver
from pianobench.algorithms.registry import make_solver
from pianobench.problems import Problem

RULE = {"none": "lbfgs", "l2": "lbfgs", "l1": "prox-newton", "elasticnet": "prox-newton", "l0": "piano"}


def choose(problem: Problem, tol: float) -> Solver:
    """The solver for the problem's penalty, whatever relative gap `tol` is asked for."""
    del tol
    return make_solver(RULE[problem.pen.kind])
