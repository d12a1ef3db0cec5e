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
from pianobench.results.verdicts import Evidence, Verdict, judge, quantities

if TYPE_CHECKING:
    import pandas as pd


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
    """Tables of runs as one, in so far as they are of the written grid and can be compared.

    Of each cell and repeat the newest counts, if its seed and cap are those of the grid. A cell is of one machine, one
    state of its data and one tolerance, those of its newest row; the repeats of an arm are of one state of the code.
    """
    import pandas as pd

    found = sorted(runs, key=lambda one: str(one.manifest.get("started_at", "")))
    tables = {
        name: pd.concat(
            [frame([], schema).assign(run=0)]
            + [_of_run(i, table) for i, one in enumerate(found) if len(table := getattr(one, name))]
        )
        for name, schema in (("rows", ROWS), ("curves", CURVES), ("probes", PROBES))
    }
    rows, probed = (table[table["tier"] == tier] for table in (tables["rows"], tables["probes"]))
    rows = _alike(
        _of_the_grid(rows, tier).drop_duplicates(["experiment", "label"], keep="last"),
        ["machine", "data_checksum", "tolerance"],
        ["solver", "params"],
    )
    probed = _alike(
        _of_the_grid(probed, tier).drop_duplicates(
            [*_CELL, "quantity", "arm", "axis", "x", "seed", "repeat"], keep="last"
        ),
        ["machine", "data_checksum"],
        ["quantity", "arm"],
    )
    return Evidence(rows, tables["curves"][tables["curves"]["key"].isin(rows["key"])], probed)


_CELL = ["experiment", "dataset", "problem", "threads_asked"]


def _of_the_grid(table: pd.DataFrame, tier: str) -> pd.DataFrame:
    """Lines whose seed and cap are those of the grid; one that was measured without a cap of its own has the grid's."""
    import pandas as pd

    planned = {one.name: one for one in experiments().values() if tier in one.tiers}
    wanted = [
        name in planned and seed in planned[name].seeds(tier) and (pd.isna(cap) or cap == planned[name].seconds(tier))
        for name, cap, seed in zip(table["experiment"], table["max_seconds"], table["seed"], strict=True)
    ]
    return table[pd.array(wanted, dtype=bool)]


def _of_run(number: int, table: pd.DataFrame) -> pd.DataFrame:
    """With its number; two runs may have measured the same key, and their curves must not be mixed."""
    return table.assign(run=number, **({"key": table["key"] + f"@{number}"} if "key" in table else {}))


def _alike(table: pd.DataFrame, of_cell: list[str], of_arm: list[str]) -> pd.DataFrame:
    """Rows that may stand beside the newest one of their cell, and beside those of their arm's newest run.

    Those of an earlier run count where that one has rows of the same commit; changes since a commit have no name.
    """
    newest = table.drop_duplicates(_CELL, keep="last")[[*_CELL, *of_cell]]
    table, arm = table.merge(newest, on=[*_CELL, *of_cell]), [*_CELL, *of_arm]
    last = table["run"] == table.groupby(arm, dropna=False)["run"].transform("max")
    commits = table.loc[last, [*arm, "commit"]].drop_duplicates()
    nameless = table["commit"].fillna("+").str.endswith("+")
    return table[last | ~nameless].merge(commits, on=[*arm, "commit"])
