"""Sections on the tables that are committed with the code: costs of a step, peers, control arms, streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pianobench.experiments.report import machines, prose
from pianobench.experiments.report.ledgers import REFERENCE
from pianobench.experiments.report.pictures import Picture, picture

LEVEL = 3  # of headings below a section's


@dataclass(frozen=True)
class Section:
    """One section, under the banner of where it was measured. `evidence` is "real", "synthetic" or both."""

    id: str
    title: str
    question: str
    banner: str
    evidence: tuple[str, ...]
    html: str
    pictures: tuple[Picture, ...] = ()


def sections() -> tuple[Section, ...]:
    """All of them, in the order of the page.

    Raises
    ------
    StoreError
        A committed table is missing or damaged.
    """
    return (_costs(), _peers(), _clicks(), _retraining(), _streams())


def records() -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and record of each committed table that has one."""
    for file in sorted(REFERENCE.glob("*/*.json")):
        record = json.loads(file.read_text("utf-8"))
        if "machine" in record:
            name = file.parent.name if file.stem == "record" else f"{file.parent.name}/{file.stem}"
            yield name, record


def _costs() -> Section:
    from pianobench.experiments import methods_page

    if not (methods_page.DOCS / "methods.toml").is_file():
        text = "What is said of each method is in `docs/` of the source tree, which this installation has not."
    else:
        page = methods_page.page()
        text = prose.section(page, "What a step costs") + "\n\n## How far they come on the bundled sets\n\n"
        text += prose.section(page, "Where they stand on the bundled sets")
    return Section(
        "costs",
        "What a step costs, method by method",
        "How much work is one step, what is it in memory, and what of it can run in parallel?",
        _banner("methods/record.json"),
        ("real",),
        prose.html(text, LEVEL, "Costs of methods"),
    )


def _peers() -> Section:
    from pianobench.experiments import fastest_page

    drawn = fastest_page.figure()
    caption = "Seconds of the fastest peer over those of auto; right of 1, auto takes less."
    alt = "Ratios of all cells, as the table of cells has them"
    pictures = {} if drawn is None else {"fastest.png": picture(drawn, alt, caption)}
    page = prose.without_title(fastest_page.page())
    text = page.partition("A test keeps it in step. ")[2] or page  # what was generated is this page
    return Section(
        "peers",
        "The automatic choice against other libraries",
        "Is `auto` at least as fast as what a user would pick instead, at equal certified gap?",
        _banner("fastest/record.json"),
        ("real",),
        prose.html(text, LEVEL, "auto against peers", pictures),
    )


def _clicks() -> Section:
    from pianobench.experiments.clicks import table

    text = table.stored().strip() or "Not measured yet: `make clicks`."
    return Section(
        "table-1",
        "Table 1: whole training on click data, with its control arms",
        "Is our L-BFGS faster than Vowpal Wabbit to an equal objective, on the same rows, weights and λ?",
        _banner("clicks/*.json"),
        ("real", "synthetic"),
        prose.html(text + "\n\n`docs/click_data.md` says how each column is measured.", LEVEL, "Table 1"),
    )


def _retraining() -> Section:
    from pianobench.experiments.streams import table2

    text = table2.stored().strip() or "Not measured yet: `make table2`."
    return Section(
        "table-2",
        "Table 2: incremental training after a new feature, with its control arms",
        "Does SA L-BFGS come to a similar area in a tenth of the time, and does no simple control arm do so too? "
        "The arms: keep the model; all rows, warm or from 0; a random sample of equal size, warm or from 0.",
        _banner("streams/table2_*.json"),
        ("real", "synthetic"),
        prose.html(text + "\n\n`docs/streams.md` says how each column is measured.", LEVEL, "Table 2"),
    )


def _streams() -> Section:
    from pianobench.experiments.streams import page

    parts = [f"## {_says(function)}\n\n{function()}" for name, function in page.TABLES.items() if name != "table 2"]
    return Section(
        "streams",
        "Streams with drift",
        "When does SA L-BFGS train, what does that save, and what does it miss?",
        _banner("streams/*.json"),
        ("synthetic",),
        prose.html("\n\n".join(parts), LEVEL, "Streams"),
        tuple(picture(figure, alt, alt) for figure, alt in zip(page.figures().values(), _OF_STREAMS, strict=True)),
    )


_OF_STREAMS = (
    "New and old rows of the samples that the two rules draw, against the rise over its spread.",
    "Trainings, error, log loss and area along streams of 30 % clicks, for no drift, a sudden and a gradual one.",
    "Trainings, error, log loss and area along streams of 3 % clicks, for no drift, a sudden and a gradual one.",
    "Full retraining's seconds over a learner's, and the area that it lacks, against the size of the drift.",
    "Areas of models drawn side by side by their share of new rows, and the ratio that flags a batch.",
)


def _says(function: Callable[[], str]) -> str:
    return str(function.__doc__).partition("\n")[0].rstrip(".")


def _banner(pattern: str) -> str:
    return machines.banner(*(json.loads(file.read_text("utf-8")) for file in sorted(REFERENCE.glob(pattern))))
