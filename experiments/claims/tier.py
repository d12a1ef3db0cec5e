"""A tier of the reproduction: which experiments it has, what they cost, and what of them can be run here."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pianobench.experiments.claims.experiment import Experiment, experiments
from pianobench.experiments.config import Config, ProblemGrid

OVERHEAD = 1.3
"""Seconds of a cell besides its method: start of a process, warm-up, certificates, as measured on two cores."""
ROW_BYTES = 40_000
"""Bytes that a cell leaves in the store: specification, curve, log and row, about."""


@dataclass(frozen=True)
class Outline:
    """What one experiment of a tier takes.

    Parameters
    ----------
    experiment : Experiment
    cells : int
        Runs that this version can make on this machine.
    planned : int
        Runs of its whole grid, with solvers, probes and data that are not there.
    minutes : float
        At most: every run up to its cap.
    megabytes : float
        Arrays and results in the store.
    waiting : tuple of str
        Solvers and probes that this version has not.
    missing : tuple of str
        Data that this machine has not.
    """

    experiment: Experiment
    cells: int
    planned: int
    minutes: float
    megabytes: float
    waiting: tuple[str, ...]
    missing: tuple[str, ...]


def outlines(tier: str, keys: Collection[str]) -> Iterator[Outline]:
    """What each experiment of a tier takes; nothing is read or run."""
    for experiment in experiments().values():
        if tier not in experiment.tiers:
            continue
        config, missing = runnable(experiment, tier, keys)
        units = list(experiment.units(tier))
        here = [unit for unit in units if unit.dataset not in missing]
        runs = experiment.runs(tier)
        waiting, processes = experiment.waiting(keys), len(experiment.processes)
        cells = len(here) * runs * (processes + (0 if config is None else len(config.solvers)))
        together = sum(len(probe.quantities) for probe in experiment.processes) - processes
        nbytes = sum(_nbytes(name) for name in {unit.dataset for unit in here}) if cells else 0
        yield Outline(
            experiment,
            cells,
            len(units) * runs * (len(experiment.arms()) - together),
            cells * (experiment.seconds(tier) + OVERHEAD) / 60,
            (nbytes + cells * ROW_BYTES) / 1e6,
            waiting,
            missing,
        )


def runnable(experiment: Experiment, tier: str, keys: Collection[str]) -> tuple[Config | None, tuple[str, ...]]:
    """What solvers of an experiment can run, None if nothing, and the names of the data that are not there."""
    problems, missing = grids(experiment, tier)
    config = experiment.config(tier, keys)
    if config is None or not missing:
        return config, missing
    return (config.model_copy(update={"problems": problems}) if problems else None), missing


def grids(experiment: Experiment, tier: str) -> tuple[tuple[ProblemGrid, ...], tuple[str, ...]]:
    """Its grids without the data that this machine has not, and the names of those."""
    names = dict.fromkeys(unit.dataset for unit in experiment.units(tier))
    missing = tuple(name for name in names if not _is_here(name))
    kept = (_without(grid, missing) for grid in experiment.problems(tier))
    return tuple(grid for grid in kept if grid is not None), missing


def _without(grid: ProblemGrid, missing: Collection[str]) -> ProblemGrid | None:
    kept = tuple(name for name in grid.datasets if name not in missing)
    return grid.model_copy(update={"datasets": kept}) if kept or grid.generated else None


def _is_here(name: str) -> bool:
    from pianobench import datasets

    entry = datasets.entries().get(name.partition(":")[0])
    return entry is not None and entry.missing is None


def _nbytes(name: str) -> int:
    from pianobench.datasets import registry

    return registry.size(name).nbytes
