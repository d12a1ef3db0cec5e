"""What is shown of a verdict: its rule in words, its grid, and the value, interval and side of each cell."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pianobench.experiments.claims import Standing, experiments, probes
from pianobench.experiments.claims.facts import facts, grid_line
from pianobench.experiments.claims.tier import grids
from pianobench.results.verdicts import Part, quantities
from pianobench.results.verdicts.interval import UNKNOWN, Interval
from pianobench.results.verdicts.rule import Ask
from pianobench.results.verdicts.verdict import Place

SIDES = ("for", "against", "open", "missing")
CLASSES = {"real": "real", "planted": "synthetic", "absent": "synthetic, effect absent"}
NAMED = 6
"""Cells without a number that are named; the others are counted."""
OPENED = 40
"""A claim with so many cells measured, or fewer, shows them without a further click."""


@dataclass(frozen=True)
class CellEntry:
    """One cell that was measured."""

    name: str
    value: str
    interval: str
    side: str


@dataclass(frozen=True)
class PartEntry:
    """One ask against one rival at one gap on one class of evidence."""

    title: str
    evidence: str
    claimed: str
    meaning: str
    word: str
    counts: dict[str, int]
    cells: tuple[CellEntry, ...]
    missing: str
    command: str

    @property
    def kind(self) -> str:
        """Real or synthetic: the colour of its evidence."""
        return self.evidence.partition(",")[0]


@dataclass(frozen=True)
class Entry:
    """A claim and all that is said of it."""

    id: str
    anchor: str
    statement: str
    facts: dict[str, Any]
    word: str
    amended: bool
    fixed: str
    grids: tuple[str, ...]
    elsewhere: str
    waiting: str
    missing: str
    parts: tuple[PartEntry, ...]

    @property
    def by_evidence(self) -> dict[str, dict[str, int]]:
        """Cells of all parts by outcome, for each class of evidence."""
        return {
            kind: {side: sum(part.counts[side] for part in self.parts if part.kind == kind) for side in SIDES}
            for kind in sorted({part.kind for part in self.parts})
        }

    @property
    def measured(self) -> int:
        """Cells with a number."""
        return sum(len(part.cells) for part in self.parts)

    @property
    def is_open(self) -> bool:
        """Whether its cells are shown without a further click."""
        return 0 < self.measured <= OPENED

    @property
    def slug(self) -> str:
        """Its word as a name of a style and a mark."""
        return self.word.replace(" ", "-")


def entry(standing: Standing, prefix: str) -> Entry:
    """What is shown of a claim; `prefix` begins its anchor."""
    about, claim, tier = facts(standing), standing.claim, standing.tier
    fixed = about["fixed"]
    by = f", commit {fixed['commit'][:12]}" if fixed and fixed["commit"] else ""
    lacking = (name for one in claim.experiments for name in _lacking(one, tier))
    parts = tuple(_part(part, tier) for part in standing.verdict.parts if part.places)
    return Entry(
        id=claim.id,
        anchor=f"{prefix}-{claim.id}",
        statement=claim.statement,
        facts=about,
        word=standing.verdict.word,
        amended=standing.amended,
        fixed=f"{fixed['at'][:16].replace('T', ' ')} UTC{by}" if fixed else "",
        grids=tuple(grid_line(one) for one in about["grid"] if one["cells"]),
        elsewhere=", ".join(one["experiment"] for one in about["grid"] if not one["cells"]),
        waiting=", ".join(dict.fromkeys(name for one in about["grid"] for name in one["waiting"])),
        missing=", ".join(dict.fromkeys(lacking)),
        parts=parts,
    )


def rerun(tier: str, experiment: str, cell: str) -> str:
    """The command that measures a cell again with all its arms, in a store of its own: what is held is not repeated."""
    words = ["pianobench", "reproduce", "--tier", tier, "--experiment", experiment, "--only", f"{cell}/"]
    return shlex.join([*words, "--out", "again"])


@cache
def _lacking(experiment: str, tier: str) -> tuple[str, ...]:
    """Data sets of its grid that this machine has not."""
    one = experiments()[experiment]
    return grids(one, tier)[1] if tier in one.tiers else ()


def _part(part: Part, tier: str) -> PartEntry:
    quantity = quantities(probes())[part.ask.of]
    there = [place for place in part.places if place.interval is not None]
    absent = [_name(part.ask, place) for place in part.places if place.interval is None]
    first = (there or list(part.places))[0].unit
    return PartEntry(
        title=part.title.rpartition(" (")[0],
        evidence=CLASSES[part.evidence],
        claimed=_claimed(part.ask),
        meaning=quantity.meaning,
        word=part.word,
        counts=part.counts,
        cells=tuple(_cell(part.ask, place) for place in there),
        missing=_some(absent),
        command=rerun(tier, first.experiment, f"{first.dataset}/{first.problem}"),
    )


def _cell(ask: Ask, place: Place) -> CellEntry:
    assert place.interval is not None
    side = "for" if place.hit else "against" if place.miss else "open"
    return CellEntry(_name(ask, place), *_numbers(place.interval), side)


def _name(ask: Ask, place: Place) -> str:
    unit = place.unit
    name = f"{unit.dataset}/{unit.problem}" + (f", {unit.threads} threads" if unit.threads > 1 else "")
    return f"the line along {ask.along} from {name}" if ask.along is not None else name


def _numbers(interval: Interval) -> tuple[str, str]:
    """Value and interval in words; a run that never reached its gap leaves a bound."""
    low, high = interval.low, interval.high
    if interval == UNKNOWN or (math.isinf(low) and low < 0 and math.isinf(high)):
        return "too few runs, or nothing to compare", ""
    if low == high:
        return ("not reached" if math.isinf(low) else _number(low)), ("exact" if math.isfinite(low) else "")
    value = _number(interval.centre) if math.isfinite(interval.centre) else ""
    if math.isinf(high):
        return value if value and interval.centre > low else "", f"at least {_number(low)}"
    return value, f"{_number(low)} to {_number(high)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def _claimed(ask: Ask) -> str:
    if ask.reached is not None:
        return "claimed: reached" if ask.reached else "claimed: never reached"
    if ask.above is not None and ask.below is not None:
        return f"claimed: between {ask.above:g} and {ask.below:g}"
    return f"claimed: above {ask.above:g}" if ask.above is not None else f"claimed: below {ask.below:g}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
