"""Reweighted l1, the rival of l0 by a sequence of convex problems [CWB08, section 2.2].

Takes F(W) = l(W) + l0 |W|_0, whose count no descent can follow, and minimises in its place the concave

(1) l(W) + l0 sum_li log(|w_li| + e_l)

by its tangents, each a weighted l1 problem:

(2) W <- argmin_V  l(V) + sum_li s_li |v_li|     from the last W, by FISTA, inexactly
(3) s_li <- l0 / (|w_li| + e_l)                  s_li = l0 / u_l at the start: plain l1

(1) does not rise where (2) is solved; F may. A fixed point is stationary for (1): a weight that is kept feels the slope
l0 / (|w| + e_l), so that it is smaller than on its support alone it would be. Rows that l0 does not touch have s = 0.
W is judged by F; the run ends as stationary once a round moves no weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pianobench.algorithms.contract import State, check_squares
from pianobench.algorithms.fista import Fista, FistaState
from pianobench.problems import Penalty, Problem
from pianobench.problems.kernels.fields import total_weight
from pianobench.problems.penalties import Array


@dataclass(kw_only=True)
class L1ReweightedState(State):
    """State of reweighted l1."""

    s: Array  # (p, m) strengths of (2)
    u: Array  # (p, 1) unit of each row of W
    L: float  # FISTA's estimate of the gradient's Lipschitz constant
    change: float = math.inf  # max |W - W_old| / u of the last round


@dataclass(frozen=True)
class L1Reweighted:
    """Reweighted l1.

    Parameters
    ----------
    eps : float
        e_l in units of u_l = (sum_j a_j x_jl^2 / sum_j a_j)^(-1/2): the size below which a weight counts as small.
    inner_steps : int
        FISTA's steps in a round.
    """

    eps: float = 0.1
    inner_steps: int = 50

    penalties: ClassVar[frozenset[str]] = frozenset({"l0"})
    needs: ClassVar[frozenset[str]] = Fista.needs
    monotone: ClassVar[bool] = False
    step_is: ClassVar[str] = "one weighted l1 problem by FISTA, and new strengths"

    def __post_init__(self) -> None:
        if not 0.0 < self.eps < math.inf:
            raise ValueError(f"eps={self.eps!r}: a finite number above 0 is expected")
        if self.inner_steps < 1:
            raise ValueError(f"inner_steps={self.inner_steps!r}: 1 or more are expected")

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return Fista().memory(n, p, m, nnz, itemsize) + 16 * p * m

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> L1ReweightedState:
        (total,) = problem.map_rows(total_weight)
        mean = problem.squares() / total
        check_squares(mean, W0.dtype)
        # departs: the paper's 1 and epsilon are in the units of its unknowns; u makes them the same in any units of X
        u = 1.0 / np.sqrt(np.where(mean > 0.0, mean, 1.0))
        s = np.broadcast_to(problem.pen.l0 / u, W0.shape)
        return L1ReweightedState(W=W0.copy(), s=s, u=u, L=Fista().init(problem, W0, rng).L)

    def step(self, problem: Problem, state: L1ReweightedState) -> L1ReweightedState:
        convex = problem.under(Penalty(l1=state.s))
        inner = FistaState(W=state.W, V=state.W, t=1.0, L=state.L)
        for _ in range(self.inner_steps):  # (2)
            inner = Fista().step(convex, inner)
        W = inner.W
        s = problem.pen.l0 / (np.abs(W.astype(np.float64)) + self.eps * state.u)  # (3)
        change = float(np.max(np.abs(W - state.W) / state.u))
        return L1ReweightedState(W=W, rejected=state.rejected, s=s, u=state.u, L=inner.L, change=change)
