"""Where each claim stands: its verdict on the tables of a store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pianobench.experiments.claims import history
from pianobench.experiments.claims.claim import Claim
from pianobench.experiments.claims.experiment import experiments, probes
from pianobench.results.schema import CURVES, PROBES, ROWS, frame
from pianobench.results.store import Store, Tables, load
from pianobench.results.verdicts import Verdict, judge, quantities

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Evidence:
    """Rows, curves and probes of one tier: of each cell those of the newest run that has it."""

    rows: pd.DataFrame
    curves: pd.DataFrame
    probes: pd.DataFrame


@dataclass(frozen=True)
class Standing:
    """A claim and its verdict in one tier."""

    claim: Claim
    tier: str
    verdict: Verdict
    fixed: history.Fixed | None

    @property
    def amended(self) -> bool:
        """Whether the rule is newer than the evidence."""
        return self.fixed is not None and history.amended(self.fixed, self.verdict.oldest)


def standings(claims: Iterable[Claim], tier: str, evidence: Evidence) -> list[Standing]:
    """The verdict on each claim; a rule that has not been fixed gives none."""
    found = []
    for claim in claims:
        fixed = history.fixed(claim)
        grid = [unit for name in claim.experiments for unit in experiments()[name].units(tier)]
        verdict = judge(
            claim.rule,
            quantities(probes()),
            grid,
            evidence.rows,
            evidence.curves,
            evidence.probes,
            universal=claim.universal,
            refutable=claim.refutable,
            not_here=claim.not_here,
        )
        if fixed is None and claim.not_here is None:
            verdict = Verdict("undecided", ("its rule has not been fixed: `pianobench claims --fix`",))
        found.append(Standing(claim, tier, verdict, fixed))
    return found


def evidence(store: Store, tier: str) -> Evidence:
    """What a store holds of a tier."""
    return gathered((load(name, store.root) for name in store.runs()), tier)


def gathered(runs: Iterable[Tables], tier: str) -> Evidence:
    """Tables of runs, oldest first, as one: of each cell the rows of the newest."""
    import pandas as pd

    rows, curves, probed = frame([], ROWS), frame([], CURVES), frame([], PROBES)
    for tables in runs:
        of_tier = tables.rows[tables.rows["tier"] == tier]
        rows = pd.concat([rows, of_tier]) if len(rows) else of_tier
        lines = tables.curves[tables.curves["key"].isin(of_tier["key"])]
        curves = pd.concat([curves, lines]) if len(curves) else lines
        of_probes = tables.probes[tables.probes["tier"] == tier]
        probed = pd.concat([probed, of_probes]) if len(probed) else of_probes
    rows = rows.drop_duplicates(["experiment", "label"], keep="last")
    curves = curves[curves["key"].isin(rows["key"])].drop_duplicates(["key", "step", "seconds"])
    places = ["experiment", "dataset", "problem", "threads_asked", "quantity", "arm", "x", "seed", "repeat"]
    return Evidence(rows, curves, probed.drop_duplicates(places, keep="last"))
