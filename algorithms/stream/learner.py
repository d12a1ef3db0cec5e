"""Statistically adaptive learning (SA L-BFGS) [the second paper, section 4 and algorithm 1], and all of its build.

After batch t+1 has come:

(1) I(t+1, theta_t) and I(t, theta_t)                  the scores of the model at hand, see `Score`
(2) rise > spread?                                     the rule, see `rules`; if not, theta_{t+1} = theta_t
(3) mu = rise / spread; M_new rows of the batch, M_old of those before         the sample, see `samples`
(4) theta_{t+1}: L-BFGS on the sample from theta_t, its first inverse Hessian that of the run before    see `trainers`

theta_0 comes of the first batch, "typically using a particular gradient descent algorithm". What the paper leaves open
and what is ours is said where it stands. Other rules, samples and trainers make the methods that this one is held
against: see `registry`.

What is exact: (1) on the batch always; on rows before, added up from the batches for as long as the model stays. After
an update the new model is scored on the rows that the log has kept, all or a uniform sample: `exact` tells which.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.stream.contract import RECORD, Memory, Record, Rule, Sampling, StreamState, Trained, Trainer
from pianobench.algorithms.stream.log import Log
from pianobench.algorithms.stream.rules import CumulativeRise
from pianobench.algorithms.stream.samples import ByRise
from pianobench.algorithms.stream.scores import Score
from pianobench.algorithms.stream.trainers import LbfgsRun, OnlineStart
from pianobench.problems import Problem
from pianobench.problems.penalties import Array


@dataclass(frozen=True)
class Learner:
    """A method for rows that keep coming; by default SA L-BFGS as written.

    Parameters
    ----------
    rule : Rule
        When to train.
    sampling : Sampling
        On which rows.
    start, trainer : Trainer
        On the first batch, and later.
    warm : bool
        Whether training starts from the model at hand, or from 0.
    held : float
        Share of a batch's rows that is not trained on, so that the new model is measured by rows it has not seen: if it
        does no better on them than the one at hand, that one stays.
    """

    rule: Rule = field(default_factory=CumulativeRise)
    sampling: Sampling = field(default_factory=ByRise)
    start: Trainer = field(default_factory=OnlineStart)
    trainer: Trainer = field(default_factory=LbfgsRun)
    warm: bool = True
    held: float = 0.0

    def init(self, log: Log, seed: int = 0) -> StreamState:
        """The state after the first batch, which the log has.

        Raises
        ------
        ValueError
            The log has no batch, or more than one.
        """
        if log.newest is None or log.batches != 1:
            raise ValueError(f"the log has {log.batches} batches: a learner starts when it has its first one")
        part, held = log.held_out(self.held)
        problem = part.newest_problem(log.weight)
        trained = self.start.train(problem, problem.zeros(), {}, 0, _rng(seed, 0))
        read = problem.meter.total.rows
        score = Score.of(log.newest_problem(), trained.W)
        record = Record(
            log.newest.n,
            score.weight,
            math.nan,
            math.nan,
            score.error,
            score.log_loss,
            updated=1.0,
            new_rows=problem.n,
            steps=trained.steps,
            rows_read=read,
        )
        return StreamState(
            W=trained.W,
            t=1,
            seed=seed,
            past=record.array[None],
            score=score.array,
            exact=True,
            unseen=_unseen(held, trained.W).array,
            memory=trained.memory,
            total=log.weight,
        )

    def step(self, log: Log, state: StreamState) -> StreamState:
        """The state after the newest batch; a batch wider than those before widens the model by zeros.

        Raises
        ------
        ValueError
            The log is not one batch ahead of the state.
        """
        if log.newest is None or log.batches != state.t + 1:
            raise ValueError(f"the log has {log.batches} batches and the state {state.t}: one more is expected")
        state = widened(state, *_appended(log, state.W.shape[0]))
        newest = log.newest_problem()
        new = Score.of(newest, state.W)  # (1)
        rise, spread = self.rule.judge(state, new)  # (2)
        record = Record(log.newest.n, new.weight, new.error, new.log_loss, 0.0, 0.0, rise, spread)
        if not self.rule.fires(rise, spread):
            return self._kept(log, state, record, new)
        trained, problem, sizes = self.trained(log, state, _mu(rise, spread))  # (3), (4)
        held = log.held_out(self.held)[1]
        unseen = _unseen(held, trained.W)
        record = replace(
            record,
            new_rows=sizes[0],
            old_rows=sizes[1],
            steps=trained.steps,
            rows_read=problem.meter.total.rows,
        )
        # ours: a model that does no better on rows that it has not seen does not replace one that has stood
        if held is not None and unseen.log_loss >= Score.of(held, state.W).log_loss:  # false of NaN, which is refused
            return self._kept(log, state, record, new)
        state = replace(state, W=trained.W, memory=trained.memory, total=log.weight, unseen=unseen.array)
        return self._next(log, state, replace(record, updated=1.0), rescored(log, state.W), log.complete)

    def trained(
        self, log: Log, state: StreamState, mu: float, draw: int = 0
    ) -> tuple[Trained, Problem, tuple[int, int]]:
        """(3) and (4): what training makes of the state, the problem it was trained on, and its new and old rows.

        `draw` numbers independent samples at one time.
        """
        rng = _rng(state.seed, state.t, *([draw] if draw else []))
        problem, new, old = self.sampling.choose(log.held_out(self.held)[0], mu, rng)
        memory: Memory = {}
        if self.warm and state.memory:
            memory = self.trainer.rescaled(state.memory, log.weight / state.total)
        W = state.W if self.warm else np.zeros_like(state.W)
        return self.trainer.train(problem, W, memory, state.t, rng), problem, (new, old)

    def _kept(self, log: Log, state: StreamState, record: Record, new: Score) -> StreamState:
        """The state whose model stays, its scores added up."""
        state = replace(state, unseen=(Score.read(state.unseen) + new).array)
        return self._next(log, state, record, Score.read(state.score) + new, state.exact)

    def _next(self, log: Log, state: StreamState, record: Record, score: Score, exact: bool) -> StreamState:
        record = replace(record, total_error=score.error, total_log_loss=score.log_loss, exact=float(exact))
        past = np.vstack([state.past, record.array])
        assert past.shape[1] == len(RECORD)
        return replace(state, t=state.t + 1, past=past, score=score.array, exact=exact)


def _unseen(held: Problem | None, W: Array) -> Score:
    return Score() if held is None else Score.of(held, W)


def rescored(log: Log, W: Array) -> Score:
    """`Score` of W over all rows so far: the newest batch, and of the old ones those kept, scaled to all."""
    new, old = Score.of(log.newest_problem(), W), log.old_problem()
    if old is None:
        return new
    return new + Score.of(old, W).scaled(log.weight - new.weight)


def widened(state: StreamState, where: NDArray[np.intp], p: int) -> StreamState:
    """The state of a model with other features: row l of W becomes row ``where[l]`` of p rows, -1 drops it.

    Features that are new start at 0; pairs have zeros there, so that only ``gamma I`` acts on them.
    """
    if p == state.W.shape[0] and np.array_equal(where, np.arange(p)):
        return state
    return replace(
        state,
        W=_moved(state.W, where, p),
        memory={name: _moved(values, where, p) for name, values in state.memory.items()},
    )


def _moved(values: Array, where: NDArray[np.intp], p: int) -> Array:
    found = np.zeros((*values.shape[:-2], p, values.shape[-1]), values.dtype)
    there = where >= 0
    found[..., where[there], :] = values[..., there, :]
    return found


def _appended(log: Log, p: int) -> tuple[NDArray[np.intp], int]:
    """Where the p rows of W go when the log has become wider: an intercept stays the last."""
    now = log.d + log.fit_intercept
    where = np.arange(p, dtype=np.intp)
    if log.fit_intercept:
        where[-1] = now - 1
    return where, now


def _mu(rise: float, spread: float) -> float:
    if not rise > 0.0:
        return 0.0
    return rise / spread if spread > 0.0 else math.inf


def _rng(*key: int) -> np.random.Generator:
    return np.random.default_rng(list(key))
