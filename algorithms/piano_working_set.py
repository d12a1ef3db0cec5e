"""PIANO on a working set of weights [JB20]: sparse multinomial logistic regression where most weights stay 0.

Minimises F(W) = f(W) + l1 |W|_1 (l1 or elastic net). With PG the minimum-norm subgradient of F, one round is

(1) set = {W^k != 0} and of the others with PG != 0 those of the largest |PG|, max(growth nnz(W^k), least m) in all
(2) S_i = max_j sum |x_jl| over the features l of class i in the set: the exponent of the majoriser is short
(3) steps of accelerated PIANO on the set, until max |PG| over it is at most eta max |PG(W^k)| over all weights
(4) W^{k+1} and its gradient over all weights

Rows without l1 (the intercept) are always in. F falls in each round, since every W^k is a point of its set's problem
and the steps in it are monotone. The set takes in the worst violator as long as there is one, so no weight stays 0
that should not. Not in [JB20]: only PIANO's step is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.contract import State
from pianobench.algorithms.owl_qn import pseudo_gradient
from pianobench.algorithms.piano_accelerated import PianoAccelerated
from pianobench.problems import Problem
from pianobench.problems.penalties import Array


@dataclass(kw_only=True)
class PianoWorkingSetState(State):
    """State of PIANO on a working set."""

    f: float  # smooth part of F at W
    G: Array  # (p, m) its gradient
    updates: int = 0  # of all elements of a set, so far
    size: int = 0  # weights in the last set


@dataclass(frozen=True)
class PianoWorkingSet:
    """PIANO on a working set.

    Parameters
    ----------
    eta : float
        Violation left in a round, as a share of what it began with.
    inner_steps : int
        Steps in one round at most.
    growth : float
        Largest size of a set, as a multiple of the weights that are not 0.
    least : int
        Weights a class, to begin with.
    memory_pairs : int
        Of accelerated PIANO.
    """

    eta: float = 0.1
    inner_steps: int = 100
    growth: float = 3.0
    least: int = 10
    memory_pairs: int = 20

    penalties: ClassVar[frozenset[str]] = frozenset({"l1", "elasticnet"})
    needs: ClassVar[frozenset[str]] = frozenset({"moments", "restrict"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one working set, solved inexactly"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        inner = PianoAccelerated(self.memory_pairs).memory(n, p, m, nnz, itemsize)
        return inner + 8 * p * m * itemsize + nnz * (itemsize + 4)  # the columns of the set are a copy

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> PianoWorkingSetState:
        f, G = problem.smooth(W0)
        return PianoWorkingSetState(W=W0.copy(), f=f, G=G)

    def step(self, problem: Problem, state: PianoWorkingSetState) -> PianoWorkingSetState:
        PG = np.abs(pseudo_gradient(state.W, state.G, problem.pen))
        violation = float(PG.max())
        if not violation > 0.0:
            return replace(state, rejected=state.rejected + 1)
        active = working_set(state.W, PG, problem.pen.l1, self.growth, self.least)  # (1)
        sub = problem.restrict(active)  # (2)
        solver = PianoAccelerated(self.memory_pairs)
        inner = solver.init(sub, sub.project(state.W), np.random.default_rng(0))
        rounding = 4.0 * float(np.finfo(state.W.dtype).eps) * float(np.abs(sub.class_sums).max())  # of a gradient
        for _ in range(self.inner_steps):  # (3)
            inner = solver.step(sub, inner)
            left = np.abs(sub.only_active(pseudo_gradient(inner.W, inner.G, sub.pen))).max()
            if left <= max(self.eta * violation, rounding):
                break
        problem.meter.charge(sub.meter.total)
        W = sub.lift(inner.W)
        f, G = problem.smooth(W)  # (4)
        updates, size = state.updates + inner.updates, int(np.count_nonzero(active))
        return replace(state, W=W, f=f, G=G, updates=updates, size=size)


def working_set(W: Array, PG: Array, l1: float | Array, growth: float, least: int) -> NDArray[np.bool_]:
    """The weights (p, m) of (1), from W and ``|PG|`` (p, m)."""
    active: NDArray[np.bool_] = (W != 0) | np.broadcast_to(np.asarray(l1) == 0, W.shape)
    nnz = int(np.count_nonzero(W))
    room = max(math.ceil(growth * nnz) - nnz, least * W.shape[1] - nnz, 1)
    waiting = np.where(active, 0.0, PG).ravel()
    worst = np.argsort(-waiting, kind="stable")[:room]
    active.ravel()[worst[waiting[worst] > 0.0]] = True
    return active
