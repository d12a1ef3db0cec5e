"""Experiments as data: arms or probes, and for each tier the grid and the caps of a cell."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pianobench.experiments.cells import problem_titles
from pianobench.experiments.config import Budget, Config, ProblemGrid, SolverChoice
from pianobench.experiments.probes.registry import PROBES, Probe
from pianobench.results.verdicts import Unit

TIERS = ("smoke", "laptop", "full")
_OF_A_PROBLEM = ("datasets", "generated", "penalty", "lam", "lam_factor", "conditioning")


@dataclass(frozen=True)
class Experiment:
    """One table of ``experiments.toml``.

    `probes` are the quantities that it measures beside runs to a gap; `table` is all that is written of it, with what
    a shipped configuration says where it is one.
    """

    name: str
    title: str
    evidence: str
    solvers: tuple[str, ...]
    probes: tuple[str, ...]
    table: dict[str, Any]

    @property
    def tiers(self) -> tuple[str, ...]:
        """Tiers in which it has a grid."""
        return tuple(tier for tier in TIERS if tier in self.table or (tier == "smoke" and "config" in self.table))

    def config(self, tier: str, keys: Collection[str]) -> Config | None:
        """What the runner runs of it in a tier, of the solvers with these keys; None where none is left.

        Parameters
        ----------
        tier : str
            One of `tiers`.
        keys : collection of str
            Solvers that this version has; `waiting` names the others.
        """
        if "config" in self.table:
            return self._shipped
        choices = tuple(choice for choice in self._choices if choice.key in keys)
        if not choices:
            return None
        grid = self.table[tier]
        budget = {key: grid[key] for key in ("steps",) if key in grid}
        return Config(
            title=self.title,
            tier=tier,  # type: ignore[arg-type]
            evidence=self.evidence,  # type: ignore[arg-type]
            seeds=self.seeds(tier),
            threads=self.threads(tier),
            repeats=self.repeats(tier),
            budget=Budget(seconds=self.seconds(tier), **budget),
            problems=self.problems(tier),
            solvers=choices,
        )

    def waiting(self, keys: Collection[str]) -> tuple[str, ...]:
        """What it needs and this version has not: solvers by key, probes by what they measure."""
        unknown = (quantity for quantity in self.probes if quantity not in PROBES)
        return (*dict.fromkeys(c.key for c in self._choices if c.key not in keys), *unknown)

    @property
    def processes(self) -> tuple[Probe, ...]:
        """Probes that this version has: each is a process in each cell, and may measure several quantities."""
        return tuple(dict.fromkeys(PROBES[quantity] for quantity in self.probes if quantity in PROBES))

    def seconds(self, tier: str) -> float:
        """Seconds that a cell may take."""
        return self._shipped.budget.seconds if "config" in self.table else float(self.table[tier]["seconds"])

    def runs(self, tier: str) -> int:
        """Runs of one arm in one cell of the grid."""
        return len(self.seeds(tier)) * self.repeats(tier)

    def seeds(self, tier: str) -> tuple[int, ...]:
        """Seeds of each arm in each cell."""
        return self._shipped.seeds if "config" in self.table else tuple(self.table[tier].get("seeds", (0,)))

    def arms(self) -> tuple[str, ...]:
        """Solvers and probes."""
        shipped = tuple(choice.key for choice in self._shipped.solvers) if "config" in self.table else ()
        return (*shipped, *self.solvers, *self.probes)

    def units(self, tier: str) -> Iterator[Unit]:
        """Cells of its grid, whether they can be measured or not."""
        for grid in self.problems(tier) if tier in self.tiers else ():
            for dataset in grid.sources:
                n, d, m = sizes(dataset)
                for problem in problem_titles(grid):
                    for threads in self.threads(tier):
                        yield Unit(
                            experiment=self.name, dataset=dataset, problem=problem, threads=threads,
                            evidence=self.evidence, penalty=grid.penalty, n=n, d=d, m=m, runs=self.runs(tier),
                        )  # fmt: skip

    @property
    def _shipped(self) -> Config:
        from pianobench.experiments import config

        return config.read(config.locate(self.table["config"]))

    @property
    def _choices(self) -> list[SolverChoice]:
        from pianobench.experiments.solver_choice import parse

        return [SolverChoice(key=key, params=params) for key, params in map(parse, self.solvers)]

    def problems(self, tier: str) -> tuple[ProblemGrid, ...]:
        """Data and strengths of its grid."""
        if "config" in self.table:
            return self._shipped.problems
        grid = self.table[tier]
        return (ProblemGrid.model_validate({"intercept": False, **{k: grid[k] for k in _OF_A_PROBLEM if k in grid}}),)

    def threads(self, tier: str) -> tuple[int, ...]:
        """Threads of its cells."""
        return self._shipped.threads if "config" in self.table else tuple(self.table[tier].get("threads", (1,)))

    def repeats(self, tier: str) -> int:
        """How often each seed is measured."""
        return self._shipped.repeats if "config" in self.table else int(self.table[tier].get("repeats", 1))


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "experiments.toml").read_text("utf-8"))


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of the file."""
    from pianobench.experiments import config

    return {
        name: Experiment(
            name,
            table["title"],
            table.get("evidence", "real"),
            tuple(table.get("solvers", ())),
            tuple(table.get("probes", ())),
            table | ({"text": config.locate(table["config"]).read_text("utf-8")} if "config" in table else {}),
        )
        for name, table in _file().items()
        if name != "meaning"
    }


@cache
def probes() -> dict[str, tuple[str, bool]]:
    """Quantities that are no runs to a gap: what they are, and whether they differ from run to run."""
    return {name: (about["is"], about.get("noisy", False)) for name, about in _file()["meaning"].items()}


@cache
def sizes(dataset: str) -> tuple[int, int, int]:
    """n, d, m; zeros for data that this version does not know or this machine does not have."""
    from pianobench.datasets import registry

    try:
        known = registry.size(dataset)
    except ValueError:
        return 0, 0, 0
    return known.n, known.d, known.m
