"""The suite: every requested cell ends as a row, measured now or taken from the store."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from pianobench.experiments import isolate, provenance
from pianobench.experiments.cells import Cell
from pianobench.results.schema import FAILED, SCHEMA_VERSION
from pianobench.results.store import Attempt, Store

Row = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """Rows and curves of a suite, in the order of its cells."""

    rows: list[Row]
    curves: list[Row]
    interrupted: bool

    @property
    def failed(self) -> list[Row]:
        """Rows that say nothing about the method: crashed, error, lost and their like."""
        return [row for row in self.rows if row["status"] in FAILED]


def run(
    cells: Sequence[Cell],
    store: Store,
    data: Mapping[str, Path],
    *,
    on_start: Callable[[Cell], None] | None = None,
    on_row: Callable[[Row], None] | None = None,
) -> Outcome:
    """Run the cells one after another; a timing run leaves the machine to one process at a time.

    A cell that the store holds with the same key is not run again: its row keeps the date and commit of its
    measurement and is marked as reused. After Ctrl-C or SIGTERM the running process is killed, and every cell
    that is left gets a row that says so.

    Parameters
    ----------
    cells : sequence of Cell
        What to run.
    store : Store
        Where it is kept.
    data : mapping
        Folder of the arrays for each checksum.
    on_start, on_row : callable
        Told of each cell that starts, and of each row.
    """
    rows: list[Row] = []
    curves: list[Row] = []
    with _interruption() as interrupted:
        for cell in cells:
            held = store.finished(cell.key)
            if held is not None:
                row, curve = _reuse(cell, held)
            elif interrupted():
                row, curve = _not_started(cell), []
            else:
                if on_start is not None:
                    on_start(cell)
                row, curve = _measure(cell, store, data[cell.problem.checksum], interrupted)
            rows.append(row)
            curves.extend({"key": cell.key, **point} for point in curve)
            if on_row is not None:
                on_row(row)
        stopped = interrupted()
    return Outcome(rows, curves, stopped)


def _measure(cell: Cell, store: Store, data: Path, interrupted: Callable[[], bool]) -> tuple[Row, list[Row]]:
    attempt = store.new_attempt(cell.key)
    origin = _origin()
    measured = isolate.run(cell, attempt, str(data.resolve()), interrupted)
    attempt.write("row", {**cell.columns(), **measured, **origin})
    return _row(cell, attempt, reused=False), attempt.curve()


def _reuse(cell: Cell, attempt: Attempt) -> tuple[Row, list[Row]]:
    return _row(cell, attempt, reused=True), attempt.curve()


def _row(cell: Cell, attempt: Attempt, *, reused: bool) -> Row:
    """Row of a closed cell; its names come from the request, as one key may serve two experiments."""
    return {**(attempt.read("row") or {}), **cell.columns_that_name(), "reused": reused}


def _not_started(cell: Cell) -> Row:
    return {
        **cell.columns(),
        **_origin(),
        "status": "interrupted",
        "reason": "not started: the suite was interrupted before",
        "reused": False,
        "schema": SCHEMA_VERSION,
    }


def _origin() -> Row:
    return {
        "measured_at": provenance.now(),
        "commit": str(provenance.commit()),
        "machine": provenance.machine(),
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
