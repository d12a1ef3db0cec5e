"""The stored table of methods: each registered solver, each penalty that it takes, each bundled data set, one run each.

``make methods`` measures what the store does not hold and writes ``results/reference/methods`` and, from it,
``docs/methods.md``. There is no target: where a method does not arrive, the row says how far it came.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pianobench.algorithms import SOLVERS, make_solver
from pianobench.datasets import entries
from pianobench.experiments import suite
from pianobench.experiments.cells import Cell
from pianobench.experiments.config import Budget, Config, ProblemGrid, SolverChoice, written
from pianobench.results import methods
from pianobench.results.store import DEFAULT_ROOT, Store, load

EXPERIMENT = "methods"
SECONDS = 1.0  # cap of a run: with 30 the sum over some 600 runs would be hours
MOST_WEIGHTS_UNPENALISED = 100  # d * m; see NOTES
NOTES = (
    f"The cap of a run is {SECONDS:g} s, not 30: the sum of all runs was to stay below 25 minutes.",
    "Data as they are (conditioning none), from W = 0, with an intercept, one thread, one run each.",
    f"Without a penalty only sets of d m <= {MOST_WEIGHTS_UNPENALISED} are run: on wider ones the classes are "
    "separable, or nearly so, and the bound alone takes longer than the run.",
    "l0 is started at W = 0, where it may stay: docs/l0.md has the other starts.",
)


def config() -> Config:
    """The grid: every registered solver on every penalty and bundled set; what a solver refuses is left out later."""
    bundled = [one for one in entries().values() if one.source == "bundled"]
    names = tuple(one.name for one in bundled)
    few = tuple(one.name for one in bundled if one.d * one.m <= MOST_WEIGHTS_UNPENALISED)
    return Config(
        title="Every method on the bundled sets",
        tier="laptop",
        budget=Budget(seconds=SECONDS, allowance=60.0, memory_gib=2.0),
        problems=(
            ProblemGrid(datasets=few, penalty="none"),
            ProblemGrid(datasets=names, penalty="l2", lam_factor=(0.1,)),
            ProblemGrid(datasets=names, penalty="l1", lam_factor=(0.1,)),
            ProblemGrid(datasets=names, penalty="elasticnet", lam_factor=(0.1,), ridge=1.0),
            ProblemGrid(datasets=names, penalty="l0", lam=(1.0,)),
        ),
        solvers=tuple(SolverChoice(key=key) for key in SOLVERS),
    )


def plan() -> suite.Plan:
    """The cells of the grid that a solver takes."""
    grid = config()
    whole = suite.of_config(grid, EXPERIMENT, written(grid, NOTES))
    return replace(whole, cells=taken(whole.cells))


def taken(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Those whose solver takes their penalty: a refusal would cost a process and is known from the registry."""
    takes = {key: make_solver(key).penalties for key in SOLVERS}
    return tuple(cell for cell in cells if cell.problem.penalty in takes[cell.solver])


def main(root: Path = DEFAULT_ROOT, held: bool = False) -> int:
    """Measure, store the table, write the page.

    Parameters
    ----------
    root : Path
        Folder of the runs.
    held : bool
        Whether to measure nothing and take what the store holds.

    Returns
    -------
    int
        The exit code: 2 if there is nothing to write or no place for it; 130 if interrupted, where the table has what
        was measured; 1 if a cell failed otherwise than for want of memory, which is an answer.
    """
    from pianobench.experiments import methods_page
    from pianobench.experiments.cli import show

    if not methods_page.DOCS.is_dir():
        print(
            "the stored table is part of a checkout, and this is an installed package: clone the repository",
            file=sys.stderr,
        )
        return 2
    wanted, store = plan(), Store(root)
    if held:
        wanted = replace(wanted, cells=tuple(cell for cell in wanted.cells if store.finished(cell.key) is not None))
    if not wanted.cells:
        print(f"{root} holds no run of this table and this state of the code: `make methods` measures", file=sys.stderr)
        return 2
    progress = show.Progress(len(wanted.cells), quiet=held)
    folder, outcome = suite.execute(wanted, store, ["make", "methods"], progress.start, progress.row)
    methods.write(load(folder), wanted.config_text)
    methods_page.write()
    if outcome.interrupted:
        print("interrupted: what was measured is kept, and the next call goes on from there", file=sys.stderr)
        return 130
    return int(any(row["status"] != "out-of-memory" for row in outcome.failed))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The stored table of methods, and docs/methods.md.")
    parser.add_argument("--out", type=Path, default=DEFAULT_ROOT, metavar="DIR", help="folder of the runs")
    parser.add_argument("--held", action="store_true", help="measure nothing: write what the store holds")
    told = parser.parse_args()
    sys.exit(main(told.out, told.held))
