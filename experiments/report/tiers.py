"""What a tier leaves out: its grids beside those of the full one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pianobench.experiments.claims.experiment import Experiment, experiments
from pianobench.results.verdicts import Unit

MEANS = {
    "smoke": "a first look of a minute or two: every path of the code, weak verdicts at the most",
    "laptop": "what two cores do in under an hour: one run of every cell under a short cap",
    "full": "the sizes of the papers where a machine can hold them: hours",
}


@dataclass(frozen=True)
class Cut:
    """An experiment in a tier.

    `cells` and `full` are those of its grid here and in the full tier, `cut` names the axes that are shorter here.
    """

    name: str
    title: str
    cells: int
    full: int
    cut: str


def cuts(tier: str) -> Iterator[Cut]:
    """Each experiment's cells here, in the full tier, and what is cut."""
    for one in experiments().values():
        here, full = list(one.units(tier)), list(one.units("full"))
        if here or full:
            yield Cut(one.name, one.title, len(here), len(full), _cut(one, tier, here, full))


def _cut(one: Experiment, tier: str, here: list[Unit], full: list[Unit]) -> str:
    if tier == "full" or not full:
        return "nothing"
    if not here:
        return "all of it"
    found = [
        _fewer("data sets", {unit.dataset for unit in here}, {unit.dataset for unit in full}),
        *(_smaller(axis, (getattr(u, axis) for u in here), (getattr(u, axis) for u in full)) for axis in "ndm"),
        _fewer("problems", {unit.problem for unit in here}, {unit.problem for unit in full}),
        _fewer("thread counts", {unit.threads for unit in here}, {unit.threads for unit in full}),
        _less("s a run", one.seconds(tier), one.seconds("full")),
        _less("runs of each arm", one.runs(tier), one.runs("full")),
    ]
    return "; ".join(text for text in found if text) or "nothing"


def _fewer(what: str, here: set[str] | set[int], full: set[str] | set[int]) -> str:
    return f"{len(here)} of {len(full)} {what}" if len(here) < len(full) else ""


def _less(what: str, here: float, full: float) -> str:
    return f"{here:g} of {full:g} {what}" if here < full else ""


def _smaller(axis: str, here: Iterable[int], full: Iterable[int]) -> str:
    least, most = max(here), max(full)
    return f"{axis} to {least:,}, not {most:,}" if 0 < least < most else ""
