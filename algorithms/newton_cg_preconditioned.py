"""Newton-CG with the Hessian's diagonal as preconditioner.

Minimises a smooth F(W): no penalty or l2. Monotone; superlinear rate. Truncated Newton as in `newton_cg`
[NW06, algorithm 7.1], with

(1) H D = -G by conjugate gradients in the metric diag(H), from 0, until |H D + G| <= eta |G| there   [algorithm 5.3]
(2) eta = min(forcing, sqrt(|G| / |G_0|)), in the same metric

The diagonal takes a pass over X and makes the method blind to the units of the columns, of which text has many: a rare
word's weights are as near their best as a common one's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from pianobench.algorithms.centring import without_free_shift
from pianobench.algorithms.newton_cg import NewtonCg
from pianobench.problems import Problem
from pianobench.problems.oracles import Curvature
from pianobench.problems.penalties import Array

FLAT = 1e-12  # smallest element of the diagonal, as a share of the largest: a column without entries has none


@dataclass(frozen=True)
class NewtonCgPreconditioned(NewtonCg):
    """Preconditioned Newton-CG; parameters as of `NewtonCg`."""

    forcing: float = 0.3

    step_is: ClassVar[str] = "one Newton step by preconditioned conjugate gradients with its line search"

    def inverse(self, problem: Problem, H: Curvature) -> Callable[[Array], Array]:
        h = H.diag()
        h = h.clip(h.dtype.type(FLAT) * h.max(initial=0.0) or h.dtype.type(1.0))
        return lambda R: without_free_shift(problem, without_free_shift(problem, R) / h)
