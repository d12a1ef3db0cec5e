"""Solvers with planted faults. The faults show on the real problem only, not on the tiny one of the warm-up."""

import os
import signal
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pianobench.algorithms import State
from pianobench.problems import Problem

TINY = 64  # rows of the warm-up's problem


@dataclass(frozen=True)
class Descends:
    """Gradient descent with a step that is short enough for the tests' problem."""

    step_length: float = 1e-4
    penalties: ClassVar[frozenset[str]] = frozenset({"l2"})
    needs: ClassVar[frozenset[str]] = frozenset()
    monotone: ClassVar[bool] = False
    step_is: ClassVar[str] = "one gradient"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return p * m * itemsize

    def init(self, problem: Problem, W0: Any, rng: np.random.Generator) -> State:
        return State(W0.copy())

    def step(self, problem: Problem, state: State) -> State:
        _, gradient = problem.smooth(state.W)
        if problem.n > TINY:
            self.fault(state)
        return State(state.W - self.step_length * gradient)

    def fault(self, state: State) -> None:
        """Nothing goes wrong here."""


class Raises(Descends):
    def fault(self, state: State) -> None:
        raise RuntimeError("a planted fault")


class Segfaults(Descends):
    def fault(self, state: State) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)


class Exits(Descends):
    def fault(self, state: State) -> None:
        os._exit(0)


class Hangs(Descends):
    """Blocks in C code, where Python cannot interrupt it, and has started a process of its own."""

    def fault(self, state: State) -> None:
        if os.fork() == 0:
            time.sleep(600)
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
        time.sleep(600)


class NotANumber(Descends):
    def fault(self, state: State) -> None:
        state.W[:] = np.nan


class NeedsMemory(Descends):
    def fault(self, state: State) -> None:
        raise MemoryError


class Hungry(Descends):
    def fault(self, state: State) -> None:
        self.__dict__["hoard"] = np.ones(60_000_000)
        time.sleep(600)


NOT_A_CLASS = 3
