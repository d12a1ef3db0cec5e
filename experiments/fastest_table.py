"""The stored table of the automatic choice: against what a user picks instead, and against every method of ours.

``make fastest`` measures what the store does not hold and writes ``results/reference/fastest`` and, from it,
``docs/fastest.md`` and its figure. It goes on where it was interrupted: the whole takes an evening for each number of
threads. A row comes from any state of the code, and names its commit; a newer measurement takes its place.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pianobench.algorithms import SOLVERS, make_solver
from pianobench.algorithms.auto import choose
from pianobench.algorithms.peers.registry import PEERS
from pianobench.algorithms.registry import title_of
from pianobench.datasets import Dataset
from pianobench.experiments import provenance, suite
from pianobench.experiments.cells import Cell
from pianobench.problems import L1, L2, Problem
from pianobench.results import fastest
from pianobench.results.store import DEFAULT_ROOT, Store

if TYPE_CHECKING:
    import pandas as pd

EXPERIMENTS = ("fastest", "fastest-gaps", "auto-judged")  # configurations, in the order in which they are measured


def plans(threads: int | None = None, experiments: Sequence[str] = EXPERIMENTS) -> list[suite.Plan]:
    """The cells of each configuration whose solver takes their penalty."""
    found = [suite.plan(name, threads=threads) for name in experiments]
    return [replace(one, cells=taken(one.cells)) for one in found]


def taken(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Those whose solver takes their penalty: a refusal would cost a process and is known from the registries."""
    takes = {key: make_solver(key).penalties for key in SOLVERS} | {key: peer.penalties for key, peer in PEERS.items()}
    return tuple(cell for cell in cells if cell.problem.penalty in takes[cell.solver])


def chosen(row: dict[str, Any], dataset: Dataset) -> str:
    """Key of the solver that the rule takes for the problem of an `auto` row."""
    penalty = {"l1": L1, "l2": L2}[row["penalty"]](row["lam"])
    solver = choose(Problem(dataset.X, dataset.y, penalty=penalty, fit_intercept=row["intercept"]), row["tolerance"])
    title = title_of(solver)
    return next(key for key, entry in SOLVERS.items() if entry.title == title)


def collect(store: Store, wanted: Sequence[suite.Plan]) -> list[dict[str, Any]]:
    """Rows of the table that the store holds, of any number of threads, with the solver that the rule took."""
    records = []
    for plan in wanted:
        for row in fastest.held(store, plan.experiment, plan.cells):
            if row["solver"] == "auto":
                row["chosen"] = chosen(row, plan.datasets[row["dataset"]])
            records.append(row)
    return records


def still_asked(rows: pd.DataFrame | None, wanted: Sequence[suite.Plan]) -> pd.DataFrame | None:
    """Rows without those of these plans' experiments that they do not ask for any more."""
    if rows is None:
        return None
    asked = {
        (
            plan.experiment,
            c.problem.dataset,
            c.problem.penalty,
            c.problem.lam_factor,
            c.solver,
            c.tolerance,
            c.max_seconds,
        )
        for plan in wanted
        for c in plan.cells
    }
    names = ["experiment", "dataset", "penalty", "lam_factor", "solver", "tolerance", "max_seconds"]
    planned = {plan.experiment for plan in wanted}
    kept = [row[0] not in planned or row in asked for row in rows[names].itertuples(index=False, name=None)]
    return rows[kept]


def main(
    root: Path = DEFAULT_ROOT,
    held: bool = False,
    threads: int | None = None,
    experiments: Sequence[str] = EXPERIMENTS,
) -> int:
    """Measure, store the table, write the page.

    Parameters
    ----------
    root : Path
        Folder of the runs.
    held : bool
        Whether to measure nothing and take what the store holds.
    threads : int, optional
        In place of the configurations' own.
    experiments : sequence of str
        Those of `EXPERIMENTS` that are measured.

    Returns
    -------
    int
        The exit code: 2 if there is nothing to write or no place for it; 130 if interrupted, where the table has what
        was measured; 1 if a cell failed otherwise than for want of memory, which is an answer.
    """
    from pianobench.experiments import fastest_page
    from pianobench.experiments.cli import show

    if not fastest_page.DOCS.is_dir():
        print(
            "the stored table is part of a checkout, and this is an installed package: clone the repository",
            file=sys.stderr,
        )
        return 2
    wanted, store, failed, interrupted = plans(threads, experiments), Store(root), False, False
    for plan in () if held else wanted:
        progress = show.Progress(len(plan.cells), quiet=False)
        _, outcome = suite.execute(plan, store, ["make", "fastest"], progress.start, progress.row)
        failed |= any(row["status"] != "out-of-memory" for row in outcome.failed)
        interrupted = outcome.interrupted
        if interrupted:
            break
    rows: pd.DataFrame = fastest.merged(collect(store, wanted), still_asked(fastest.stored(), wanted))
    if not len(rows):
        print(f"{root} holds no run of this table: `make fastest` measures", file=sys.stderr)
        return 2
    fastest.write(rows, provenance.describe("fastest", ["make", "fastest"]))
    fastest_page.write()
    if interrupted:
        print("interrupted: what was measured is kept, and the next call goes on from there", file=sys.stderr)
        return 130
    return int(failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The stored table of the automatic choice, and docs/fastest.md.")
    parser.add_argument("--out", type=Path, default=DEFAULT_ROOT, metavar="DIR", help="folder of the runs")
    parser.add_argument("--held", action="store_true", help="measure nothing: write what the store holds")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of each run, in place of the configurations'")
    parser.add_argument("--only", choices=EXPERIMENTS, action="append", help="measure this one; may be repeated")
    told = parser.parse_args()
    sys.exit(main(told.out, told.held, told.threads, told.only or EXPERIMENTS))
