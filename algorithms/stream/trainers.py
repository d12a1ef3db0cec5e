"""How to train on a sample: L-BFGS with the pairs of the run before, or online methods."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from pianobench.algorithms.adagrad import AdaGrad
from pianobench.algorithms.auto import choose
from pianobench.algorithms.lbfgs import Lbfgs, LbfgsState, dot, usable
from pianobench.algorithms.loop import solve
from pianobench.algorithms.owl_qn import OwlQn, OwlQnState
from pianobench.algorithms.stream.contract import Memory, Trained
from pianobench.problems import Problem
from pianobench.problems.penalties import Array


@dataclass(frozen=True)
class LbfgsRun:
    """L-BFGS (l2) or OWL-QN (l1, elastic net) to a certified gap.

    Parameters
    ----------
    tol : float
        Relative gap ``(F - L) / F`` on the sample.
    most : int
        Steps at most.
    carry : bool
        Begin with the curvature pairs of the run before.
    """

    tol: float = 1e-4
    most: int = 200
    carry: bool = True

    def __post_init__(self) -> None:
        _check_run(self.tol, self.most)

    def train(self, problem: Problem, W: Array, memory: Memory, t: int, rng: np.random.Generator) -> Trained:
        _check_penalised(problem)
        method = self.method(problem, memory)
        found = solve(method, problem, W0=W, tol=self.tol, max_steps=self.most, few=True)
        return Trained(found.W, self.memory(problem, found.state) if self.carry else {}, found.steps)

    def method(self, problem: Problem, memory: Memory) -> Lbfgs | OwlQn:
        """The solver that begins with the pairs of the memory."""
        return _LbfgsFrom(given=memory) if problem.pen.kind == "l2" else _OwlQnFrom(given=memory)

    def memory(self, problem: Problem, state: Any) -> Memory:
        """The pairs of its state, y of the loss alone: only that part grows with the rows."""
        return {"pairs_s": state.pairs_s, "pairs_y": state.pairs_y - problem.pen.l2 * state.pairs_s}

    def rescaled(self, memory: Memory, factor: float) -> Memory:
        return {**memory, "pairs_y": memory["pairs_y"] * factor} if memory else {}


Begun = TypeVar("Begun", LbfgsState, OwlQnState)


def _begun(problem: Problem, state: Begun, memory: Memory) -> Begun:
    """The state with the pairs of the memory that still are of positive curvature."""
    pairs = []
    for s, y in zip(memory.get("pairs_s", ()), memory.get("pairs_y", ()), strict=True):
        y = (y + problem.pen.l2 * s).astype(s.dtype, copy=False)
        if usable(s, y):
            pairs.append((s, y))
    if not pairs:
        return state
    s, y = pairs[-1]
    pairs_s, pairs_y = (np.stack(some) for some in zip(*pairs, strict=True))
    return replace(state, pairs_s=pairs_s, pairs_y=pairs_y, gamma=dot(s, y) / dot(y, y))


@dataclass(frozen=True, eq=False)
class _LbfgsFrom(Lbfgs):
    """L-BFGS whose first inverse Hessian is that of given pairs."""

    given: Memory = field(default_factory=dict)

    def init(self, problem: Any, W0: Array, rng: np.random.Generator) -> LbfgsState:
        return _begun(problem, super().init(problem, W0, rng), self.given)


@dataclass(frozen=True, eq=False)
class _OwlQnFrom(OwlQn):
    """OWL-QN whose first inverse Hessian is that of given pairs."""

    given: Memory = field(default_factory=dict)

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> OwlQnState:
        return _begun(problem, super().init(problem, W0, rng), self.given)


@dataclass(frozen=True)
class SolverRun:
    """The solver of the automatic choice to a certified gap; of the run before it takes the model alone.

    Parameters
    ----------
    tol : float
        Relative gap ``(F - L) / F`` on the sample.
    most : int
        Steps at most.
    """

    tol: float = 1e-4
    most: int = 500

    def __post_init__(self) -> None:
        _check_run(self.tol, self.most)

    def train(self, problem: Problem, W: Array, memory: Memory, t: int, rng: np.random.Generator) -> Trained:
        _check_penalised(problem)
        found = solve(choose(problem, self.tol), problem, W0=W, tol=self.tol, max_steps=self.most, rng=rng, few=True)
        return Trained(found.W, {}, found.steps)

    def rescaled(self, memory: Memory, factor: float) -> Memory:
        return {}


def _check_penalised(problem: Problem) -> None:
    if problem.pen.kind not in ("l2", "l1", "elasticnet"):
        raise ValueError(
            f"a stream takes l2, l1 or an elastic net, not {problem.pen.kind}: a sample of few rows may be "
            "separable and then has no minimiser without one; give a small l2"
        )


def _check_run(tol: float, most: int) -> None:
    if not 0.0 < tol < 1.0:
        raise ValueError(f"tol={tol!r}: a relative gap above 0 and below 1 is expected, for example 1e-4")
    if most != int(most) or most < 1:
        raise ValueError(f"most={most!r}: a whole number of steps, 1 or more, is expected")


@dataclass(frozen=True)
class AdaGradPass:
    """One pass of AdaGrad over the rows, whose sums of squares go on from batch to batch.

    Parameters
    ----------
    eta, eps, batch
        Of `AdaGrad`.
    """

    eta: float = 1.0
    eps: float = 1.0
    batch: int = 1

    def train(self, problem: Problem, W: Array, memory: Memory, t: int, rng: np.random.Generator) -> Trained:
        method = AdaGrad(eta=self.eta, eps=self.eps, batch=self.batch)
        state = method.init(problem, W, rng)
        if memory:
            # sums are in units of each column's largest value, which may have grown
            peak = np.maximum(state.peak, memory["peak"][:, 0])
            state = replace(state, A=memory["A"] * (memory["peak"] / peak[:, None]) ** 2, peak=peak)
        state = method.step(problem, state)
        return Trained(state.W, {"A": state.A, "peak": state.peak[:, None]}, 1)

    def rescaled(self, memory: Memory, factor: float) -> Memory:
        return memory


@dataclass(frozen=True)
class OnlineStart:
    """The first model: one pass of an online method, then, ours, L-BFGS from there where `then` is given.

    Parameters
    ----------
    online : AdaGradPass
    then : LbfgsRun, optional
        Without it the first model is that of the pass, as written.
    """

    online: AdaGradPass = AdaGradPass()
    then: LbfgsRun | None = None

    def train(self, problem: Problem, W: Array, memory: Memory, t: int, rng: np.random.Generator) -> Trained:
        first = self.online.train(problem, W, {}, t, rng)
        if self.then is None:
            return Trained(first.W, {}, first.steps)
        second = self.then.train(problem, first.W, {}, t, rng)
        return Trained(second.W, second.memory, first.steps + second.steps)

    def rescaled(self, memory: Memory, factor: float) -> Memory:
        return memory if self.then is None else self.then.rescaled(memory, factor)


@dataclass(frozen=True)
class GradientStep:
    """``W - eta / sqrt(t + 1) * gradient``: with one row a batch the online method of the paper's section 2 [Zin03].

    Parameters
    ----------
    eta : float
        Length of the first step.
    """

    eta: float

    def __post_init__(self) -> None:
        if not 0.0 < self.eta < math.inf:
            raise ValueError(f"eta={self.eta!r}: a finite number above 0 is expected")

    def train(self, problem: Problem, W: Array, memory: Memory, t: int, rng: np.random.Generator) -> Trained:
        _, G = problem.smooth(W)
        return Trained(W - W.dtype.type(self.eta / math.sqrt(t + 1)) * G, {}, 1)

    def rescaled(self, memory: Memory, factor: float) -> Memory:
        return {}
