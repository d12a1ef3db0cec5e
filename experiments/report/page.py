"""The page: banners, claims, figures, costs, control arms, peers, streams, what is cut, machines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from pianobench.experiments import noise
from pianobench.experiments.claims import Standing
from pianobench.experiments.report import committed, machines
from pianobench.experiments.report.entries import SIDES, Entry, entry
from pianobench.experiments.report.ledgers import REFERENCE, Ledger, comparisons, ledgers
from pianobench.experiments.report.machines import RunLine
from pianobench.experiments.report.pictures import Picture, of_comparison, of_run
from pianobench.experiments.report.tiers import MEANS, Cut, cuts
from pianobench.results.store import Tables
from pianobench.results.verdicts import WORDS

MOST_BYTES = 5_000_000
FIGURE_BYTES = 2_000_000
"""Of the runs' figures together; a run that would pass it is named instead of drawn."""
BAR = 120.0


@dataclass(frozen=True)
class RunFigures:
    """A run and its figures; none where they did not fit."""

    name: str
    title: str
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class Chapter:
    """All that the page says of one ledger."""

    ledger: Ledger
    banner: str
    words: tuple[tuple[str, tuple[Entry, ...]], ...]
    entries: tuple[Entry, ...]
    runs: tuple[RunLine, ...]
    figures: tuple[RunFigures, ...]
    details: Mapping[str, str]
    noisy: str
    cuts: tuple[Cut, ...]
    means: str

    @property
    def amended(self) -> tuple[Entry, ...]:
        """Claims whose rule is newer than their evidence."""
        return tuple(one for one in self.entries if one.amended)

    @property
    def bare(self) -> tuple[Entry, ...]:
        """Claims that could be tested and of which nothing has been measured."""
        return tuple(one for one in self.entries if not one.measured and one.word != "not testable here")


def report(root: Path, tier: str, reference: Path = REFERENCE) -> str:
    """The page as HTML.

    Parameters
    ----------
    root : Path
        Store of this machine.
    tier : str
        Whose rows count.
    reference : Path
        Committed tables.

    Raises
    ------
    StoreError
        A table is damaged, or of another version.
    """
    chapters = tuple(_chapter(one) for one in ledgers(root, tier, reference))
    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals.update(bar=bar, said=said)
    environment.filters.update(coded=coded, sentence=lambda text: text[:1].upper() + text[1:])
    return environment.get_template("page.html.jinja").render(
        tier=tier,
        chapters=chapters,
        style=(folder / "style.css").read_text("utf-8"),
        comparisons=[(name, of_comparison(tables)) for name, tables in comparisons(root)],
        sections=committed.sections(),
        records=[(name, machines.banner(record)) for name, record in committed.records()],
        words=WORDS,
    )


def bar(counts: Mapping[str, int]) -> list[tuple[float, float, str]]:
    """Left edge, width and outcome of each piece of a bar of cells."""
    total, left, pieces = sum(counts.values()), 0.0, []
    for side in SIDES:
        width = BAR * counts[side] / max(total, 1)
        if width:
            pieces.append((round(left, 1), round(width, 1), side))
        left += width
    return pieces


def said(counts: Mapping[str, int]) -> str:
    """The counts of a bar in words."""
    names = {"missing": "not measured"}
    return ", ".join(f"{number} {names.get(side, side)}" for side, number in counts.items() if number) or "no cell"


def coded(text: str) -> Markup:
    """Plain text with what stands in backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _chapter(one: Ledger) -> Chapter:
    entries = tuple(entry(standing, one.id) for standing in one.standings)
    newest = one.runs[-1][1].manifest if one.runs else {}
    noisy = (noise.summary(tables.rows) for _, tables in one.runs)
    return Chapter(
        ledger=one,
        banner="" if one.local else machines.banner(newest),
        words=tuple((word, tuple(e for e in entries if e.word == word)) for word in WORDS),
        entries=entries,
        runs=tuple(machines.run_line(name, tables) for name, tables in one.runs),
        figures=tuple(_figures(one.runs, one.standings)),
        details=machines.details(newest) if newest else {},
        noisy=next((text for text in noisy if text), ""),
        cuts=tuple(cuts(one.tier)),
        means=MEANS[one.tier],
    )


def _figures(runs: Sequence[tuple[str, Tables]], standings: Sequence[Standing]) -> Iterator[RunFigures]:
    """Figures of the newest run of each experiment that a claim is judged by."""
    asked = {name for standing in standings for name in standing.claim.experiments}
    newest = {str(tables.manifest["experiment"]): (name, tables) for name, tables in runs}
    used = 0
    for experiment, (name, tables) in newest.items():
        if experiment not in asked or tables.manifest.get("probes"):
            continue
        drawn = tuple(of_run(tables))
        used += sum(len(one.src) for one in drawn)
        yield RunFigures(name, str(tables.manifest.get("title", "")), drawn if used <= FIGURE_BYTES else ())
