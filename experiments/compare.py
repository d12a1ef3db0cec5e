"""A comparison of methods on one data set: from options to a plan for the suite, and from its tables to rankings."""

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pianobench.datasets import handover
from pianobench.experiments import compare_peers, suite
from pianobench.experiments.cells import Cell, expand
from pianobench.experiments.compare_data import Held
from pianobench.experiments.config import Budget, Config, ProblemGrid, SolverChoice, written
from pianobench.experiments.environment import available_cores
from pianobench.experiments.mistakes import UserMistake
from pianobench.experiments.runner import Outcome
from pianobench.results.store import Store, Tables

LAM_FACTORS = (0.3, 0.03, 0.003)
PENALTIES = ("l1", "l2", "none")
CONDITIONINGS = ("none", "scale", "centre+scale")


@dataclass(frozen=True)
class Options:
    """What to compare on the data.

    Parameters
    ----------
    penalties : tuple of str
        Of `PENALTIES`.
    lam : tuple of float
        Strengths in the data's units; with none given `lam_factors` hold.
    lam_factors : tuple of float
        Strengths as multiples of lambda_max, the smallest l1 strength with an all-zero solution.
    solvers : tuple of str
        Keys, ``file.py:Class``, each with ``(name=value)`` where wanted; none given: all there are.
    intercept : bool
    conditioning : str
        Of `CONDITIONINGS`.
    tolerance : float
        Certified relative gap to reach.
    seconds : float
        Budget of a run.
    repeats : int
        Runs of each method on each problem, each with a seed of its own.
    threads : int
    seed : int
        Root of all seeds, of the order of the runs, and of a split.
    """

    penalties: tuple[str, ...] = ("l1", "l2")
    lam: tuple[float, ...] = ()
    lam_factors: tuple[float, ...] = LAM_FACTORS
    solvers: tuple[str, ...] = ()
    intercept: bool = True
    conditioning: str = "none"
    tolerance: float = 1e-6
    seconds: float = 5.0
    repeats: int = 1
    threads: int = 1
    seed: int = 0


def default_solvers() -> tuple[str, ...]:
    """Keys of all methods that can be compared here: those of the registry, and the peers that are installed."""
    from pianobench.algorithms import SOLVERS

    return (*SOLVERS, *compare_peers.available())


def plan(held: Held, options: Options) -> suite.Plan:
    """Cells of a comparison, the methods in an order drawn anew for each problem and repeat.

    Raises
    ------
    UserMistake
        One line for the first option that cannot be used.
    """
    check(held, options)
    config = _config(held, options)
    cells = _cells(config, held)
    cells = [replace(cell, tier="compare", **_tested(held)) for cell in cells]
    return suite.Plan(
        cells[0].experiment, config.title, _text(config, held), tuple(_shuffled(cells, options.seed)), _data(held)
    )


def execute(
    plan: suite.Plan,
    held: Held,
    store: Store,
    command: list[str],
    on_start: Callable[[Cell], None],
    on_row: Callable[[dict[str, Any]], None],
) -> tuple[Path, Outcome]:
    """Run the cells of a plan; the held-out samples lie beside the others for the processes that measure."""
    if held.test is not None:
        handover.write(held.test, store.data)
    return suite.execute(plan, store, command, on_start, on_row)


def draw(tables: Tables, folder: Path) -> list[Path]:
    """The page of figures of a comparison, from its tables alone."""
    from pianobench.plots.comparison import comparison
    from pianobench.plots.files import save

    return list(save(comparison(tables.rows, tables.curves, tables.manifest), folder / "comparison"))


def check(held: Held, options: Options) -> None:
    """Refuse the first option that cannot be used."""
    for penalty in options.penalties or ("",):
        if penalty not in PENALTIES:
            raise UserMistake(f"penalty = {penalty!r}: one of {', '.join(PENALTIES)} is expected")
    for title, values in (("lam", options.lam), ("lam-factor", options.lam_factors)):
        for value in values:
            if not (value > 0 and math.isfinite(value)):
                raise UserMistake(f"{title} = {value:g}: a number above 0 is expected")
    if not 0 < options.tolerance < 1:
        raise UserMistake(f"tol = {options.tolerance:g}: a relative gap between 0 and 1 is expected, for example 1e-6")
    if not (options.seconds > 0 and math.isfinite(options.seconds)):
        raise UserMistake(f"budget = {options.seconds:g}: seconds above 0 are expected, for example 5")
    for title, count in (("repeats", options.repeats), ("threads", options.threads)):
        if count < 1:
            raise UserMistake(f"{title} = {count}: 1 or more is expected")
    if options.seed < 0:
        raise UserMistake(f"seed = {options.seed}: 0 or more is expected")
    if options.threads > available_cores():
        raise UserMistake(
            f"threads = {options.threads}: this machine offers {available_cores()}; more would only queue"
        )
    if options.conditioning not in CONDITIONINGS:
        raise UserMistake(f"conditioning = {options.conditioning!r}: one of {', '.join(CONDITIONINGS)} is expected")
    if options.conditioning == "centre+scale" and not (options.intercept and hasattr(held.train.X, "flags")):
        raise UserMistake(
            "conditioning = 'centre+scale' moves the columns, which needs an intercept and dense features: give 'scale'"
        )


def _cells(config: Config, held: Held) -> list[Cell]:
    """Cells of our solvers, and beside them those of the peers."""
    ours = tuple(choice for choice in config.solvers if not compare_peers.is_peer(choice.key))
    lent = ours or (SolverChoice(key="lbfgs"),)  # peers alone still need problems, seeds and limits
    name = held.train.name
    try:
        cells = expand(
            config.model_copy(update={"solvers": lent}),
            f"compare-{_safe(name)}",
            Path.cwd(),
            {name: held.train.checksum},
        )
    except UserMistake as error:  # it speaks of a configuration's keys, which nobody has seen
        text = re.sub(r"^solvers\[(\d+)\][^:]*: ", lambda found: f"solver {lent[int(found[1])].key!r}: ", str(error))
        raise UserMistake(text) from error
    peers = [choice for choice in config.solvers if choice not in ours]
    beside = [cell for peer in peers for cell in compare_peers.beside(cells, peer.key, dict(peer.params))]
    return (cells if ours else []) + beside


def _config(held: Held, options: Options) -> Config:
    from pianobench.experiments.solver_choice import parse

    strengths: dict[str, Any] = {"lam": options.lam} if options.lam else {"lam_factor": options.lam_factors}
    choices = []
    for text in dict.fromkeys(options.solvers or default_solvers()):
        try:
            key, params = parse(text)
        except ValueError as error:
            raise UserMistake(f"solver {text!r}: {error}") from error
        choices.append(SolverChoice(key=key, params=params))
    train = held.train
    return Config(
        title=f"{train.name}: n = {train.n:,}, d = {train.d:,}, m = {train.m:,}",
        tier="smoke",  # a word of the configuration's; the cells say "compare"
        tolerance=options.tolerance,
        seeds=tuple(range(options.seed, options.seed + options.repeats)),
        threads=(options.threads,),
        budget=Budget(seconds=options.seconds),
        problems=tuple(
            ProblemGrid.model_validate(
                {
                    "datasets": (train.name,),
                    "penalty": penalty,
                    **(strengths if penalty != "none" else {}),
                    "intercept": options.intercept,
                    "conditioning": options.conditioning,
                }
            )
            for penalty in dict.fromkeys(options.penalties)
        ),
        solvers=tuple(choices),
    )


def _tested(held: Held) -> dict[str, Any]:
    """What a cell must know of the held-out samples."""
    return {} if held.test is None else {"test": held.test.checksum}


def _data(held: Held) -> dict[str, Any]:
    return {d.name: d for d in (held.train, held.test) if d is not None}


def _shuffled(cells: Sequence[Cell], seed: int) -> list[Cell]:
    """Problem by problem, repeat by repeat; the methods in random order, so that none is always first."""
    rng = random.Random(seed)
    blocks: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        blocks.setdefault((cell.problem.title, cell.seed), []).append(cell)
    for block in blocks.values():
        rng.shuffle(block)
    return [cell for block in blocks.values() for cell in block]


def _text(config: Config, held: Held) -> str:
    """The configuration, to be stored with the tables."""
    notes = []
    if held.test is not None:
        notes.append(f"held out: {held.test.name}, {held.test.n} samples, {held.test.preprocessing}")
        notes.append(f"their checksum: {held.test.checksum}")
    return written(config.model_copy(update={"tier": "smoke"}), notes)


def _safe(name: str) -> str:
    """A name that a folder may have."""
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "data"
