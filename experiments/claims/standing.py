"""Where each claim stands: its verdict on the tables of a store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pianobench.experiments.claims import history
from pianobench.experiments.claims.claim import Claim
from pianobench.experiments.claims.experiment import experiments, probes
from pianobench.results.schema import CURVES, PROBES, ROWS, frame
from pianobench.results.store import Store, Tables, load
from pianobench.results.verdicts import Evidence, Verdict, judge, quantities


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
        verdict = verdict_on(claim, tier, evidence)
        if fixed is None and claim.not_here is None:
            verdict = Verdict("undecided", ("its rule has not been fixed: `pianobench claims --fix`",))
        found.append(Standing(claim, tier, verdict, fixed))
    return found


def verdict_on(claim: Claim, tier: str, evidence: Evidence) -> Verdict:
    """What the rule of a claim says, fixed or not."""
    return judge(
        claim.rule,
        quantities(probes()),
        [unit for name in claim.experiments for unit in experiments()[name].units(tier)],
        evidence,
        universal=claim.universal,
        refutable=claim.refutable,
        not_here=claim.not_here,
    )


def evidence(store: Store, tier: str) -> Evidence:
    """What a store holds of a tier."""
    return gathered((load(name, store.root) for name in store.runs()), tier)


def gathered(runs: Iterable[Tables], tier: str) -> Evidence:
    """Tables of runs, oldest first, as one: of each cell the rows of the newest."""
    import pandas as pd

    found = list(runs)
    schemas = {"rows": ROWS, "curves": CURVES, "probes": PROBES}
    rows, curves, probed = (
        pd.concat([frame([], schema), *(table for one in found if len(table := getattr(one, name)))])
        for name, schema in schemas.items()
    )
    rows = rows[rows["tier"] == tier].drop_duplicates(["experiment", "label"], keep="last")
    curves = curves[curves["key"].isin(rows["key"])].drop_duplicates(["key", "step", "seconds"])
    places = ["experiment", "dataset", "problem", "threads_asked", "quantity", "arm", "x", "seed", "repeat"]
    return Evidence(rows, curves, probed[probed["tier"] == tier].drop_duplicates(places, keep="last"))
