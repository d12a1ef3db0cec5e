"""ADMM for multinomial logistic regression, split by samples [GY13, section 5; Boyd11, section 3].

Minimises F(W) = l(W) + l2/2 |W|^2 (l2 may be 0) as

    min  sum_j a_j (lse(z_j) - z_{j,y_j}) + l2/2 |W|^2   subject to  Z = X W          Z, U (n, m), U the scaled dual
    W  <-  (rho X'X + l2)^-1 rho X'(Z - U)               a ridge regression, X'X without weights
    z_j <- argmin a_j (lse(z) - z_{y_j}) + rho/2 |z - (x_j . W + u_j)|^2      each sample alone
    U  <-  U + X W - Z

Z and U stay with the rows. Converges for any rho; not monotone in F(W).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pianobench.algorithms.contract import State, check_squares
from pianobench.problems import Problem
from pianobench.problems.cost import Cost
from pianobench.problems.kernels.admm import split_step
from pianobench.problems.penalties import Array
from pianobench.problems.rows import Field


@dataclass(kw_only=True)
class AdmmMlrState(State):
    """State of ADMM; W is the ridge regression's solution, the point to be judged."""

    basis: Array  # (p, r) B with B' X'X B = diag(mu) and B' diag(l2) B = diag(nu)
    mu: Array  # (r, 1)
    nu: Array  # (r, 1)
    Z: Field  # (n, m)
    U: Field  # (n, m)
    T: Field  # (n, m) Z - U
    rho: float
    steps: int = 0
    primal: float = math.inf  # |X W - Z|
    dual: float = math.inf  # rho |Z - Z_old|


@dataclass(frozen=True)
class AdmmMlr:
    """ADMM for MLR.

    Parameters
    ----------
    rho : float
        Weight of the split at the start.
    balance_steps : int
        First steps in which rho is doubled or halved when one residual is ten times the other [Boyd11, section 3.4.1].
    inner_accuracy : float
        Largest element of the gradient of a sample's problem, over rho.
    inner_steps : int
        Newton steps a sample at most.
    """

    rho: float = 1.0
    balance_steps: int = 100
    inner_accuracy: float = 1e-12
    inner_steps: int = 20

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l2"})
    needs: ClassVar[frozenset[str]] = frozenset({"fields", "gram"})
    monotone: ClassVar[bool] = False
    step_is: ClassVar[str] = "one update of W, Z and U"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return 3 * n * m * itemsize + 4 * p * p * 8 + 2 * p * m * itemsize

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> AdmmMlrState:
        K = problem.gram()
        check_squares(K, K.dtype)
        basis, mu, nu = _diagonalise(K, np.broadcast_to(problem.pen.l2, (problem.p, 1)))
        problem.meter.charge(Cost(flops=24.0 * problem.p**3, depth=2.0 * problem.p))  # two eigendecompositions
        Z = problem.field(problem.m, dtype=W0.dtype)
        T = problem.field(problem.m, dtype=W0.dtype)
        problem.xw(W0, Z)
        problem.xw(W0, T)
        U = problem.field(problem.m, dtype=W0.dtype)
        return AdmmMlrState(W=W0.copy(), basis=basis, mu=mu, nu=nu, Z=Z, U=U, T=T, rho=self.rho)

    def step(self, problem: Problem, state: AdmmMlrState) -> AdmmMlrState:
        rho, rescale = self._balanced(state)
        # T is Z - U for the old rho; U changes by `rescale`, so Z - rescale U = rescale T + (1 - rescale) Z
        R = (
            problem.xt(state.T)
            if rescale == 1.0
            else rescale * problem.xt(state.T) + (1.0 - rescale) * problem.xt(state.Z)
        )
        B = state.basis
        problem.meter.charge(Cost(flops=4.0 * B.size * problem.m))
        W = (B @ ((B.T @ (rho * R.astype(np.float64))) / (rho * state.mu + state.nu))).astype(state.W.dtype)
        primal, dual, _, _ = problem.map_rows(
            split_step,
            state.Z,
            state.U,
            state.T,
            W=W,
            parameters=(rho, rescale, self._accuracy(W), self.inner_steps),
        )
        return replace(state, W=W, rho=rho, steps=state.steps + 1, primal=math.sqrt(primal), dual=rho * math.sqrt(dual))

    def _balanced(self, state: AdmmMlrState) -> tuple[float, float]:
        """rho for this step and rho_old / rho: a scaled dual shrinks when rho grows."""
        # departs: the dual residual is rho |X' (Z - Z_old)|, whose units are not those of |X W - Z|; X' is left out
        if 0 < state.steps <= self.balance_steps:
            if state.primal > 10.0 * state.dual:
                return 2.0 * state.rho, 0.5
            if state.dual > 10.0 * state.primal:
                return 0.5 * state.rho, 2.0
        return state.rho, 1.0

    def _accuracy(self, W: Array) -> float:
        return max(self.inner_accuracy, 4.0 * float(np.finfo(W.dtype).eps))


def _diagonalise(K: Array, l2: Array) -> tuple[Array, Array, Array]:
    """B (p, r), mu, nu (r, 1) with ``B' K B = diag(mu)``, ``B' diag(l2) B = diag(nu)``: one factorisation for any rho.

    Directions in which both vanish are left out: W is 0 there, as a minimum-norm solution is.
    """
    balance = np.trace(K) / float(l2.sum()) if np.any(l2) else 1.0  # or the smaller of the two loses its digits
    scale = 1.0 / np.sqrt(np.maximum(np.diag(K) + balance * l2[:, 0], np.finfo(np.float64).tiny))
    M = scale[:, None] * (K + np.diag(balance * l2[:, 0])) * scale
    e, E = np.linalg.eigh(M)
    kept = e > e[-1] * len(K) * np.finfo(np.float64).eps
    Q = scale[:, None] * E[:, kept] / np.sqrt(e[kept])
    mu, R = np.linalg.eigh(Q.T @ K @ Q)
    mu = np.clip(mu, 0.0, 1.0)[:, None]
    return Q @ R, mu, (1.0 - mu) / balance
