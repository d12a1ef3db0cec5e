"""L-BFGS whose first matrix is the Hessian's Kronecker approximation, renewed as the steps go.

Minimises a smooth F(W): no penalty or l2. Monotone; locally linear rate. L-BFGS [NW06, algorithm 7.5] with

(1) H0 = M^-1, M the metric of `kronecker_metric` at a W of before         instead of a multiple of the identity
(2) a new M as soon as the steps since the last have taken as long as it    so it never costs more than the steps do
(3) where M takes longer than a few gradients, it is made of random rows    drawn once: many rows tell no more of it

M is close to the Hessian, so H0 needs no factor gamma and a step of length 1 is nearly always taken. M at W = 0 is the
Hessian: the first step from there is Newton's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.centring import without_free_shift
from pianobench.algorithms.contract import Breakdown, State
from pianobench.algorithms.kronecker_metric import Metric, kronecker_metric, sample, solved, steps_worth
from pianobench.algorithms.lbfgs import dot, line_searched, usable
from pianobench.problems import Problem
from pianobench.problems.kernels.compiled.quasi_newton import first_loop, second_loop
from pianobench.problems.penalties import Array

FEWEST = 10  # steps between two metrics


@dataclass(kw_only=True)
class LbfgsPreconditionedState(State):
    """Its state. The rings have a slot more than pairs are used: a step leaves those of the state before whole."""

    f: float  # F at W
    G: Array  # (p, m) its gradient
    S: Array  # (slots, p m) ring of s_i = W_{i+1} - W_i
    Y: Array  # (slots, p m) ring of y_i = G_{i+1} - G_i
    rho: Array  # (slots,) 1 / s_i.y_i
    newest: int  # slot of the last pair
    pairs: int  # pairs in use
    V: Array  # (p, p) the metric
    U: Array  # (m, m)
    D: Array  # (p, m)
    age: int  # steps since the metric was made
    drawn: NDArray[np.intp] | None = None  # rows that the metric is made of, ascending; None: all


@dataclass(frozen=True)
class LbfgsPreconditioned:
    """Preconditioned L-BFGS.

    Parameters
    ----------
    memory_pairs : int
        Curvature pairs used.
    sufficient, curvature : float
        Constants c1 < c2 of the strong Wolfe conditions.
    """

    memory_pairs: int = 30
    sufficient: float = 1e-4
    curvature: float = 0.9

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l2"})
    needs: ClassVar[frozenset[str]] = frozenset({"curvature", "rows"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one line search"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return (2 * self.memory_pairs + 8) * p * m * itemsize + 8 * (4 * p * p + 2 * m * m) + n * m * (itemsize + 8)

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> LbfgsPreconditionedState:
        f, G = problem.smooth(W0)
        slots = self.memory_pairs + 1
        S, Y = (np.zeros((slots, W0.size), W0.dtype) for _ in range(2))
        drawn = sample(problem, rng)  # (3)
        metric = kronecker_metric(problem, W0, drawn)._asdict()
        return LbfgsPreconditionedState(
            W=W0.copy(), f=f, G=G, S=S, Y=Y, rho=np.zeros(slots), newest=-1, pairs=0, age=0, drawn=drawn, **metric
        )

    def step(self, problem: Problem, state: LbfgsPreconditionedState) -> LbfgsPreconditionedState:
        W, f, G = state.W, state.f, state.G
        D = -self._product(problem, state, G)
        slope = dot(G, D)
        if slope == 0.0:
            raise Breakdown("the gradient is zero to rounding: no direction descends")
        trial = line_searched(problem, W, f, D, slope, self.sufficient, self.curvature)
        if trial is None:  # pairs spoilt by rounding, or a metric that is far off: begin again, W unchanged
            if not state.pairs and not state.age:
                raise Breakdown("no step in the metric lowers F by more than its rounding error")
            return replace(state, rejected=state.rejected + 1, pairs=0, age=0, **self._metric(problem, state, W))
        W_new, f_new, G_new = trial
        changed: dict[str, Any] = {"W": W_new, "f": f_new, "G": G_new, "age": state.age + 1}
        s, y = W_new - W, G_new - G
        if usable(s, y):
            newest, rho = (state.newest + 1) % len(state.S), state.rho.copy()
            state.S[newest], state.Y[newest], rho[newest] = s.ravel(), y.ravel(), 1.0 / dot(s, y)
            changed |= {"newest": newest, "rho": rho, "pairs": min(state.pairs + 1, self.memory_pairs)}
        if changed["age"] >= max(steps_worth(problem, state.drawn), FEWEST):  # (2)
            changed |= {"age": 0, **self._metric(problem, state, W_new)}
        return replace(state, **changed)

    def _product(self, problem: Problem, state: LbfgsPreconditionedState, G: Array) -> Array:
        """``H G`` (p, m), H the inverse Hessian of the pairs and (1): algorithm 7.4."""
        q, alpha = G.ravel().copy(), np.empty(len(state.S))
        ring = state.S, state.Y, state.newest, state.pairs, state.rho, alpha
        first_loop(q, *ring)
        metric = Metric(state.V, state.U, state.D)
        q = problem.only_active(without_free_shift(problem, solved(metric, q.reshape(G.shape)))).ravel()  # (1)
        second_loop(q, *ring)
        return q.reshape(G.shape)

    def _metric(self, problem: Problem, state: LbfgsPreconditionedState, W: Array) -> dict[str, Any]:
        return kronecker_metric(problem, W, state.drawn)._asdict()
