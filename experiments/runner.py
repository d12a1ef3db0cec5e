"""The suite: every requested cell ends as a row, measured now or taken from the store."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from pianobench.experiments import isolate, machine, noise, provenance
from pianobench.experiments.cells import Cell
from pianobench.experiments.guard import Guard
from pianobench.results import lock
from pianobench.results.schema import FAILED, SCHEMA_VERSION
from pianobench.results.store import Attempt, Store

Row = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """Rows, curves and numbers of probes of a suite, in the order in which its cells were asked for."""

    rows: list[Row]
    curves: list[Row]
    interrupted: bool
    probes: list[Row] = field(default_factory=list)

    @property
    def failed(self) -> list[Row]:
        """Rows that say nothing about the method: crashed, error, lost and their like."""
        return [row for row in self.rows if row["status"] in FAILED]


def run(
    cells: Sequence[Cell],
    store: Store,
    data: Mapping[str, Path],
    *,
    order_seed: int | None = None,
    on_start: Callable[[Cell], None] | None = None,
    on_row: Callable[[Row], None] | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> Outcome:
    """Run the cells one after another; a timing run leaves the machine to one process at a time.

    A cell that the store holds with the same key is not run again: its row keeps the date and commit of its
    measurement and is marked as reused. Suites on the same store take turns, cell by cell. After Ctrl-C or
    SIGTERM the running process is killed, and every cell that is left gets a row that says so.

    Parameters
    ----------
    cells : sequence of Cell
        What to run.
    store : Store
        Where it is kept.
    data : mapping
        Folder of the arrays for each checksum.
    order_seed : int, optional
        Seed of the random order: all first repeats, then all second ones, each time shuffled, so that a drift
        of the machine does not always meet the same method. Without it the order is the given one.
    on_start, on_row, on_wait : callable, optional
        Told of each cell that starts, of each row, and of another suite on this store that is waited for.

    Raises
    ------
    OSError
        The store cannot be written. What was measured before stays.
    """
    done: dict[int, _Done] = {}
    with Guard() as guard, _interruption() as interrupted:
        for i in _order(cells, order_seed):
            turn = _Turn(cells[i], store, guard, interrupted, on_start, on_wait)
            done[i] = turn.take(data[cells[i].problem.checksum])
            if on_row is not None:
                on_row(done[i].row)
        stopped = interrupted()
    rows = [done[i].row for i in range(len(cells))]
    curves = [{"key": cell.key, **point} for i, cell in enumerate(cells) for point in done[i].curve]
    probes = [line for i, cell in enumerate(cells) for line in cell.lines(done[i].row, done[i].numbers)]
    return Outcome(rows, curves, stopped, probes)


def _order(cells: Sequence[Cell], seed: int | None) -> list[int]:
    order = list(range(len(cells)))
    if seed is not None:
        random.Random(seed).shuffle(order)
        order.sort(key=lambda i: cells[i].repeat)
    return order


@dataclass(frozen=True)
class _Done:
    """What a cell left."""

    row: Row
    curve: list[Row]
    numbers: list[Row]


@dataclass(frozen=True)
class _Turn:
    """One cell's turn in a suite."""

    cell: Cell
    store: Store
    guard: Guard
    interrupted: Callable[[], bool]
    on_start: Callable[[Cell], None] | None
    on_wait: Callable[[str], None] | None

    def take(self, data: Path) -> _Done:
        """What the cell left: from the store, or measured."""
        held = self.store.finished(self.cell.key)
        if held is None and not self.interrupted():
            with lock.held(self.store.lock, f"process {os.getpid()} since {provenance.now()}", self._waiter()) as ours:
                held = self.store.finished(self.cell.key)  # the suite that was waited for may have measured it
                if ours and held is None:
                    return self._measure(data)
        if held is not None:
            return self._done(held, reused=True)
        return _Done(self._not_started(), [], [])

    def _waiter(self) -> Callable[[str], bool]:
        named: set[str] = set()

        def wait(holder: str) -> bool:
            if holder not in named:
                named.add(holder)
                if self.on_wait is not None:
                    self.on_wait(holder)
            time.sleep(isolate.POLL_SECONDS)
            return not self.interrupted()

        return wait

    def _measure(self, data: Path) -> _Done:
        if self.on_start is not None:
            self.on_start(self.cell)
        self.guard.start()
        earlier = self.store.history(self.cell.key)
        attempt = self.store.new_attempt(self.cell.key)
        row = {**self.cell.columns(), **_origin(), "earlier": earlier, "load_before": machine.load()}
        row |= isolate.run(self.cell, attempt, str(data.resolve()), self.guard.mark, self.interrupted)
        row["load_after"] = machine.load()
        attempt.write("row", {**row, "disturbed": noise.signs(row)})
        return self._done(attempt, reused=False)

    def _done(self, attempt: Attempt, *, reused: bool) -> _Done:
        """Of a closed cell; the row's names come from the request, as one key may serve two experiments."""
        row = {**(attempt.row() or {}), **self.cell.columns_that_name(), "reused": reused}
        return _Done(row, attempt.curve(), attempt.numbers())

    def _not_started(self) -> Row:
        return {
            **self.cell.columns(),
            **_origin(),
            "status": "interrupted",
            "reason": "not started: the suite was interrupted before",
            "reused": False,
            "checkpoints": 0,
            "schema": SCHEMA_VERSION,
        }


def _origin() -> Row:
    return {
        "measured_at": provenance.now(),
        "commit": str(provenance.commit()),
        "machine": machine.machine(),
    }


@contextmanager
def _interruption() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C or SIGTERM into a flag: it must not fall between a result and its row.

    The second Ctrl-C acts as usual. Outside the main thread, where Python allows no handlers, nothing
    changes.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in signals}

    def handler(_number: int, _frame: FrameType | None) -> None:
        asked.set()
        for each in signals:
            signal.signal(each, before[each])

    for number in signals:
        signal.signal(number, handler)
    try:
        yield asked.is_set
    finally:
        for number in signals:
            signal.signal(number, before[number])
