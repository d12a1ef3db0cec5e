"""Progress: the seconds left, a bar on a terminal, lines elsewhere, nothing when quiet."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from pianobench.datasets import load
from pianobench.experiments import compare
from pianobench.experiments.cells import Cell
from pianobench.experiments.cli.progress import OVERHEAD, Progress, TimeLeft, clock
from pianobench.experiments.compare import Options
from pianobench.experiments.compare_data import Held
from pianobench.results.store import Store


@pytest.fixture
def cells() -> tuple[Cell, ...]:
    """Two methods on two problems, five seconds each."""
    options = Options(penalties=("l2",), lam=(1.0, 2.0), solvers=("lbfgs", "piano"))
    return compare.plan(Held(load("iris")), options).cells


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def row(cell: Cell, **changes: object) -> dict[str, object]:
    return {
        **cell.columns(),
        "status": "converged",
        "reason": "",
        "seconds": 1.0,
        "steps": 3,
        "process_seconds": 2.0,
        "reused": False,
        **changes,
    }


def test_the_time_left_falls_from_the_budgets_to_what_was_seen(cells: tuple[Cell, ...]) -> None:
    left = TimeLeft(cells)
    assert left.seconds == 4 * (5.0 + OVERHEAD)
    first = next(cell for cell in cells if cell.solver == "lbfgs")
    left.done(first.key, first.solver, 2.0)
    assert left.seconds == 3 * 2.0, "methods not seen yet are thought to be like the others"
    slow = next(cell for cell in cells if cell.solver == "piano")
    left.done(slow.key, slow.solver, 100.0)
    assert left.seconds == 2.0 + 5.0 + OVERHEAD, "its own runs count, and never more than the budget"
    left.done(slow.key, slow.solver, 100.0)
    assert left.seconds == 2.0 + 5.0 + OVERHEAD, "a cell ends once"


def test_a_black_box_may_take_several_budgets(cells: tuple[Cell, ...]) -> None:
    assert TimeLeft([replace(cells[0], black_box=True)]).seconds == 4 * 5.0 + OVERHEAD


def test_a_terminal_gets_a_bar_with_the_time_left(cells: tuple[Cell, ...], tmp_path: Path) -> None:
    stream = Terminal()
    with Progress(cells, Store(tmp_path), quiet=False, stream=stream) as progress:
        for cell in cells:
            progress.start(cell)
            progress.row(row(cell, **({"status": "crashed", "reason": "SIGSEGV"} if cell is cells[1] else {})))
    text = stream.getvalue()
    assert "4/4" in text
    assert "left" in text
    assert "crashed: SIGSEGV" in text
    assert text.count("converged") == 0


def test_a_pipe_gets_lines_and_quiet_nothing(
    cells: tuple[Cell, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for quiet in (False, True):
        with Progress(cells, Store(tmp_path), quiet, stream=io.StringIO()) as progress:
            progress.start(cells[0])
            progress.row(row(cells[0]))
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err == ("" if quiet else f"[1/4] {cells[0].label} … converged, 3 steps, 1 s\n")


@pytest.mark.parametrize(("seconds", "text"), [(-1, "0 s"), (59.4, "59 s"), (61, "1 min 01 s"), (3661, "1 h 01 min")])
def test_times_for_people(seconds: float, text: str) -> None:
    assert clock(seconds) == text
