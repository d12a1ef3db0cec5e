"""Solvers that break the contract, each in one way; and one that keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pianobench.algorithms import Breakdown, State
from pianobench.problems import Problem


@dataclass(frozen=True)
class Good:
    """Gradient descent."""

    rate: float = 0.02
    penalties: ClassVar[frozenset[str]] = frozenset({"l2"})
    needs: ClassVar[frozenset[str]] = frozenset()
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one gradient"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return p * m * itemsize

    def init(self, problem: Problem, W0: Any, rng: np.random.Generator) -> State:
        return State(W0.copy())

    def step(self, problem: Problem, state: State) -> State:
        _, gradient = problem.smooth(state.W)
        return State(state.W - self.rate * gradient)


@dataclass
class NotFrozen:
    """A dataclass that is not frozen; the rest as of `Good`."""

    rate: float = 0.02
    penalties, needs, monotone, step_is = Good.penalties, Good.needs, Good.monotone, Good.step_is
    memory, init, step = Good.memory, Good.init, Good.step


class NoDataclass:
    """Nothing of a solver."""


class UnknownPenalty(Good):
    penalties = frozenset({"l3"})


class NeedsMagic(Good):
    needs = frozenset({"magic"})


class NoClaim(Good):
    monotone: Any = None  # type: ignore[misc]


class BadMemory(Good):
    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return 0.5  # type: ignore[return-value]


class Raises(Good):
    def step(self, problem: Problem, state: State) -> State:
        raise KeyError("forgotten")


class BreaksDown(Good):
    def step(self, problem: Problem, state: State) -> State:
        raise Breakdown("cannot go on")


class WrongShape(Good):
    def init(self, problem: Problem, W0: Any, rng: np.random.Generator) -> State:
        return State(W0.copy().ravel())

    def step(self, problem: Problem, state: State) -> State:
        return state


class NotANumber(Good):
    def step(self, problem: Problem, state: State) -> State:
        return State(state.W * np.nan)


class WritesStart(Good):
    def init(self, problem: Problem, W0: Any, rng: np.random.Generator) -> State:
        W0 += 0.1
        return State(W0.copy())


class KeepsStart(Good):
    def init(self, problem: Problem, W0: Any, rng: np.random.Generator) -> State:
        return State(W0)


class WritesData(Good):
    def init(self, problem: Any, W0: Any, rng: np.random.Generator) -> State:
        problem.home.parts[0].design.X[0, 0] += 1e-9
        return State(W0.copy())


class Forgets(Good):
    """Its step length lives outside the state."""

    def step(self, problem: Problem, state: State) -> State:
        count = getattr(state, "count", 0) + 1
        _, gradient = problem.smooth(state.W)
        new = State(state.W - self.rate / count * gradient)
        new.count = count  # type: ignore[attr-defined]
        return new


class OwnDraws(Good):
    def init(self, problem: Problem, W0: Any, rng: np.random.Generator) -> State:
        return State(W0 + 1e-3 * np.random.default_rng().normal(size=W0.shape))


class DenseOnly(Good):
    def step(self, problem: Problem, state: State) -> State:
        if problem.layout == "csr":
            raise TypeError("a dense array is needed")
        return super().step(problem, state)


class DoublePrecision(Good):
    def init(self, problem: Problem, W0: Any, rng: np.random.Generator) -> State:
        return State(W0.astype(np.float64))


class Rises(Good):
    def step(self, problem: Problem, state: State) -> State:
        _, gradient = problem.smooth(state.W)
        return State(state.W - 40 * self.rate * gradient)


class Slow(Good):
    def step(self, problem: Problem, state: State) -> State:
        _, gradient = problem.smooth(state.W)
        return State(state.W - 1e-3 * self.rate * gradient)


class Explodes(Good):
    """Well for the steps that are looked at one by one, then off."""

    monotone = False

    def step(self, problem: Problem, state: State) -> State:
        _, gradient = problem.smooth(state.W)
        factor = 0.01 if state.rejected < 20 else 1e200
        return State(state.W - factor * self.rate * gradient, state.rejected + 1)
