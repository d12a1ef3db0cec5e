"""One experiment from its configuration to tables and figures."""

import fnmatch
import hashlib
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from pianobench.datasets import Dataset, handover
from pianobench.experiments import config as configuration
from pianobench.experiments import data_choice, machine, provenance, runner
from pianobench.experiments.cells import Cell, expand
from pianobench.experiments.environment import available_cores
from pianobench.experiments.mistakes import UserMistake
from pianobench.results.store import Store, StoreError, Tables, run_name

MOST_THREADS_A_CORE = 8


@dataclass(frozen=True)
class Plan:
    """What would be run: the cells, and the data they need by name."""

    experiment: str
    title: str
    config_text: str
    cells: tuple[Cell, ...]
    datasets: dict[str, Dataset]
    warnings: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    """Quantities that its cells measure, where they are no runs of a solver."""


def plan(
    name: str,
    only: str | None = None,
    threads: int | None = None,
    solvers: Sequence[str] = (),
    data: Path | None = None,
    reading: Mapping[str, Any] = MappingProxyType({}),
) -> Plan:
    """Read a configuration and expand it.

    Parameters
    ----------
    name : str
        Path of a TOML file, or name of a shipped configuration.
    only : str, optional
        Pattern (``*`` and ``?``; else a part) that the labels of the wanted cells match.
    threads : int, optional
        In place of the configuration's thread counts.
    solvers : sequence of str
        Further ones: keys or ``file.py:Class``, with or without ``(name=value, ...)``.
    data : Path, optional
        A file in place of all data sets of the configuration.
    reading : mapping
        How that file is read.

    Raises
    ------
    UserMistake
        One line for each thing that is wrong.
    """
    path = configuration.locate(name)
    config = data_choice.override(configuration.read(path), solvers, data, reading)
    given = {} if data is None else data_choice.of_option(data, reading)
    where = f"{path.name}: threads" if threads is None else "--threads"
    try:
        return of_config(config, path.stem, path.read_text("utf-8"), path.parent, only, threads, given, where)
    except UserMistake as mistake:
        if str(mistake).startswith(("--", where)):
            raise
        raise UserMistake("\n".join(f"{path.name}: {line}" for line in str(mistake).splitlines())) from mistake


def of_config(
    config: configuration.Config,
    experiment: str,
    text: str,
    folder: Path = Path(),
    only: str | None = None,
    threads: int | None = None,
    given: Mapping[str, Dataset] = MappingProxyType({}),
    where: str = "threads",
) -> Plan:
    """The plan of a configuration, whose text is stored with the tables.

    Parameters
    ----------
    config : Config
    experiment, text : str
        Its name and its text.
    folder : Path
        Where files of data and solvers are looked for.
    only, threads
        As of `plan`.
    given : mapping
        Data that are read already, by name.
    where : str
        What to call the threads in a warning.

    Raises
    ------
    UserMistake
    """
    if threads is not None:
        config = config.model_copy(update={"threads": (threads,)})
    warnings = thread_warnings(max(config.threads), where)
    datasets = data_choice.of(config.problems, folder, given)
    cells = expand(config, experiment, folder, {key: dataset.checksum for key, dataset in datasets.items()})
    if only is not None:
        cells = select(cells, only)
    return Plan(experiment, config.title, text, tuple(cells), datasets, warnings)


def thread_warnings(most: int, where: str) -> tuple[str, ...]:
    """Threads beyond the cores are measured, and queue; far beyond them they are refused.

    Raises
    ------
    UserMistake
    """
    cores = available_cores()
    if most > MOST_THREADS_A_CORE * cores:
        raise UserMistake(f"{where} = {most}: this machine offers {cores} cores; so many threads would only queue")
    if most > cores:
        return (f"{where} = {most}: this machine offers {cores} cores, so the times of these cells are of queueing",)
    return ()


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


def say_waiting(holder: str) -> None:
    """Say whom a suite waits for, on standard error, as this may take long."""
    print(f"waiting: {holder} is measuring in this store", file=sys.stderr, flush=True)


def execute(
    plan: Plan,
    store: Store,
    command: list[str],
    on_start: Callable[[Cell], None],
    on_row: Callable[[dict[str, Any]], None],
    on_wait: Callable[[str], None] = say_waiting,
) -> tuple[Path, runner.Outcome]:
    """Run the cells of a plan and store tables and manifest; return the run's folder and the outcome.

    Raises
    ------
    StoreError
        If the store cannot be written, as on a full disk. What was measured before stays, and is reused.
    """
    try:
        return _execute(plan, store, command, on_start, on_row, on_wait)
    except OSError as error:
        raise StoreError(
            f"{store.root} cannot be written: {error.strerror or error}. The cells that had ended are kept: "
            "make room there, or give another folder, and start again"
        ) from error


def _execute(
    plan: Plan,
    store: Store,
    command: list[str],
    on_start: Callable[[Cell], None],
    on_row: Callable[[dict[str, Any]], None],
    on_wait: Callable[[str], None],
) -> tuple[Path, runner.Outcome]:
    manifest = provenance.describe(plan.experiment, command)
    needed = {cell.problem.dataset for cell in plan.cells}
    data = {d.checksum: handover.write(d, store.data) for d in plan.datasets.values() if d.name in needed}
    order_seed = secrets.randbits(32)
    outcome = runner.run(
        plan.cells, store, data, order_seed=order_seed, on_start=on_start, on_row=on_row, on_wait=on_wait
    )
    manifest |= {
        "title": plan.title,
        "ended_at": provenance.now(),
        "load_after": machine.load(),
        "interrupted": outcome.interrupted,
        "config_sha256": hashlib.sha256(plan.config_text.encode()).hexdigest(),
        "order_seed": order_seed,
        **({"probes": list(plan.probes)} if plan.probes else {}),
        "datasets": {
            name: {
                "n": dataset.n,
                "d": dataset.d,
                "m": dataset.m,
                "checksum": dataset.checksum,
                "nonzeros": int(np.count_nonzero(dataset.X) if isinstance(dataset.X, np.ndarray) else dataset.X.nnz),
                "dtype": str(dataset.X.dtype),
                "layout": "dense, C order" if isinstance(dataset.X, np.ndarray) else "csr",
                "origin": dataset.origin,
                "licence": dataset.licence,
                "preprocessing": dataset.preprocessing,
                "parts": dict(dataset.parts),
                "files": dict(dataset.files),
            }
            for name, dataset in plan.datasets.items()
            if name in needed
        },
    }
    name = run_name(plan.experiment, manifest["started_at"])
    folder = store.save_run(name, outcome.rows, outcome.curves, manifest, plan.config_text, outcome.probes)
    return folder, outcome


def draw(tables: Tables, folder: Path) -> list[Path]:
    """Draw all figures of a run from its tables alone; one of probes has none."""
    if tables.manifest.get("probes"):
        return []
    from pianobench.plots.convergence import convergence
    from pianobench.plots.files import save

    return list(save(convergence(tables.rows, tables.curves, tables.manifest), folder / "convergence"))
