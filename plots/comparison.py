"""One page for a comparison: for each problem the certified gap against cost and seconds, and the ranking."""

import math
import textwrap
from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from pianobench.plots.convergence import footnote, problem_title
from pianobench.plots.style import RC, Look, look, position
from pianobench.results.ranking import by_problem, method_of, method_titles, without_title

WIDTH, HEIGHT = 8.27, 11.69  # inches: A4, not exceeded by six problems
AROUND, TITLE, PER_METHOD, LEAST = 1.05, 0.21, 0.115, 1.3  # inches; of the page, of a problem
FAINT = "#6B6B6B"
COSTS = (("gradient_equivalents", "gradient equivalents"), ("seconds", "seconds of set-up and steps"))


def comparison(rows: pd.DataFrame, curves: pd.DataFrame, manifest: Mapping[str, Any]) -> Figure:
    """Draw a comparison.

    Parameters
    ----------
    rows, curves : DataFrame
        Tables with the columns of `pianobench.results.schema`.
    manifest : mapping
        Manifest of the run, for the footnote.

    Returns
    -------
    Figure
        A row for each problem. A curve that ends above the tolerance ends in a cross. On the right the seconds to the
        tolerance with their interval, a small mark for the looser gap, and an open mark at the edge where the
        tolerance was not reached; what was refused or failed says why.
    """
    table = by_problem(rows, curves)
    titles = method_titles(rows)
    rows = rows.assign(title=[titles[method_of(row)] for _, row in rows.iterrows()])
    looks = _looks(rows)
    problems = list(rows.groupby(["dataset", "problem"], sort=False, dropna=False))
    legend_rows = math.ceil((len(looks) + 1) / 5)
    around = AROUND + 0.13 * legend_rows
    height = max(LEAST, 0.1 + PER_METHOD * len(looks)) + TITLE
    height = max(LEAST, min(height, (HEIGHT - around) / min(len(problems), 6)))
    per_method = 72 * (height - TITLE - 0.05) / max(len(looks), 4)  # points
    with matplotlib.rc_context({**RC, "lines.linewidth": 1.0, "lines.markersize": 3.0, "font.size": 7.0}):
        layout = ConstrainedLayoutEngine(h_pad=0.015, w_pad=0.03)
        figure = Figure(figsize=(WIDTH, around + height * len(problems)), layout=layout)
        grid = figure.subplots(len(problems), 3, squeeze=False, sharex="col", width_ratios=(1, 1, 0.95))
        for axes, ((dataset, problem), members) in zip(grid, problems, strict=True):
            for axis, (cost, _) in zip(axes, COSTS, strict=False):
                _curves(axis, members, curves, cost, looks)
            axes[1].tick_params(labelleft=False)
            axes[0].set_ylabel("certified gap")
            axes[0].set_title(problem_title(members.iloc[0]), loc="left", fontsize=7.5)
            here = table[(table["dataset"] == dataset) & (table["problem"] == problem)]
            _ranking(axes[2], here, looks, _edge(rows, table), min(6.2, 0.88 * per_method))
        for axis, (cost, text) in zip(grid[-1], COSTS, strict=False):
            _limits(axis, curves, cost)
            axis.set_xlabel(text, fontsize=7.5)
        grid[-1][2].set_xlabel("seconds to the gap", fontsize=7.5)
        _legend(figure, looks, table)
        figure.supxlabel(_words(rows, manifest), x=0.01, ha="left", fontsize=5.8, color=FAINT)
    return figure


def _looks(rows: pd.DataFrame) -> dict[str, Look]:
    """Look of each method by its title, in the order of families; variants of one key differ in their line."""
    keys = {str(title): str(solver) for title, solver in zip(rows["title"], rows["solver"], strict=True)}
    return {
        title: look(key, variant=[t for t in keys if keys[t] == key].index(title))
        for title, key in sorted(keys.items(), key=lambda item: (position(item[1]), item[0]))
    }


def _curves(axis: Axes, rows: pd.DataFrame, curves: pd.DataFrame, cost: str, looks: Mapping[str, Look]) -> None:
    tolerance = float(rows["tolerance"].min())
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_ylim(tolerance / 10**1.4, 2.5)  # room for whole marks below the lowest gap drawn
    axis.axhline(tolerance, color="#555555", linewidth=0.8, linestyle=(0, (2, 2)), zorder=1, label="tolerance")
    for number, title in enumerate(looks):
        row = _middle(rows[rows["title"] == title])
        if row is None:
            continue
        points = curves[(curves["key"] == row["key"]) & (curves[cost] > 0)].sort_values(cost, kind="stable")
        if points.empty:
            continue
        x, gap = points[cost].to_numpy(), points["gap"].clip(lower=tolerance / 10).to_numpy()
        style, reached = looks[title], points["gap"].min() <= tolerance
        first = 0.04 + 0.22 * (number * 0.381966 % 1)  # marks of neighbours do not fall together
        axis.plot(
            x,
            gap,
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markevery=(first, 0.3),
            markeredgecolor="white",
            markeredgewidth=0.3,
            label=title,
            zorder=2 + 0.01 * number,
        )
        end: dict[str, Any] = {"color": style.colour, "linestyle": "none", "zorder": 4}
        if reached:
            axis.plot(x[-1:], gap[-1:], marker=style.marker, markersize=4.2, **end)
        else:
            axis.plot(x[-1:], gap[-1:], marker="x", markersize=4.2, markeredgewidth=1.2, **end)
    axis.yaxis.set_major_locator(LogLocator(numticks=5))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.xaxis.set_minor_formatter(NullFormatter())


def _middle(runs: pd.DataFrame) -> Any:
    """The run whose time is the median of a method's repeats."""
    drawn = runs[runs["seconds"].notna()].sort_values("seconds")
    return None if drawn.empty else drawn.iloc[(len(drawn) - 1) // 2]


def _limits(axis: Axes, curves: pd.DataFrame, cost: str) -> None:
    """From the first step on: the points before it would take most of a logarithmic axis."""
    drawn = curves.loc[(curves["step"] > 0) & (curves[cost] > 0), cost]
    if len(drawn):
        axis.set_xlim(drawn.min() / 1.4, drawn.max() * 1.6)


def _edge(rows: pd.DataFrame, table: pd.DataFrame) -> tuple[float, float]:
    """Limits of the seconds of the ranking: all times, and on the right the place of what was not reached."""
    times = table[["seconds", "seconds_low", "seconds_high"]].to_numpy(float)
    times = times[np.isfinite(times) & (times > 0)]
    low = float(times.min()) if times.size else 1e-3
    high = max(float(times.max()) if times.size else 0.0, float(rows["max_seconds"].max()))
    return low / 2, high * 4


def _ranking(
    axis: Axes, table: pd.DataFrame, looks: Mapping[str, Look], limits: tuple[float, float], size: float
) -> None:
    levels = sorted(set(table["level"]))
    main = table[table["level"] == levels[0]].reset_index(drop=True)
    looser = table[table["level"] == levels[-1]].set_index("title")["seconds"] if len(levels) > 1 else {}
    axis.set_xscale("log")
    axis.set_xlim(*limits)
    axis.set_ylim(max(len(main), 4) - 0.45, -0.55)
    axis.grid(axis="y", visible=False)
    axis.spines["left"].set_visible(False)
    axis.yaxis.tick_right()
    axis.tick_params(axis="y", length=0, pad=2)
    axis.xaxis.set_minor_formatter(NullFormatter())
    for line, row in main.iterrows():
        style, y = looks[row["title"]], int(str(line))
        axis.axhline(y, color="#EEEEEE", linewidth=0.5, zorder=0)
        soon = float(looser[row["title"]]) if len(levels) > 1 else math.nan
        if math.isfinite(soon):
            axis.plot(soon, y, marker=style.marker, markersize=2.6, color=style.colour, alpha=0.45, markeredgewidth=0)
        if row["outcome"] == "reached":
            _dot(axis, row, y, style, soon)
        elif row["outcome"] == "not reached":
            x = limits[1] / 1.5
            axis.plot(x, y, marker=style.marker, markersize=4.5, markerfacecolor="white", color=style.colour)
            gap = f"gap {row['gap']:.1e}".replace("e-0", "e-") if math.isfinite(row["gap"]) else "no gap"
            _aside(axis, f"{gap}, {row['status']}", y, limits, soon)
        else:
            words = without_title(row["note"], row["title"])
            axis.text(
                0.02, y, textwrap.shorten(f"{row['outcome']}: {words}", 46, placeholder="…"),
                transform=axis.get_yaxis_transform(), va="center", fontsize=5.4, color=FAINT, style="italic",
            )  # fmt: skip
    axis.set_yticks(range(len(main)), [_name(row) for _, row in main.iterrows()], fontsize=size)
    for label, title in zip(axis.get_yticklabels(), main["title"], strict=True):
        label.set_color(looks[title].colour)


def _dot(axis: Axes, row: Any, y: int, style: Look, soon: float) -> None:
    if math.isfinite(soon) and soon < row["seconds"]:
        axis.plot([soon, row["seconds"]], [y, y], color=style.colour, alpha=0.3, linewidth=0.8)
    if row["runs"] > 1 and math.isfinite(row["seconds_high"]):
        axis.plot([row["seconds_low"], row["seconds_high"]], [y, y], color=style.colour, linewidth=1.8, alpha=0.6)
    axis.plot(
        row["seconds"], y, marker=style.marker, markersize=4.5, color=style.colour, markeredgecolor="white",
        markeredgewidth=0.4, zorder=4,
    )  # fmt: skip


def _aside(axis: Axes, text: str, y: int, limits: tuple[float, float], soon: float) -> None:
    """Text left of the mark at the edge; left of the mark of the looser gap, where that is in the way."""
    span = math.log(limits[1] / limits[0])
    x = limits[1] / math.exp(0.1 * span)
    room = 0.55 * span
    if math.isfinite(soon) and math.log(x / soon) < room:
        x = soon / math.exp(0.04 * span)
    axis.text(x, y, text, ha="right", va="center", fontsize=5.4, color=FAINT)


def _name(row: Any) -> str:
    # The legend has the whole name.
    title = textwrap.shorten(row["title"].replace("scikit-learn", "sklearn"), 36, placeholder="…")
    if pd.isna(row["place"]):
        return title
    first, last = int(row["place"]), int(row["last_place"])
    return f"{first if first == last else f'{first}–{last}'}  {title}"


def _legend(figure: Figure, looks: Mapping[str, Look], table: pd.DataFrame) -> None:
    handles = [
        Line2D(
            [], [], color=s.colour, linestyle=s.line, marker=s.marker, markersize=3.8, markeredgecolor="white",
            markeredgewidth=0.3, label=title,
        )
        for title, s in looks.items()
    ]  # fmt: skip
    level = table["level"].min()
    handles.append(Line2D([], [], color="#555555", linewidth=0.8, linestyle=(0, (2, 2)), label=f"tolerance {level:g}"))
    figure.legend(
        handles=handles, loc="outside upper left", ncols=5, fontsize=6.5, handlelength=3.2, columnspacing=1.4,
        labelspacing=0.35, borderaxespad=0.9,
    )  # fmt: skip


def _words(rows: pd.DataFrame, manifest: Mapping[str, Any]) -> str:
    runs = int(rows.groupby(["dataset", "problem", "title"]).size().max())
    text = (
        "Right: seconds to the tolerance, small pale mark to a gap of 1e-3; open mark at the edge: not reached. "
        "Numbers are places, 2–4 where the measurements leave these open. "
        + (f"Curves: the middle of {runs} runs; bars: 95 % intervals of the median. " if runs > 1 else "")
        + ("No line against gradient equivalents: a black box does not tell them. " if _boxes(rows) else "")
    )
    return textwrap.fill(text + " ".join(footnote(rows, manifest, runs).split()), 190)


def _boxes(rows: pd.DataFrame) -> bool:
    return bool((rows["seconds"].notna() & rows["gradient_equivalents"].isna()).any())
