"""Cells of probes: those of solvers with another process, and a line of the table for each number."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pianobench.experiments import sources
from pianobench.experiments.cells import NO_SAY, Cell, problem_choices
from pianobench.experiments.config import Budget, ProblemGrid
from pianobench.experiments.probes.registry import Probe
from pianobench.results.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from pianobench.experiments.claims.experiment import Experiment

_OF_THE_ROW = ("n", "d", "m", "measured_at", "commit", "machine", "disturbed")


@dataclass(frozen=True)
class ProbeCell(Cell):
    """One probe on data × problem × seed × threads × repeat. Its solver is the key of the probe.

    `threads` are those of its process, `asked` those of the grid: a probe that compares threads takes more.
    """

    asked: int = 1

    process: ClassVar[str] = "pianobench.experiments.probes.process"

    @property
    def label(self) -> str:
        repeat = f"/repeat{self.repeat}" if self.repeat else ""
        place = f"{self.problem.dataset}/{self.problem.title}/{self.solver}"
        return f"{place}/seed{self.seed}/threads{self.asked}{repeat}"

    def lines(self, row: Mapping[str, Any], numbers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        about = {
            "experiment": self.experiment,
            "tier": self.tier,
            "evidence": self.evidence,
            "dataset": self.problem.dataset,
            "data_checksum": self.problem.checksum,
            "problem": self.problem.title,
            "penalty": self.problem.penalty,
            "threads_asked": self.asked,
            "seed": self.seed,
            "repeat": self.repeat,
            "key": self.key,
            "max_seconds": self.max_seconds,
            "schema": SCHEMA_VERSION,
            **{name: row.get(name) for name in _OF_THE_ROW},
        }
        return [{**about, **number} for number in numbers]


def expand(
    experiment: Experiment,
    tier: str,
    grids: Iterable[ProblemGrid],
    checksums: Mapping[str, str],
    threads: int | None = None,
) -> list[ProbeCell]:
    """All cells of an experiment's probes, repeat by repeat.

    Parameters
    ----------
    experiment : Experiment
    tier : str
    grids : iterable of ProblemGrid
        Of its data those that are there.
    checksums : mapping
        Checksum of each data set by name.
    threads : int, optional
        In place of the grid's.
    """
    budget, digests = Budget(seconds=experiment.seconds(tier)), {one: _digest(one) for one in experiment.processes}
    return [
        ProbeCell(
            experiment=experiment.name,
            tier=tier,
            problem=problem,
            solver=probe.key,
            solver_title=", ".join(probe.quantities),
            solver_file=None,
            solver_digest=digest,
            solver_packages=packages,
            params=json.dumps({"dataset": dataset} if probe.named else {}),
            seed=seed,
            threads=max(asked, probe.threads),
            tolerance=1e-6,
            max_seconds=budget.seconds,
            max_steps=None,
            allowance=budget.allowance,
            memory_gib=budget.memory_gib,
            repeat=repeat,
            evidence=experiment.evidence,
            asked=asked,
        )
        for repeat in range(experiment.repeats(tier))
        for grid in grids
        for dataset in grid.sources
        for problem in problem_choices(grid, dataset, checksums[dataset])
        for seed in experiment.seeds(tier)
        for asked in (experiment.threads(tier) if threads is None else (threads,))
        for probe, (digest, packages) in digests.items()
    ]


def _digest(probe: Probe) -> tuple[str, tuple[str, ...]]:
    """Hash of the sources that decide its numbers, and the packages of others that they import."""
    from pianobench.algorithms import SOLVERS
    from pianobench.algorithms.peers import PEERS
    from pianobench.experiments import compare_peers

    start = [ProbeCell.process, probe.module, *(SOLVERS[key].module for key in probe.solvers)]
    # Without the registry: a new probe changes no key but its own.
    stop = [*NO_SAY, "pianobench.experiments.probes.registry"]
    texts = sources.closure(start, [name for name in stop if not (probe.named and "datasets" in name)])
    for key in probe.peers:
        texts = texts | compare_peers.texts(PEERS[key])
    return sources.digest({**texts, "entry": repr(probe).encode()}), tuple(sorted(sources.outside(texts)))
