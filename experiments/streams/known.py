"""A learner that begins with a given model, and a rule that is asked and not obeyed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pianobench.algorithms.stream import Learner, Log, Score, StreamState
from pianobench.algorithms.stream.contract import Memory, Rule, Trained
from pianobench.algorithms.stream.rules import Never
from pianobench.problems import Problem
from pianobench.problems.penalties import Array


@dataclass(frozen=True, eq=False)
class Known:
    """A trainer that trains nothing: it gives W (p, m) and a memory."""

    W: Array
    memory: Memory

    def train(self, problem: Problem, W: Array, memory: Memory, t: int, rng: np.random.Generator) -> Trained:
        return Trained(self.W, self.memory, 0)

    def rescaled(self, memory: Memory, factor: float) -> Memory:
        return memory


@dataclass(frozen=True)
class Asked:
    """What a rule sees, and no training."""

    rule: Rule

    def judge(self, state: StreamState, new: Score) -> tuple[float, float]:
        return self.rule.judge(state, new)

    def fires(self, rise: float, spread: float) -> bool:
        return False


def begun(log: Log, W: Array, memory: Memory, rule: Rule | None = None) -> tuple[Learner, StreamState]:
    """A learner whose model is W (p, m), after the first batch, and its state."""
    known = Known(W, memory)
    learner = Learner(rule=Asked(rule or Never()), start=known, trainer=known)
    return learner, learner.init(log)
