"""Figures inside a page: PNG as a data URI, in few colours, the same bytes for the same tables."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from dataclasses import dataclass

import matplotlib
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

from pianobench.experiments.claims.experiment import experiments
from pianobench.plots.comparison import comparison
from pianobench.plots.convergence import convergence
from pianobench.plots.files import ON_A_PAGE
from pianobench.plots.style import RC
from pianobench.results.store import Tables

COLOURS = 96
PROBLEMS = 5
"""Rows of panels of one figure: with its caption no higher than a sheet of paper."""


@dataclass(frozen=True)
class Picture:
    """An image in a page, and what it says in words."""

    src: str
    alt: str
    caption: str
    width: int
    height: int


def picture(figure: Figure, alt: str, caption: str) -> Picture:
    """A figure as an image in a page."""
    drawn, kept = io.BytesIO(), io.BytesIO()
    with matplotlib.rc_context(RC):
        figure.savefig(drawn, format="png", dpi=ON_A_PAGE, metadata={"Software": None})
    with Image.open(drawn) as image:
        width, height = image.size
        image.convert("RGB").quantize(COLOURS).save(kept, format="png", optimize=True)
    coded = base64.b64encode(kept.getvalue()).decode()
    return Picture(f"data:image/png;base64,{coded}", alt, caption, width, height)


def of_run(tables: Tables) -> Iterator[Picture]:
    """Convergence on the problems of a run, some of them a figure; nothing where it has no curve."""
    rows = tables.rows
    rows = rows[(rows["repeat"].fillna(0) == rows["repeat"].min()) & (rows["seed"] == rows["seed"].min())]
    places = rows[["dataset", "problem"]].drop_duplicates()
    for start in range(0, len(places), PROBLEMS):
        some = rows.merge(places.iloc[start : start + PROBLEMS], on=["dataset", "problem"])
        curves = tables.curves[tables.curves["key"].isin(some["key"])]
        if len(curves):
            yield picture(convergence(some, curves, tables.manifest), _alt(some), _caption(some))


def of_comparison(tables: Tables) -> Picture:
    """Convergence and ranking of a comparison."""
    caption = "Curves, and seconds to the gap, of the newest comparison on this machine."
    return picture(comparison(tables.rows, tables.curves, tables.manifest), _alt(tables.rows), caption)


def _alt(rows: pd.DataFrame) -> str:
    data = ", ".join(dict.fromkeys(f"{a} {b}" for a, b in zip(rows["dataset"], rows["problem"], strict=True)))
    methods = ", ".join(dict.fromkeys(rows["solver_title"]))
    ended = ", ".join(f"{count} {word}" for word, count in rows["status"].value_counts().items())
    return f"Certified gap against gradient equivalents and against seconds on {data}, by {methods}. Ends: {ended}."


def _caption(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    known = experiments().get(first["experiment"])
    title = known.title if known is not None else str(first["experiment"])
    kind = "real data" if first["evidence"] == "real" else "synthetic data"
    return (
        f"{title} ({kind}, tier {first['tier']}). Down and to the left is better; a cross is a run that did not arrive."
    )
