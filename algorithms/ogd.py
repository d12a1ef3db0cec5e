"""Online gradient descent [Zin03; HAK07 with l2], one pass over the rows after another.

A round t plays W_t, sees a batch of rows B_t, and pays f_t(W_t) with

(1) f_t(W) = sum_{j in B_t} a_j (lse(x_j W) - x_j . w_{y_j}) + lam/2 |W|^2,    lam = l2 / rounds of a pass

so that the f_t of a pass add up to F (none or l2). Then

(2) W_{t+1} = W_t - eta_t grad f_t(W_t)
(3) eta_t = eta_1 / sqrt(t)                  where no penalty acts [Zin03, theorem 1]
(4) eta_t = 1 / (lam t + 1/eta_1)            on the rows of W with l2 [HAK07, theorem 1, has 1 / (lam t)]

Against any fixed U the regret sum_t f_t(W_t) - f_t(U) is at most |W - U|^2 sqrt(T) / (2 eta_1) + eta_1 sum_t |g_t|^2 /
(2 sqrt(t)), with |W - U| the largest distance so far, under (3); under (4) |W_1 - U|^2 / (2 eta_1) + sum_t eta_t
|g_t|^2 / 2, which grows as log T. It is the average regret that goes to 0: W, the last one played, keeps a distance
from the minimiser for as long as eta_t does. Rows without l2 (the intercept) follow (3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pianobench.algorithms.contract import Breakdown, State, check_squares
from pianobench.problems import Problem
from pianobench.problems.cost import Cost
from pianobench.problems.kernels import online
from pianobench.problems.kernels.online import Pace
from pianobench.problems.penalties import Array


@dataclass(kw_only=True)
class OnlineState(State):
    """State of an online method."""

    seed: int  # of the orders of the rows, each made from it and the number of its pass
    passes: int = 0
    t: int = 0  # rounds so far
    count: int  # rows of positive weight: a pass has ceil(count / batch) rounds
    paid: float = 0.0  # sum over t of f_t(W_t), the penalty left out
    rate: float  # eta_1
    peak: Array  # (p,) largest |x_l| of each column
    A: Array  # (p, m) sums of (g / peak)^2; of no rows in gradient descent


@dataclass(frozen=True)
class Ogd:
    """Online gradient descent.

    Parameters
    ----------
    eta : float
        eta_1 in units of 1 over the mean curvature of a round, ``batch * sum_j a_j |x_j|^2 / (2 n)`` by Böhning's
        bound: the same on X in any units. Infinity is (4) as published.
    batch : int
        Rows of a round.
    """

    eta: float = 1.0
    batch: int = 1

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l2"})
    needs: ClassVar[frozenset[str]] = frozenset({"rows in order"})
    monotone: ClassVar[bool] = False
    step_is: ClassVar[str] = "one pass over the rows, batch after batch"

    def __post_init__(self) -> None:
        check_pace(self.eta, self.batch)

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return 2 * p * m * itemsize + 8 * p * m + 40 * p + 24 * n  # both W, a batch's gradient, columns, an order

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> OnlineState:
        count, _, _ = problem.map_rows(online.facts)
        curvature = self.batch * float(problem.squares().sum()) / (2.0 * count)
        check_squares(curvature, W0.dtype)
        # departs: 1 / (lam t) would go 1 / (lam eta_1) times too far at first, and does not exist where lam = 0
        rate = self.eta / (curvature or 1.0)
        if math.isinf(rate) and not np.all(problem.pen.l2):
            raise Breakdown(f"eta={self.eta} has no meaning for weights without l2: give a number")
        none, peak = np.zeros((0, problem.m)), np.ones(problem.p)
        return OnlineState(W=W0.copy(), seed=int(rng.integers(2**62)), count=count, rate=rate, peak=peak, A=none)

    def step(self, problem: Problem, state: OnlineState) -> OnlineState:
        return one_pass(problem, state, Pace(self.batch, -(-state.count // self.batch), start=1.0 / state.rate))


def one_pass(problem: Problem, state: OnlineState, pace: Pace) -> OnlineState:
    """The state after a pass over the rows, in an order drawn anew."""
    order = np.random.default_rng([state.seed, state.passes]).permutation(problem.n)
    given = order, state.t, pace, problem.pen.l2, problem.active, state.peak, state.A
    W, A, paid = problem.map_rows(online.epoch, W=state.W, parameters=given)  # (1) to (4)
    problem.meter.charge(problem.prices.product(2.0) + Cost(depth=pace.rounds))  # besides its product and its softmax
    return OnlineState(
        W=W,
        rejected=state.rejected,
        seed=state.seed,
        passes=state.passes + 1,
        t=state.t + pace.rounds,
        count=state.count,
        paid=state.paid + paid,
        rate=state.rate,
        peak=state.peak,
        A=A,
    )


def check_pace(eta: float, batch: int) -> None:
    """Refuse what is no length of a step or no number of rows.

    Raises
    ------
    ValueError
    """
    if not eta > 0.0:
        raise ValueError(f"eta={eta!r}: a number above 0 is expected")
    if batch != int(batch) or batch < 1:
        raise ValueError(f"batch={batch!r}: a whole number of rows, 1 or more, is expected")
