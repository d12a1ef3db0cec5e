"""The methods: one file each, the registry, and the loop that all of them share."""

if not __name__.startswith("pianobench."):
    raise ImportError("import pianobench.algorithms, not algorithms: the folder is a part of pianobench")

from pianobench.algorithms.contract import Breakdown, Solver, State
from pianobench.algorithms.loop import iterate, solve
from pianobench.algorithms.registry import SOLVERS, make_solver, solver_refusal
from pianobench.algorithms.result import Checkpoint, Result

__all__ = [
    "SOLVERS",
    "Breakdown",
    "Checkpoint",
    "Result",
    "Solver",
    "State",
    "iterate",
    "make_solver",
    "solve",
    "solver_refusal",
]
