"""From a rule and the tables to a verdict: cells are counted, parts are combined, doubts lower the word.

Word of a part: *reproduced* where its share of all cells of the written grid, measured or not, is surely on the claimed
side; *contradicted* where that share is surely on the other; *partly* where each side has so many cells that neither
can reach the share; else *undecided*. Where every cell must agree, one that surely does not contradicts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pianobench.results.verdicts.evidence import Evidence, Sample, Samples, Unit
from pianobench.results.verdicts.interval import UNKNOWN, Interval, hardest, of_pair, slope, trend
from pianobench.results.verdicts.rule import Ask, Quantity, Rival

WORDS = ("reproduced", "partly", "contradicted", "undecided", "not testable here")
LEVEL = 0.05
"""Of the family of all noisy comparisons within a claim, by Holm's step-down."""


@dataclass(frozen=True)
class Place:
    """One cell, or one line of cells along an axis, of a part; what was measured there, if anything."""

    unit: Unit
    interval: Interval | None
    hit: bool = False
    miss: bool = False


@dataclass(frozen=True)
class Part:
    """One ask against one rival at one gap on one class of evidence.

    `form` says in which form the rival is: "as published", "at its best", or "" without a rival.
    """

    ask: Ask
    rival: Rival | None
    gap: float | None
    evidence: str
    form: str
    places: tuple[Place, ...]
    used: tuple[Sample, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Cells by outcome: for, against, open (measured and undecided), missing."""
        words = ("for", "against", "missing", "open")
        kinds = [words[[p.hit, p.miss, p.interval is None, True].index(True)] for p in self.places]
        return {kind: kinds.count(kind) for kind in ("for", "against", "open", "missing")}

    @cached_property
    def word(self) -> str:
        """One of the first four of `WORDS`."""
        total, found = len(self.places), self.counts
        need = self.ask.share * total - 1e-9
        if total and found["for"] >= need:
            return "reproduced"
        if total and found["against"] >= (need if self.ask.share < 1 else 1):
            return "contradicted"
        if self.ask.share < 1 and found["for"] and max(total - found["for"], total - found["against"]) < need:
            return "partly"
        return "undecided"

    @property
    def title(self) -> str:
        """For people."""
        parts = [self.ask.of, self.ask.arm]
        if self.rival is not None:
            parts[1] += f" against {self.rival.published}" + (f", {self.form}" if self.rival.best else "")
        if self.gap is not None:
            parts.append(f"gap {self.gap:g}")
        return ": ".join([": ".join(parts[:2]), *parts[2:]]) + f" ({self.evidence})"


@dataclass(frozen=True)
class Verdict:
    """One of `WORDS`, why, and all that was counted. `oldest` is the time of the first measurement that it rests on."""

    word: str
    reasons: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    oldest: str | None = None


def judge(
    asks: Sequence[Ask],
    known: Mapping[str, Quantity],
    grid: Sequence[Unit],
    evidence: Evidence,
    *,
    universal: bool = False,
    refutable: bool = False,
    not_here: str | None = None,
) -> Verdict:
    """The verdict on a claim.

    Parameters
    ----------
    asks : sequence of Ask
        Its rule: all must hold.
    known : mapping
        Quantities by name.
    grid : sequence of Unit
        All cells that the rule is about, measured or not.
    evidence : Evidence
        What was measured.
    universal : bool
        Whether each part is an instance of the claim, so that one contradicted part contradicts it.
    refutable : bool
        Whether it can be contradicted only: that nothing refuted it does not prove it.
    not_here : str, optional
        Why the claim cannot be tested on this machine or by this version.
    """
    if not_here is not None:
        return Verdict("not testable here", (not_here,))
    parts = _holm([part for ask in asks for part in _parts(ask, known[ask.of], grid, evidence)])
    told = [part for part in parts if part.evidence != "absent"]
    if not any(part.places for part in told):
        return Verdict("undecided", ("its grid has no cell in this tier",), parts)
    oldest = min((sample.oldest for part in parts for sample in part.used), default=None)
    strict = [part for part in told if part.form != "as published"]
    mild = [part for part in told if part.form != "at its best"]
    word, reasons = combined([part.word for part in strict], universal), [_count(part) for part in strict]
    if all(part.counts["missing"] == len(part.places) for part in told):
        reasons = ["nothing of its grid has been measured"]
    timed = [sample for part in parts if known[part.ask.of].noisy for sample in part.used]
    if disturbed := {key for sample in timed for key in sample.disturbed}:
        reasons.append(f"other work shared the machine during {len(disturbed)} of its timed runs")
    published = combined([part.word for part in mild], universal)
    if word in ("contradicted", "partly") and published in ("reproduced", "partly") and word != published:
        word = "partly"
        reasons.append(f"{published} against the published forms of its rivals, not so against their best ones")
    real = [part.ask for part in told if part.evidence == "real"]
    synthetic = ", ".join(dict.fromkeys(ask.of for ask in asks if ask not in real))
    if word == "reproduced" and synthetic:
        word = "partly"
        reasons.append(f"synthetic data alone: partly is the most that they can show ({synthetic})")
    absent = [part for part in parts if part.evidence == "absent" and part.form != "as published"]
    control = combined([part.word for part in absent], universal) if absent else "contradicted"
    if control != "contradicted" and word in ("reproduced", "partly"):
        word = "undecided"
        reasons.append(f"where the effect is absent the same rule says {control} and should say contradicted")
    if refutable and word in ("reproduced", "partly"):
        word = "undecided"
        reasons.append("nothing tried here refutes it, which proves nothing")
    return Verdict(word, tuple(reasons), parts, oldest)


def combined(words: Sequence[str], universal: bool = False) -> str:
    """The word on all parts together: they must all hold."""
    if universal and "contradicted" in words:
        return "contradicted"
    decided = set(words) - {"undecided"}
    if "partly" in decided or len(decided) > 1:
        return "partly"
    return words[0] if words and "undecided" not in words else "undecided"


def _parts(ask: Ask, quantity: Quantity, grid: Sequence[Unit], evidence: Evidence) -> list[Part]:
    units = [unit for unit in grid if ask.about(unit.experiment, unit.penalty, unit.problem)]
    if not units:  # in this tier: what was not asked has not been answered
        return [Part(ask, None, None, "real", "", ())]
    parts = []
    for gap in ask.gaps or (None,):
        found = evidence.samples(ask, quantity, gap)
        for rival in ask.against or (None,):
            for form in ("as published", "at its best") if rival is not None and rival.best else ("",):
                for kind in dict.fromkeys(unit.evidence for unit in units):
                    here = [unit for unit in units if unit.evidence == kind]
                    places, used = _places(ask, quantity, here, found, _arms(rival, form))
                    parts.append(Part(ask, rival, gap, kind, form, places, used))
    return parts


def _arms(rival: Rival | None, form: str) -> tuple[str, ...]:
    return () if rival is None else (rival.published,) if form == "as published" else rival.arms


def _places(
    ask: Ask, quantity: Quantity, units: Sequence[Unit], found: Samples, arms: tuple[str, ...]
) -> tuple[tuple[Place, ...], tuple[Sample, ...]]:
    used: list[Sample] = []
    places = []
    if ask.along is not None:
        lines: dict[tuple[object, ...], list[Unit]] = {}
        for unit in units:
            lines.setdefault(unit.others(ask.along), []).append(unit)
        for line in lines.values():
            there = [found[unit, ask.arm] for unit in line if (unit, ask.arm) in found]
            used += there
            # A line is judged whole or not at all: its missing points could be those that bend it.
            x, values = [one.axes.get(ask.along, math.nan) for one in there], [one.times for one in there]
            whole = len(there) == len(line) and all(len(found[unit, ask.arm].runs) >= unit.runs for unit in line)
            places.append(Place(line[0], (slope if ask.statistic == "slope" else trend)(x, values) if whole else None))
    else:
        for unit in units:
            there = [found[unit, arm] for arm in (ask.arm, *arms) if (unit, arm) in found]
            used += there
            # A rival's best form that was not run is not beaten.
            whole = len(there) == 1 + len(arms)
            places.append(Place(unit, _interval(ask, quantity, unit, *there) if whole else None))
    return tuple(places), tuple(used)


def _interval(ask: Ask, quantity: Quantity, unit: Unit, mine: Sample, *others: Sample) -> Interval:
    if min(len(one.runs) for one in (mine, *others)) < unit.runs:
        return UNKNOWN
    if not others:
        return of_pair(ask, quantity.noisy, mine.times, None)
    paired = ask.statistic == "difference"
    pairs = [mine.paired(other) if paired else (mine.times, other.times) for other in others]
    if paired and min(len(one.reached) for one, _ in pairs) < unit.runs:
        return UNKNOWN
    return hardest(ask, [of_pair(ask, quantity.noisy, *pair) for pair in pairs])


def _holm(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Outcomes of all places: intervals beyond the bound, whose p-values Holm's step-down lets pass where noisy."""
    tests = sorted(
        (p, i, j)
        for i, part in enumerate(parts)
        for j, place in enumerate(part.places)
        if place.interval is not None and (p := _p(part.ask, place.interval)) > 0
    )
    refused: set[tuple[int, int]] = set()
    for rank, (p, i, j) in enumerate(tests):
        if refused or p > LEVEL / (len(tests) - rank):
            refused.add((i, j))
    return tuple(
        replace(
            part,
            places=tuple(
                place if place.interval is None or (i, j) in refused else _decided(part.ask, place)
                for j, place in enumerate(part.places)
            ),
        )
        for i, part in enumerate(parts)
    )


def _p(ask: Ask, interval: Interval) -> float:
    bounds = [bound for bound in (ask.above, ask.below) if bound is not None]
    return max((interval.p(bound) for bound in bounds), default=0.0)


def _decided(ask: Ask, place: Place) -> Place:
    assert place.interval is not None
    low, high = place.interval.low, place.interval.high
    return replace(place, hit=ask.hits(low, high), miss=ask.misses(low, high))


def _count(part: Part) -> str:
    found = ", ".join(f"{number} {kind}" for kind, number in part.counts.items() if number)
    return f"{part.title}: {part.word} ({found or 'no cell in this tier'})"
