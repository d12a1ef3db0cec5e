"""Progress of many cells on standard error: a bar with the time left on a terminal, else a line for each cell."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from pianobench.algorithms.peers.rerun import WALL
from pianobench.experiments.cells import Cell
from pianobench.experiments.cli import show
from pianobench.results.schema import FAILED
from pianobench.results.store import Store

OVERHEAD = 3.0
"""Seconds that a process is thought to take beyond its budget, until one has been seen."""
REDRAWS_PER_SECOND = 2.0  # seldom: the bar runs beside what is being timed


class TimeLeft:
    """Estimate of the seconds left, from budgets and from what finished cells took.

    A method's next run is thought to take as long as its runs so far; of one not seen yet, its whole budget, or the
    mean of all others if that is less.

    Parameters
    ----------
    cells : sequence of Cell
        Those that will run, not those that the store holds.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.left = {cell.key: cell for cell in cells}
        self.seen: dict[str, list[float]] = {}

    def done(self, key: str, solver: str, seconds: float | None) -> None:
        """Take note of a finished cell."""
        if self.left.pop(key, None) is not None and seconds is not None:
            self.seen.setdefault(solver, []).append(seconds)

    @property
    def seconds(self) -> float:
        """Seconds left."""
        every = [seconds for runs in self.seen.values() for seconds in runs]
        total = 0.0
        for cell in self.left.values():
            # A black box is fitted anew again and again: each fit has the budget, all have several.
            most = cell.max_seconds * (WALL if cell.black_box else 1.0) + OVERHEAD
            runs = self.seen.get(cell.solver) or every
            total += min(most, sum(runs) / len(runs)) if runs else most
        return total


class Progress:
    """A context that is told of each cell that starts and each row.

    Parameters
    ----------
    cells : sequence of Cell
    store : Store
        What it holds takes no time.
    quiet : bool
        Print nothing.
    stream : file
        A terminal gets a bar.
    """

    def __init__(self, cells: Sequence[Cell], store: Store, quiet: bool, stream: TextIO) -> None:
        self.lines = show.Progress(len(cells), quiet)
        self.time = TimeLeft([] if quiet else [cell for cell in cells if store.finished(cell.key) is None])
        self.bar: Bar | None = None
        self.task: TaskID | None = None
        if not quiet and stream.isatty():
            self.bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TextColumn("{task.fields[left]} left"),
                console=Console(file=stream),
                refresh_per_second=REDRAWS_PER_SECOND,
                transient=True,
            )
            self.task = self.bar.add_task("", total=len(cells), left=f"at most {clock(self.time.seconds)}")

    def __enter__(self) -> Self:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def start(self, cell: Cell) -> None:
        """Name the cell that starts."""
        if self.bar is None or self.task is None:
            self.lines.start(cell)
            return
        self.bar.update(self.task, description=f"{cell.problem.dataset} {cell.problem.title}  {cell.solver_title}")

    def row(self, row: Mapping[str, Any]) -> None:
        """Count it; a row that says nothing about the method is worth a line on a terminal, too."""
        self.time.done(row["key"], row["solver"], row.get("process_seconds"))
        if self.bar is None or self.task is None:
            self.lines.row(row)
            return
        self.bar.update(self.task, advance=1, left=f"about {clock(self.time.seconds)}")
        if row["status"] in FAILED:
            self.bar.console.print(f"{row['label']}: {row['status']}: {row['reason']}", highlight=False, markup=False)


def clock(seconds: float) -> str:
    """Minutes and seconds, or hours and minutes."""
    whole = max(0, round(seconds))
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"
