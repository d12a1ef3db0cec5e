"""Inexact Gauss-Jacobi [FSS15], on single elements: groups side by side, Gauss and Seidel inside a group.

Minimises F(W) = l(W) + l2/2 |W|^2 + l1 |W|_1, either strength may be 0. The elements are dealt out to K groups. Each
group starts at W^k and goes through its elements one after another,

(7) w_li <- w_li + gamma (w^_li - w_li)     w^ of (1), with G_li and h_li at the group's own fresh values

while it sees the other groups at W^k; W^{k+1} has the values of all. Equations (1) to (6) are those of `flexa_rules`.
K = 1 is a sequential sweep, one element a group is FLEXA without selection (exact to rounding, tested).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pianobench.algorithms.flexa_rules import FlexaRules, FlexaState
from pianobench.algorithms.smlr import elements, sweep_memory
from pianobench.problems import Problem
from pianobench.problems.penalties import Array


@dataclass(frozen=True, kw_only=True)
class InexactGj(FlexaRules):
    """Inexact Gauss-Jacobi; see `FlexaRules` for the other parameters.

    Parameters
    ----------
    groups : int
        K, of consecutive elements l m + i.
    """

    groups: int = 4

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l1", "l2", "elasticnet"})
    needs: ClassVar[frozenset[str]] = frozenset({"columns"})
    monotone: ClassVar[bool] = False  # it is with the default tau, but not with every tau
    step_is: ClassVar[str] = "one sweep, groups side by side, taken or thrown away"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return sweep_memory(n, p, m, nnz, itemsize, self.groups) + 5 * p * m * itemsize

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> FlexaState:
        return self.start(problem, W0, selects=False)

    def step(self, problem: Problem, state: FlexaState) -> FlexaState:
        order, margins = elements(problem), problem.scores(state.W)
        W, _ = problem.sweep(self.rule(state.tau), state.W, margins, order, self.groups, state.gamma)  # (1), (7)
        return self.judged(problem, state, W)  # (4), (5), (6)
