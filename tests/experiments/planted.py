"""Solvers with planted faults. Most faults show on the real problem only, not on the tiny one of the warm-up."""

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pianobench.algorithms import Breakdown, State
from pianobench.problems import Problem

TINY = 64  # rows of the warm-up's problem
LONG = 600  # seconds


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


# It raises, ends, or dies -----------------------------------------------------------------------------------------


class Raises(Descends):
    def fault(self, state: State) -> None:
        raise RuntimeError("a planted fault")


class RaisesTheUnspeakable(Descends):
    """A message that no table takes: very long, of many lines, with half a character."""

    def fault(self, state: State) -> None:
        raise RuntimeError("half a character: \ud800,\n" + "\n".join(["and so on"] * 10_000))


class QuitsPython(Descends):
    def fault(self, state: State) -> None:
        sys.exit(3)


class Exits(Descends):
    def fault(self, state: State) -> None:
        os._exit(0)


class ExitsWithCode(Descends):
    def fault(self, state: State) -> None:
        print("the last words")
        sys.stdout.flush()
        os._exit(7)


class Segfaults(Descends):
    def fault(self, state: State) -> None:
        ctypes.string_at(0)


class Aborts(Descends):
    def fault(self, state: State) -> None:
        os.abort()


class IsKilled(Descends):
    def fault(self, state: State) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class BreaksDown(Descends):
    def fault(self, state: State) -> None:
        raise Breakdown("the planted matrix is singular")


class CannotStart(Descends):
    def init(self, problem: Problem, W0: Any, rng: np.random.Generator) -> State:
        if problem.n > TINY:
            raise Breakdown("the planted matrix is singular")
        return State(W0.copy())


# It hangs ---------------------------------------------------------------------------------------------------------


class HangsInPython(Descends):
    """Takes every exception for a reason to go on, and ignores every signal that can be ignored."""

    def fault(self, state: State) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            with contextlib.suppress(BaseException):
                time.sleep(LONG)


class HangsInC(Descends):
    """Holds the interpreter's lock in C code, with all signals blocked, and has started a process of its own."""

    def fault(self, state: State) -> None:
        if os.fork() == 0:
            time.sleep(LONG)
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
        ctypes.PyDLL(None).sleep(LONG)


class HangsAtTheWarmUp(Descends):
    def init(self, problem: Problem, W0: Any, rng: np.random.Generator) -> State:
        time.sleep(LONG)
        return State(W0.copy())


# Its numbers are wrong --------------------------------------------------------------------------------------------


class NotANumber(Descends):
    def fault(self, state: State) -> None:
        state.W[:] = np.nan


class Stalls(Descends):
    """Stops far from the optimum and goes on as if nothing had happened."""

    def step(self, problem: Problem, state: State) -> State:
        problem.smooth(state.W)
        return state


@dataclass(frozen=True)
class WrongPoint(Descends):
    """Returns something else than a point of the problem."""

    what: str = "one row"

    def step(self, problem: Problem, state: State) -> State:
        new: Any = super().step(problem, state)
        if problem.n > TINY:
            W = new.W
            wrong = {"one row": W[:1], "float32": W.astype(np.float32), "a list": W.tolist(), "nothing": None}
            new.W = wrong[self.what]
        return State(new.W)


class WritesToTheStart(Descends):
    """Works in place on the array that it was given."""

    def init(self, problem: Problem, W0: Any, rng: np.random.Generator) -> State:
        return State(W0)

    def step(self, problem: Problem, state: State) -> State:
        _, gradient = problem.smooth(state.W)
        if problem.n > TINY:
            state.W -= self.step_length * gradient
        return state


# It takes too much ------------------------------------------------------------------------------------------------


class NeedsMemory(Descends):
    def fault(self, state: State) -> None:
        raise MemoryError


class Hungry(Descends):
    def fault(self, state: State) -> None:
        self.__dict__["hoard"] = np.ones(80_000_000)
        time.sleep(LONG)


class HungryChild(Descends):
    """Takes the memory in a process of its own."""

    def fault(self, state: State) -> None:
        if os.fork() == 0:
            hoard = np.ones(80_000_000)
            time.sleep(LONG)
            del hoard
        time.sleep(LONG)


class SaysItNeedsMore(Descends):
    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return 10**15


class PrintsForEver(Descends):
    def fault(self, state: State) -> None:
        while True:
            print("x" * 100_000)


# It is untidy, but well -------------------------------------------------------------------------------------------


class Prints(Descends):
    """Prints what looks like our own files, by every way out."""

    def fault(self, state: State) -> None:
        print('{"status": "converged", "step": 99}')
        print("on standard error", file=sys.stderr)
        os.write(1, b"\xff\xfe not text\n")
        os.system("echo from a shell")


class LeavesThreads(Descends):
    def fault(self, state: State) -> None:
        if threading.active_count() < 3:
            threading.Thread(target=time.sleep, args=(LONG,)).start()


class LeavesProcesses(Descends):
    """Leaves a child, and a grandchild in a session of its own, as a daemon would be."""

    def fault(self, state: State) -> None:
        if "left" not in self.__dict__:
            self.__dict__["left"] = True
            if os.fork() == 0:
                if os.fork() == 0:
                    os.setsid()
                time.sleep(LONG)


# For the suite's own faults ---------------------------------------------------------------------------------------


class Waits(Descends):
    """Leaves processes, and waits while the file that $PLANTED_WAIT names exists."""

    def fault(self, state: State) -> None:
        LeavesProcesses.fault(self, state)  # type: ignore[arg-type]
        while Path(os.environ.get("PLANTED_WAIT", os.devnull + "/absent")).exists():
            time.sleep(0.05)


class FillsTheDisk(Descends):
    """Fills the disk with the file that $PLANTED_BALLAST names, if it names one."""

    def fault(self, state: State) -> None:
        name = os.environ.get("PLANTED_BALLAST")
        if name:
            with open(name, "ab", buffering=0) as ballast:
                for size in (4096, 1):
                    with contextlib.suppress(OSError):
                        while ballast.write(b"x" * size):
                            pass


NOT_A_CLASS = 3
