"""FLEXA, the flexible parallel algorithm with selection [FSS15], on single elements.

Minimises F(W) = l(W) + l2/2 |W|^2 + l1 |W|_1, either strength may be 0. All best responses W^ are computed at W^k, and
those that would move farthest are taken, in parallel:

(7) S = {li : |w^_li - w_li| >= sigma max |W^ - W|},    w_li <- w_li + gamma (w^_li - w_li) for li in S

Equations (1) to (6) are those of `flexa_rules`. Limit points are stationary, so minimisers here, where tau is large or
gamma goes to 0 slowly; no rate is claimed. As published, with tau="published", the rules stop looking at F after 100
changes of tau, and the method may diverge; by default F cannot rise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pianobench.algorithms.flexa_rules import FlexaRules, FlexaState
from pianobench.problems import Problem
from pianobench.problems.penalties import Array


@dataclass(frozen=True, kw_only=True)
class Flexa(FlexaRules):
    """FLEXA; see `FlexaRules` for the other parameters.

    Parameters
    ----------
    sigma : float
        Least share of the largest move at which an element is updated; 0 updates all.
    """

    sigma: float = 0.5

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l1", "l2", "elasticnet"})
    needs: ClassVar[frozenset[str]] = frozenset({"curvature"})
    monotone: ClassVar[bool] = False  # it is with the default tau, but not with every tau
    step_is: ClassVar[str] = "one update of the selected elements at once, taken or thrown away"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return (n * m + 9 * p * m) * itemsize  # probabilities for h; W, G, h, and the temporaries of (1)

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> FlexaState:
        return self.start(problem, W0, selects=True)

    def step(self, problem: Problem, state: FlexaState) -> FlexaState:
        D, S = self.selected(problem, state, self.sigma)  # (1)
        W = state.W + state.W.dtype.type(state.gamma) * np.where(S, D, 0)  # (7)
        return self.judged(problem, state, W)  # (4), (5), (6)
