"""L-BFGS [NW06] in coordinates of the space that the rows of X span, for more features than samples.

Minimises F under l2 or without a penalty. W = T V with V (min(n, d), m): see `problems.row_space`. One decomposition of
X, 4 d n^2 operations, and each step then costs what n columns cost and not what d do. V is minimised over by
`LbfgsPreconditioned`, so F falls as it does there. Nothing is approximated: the minimum is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from pianobench.algorithms.contract import Breakdown
from pianobench.algorithms.lbfgs_preconditioned import LbfgsPreconditioned, LbfgsPreconditionedState
from pianobench.problems import Problem
from pianobench.problems.penalties import Array


@dataclass(kw_only=True)
class LbfgsRowSpaceState(LbfgsPreconditionedState):
    """The state of L-BFGS at V, and V; W is T V."""

    point: Array  # (k or k + 1, m) V


@dataclass(frozen=True)
class LbfgsRowSpace:
    """L-BFGS in the row space.

    Parameters
    ----------
    memory_pairs : int
        Curvature pairs used.
    inner_steps : int
        Line searches in one step: W, which takes d n m operations, is made once for all of them.
    """

    memory_pairs: int = 30
    inner_steps: int = 4

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l2"})
    needs: ClassVar[frozenset[str]] = frozenset({"columns", "curvature"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "some line searches"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        k = min(n, p)
        return 8 * (4 * k * p + 2 * k * k) + self._inner().memory(n, k + 1, m, n * k, itemsize)

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> LbfgsRowSpaceState:
        space = problem.row_space
        return self._lifted(problem, self._inner().init(space.problem, space.project(W0), rng))

    def step(self, problem: Problem, state: LbfgsRowSpaceState) -> LbfgsRowSpaceState:
        inner, space = self._inner(), problem.row_space
        known = _values(state, LbfgsPreconditionedState)
        at = LbfgsPreconditionedState(**{**known, "W": state.point})
        for done in range(self.inner_steps):
            try:
                at = inner.step(space.problem, at)
            except Breakdown:
                if done == 0:
                    raise
                break
        return self._lifted(problem, at)

    def _inner(self) -> LbfgsPreconditioned:
        return LbfgsPreconditioned(memory_pairs=self.memory_pairs)

    def _lifted(self, problem: Problem, at: LbfgsPreconditionedState) -> LbfgsRowSpaceState:
        space = problem.row_space
        problem.meter.charge(space.problem.meter.taken())
        problem.meter.charge(problem.prices.product())
        known = _values(at, LbfgsPreconditionedState)
        return LbfgsRowSpaceState(**{**known, "W": space.lift(at.W), "point": at.W})


def _values(state: Any, kind: type[Any]) -> dict[str, Any]:
    return {field.name: getattr(state, field.name) for field in fields(kind)}
