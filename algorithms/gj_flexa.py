"""GJ-FLEXA, inexact Gauss-Jacobi with FLEXA's selection [FSS15], on single elements.

Minimises F(W) = l(W) + l2/2 |W|^2 + l1 |W|_1, either strength may be 0. All best responses W^ are computed at W^k; the
elements that would move farthest,

(7) S = {li : |w^_li - w_li| >= sigma max |W^ - W|}

are dealt out to K groups, and each group goes through its elements one after another as in inexact Gauss-Jacobi,

(8) w_li <- w_li + gamma (w^_li - w_li)     w^ of (1), anew, with G_li and h_li at the group's own fresh values

while it sees the other groups at W^k. Equations (1) to (6) are those of `flexa_rules`. K = 1, the default, is the
sequential method that [JB20] calls the best of the three; sigma = 0 is inexact Gauss-Jacobi.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pianobench.algorithms.flexa_rules import FlexaRules, FlexaState
from pianobench.algorithms.smlr import sweep_memory
from pianobench.problems import Problem
from pianobench.problems.penalties import Array


@dataclass(frozen=True, kw_only=True)
class GjFlexa(FlexaRules):
    """GJ-FLEXA; see `FlexaRules` for the other parameters.

    Parameters
    ----------
    groups : int
        K.
    sigma : float
        Least share of the largest move at which an element is updated; 0 updates all.
    """

    groups: int = 1
    sigma: float = 0.5

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l1", "l2", "elasticnet"})
    needs: ClassVar[frozenset[str]] = frozenset({"columns", "curvature"})
    monotone: ClassVar[bool] = False  # it is with the default tau, but not with every tau
    step_is: ClassVar[str] = "one sweep over the selected elements, groups side by side, taken or thrown away"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return sweep_memory(n, p, m, nnz, itemsize, self.groups) + 9 * p * m * itemsize

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> FlexaState:
        return self.start(problem, W0, selects=True)

    def step(self, problem: Problem, state: FlexaState) -> FlexaState:
        _, S = self.selected(problem, state, self.sigma)  # (1), (7)
        # departs: the groups are equal parts of what is selected; in the paper S is cut by fixed groups of all elements
        order, margins = np.flatnonzero(S if problem.active is None else S & problem.active), problem.scores(state.W)
        W, _ = problem.sweep(self.rule(state.tau), state.W, margins, order, self.groups, state.gamma)  # (8)
        return self.judged(problem, state, W)  # (4), (5), (6)
