"""Ratios of the fastest peer to the automatic choice, a line for each data set, l2 and l1 in two panels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from pianobench.plots.style import RC

PENALTIES = {"l2": r"$\ell_2$", "l1": r"$\ell_1$"}
LOOKS = (("#56B4E9", "o"), ("#0072B2", "s"), ("#000000", "^"))  # of the strengths, the strongest first
NEITHER, LANE = "#8A8A8A", 0.26  # colour of a cell that nobody solved; height of a strength's lane on a data set's line
LEAST, MOST = 0.5, 100.0  # the axis shows at least this much


def fastest(tables: Mapping[int, pd.DataFrame]) -> Figure:
    """Draw the cells of all thread counts.

    Parameters
    ----------
    tables : mapping
        By number of threads what `results.fastest_ratios.ratios` gives: kind, ratio, dataset, penalty, lam_factor.

    Returns
    -------
    Figure
        A mark a cell on a logarithmic axis, full for the first number of threads and open for the next. An arrow means
        that only one side reached the gap, so that the ratio is a bound; at the edge, that no peer ever will.
    """
    cells = pd.concat([table.assign(threads=threads) for threads, table in tables.items()], ignore_index=True)
    names = list(dict.fromkeys(cells["dataset"]))
    strengths = sorted(set(cells["lam_factor"]), reverse=True)
    drawn = cells["ratio"].to_numpy(float)
    finite = drawn[np.isfinite(drawn)]
    limits = min(LEAST, 0.5 * finite.min(initial=1.0)), max(MOST, 3.0 * finite.max(initial=1.0))
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(7.2, 1.4 + 0.2 * max(len(names), 4)), layout="constrained")
        for axis, (penalty, title) in zip(figure.subplots(1, 2, sharey=True), PENALTIES.items(), strict=True):
            _panel(axis, cells[cells["penalty"] == penalty], names, strengths, limits)
            axis.set_title(title)
            axis.set_xlabel("seconds of the fastest peer ÷ seconds of auto")
        _legend(figure, strengths, sorted(tables), bool((cells["kind"] == "neither").any()))
    return figure


def _panel(
    axis: Axes, cells: pd.DataFrame, names: Sequence[str], strengths: Sequence[float], limits: tuple[float, float]
) -> None:
    axis.set_xscale("log")
    axis.set_xlim(*limits)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_yticks(range(len(names)), [name.replace(":standardised", ", standardised") for name in names])
    axis.tick_params(axis="y", length=0)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.axvline(1.0, color="#555555", linewidth=0.9, zorder=1)
    counts = sorted(set(cells["threads"]))
    for _, cell in cells.iterrows():
        strength = strengths.index(cell["lam_factor"])
        colour, marker = LOOKS[strength % len(LOOKS)]
        y = names.index(cell["dataset"]) + LANE * (strength - (len(strengths) - 1) / 2)
        if cell["kind"] == "neither":
            axis.plot(1.0, y, marker="x", color=NEITHER, markersize=3.5, linestyle="none", zorder=3)
        if pd.isna(cell["ratio"]):
            continue
        # what nobody but auto ever reaches stands at the edge
        x = min(float(cell["ratio"]), limits[1] / 1.8) if cell["kind"] == "ours only" else float(cell["ratio"])
        full = counts.index(cell["threads"]) == 0
        axis.plot(
            x, y, marker=marker, color=colour, markersize=3.6, linestyle="none", markeredgewidth=0.7, zorder=3,
            markerfacecolor=colour if full else "white",
        )  # fmt: skip
        if cell["kind"] in ("ours only", "theirs only"):
            side = 1.0 if cell["kind"] == "ours only" else -1.0
            reach = math.exp(side * 0.07 * math.log(limits[1] / limits[0]))
            axis.annotate(
                "", (x * reach, y), (x, y), arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 0.8},
                annotation_clip=False,
            )  # fmt: skip


def _legend(figure: Figure, strengths: Sequence[float], counts: Sequence[int], neither: bool) -> None:
    handles = [
        Line2D(
            [], [], color=colour, marker=marker, linestyle="none", label=rf"$\lambda = {strength:g}\,\lambda_{{\max}}$"
        )
        for strength, (colour, marker) in zip(strengths, LOOKS, strict=False)
    ]
    if len(counts) > 1:
        handles += [
            Line2D(
                [], [], color="#333333", marker="o", linestyle="none", markerfacecolor="#333333" if i == 0 else "white",
                label=f"{count} thread{'s' * (count > 1)}",
            )
            for i, count in enumerate(counts)
        ]  # fmt: skip
    handles.append(
        Line2D([], [], color="#333333", marker=">", linestyle="-", linewidth=0.8, label="at least, or at most")
    )
    if neither:
        handles.append(Line2D([], [], color=NEITHER, marker="x", linestyle="none", label="neither arrived"))
    figure.legend(
        handles=handles, loc="outside upper left", ncols=(len(handles) + 1) // 2, columnspacing=1.2, handletextpad=0.4
    )
