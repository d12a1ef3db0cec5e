"""From a configuration to cells: one process each, with a key over everything that its result depends on."""

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pianobench.experiments import environment, machine, provenance, sources
from pianobench.experiments.config import Config, ProblemGrid, SolverChoice
from pianobench.experiments.mistakes import UserMistake

# The code that measures, and what it imports that has no say in a number: files, tables, this module. The registry is
# left out so that a new solver changes no key; its rule of refusing is hashed by itself.
MEASURING = (
    "pianobench.experiments.measure",
    "pianobench.experiments.isolate",
    "pianobench.experiments.watched",
    "pianobench.algorithms.loop",
)
NO_SAY = (
    "pianobench.results*",
    "pianobench.datasets*",
    "pianobench.algorithms",
    "pianobench.algorithms.registry",
    "pianobench.algorithms.peers*",  # these and the next are in the keys of their own cells
    "pianobench.experiments.black_box",
    "pianobench.experiments.cells",
    "pianobench.experiments.machine",
    "pianobench.experiments.provenance",
    "pianobench.experiments.sources",
)


@dataclass(frozen=True)
class ProblemChoice:
    """One problem: a data set by its checksum, and a penalty with its strength."""

    dataset: str
    checksum: str
    penalty: str
    lam: float | None
    lam_factor: float | None
    ridge: float | None
    intercept: bool
    conditioning: str

    @property
    def title(self) -> str:
        """Penalty and strength in a form without spaces, for labels and shell patterns."""
        if self.penalty == "none":
            title = "none"
        elif self.lam_factor is not None:
            title = f"{self.penalty}:{self.lam_factor:g}max"
        else:
            title = f"{self.penalty}:{self.lam:g}"
        title += f"+{self.ridge:g}" if self.ridge is not None else ""
        title += "" if self.intercept else ":no-intercept"
        return title + ("" if self.conditioning == "none" else f":{self.conditioning}")


@dataclass(frozen=True)
class Cell:
    """One thing to measure: data set × problem × solver × parameters × seed × threads × repeat.

    `params` is JSON with sorted keys; `solver_digest` is the hash of the solver's import closure, and
    `solver_packages` are those that it imports from elsewhere.
    """

    experiment: str
    tier: str
    problem: ProblemChoice
    solver: str
    solver_title: str
    solver_file: str | None
    solver_digest: str
    params: str
    seed: int
    threads: int
    tolerance: float
    max_seconds: float
    max_steps: int | None
    allowance: float
    memory_gib: float | None
    test: str | None = None
    """Checksum of held-out samples, whose arrays lie beside the others."""
    black_box: bool = False
    """Whether the solver is a peer, fitted anew for each budget."""
    repeat: int = 0
    evidence: str = "real"
    """What a verdict may make of its data."""
    solver_packages: tuple[str, ...] = ()

    process: ClassVar[str] = "pianobench.experiments.measure"
    """Module that is started with the cell's folder."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Hyper-parameters by name."""
        return dict(json.loads(self.params))

    @property
    def label(self) -> str:
        """For people and for ``--only``."""
        values = ",".join(f"{k}={v}" for k, v in self.parameters.items())
        solver = self.solver + (f"({values})" if values else "")
        repeat = f"/repeat{self.repeat}" if self.repeat else ""
        return f"{self.problem.dataset}/{self.problem.title}/{solver}/seed{self.seed}/threads{self.threads}{repeat}"

    @property
    def key_parts(self) -> dict[str, Any]:
        """All that the result depends on; `key` is its hash. Stored with the result, to explain a new key."""
        return {
            "measuring": _measuring_digest(),
            "problems": _problems_digest(),
            "solver": [self.solver, self.solver_digest, self.params],
            "data": self.problem.checksum,
            "problem": [
                self.problem.penalty,
                self.problem.lam,
                self.problem.lam_factor,
                self.problem.ridge,
                self.problem.intercept,
                self.problem.conditioning,
            ],
            "seed": self.seed,
            "threads": self.threads,
            "repeat": self.repeat,
            "limits": [self.tolerance, self.max_seconds, self.max_steps, self.allowance, self.memory_gib],
            "versions": provenance.decisive_versions() | provenance.versions_of(self.solver_packages),
            "settings": environment.settings(),
            "machine": machine.machine(),
            **({"test": self.test} if self.test else {}),
        }

    @property
    def key(self) -> str:
        """32 hexadecimal digits."""
        text = json.dumps(self.key_parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def seed_words(self) -> tuple[int, list[int]]:
        """Entropy and spawn key of a SeedSequence: a stream for each problem and solver, the same in each repeat."""
        stream = f"{self.problem.checksum} {self.problem.title} {self.solver} {self.params}"
        digest = hashlib.sha256(stream.encode()).digest()
        return self.seed, [int.from_bytes(digest[i : i + 4], "little") for i in (0, 4, 8, 12)]

    def columns_that_name(self) -> dict[str, Any]:
        """The columns of its row that are names: they are not in the key, so they follow the request."""
        return {
            "label": self.label,
            "experiment": self.experiment,
            "tier": self.tier,
            "evidence": self.evidence,
            "dataset": self.problem.dataset,
            "solver_title": self.solver_title,
        }

    def columns(self) -> dict[str, Any]:
        """The columns of the cell's row that are known before it runs."""
        return {
            **self.columns_that_name(),
            "key": self.key,
            "data_checksum": self.problem.checksum,
            "problem": self.problem.title,
            "penalty": self.problem.penalty,
            "lam": self.problem.lam,
            "lam_factor": self.problem.lam_factor,
            "ridge": self.problem.ridge,
            "intercept": self.problem.intercept,
            "conditioning": self.problem.conditioning,
            "solver": self.solver,
            "params": self.params,
            "seed": self.seed,
            "entropy": json.dumps(self.seed_words),
            "repeat": self.repeat,
            "tolerance": self.tolerance,
            "max_seconds": self.max_seconds,
            "max_steps": self.max_steps,
            "threads_asked": self.threads,
        }

    def lines(self, row: Mapping[str, Any], numbers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Lines of the table of probes, of the cell's row and of what it measured beside it: nothing here."""
        del row, numbers
        return []


@cache
def _problems_digest() -> str:
    names = sources.modules_below("pianobench.problems")
    return sources.digest({name: path.read_bytes() for name in names if (path := sources.source(name))})


@cache
def _measuring_digest() -> str:
    from pianobench.algorithms import solver_refusal

    refusing = {"refusal": inspect.getsource(solver_refusal).encode()}
    return sources.digest(sources.closure(MEASURING, stop=NO_SAY) | refusing)


def expand(config: Config, experiment: str, folder: Path, checksums: Mapping[str, str]) -> list[Cell]:
    """All cells of a configuration, repeat by repeat, solvers side by side on each problem.

    Parameters
    ----------
    config : Config
        What to run.
    experiment : str
        Its name.
    folder : Path
        Where ``file.py:Class`` solvers are looked for.
    checksums : mapping
        Checksum of each data set by name.

    Raises
    ------
    UserMistake
        If a solver or a parameter is unknown, or a cell is asked for twice.
    """
    solvers = [_solver(choice, folder, f"solvers[{i}]") for i, choice in enumerate(config.solvers)]
    cells = [
        Cell(
            experiment=experiment,
            tier=config.tier,
            problem=problem,
            **solver,
            seed=seed,
            threads=threads,
            tolerance=config.tolerance,
            max_seconds=config.budget.seconds,
            max_steps=config.budget.steps,
            allowance=config.budget.allowance,
            memory_gib=config.budget.memory_gib,
            repeat=repeat,
            evidence=config.evidence,
        )
        for repeat in range(config.repeats)
        for grid in config.problems
        for dataset in grid.sources
        for problem in problem_choices(grid, dataset, checksums[dataset])
        for seed in config.seeds
        for threads in config.threads
        for solver in solvers
    ]
    labels = [cell.label for cell in cells]
    twice = next((label for i, label in enumerate(labels) if label in labels[:i]), None)
    if twice:
        raise UserMistake(f"{experiment}: the cell {twice} is asked for twice; remove one")
    return cells


def problem_titles(grid: ProblemGrid) -> tuple[str, ...]:
    """Titles of the problems of a grid on one data set."""
    return tuple(problem.title for problem in problem_choices(grid, "", ""))


def problem_choices(grid: ProblemGrid, dataset: str, checksum: str) -> list[ProblemChoice]:
    """Problems of a grid on one data set, a strength each."""
    strengths: list[tuple[float | None, float | None]] = [
        *((lam, None) for lam in grid.lam),
        *((None, factor) for factor in grid.lam_factor),
    ]
    return [
        ProblemChoice(
            dataset=dataset,
            checksum=checksum,
            penalty=grid.penalty,
            lam=lam,
            lam_factor=factor,
            ridge=grid.ridge,
            intercept=grid.intercept,
            conditioning=grid.conditioning,
        )
        for lam, factor in strengths or [(None, None)]
    ]


def _solver(choice: SolverChoice, folder: Path, where: str) -> dict[str, Any]:
    from pianobench.experiments.solver_choice import WrongParameter, choose

    try:
        chosen = choose(choice.key, dict(choice.params), folder, NO_SAY)
    except WrongParameter as error:
        value = f" = {choice.params[error.name]!r}" if error.name in choice.params else ""
        raise UserMistake(f"{where}.params.{error.name}{value}: {error}") from error
    except (ValueError, OSError) as error:
        raise UserMistake(f"{where}.key = {choice.key!r}: {error}") from error
    return {
        "solver": chosen.key,
        "solver_title": chosen.title,
        "solver_file": chosen.file,
        "solver_digest": sources.digest(chosen.texts),
        "solver_packages": tuple(sorted(sources.outside(chosen.texts))),
        "params": json.dumps(dict(choice.params), sort_keys=True),
        "black_box": chosen.black_box,
    }
