"""What learning from a stream is made of: a rule, a sample, a trainer; and the state that goes from batch to batch.

The problem is not fixed here, since rows keep coming, so that nothing of this is a `Solver`. The clock is the caller's.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol, TypeAlias

import numpy as np

from pianobench.algorithms.stream.log import Log
from pianobench.algorithms.stream.scores import Score
from pianobench.problems import Problem
from pianobench.problems.penalties import Array

Memory: TypeAlias = dict[str, Array]
"""What a trainer hands to its next run: arrays (..., p, m), such as curvature pairs."""


@dataclass(frozen=True)
class Record:
    """One batch. All numbers, so that a stream's past is one array.

    Attributes
    ----------
    rows : float
        Of the batch.
    weight : float
        Of its rows.
    error, log_loss : float
        Of the model before on the batch; NaN for the first one, which no model came before.
    total_error, total_log_loss : float
        Of the model after on all rows so far: I(t, theta_t) in the paper.
    rise, spread : float
        What the rule saw, and what it takes for chance; NaN where it saw nothing.
    updated : float
        1 where a new model was trained and taken.
    new_rows, old_rows : float
        Trained on, also where the model at hand stayed.
    steps : float
        Of the trainer.
    rows_read : float
        By training, a row as often as it was read.
    exact : float
        1 where the totals are of all rows, 0 where those of old rows are estimated by the rows kept.
    """

    rows: float
    weight: float
    error: float
    log_loss: float
    total_error: float
    total_log_loss: float
    rise: float = np.nan
    spread: float = np.nan
    updated: float = 0.0
    new_rows: float = 0.0
    old_rows: float = 0.0
    steps: float = 0.0
    rows_read: float = 0.0
    exact: float = 1.0

    @property
    def array(self) -> Array:
        """Its numbers, in the order of `RECORD`."""
        return np.array([float(getattr(self, name)) for name in RECORD])


RECORD = tuple(f.name for f in fields(Record))


@dataclass(frozen=True, kw_only=True)
class StreamState:
    """Where a learner stands after some batches. Nothing else is kept anywhere but the log.

    Attributes
    ----------
    W : array (p, m)
        theta_t, what predicts.
    t : int
        Batches so far.
    seed : int
        Of the samples, each drawn from it and the number of its batch.
    past : array (t, k)
        A `Record` each.
    score : array (4,)
        `Score` of W over all rows so far.
    exact : bool
        Whether it is of all rows, or, of the old ones, estimated.
    unseen : array (4,)
        `Score` of W over the rows since it was trained, and those of its batch that were held out: none has trained it.
    memory : dict of str to array
        The trainer's.
    total : float
        Weight of all rows when the memory was made.
    """

    W: Array
    t: int
    seed: int
    past: Array
    score: Array
    exact: bool
    unseen: Array
    memory: Memory
    total: float

    @property
    def last(self) -> Record:
        """The newest batch's record."""
        return Record(*map(float, self.past[-1]))

    def column(self, name: str) -> Array:
        """One number of every `Record` (t,)."""
        return np.asarray(self.past[:, RECORD.index(name)])

    def export(self) -> dict[str, Array]:
        """All of it as arrays, for an npz without pickles; `load` restores the same bits."""
        saved = {f.name: np.asarray(getattr(self, f.name)) for f in fields(self) if f.name != "memory"}
        return saved | {f"memory/{name}": values for name, values in self.memory.items()}

    @classmethod
    def load(cls, saved: dict[str, Array]) -> StreamState:
        """The state that `export` saved.

        Raises
        ------
        KeyError, ValueError
            The arrays are not those of a state.
        """
        memory = {name.partition("/")[2]: values for name, values in saved.items() if name.startswith("memory/")}
        t, seed, exact, total = (saved[name].item() for name in ("t", "seed", "exact", "total"))
        t, seed, exact = int(t), int(seed), bool(exact)
        W, past, score, unseen = (saved[name] for name in ("W", "past", "score", "unseen"))
        if W.ndim != 2 or past.shape != (t, len(RECORD)) or not score.shape == unseen.shape == (4,):
            raise ValueError(f"W has shape {W.shape}, past {past.shape} and score {score.shape} after {t} batches")
        return cls(W=W, t=t, seed=seed, past=past, score=score, exact=exact, unseen=unseen, memory=memory, total=total)


@dataclass(frozen=True)
class Trained:
    """What a trainer gives back.

    Attributes
    ----------
    W : array (p, m)
    memory : dict of str to array
    steps : int
    """

    W: Array
    memory: Memory
    steps: int


class Trainer(Protocol):
    """Minimises, or goes some way."""

    def train(self, problem: Problem, W: Array, memory: Memory, t: int, rng: np.random.Generator) -> Trained:
        """From W (p, m), never written, on the sample; t is the number of the batch, 0 the first."""
        ...

    def rescaled(self, memory: Memory, factor: float) -> Memory:
        """The memory where the loss is `factor` times as large, since rows have come."""
        ...


class Rule(Protocol):
    """Says whether a model still fits."""

    def judge(self, state: StreamState, new: Score) -> tuple[float, float]:
        """Rise, and the spread that chance gives it, from the state before and that model's score on the batch."""
        ...

    def fires(self, rise: float, spread: float) -> bool:
        """Whether to train."""
        ...


class Sampling(Protocol):
    """Says which rows to train on."""

    def choose(self, log: Log, mu: float, rng: np.random.Generator) -> tuple[Problem, int, int]:
        """The problem on a sample, and how many new and old rows it has; mu is the rise over its spread."""
        ...
