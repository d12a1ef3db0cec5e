"""AdaGrad, diagonal [DHS11, figure 1 and section 1.4], one pass over the rows after another.

A round t plays W_t, sees a batch of rows B_t, and pays f_t(W_t) + lam/2 |W_t|^2, which add up to F over a pass, see
`ogd`; lam is 0 without l2. With g_t the gradient of f_t at W_t, element by element,

(1) H_t = sqrt(eps + sum_{s <= t} g_s^2)
(2) W_{t+1} = argmin_W  g_t . W + lam/2 |W|^2 + (W - W_t) . H_t (W - W_t) / (2 eta)
            = (W_t - eta g_t / H_t) / (1 + lam eta / H_t)                the composite form, equation 4 of the paper

Against any fixed U the regret is at most sum_li [max_t (W_t - U)_li^2 H_T,li / (2 eta_l) + eta_l sqrt(sum_t g_t,li^2)]
[DHS11, theorem 5], which grows as sqrt(T) at most, and less for columns that are rarely there. It is the average regret
that goes to 0: W, the last one played, need not converge.

(2) is a step of length eta whatever the unit of the column, and so wrong in all units but one. By default eta_l is in
units of the column, as in the normalised updates of [RML13, algorithm 2], whose two scales are known here beforehand:

(3) eta_l = eta / (s_l sqrt(k)),    s_l = max_j |x_jl|,    k the mean over the rows of sum_l (x_jl / s_l)^2
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pianobench.algorithms.ogd import OnlineState, check_pace, one_pass
from pianobench.problems import Problem
from pianobench.problems.kernels import online
from pianobench.problems.kernels.online import Pace
from pianobench.problems.penalties import Array


@dataclass(frozen=True)
class AdaGrad:
    """AdaGrad.

    Parameters
    ----------
    eta : float
        Of (3).
    eps : float
        Of (1), in units of ``s_l^2``.
    batch : int
        Rows of a round.
    """

    eta: float = 1.0
    eps: float = 1.0
    batch: int = 1

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l2"})
    needs: ClassVar[frozenset[str]] = frozenset({"rows in order"})
    monotone: ClassVar[bool] = False
    step_is: ClassVar[str] = "one pass over the rows, batch after batch"

    def __post_init__(self) -> None:
        check_pace(self.eta, self.batch)
        for name, value in (("eta", self.eta), ("eps", self.eps)):
            if not 0.0 < value < math.inf:
                raise ValueError(f"{name}={value!r}: a finite number above 0 is expected")

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return 2 * p * m * itemsize + 24 * p * m + 40 * p + 24 * n  # both W and A, a batch's gradient, an order

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> OnlineState:
        count, peak, k = problem.map_rows(online.facts)
        problem.meter.charge(problem.prices.product(1.0 / problem.m))
        A = np.zeros(W0.shape)
        rate = self.eta / math.sqrt(k or 1.0)
        return OnlineState(W=W0.copy(), seed=int(rng.integers(2**62)), count=count, rate=rate, peak=peak, A=A)

    def step(self, problem: Problem, state: OnlineState) -> OnlineState:
        rounds = -(-state.count // self.batch)
        return one_pass(problem, state, Pace(self.batch, rounds, rate=state.rate, eps=self.eps))  # (1), (2), (3)
