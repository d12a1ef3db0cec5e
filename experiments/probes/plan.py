"""The plan of an experiment's probes, as `suite` executes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pianobench.experiments import data_choice, suite
from pianobench.experiments.config import toml
from pianobench.experiments.probes.cells import expand

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pianobench.experiments.claims.experiment import Experiment
    from pianobench.experiments.config import ProblemGrid


def plan(
    experiment: Experiment,
    tier: str,
    grids: Iterable[ProblemGrid],
    only: str | None = None,
    threads: int | None = None,
) -> suite.Plan:
    """Cells of the probes that this version has.

    Parameters
    ----------
    experiment : Experiment
    tier : str
    grids : iterable of ProblemGrid
        Its grids, without data that are not there.
    only : str, optional
        Pattern that the labels of the wanted cells match.
    threads : int, optional
        In place of the grid's.

    Raises
    ------
    UserMistake
    """
    kept = tuple(grids)
    datasets = data_choice.of(kept, Path(), {})
    cells = expand(experiment, tier, kept, {name: one.checksum for name, one in datasets.items()}, threads)
    where = f"{experiment.name}: threads" if threads is None else "--threads"
    warnings = suite.thread_warnings(max(cell.threads for cell in cells), where)
    chosen = cells if only is None else suite.select(cells, only)
    measured = [quantity for probe in experiment.processes for quantity in probe.quantities]
    text = "".join(f"{key} = {toml(value)}\n" for key, value in experiment.table.items())
    return suite.Plan(experiment.name, experiment.title, text, tuple(chosen), datasets, warnings, tuple(measured))
