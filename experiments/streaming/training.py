"""The loop: read a batch, score it, train or keep, save."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import psutil

from pianobench.algorithms.stream import Record, StreamState, make_stream
from pianobench.algorithms.stream.advance import advance
from pianobench.datasets.kdd12.auc import auc
from pianobench.datasets.reading import UnusableFile
from pianobench.datasets.streamed.reader import Batch, OtherLog, Reader
from pianobench.experiments.mistakes import UserMistake
from pianobench.experiments.streaming.kept import Kept, Stand
from pianobench.experiments.streaming.options import Options
from pianobench.problems.kernels.compiled import threads

ARRAYS = 30  # of the size of W, that training holds at most


@dataclass(frozen=True)
class Told:
    """What came of a batch.

    Parameters
    ----------
    number : int
        From 1.
    rows : int
        Of the log so far.
    record : Record
    area : float
        Under the ROC curve, of the model before on the batch; NaN where there is none.
    seconds, training_seconds : float
        From asking for the batch to its state in the file, and of scoring and training alone.
    """

    number: int
    rows: int
    record: Record
    area: float
    seconds: float
    training_seconds: float


class Streaming:
    """A log, and where learning from it stands.

    Parameters
    ----------
    reader : Reader
    options : Options
    kept : Kept
    n_threads : int, optional

    Raises
    ------
    UserMistake
        There is a state that does not fit.
    """

    def __init__(self, reader: Reader, options: Options, kept: Kept, n_threads: int | None = None) -> None:
        self.reader, self.options, self.kept, self.threads = reader, options, kept, n_threads
        self.learner = make_stream(options.method, options.rows, options.tol)
        try:
            self.stand: Stand | None = kept.load(reader)
        except OtherLog as error:
            raise UserMistake(self._other(error)) from error
        self.before = self.done

    @property
    def done(self) -> int:
        """Batches so far."""
        return 0 if self.stand is None else self.stand.state.t

    def batches(self) -> Iterator[Told]:
        """Each batch that the log still has; when it is handed out its state is in the file.

        Raises
        ------
        UserMistake
            The log is broken, another one, or cannot be learned from; batches handed out before are kept.
        """
        waiting = self.reader.batches(self.options.batch_rows)
        while True:
            start = time.perf_counter()
            try:
                batch = next(waiting, None)
                if batch is None:
                    return
                seconds = self._take(batch)
            except OtherLog as error:
                raise UserMistake(self._other(error)) from error
            except UserMistake:
                raise
            except (UnusableFile, ValueError, MemoryError) as error:
                raise UserMistake(self._stopped(error)) from error
            assert self.stand is not None
            whole = time.perf_counter() - start
            state = self.stand.state
            yield Told(self.done, self.stand.rows, state.last, float(self.stand.areas[-1]), whole, seconds)

    def _take(self, batch: Batch) -> float:
        """Learn from it and keep the state; the seconds of learning."""
        stand, seed = self.stand, self.options.seed
        classes = tuple(self.reader.classes() or ()) if stand is None else stand.classes
        self._check_memory(batch, len(classes))
        start = time.perf_counter()
        limit = nullcontext() if self.threads is None else threads.limit(self.threads)
        with threads.one_blas_thread(), limit:
            log, state = (self.kept.log(classes), None) if stand is None else (stand.log, stand.state)
            area = math.nan if state is None else area_of(batch, state, classes)
            log, after = advance(self.learner, log, state, batch.X, batch.y, batch.weight, seed=seed)
        seconds = time.perf_counter() - start
        rows, areas = (0, np.zeros(0)) if stand is None else (stand.rows, stand.areas)
        new = Stand(log, after, np.append(areas, area), classes, rows + batch.rows, self.reader.place())
        self.kept.save(new, self.reader)
        self.stand = new
        return seconds

    def _check_memory(self, batch: Batch, m: int) -> None:
        d = batch.X.shape[1]
        needed, free = 8 * ARRAYS * d * m, psutil.virtual_memory().available
        if needed > free:
            raise ValueError(
                f"{d} columns and {m} classes would take {needed / 2**30:.3g} GiB and {free / 2**30:.3g} GiB are free: "
                "is an index wrong? number the features from 1 without gaps"
            )

    def _other(self, error: OtherLog) -> str:
        return (
            f"{self.kept.path} is the state of another log: {error}\n"
            "give the log as it was, with new rows only after those read, or another --state to begin anew"
        )

    def _stopped(self, error: Exception) -> str:
        number = self.done + 1
        if number == 1:
            what = "nothing is kept yet: mend the log, and give the same command again"
        else:
            before = "batch 1 is" if number == 2 else f"batches 1 to {number - 1} are"
            what = (
                f"{before} kept in {self.kept.path}: mend the log from batch {number} on, and give the same command "
                "again: it goes on from there"
            )
        return f"batch {number}: {error}\n{what}"


def area_of(batch: Batch, state: StreamState, classes: tuple[int, ...]) -> float:
    """Area under the ROC curve of a model of two classes on a batch; NaN where there is none.

    Columns that the model has not seen have the weight 0.
    """
    if len(classes) != 2:
        return math.nan
    weight = np.ones(len(batch.y)) if batch.weight is None else batch.weight
    positive = np.where(batch.y == classes[1], weight, 0.0)
    if not 0.0 < positive.sum() < weight.sum():
        return math.nan
    D = state.W[:, 1] - state.W[:, 0]
    own = np.zeros(batch.X.shape[1])
    shared = min(len(own), len(D) - 1)
    own[:shared] = D[:shared]
    return auc(batch.X @ own + D[-1], positive, weight - positive).area
