"""Newton's method, known for logistic models as iteratively reweighted least squares (IRLS) [JB20, equations 4 to 6].

Minimises F(W) = l(W) + l2/2 |W|^2 (l2 may be 0): monotone, quadratic rate near the optimum.

(1) H = sum_j a_j (diag(p_j) - p_j p_j') (x) x_j x_j' + l2           (p m, p m), class outer and feature inner
(2) H D = -G
(3) W <- W + t D,  t = 1 halved until F falls by c t G.D             a damped step [NW06, algorithm 3.1]

H is singular: adding one vector v to all classes changes no probability, nor F where v is zero on the penalised rows.
G has no part along such shifts, so in place of the pseudo-inverse (2) is solved with

(4) H + (11'/m) (x) K_u + I (x) N,    K_u = X' (a X) on the rows that no penalty touches, 0 elsewhere,

whose first addition is positive on shifts alone, so that the rows of D for which it is not 0 add up to 0, and whose
second, N the projector on the null space of K_u, leaves D at 0 where X has nothing to say. The step is the
pseudo-inverse's; no class is held fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from pianobench.algorithms.contract import Breakdown, State, check_squares
from pianobench.algorithms.line_search import armijo
from pianobench.problems import Problem
from pianobench.problems.cost import Cost
from pianobench.problems.penalties import Array


@dataclass(kw_only=True)
class IrlsState(State):
    """State of Newton's method."""

    f: float  # F at W
    G: Array  # (p, m) its gradient
    shift: Array  # (p, p) K_u
    null: Array  # (p, p) N, scaled as K_u is


@dataclass(frozen=True)
class Irls:
    """IRLS, damped.

    Parameters
    ----------
    sufficient : float
        c: share of the decrease promised by the slope that a step must bring.
    """

    sufficient: float = 1e-4

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l2"})
    needs: ClassVar[frozenset[str]] = frozenset({"curvature", "fields", "gram", "line"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one Newton step with its line search"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return 8 * (p * m) ** 2 + 6 * 8 * p * p + (3 * n * m + 6 * p * m) * itemsize

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> IrlsState:
        f, G = problem.smooth(W0)
        shift, null = _regular(problem)
        return IrlsState(W=W0.copy(), f=f, G=G, shift=shift, null=null)

    def step(self, problem: Problem, state: IrlsState) -> IrlsState:
        W, f, G, p, m = state.W, state.f, state.G, problem.p, problem.m
        H = problem.curvature(W).dense(most_bytes=8 * (p * m) ** 2)  # (1); `memory` has been asked for
        blocks = H.reshape(m, p, m, p)
        blocks += state.shift[None, :, None, :] / m  # (4)
        for i in range(m):
            blocks[i, :, i, :] += state.null
        if problem.active is not None:
            frozen = np.flatnonzero(~problem.active.T.ravel())
            H[frozen, frozen] = 1.0  # weights that a sub-problem holds at 0
        check_squares(H, H.dtype)
        problem.meter.charge(Cost(flops=(p * m) ** 3 / 3.0, depth=p * m))  # no call of the problem factorises
        try:
            factor = cho_factor(H.T, overwrite_a=True)  # its transpose lies as LAPACK wants it: no copy
        except LinAlgError:
            raise Breakdown("the Hessian is singular to rounding: the probabilities are 0 and 1") from None
        D = -cho_solve(factor, G.T.ravel().astype(np.float64)).reshape(m, p).T  # (2)
        slope = float(np.vdot(G, D))
        line = problem.line(W, D.astype(W.dtype))
        noise = 4.0 * float(np.finfo(W.dtype).eps) * abs(f)
        t = armijo(line, f, slope, 1.0, sufficient=self.sufficient, noise=noise) if slope < 0.0 else None
        if t is None:  # F has no digits left to fall by
            return replace(state, rejected=state.rejected + 1)
        f, G = line.smooth(t)
        return replace(state, W=line.take(t), f=f, G=G)  # (3)


def _regular(problem: Problem) -> tuple[Array, Array]:
    """K_u and N (p, p) of (4), N as large as the diagonal of K_u."""
    free = np.broadcast_to(problem.pen.l2, (problem.p, 1))[:, 0] == 0.0
    if problem.active is not None:
        free &= problem.active.all(axis=1)  # a row with a weight held at 0 cannot be shifted
    shift, null = np.zeros((problem.p, problem.p)), np.zeros((problem.p, problem.p))
    if free.any():
        rows = np.ix_(free, free)
        K = problem.gram(problem.weights())[rows]
        check_squares(K, K.dtype)
        size = np.sqrt(np.diag(K))
        size[size == 0.0] = 1.0
        e, E = np.linalg.eigh(K / size[:, None] / size)
        E = size[:, None] * E[:, e <= e[-1] * len(e) * np.finfo(np.float64).eps]
        shift[rows], null[rows] = K, E @ E.T
    return shift, null
