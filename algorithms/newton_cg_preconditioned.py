"""Newton-CG with the Hessian's diagonal as preconditioner.

Minimises a smooth F(W): no penalty or l2. Monotone; superlinear rate. Truncated Newton as in `newton_cg`
[NW06, algorithm 7.1], with

(1) H D = -G by conjugate gradients in the metric diag(H), from 0, until |H D + G| <= eta |G| there   [algorithm 5.3]
(2) eta = min(forcing, sqrt(|G| / |G_0|)), in the same metric

The diagonal takes a pass over X and makes the method blind to the units of the columns, of which text has many: a rare
word's weights are as near their best as a common one's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pianobench.algorithms.centring import without_free_shift
from pianobench.algorithms.lbfgs import dot
from pianobench.algorithms.line_search import armijo
from pianobench.algorithms.newton_cg import NewtonCgState, conjugate_gradients
from pianobench.problems import Problem
from pianobench.problems.penalties import Array

FLAT = 1e-12  # smallest element of the diagonal, as a share of the largest: a column without entries has none


@dataclass(frozen=True)
class NewtonCgPreconditioned:
    """Preconditioned Newton-CG.

    Parameters
    ----------
    forcing : float
        Largest eta.
    inner_steps : int
        Conjugate gradient steps at most.
    sufficient : float
        Share of the decrease promised by the slope that a step must bring.
    """

    forcing: float = 0.3
    inner_steps: int = 250
    sufficient: float = 1e-4

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l2"})
    needs: ClassVar[frozenset[str]] = frozenset({"curvature", "line"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one Newton step by conjugate gradients with its line search"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return (3 * n * m + 9 * p * m) * itemsize

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> NewtonCgState:
        f, G = problem.smooth(W0)
        return NewtonCgState(W=W0.copy(), f=f, G=G, size=0.0)

    def step(self, problem: Problem, state: NewtonCgState) -> NewtonCgState:
        W, f, G = state.W, state.f, state.G
        H = problem.curvature(W)
        h = H.diag()
        h = np.maximum(h, h.dtype.type(FLAT) * h.max(initial=0.0) or h.dtype.type(1.0))

        def inverse(R: Array) -> Array:
            return without_free_shift(problem, without_free_shift(problem, R) / h)

        R = without_free_shift(problem, G)
        length = math.sqrt(max(dot(R, inverse(R)), 0.0))
        size = state.size or length
        eta = min(self.forcing, math.sqrt(length / size) if size else 0.0)  # (2)
        D, products = conjugate_gradients(H, R, eta, self.inner_steps, inverse)  # (1)
        line, slope = problem.line(W, D), dot(G, D)
        noise = 4.0 * float(np.finfo(W.dtype).eps) * abs(f)
        t = armijo(line, f, slope, 1.0, sufficient=self.sufficient, noise=noise) if slope < 0.0 else None
        products += state.products
        if t is None:  # F has no digits left to fall by
            return replace(state, rejected=state.rejected + 1, products=products, size=size)
        f, G = line.smooth(t)
        return replace(state, W=line.take(t), f=f, G=G, products=products, size=size)
