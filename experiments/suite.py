"""One experiment from its configuration to tables and figures."""

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pianobench.datasets import Dataset, UnknownDataset, handover, load
from pianobench.experiments import config as configuration
from pianobench.experiments import provenance, runner
from pianobench.experiments.cells import Cell, expand
from pianobench.experiments.environment import available_cores
from pianobench.experiments.mistakes import UserMistake
from pianobench.results.store import Store, Tables, run_name


@dataclass(frozen=True)
class Plan:
    """What would be run: the cells, and the data they need by name."""

    experiment: str
    title: str
    config_text: str
    cells: tuple[Cell, ...]
    datasets: dict[str, Dataset]


def plan(name: str, only: str | None = None, threads: int | None = None) -> Plan:
    """Read a configuration and expand it.

    Parameters
    ----------
    name : str
        Path of a TOML file, or name of a shipped configuration.
    only : str, optional
        Pattern (``*`` and ``?``; else a part) that the labels of the wanted cells match.
    threads : int, optional
        In place of the configuration's thread counts.

    Raises
    ------
    UserMistake
        One line for each thing that is wrong.
    """
    path = configuration.locate(name)
    config = configuration.read(path)
    if threads is not None:
        config = config.model_copy(update={"threads": (threads,)})
    cores = available_cores()
    if max(config.threads) > cores:
        raise UserMistake(f"threads = {max(config.threads)}: this machine offers {cores}; more would only queue")
    datasets: dict[str, Dataset] = {}
    for i, grid in enumerate(config.problems):
        for dataset in grid.datasets:
            try:
                datasets[dataset] = datasets.get(dataset) or load(dataset)
            except UnknownDataset as error:
                raise UserMistake(f"{path.name}: problems[{i}].datasets: {error}") from error
    checksums = {key: dataset.checksum for key, dataset in datasets.items()}
    cells = expand(config, path.stem, path.parent, checksums)
    if only is not None:
        cells = select(cells, only)
    return Plan(path.stem, config.title, path.read_text("utf-8"), tuple(cells), datasets)


def select(cells: Sequence[Cell], pattern: str) -> list[Cell]:
    """Cells whose label matches a pattern, or contains it if it has no ``*`` or ``?``.

    Raises
    ------
    UserMistake
        If none does.
    """
    whole = pattern if set("*?") & set(pattern) else f"*{pattern}*"
    # fnmatch gives brackets a meaning that no label needs.
    chosen = [cell for cell in cells if fnmatch.fnmatchcase(cell.label, whole.replace("[", "[[]"))]
    if not chosen:
        examples = ", ".join(cell.label for cell in cells[:2])
        raise UserMistake(f"--only {pattern!r} matches none of {len(cells)} cells; they look like {examples}")
    return chosen


def execute(
    plan: Plan,
    store: Store,
    command: list[str],
    on_start: Callable[[Cell], None],
    on_row: Callable[[dict[str, Any]], None],
) -> tuple[Path, runner.Outcome]:
    """Run the cells of a plan and store tables and manifest; return the run's folder and the outcome."""
    manifest = provenance.describe(plan.experiment, command)
    needed = {cell.problem.dataset for cell in plan.cells}
    data = {d.checksum: handover.write(d, store.data) for d in plan.datasets.values() if d.name in needed}
    outcome = runner.run(plan.cells, store, data, on_start=on_start, on_row=on_row)
    manifest |= {
        "title": plan.title,
        "ended_at": provenance.now(),
        "interrupted": outcome.interrupted,
        "datasets": {
            name: {
                "checksum": dataset.checksum,
                "origin": dataset.origin,
                "licence": dataset.licence,
                "preprocessing": dataset.preprocessing,
            }
            for name, dataset in plan.datasets.items()
            if name in needed
        },
    }
    name = run_name(plan.experiment, manifest["started_at"])
    folder = store.save_run(name, outcome.rows, outcome.curves, manifest, plan.config_text)
    return folder, outcome


def draw(tables: Tables, folder: Path) -> list[Path]:
    """Draw all figures of a run from its tables alone."""
    from pianobench.plots.convergence import convergence
    from pianobench.plots.files import save

    return list(save(convergence(tables.rows, tables.curves, tables.manifest), folder / "convergence"))
