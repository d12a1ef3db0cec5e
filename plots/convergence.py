"""Convergence: certified gap against cost and against seconds, a row of panels for each problem."""

import re
import textwrap
from collections.abc import Mapping
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from pianobench.plots.style import RC, look

AXES_OF_COST = (
    ("gradient_equivalents", "gradient equivalents"),
    ("seconds", "seconds of set-up and steps"),
)
REACHED = frozenset({"converged"})
DECADES_OF_A_LINE = 0.75  # height of a line of text on the axis of gaps
_TITLES_OF_PENALTIES = {
    "none": "no penalty",
    "l1": r"$\ell_1$",
    "l2": r"$\ell_2$",
    "l0": r"$\ell_0$",
    "elasticnet": "elastic net",
}


def convergence(rows: pd.DataFrame, curves: pd.DataFrame, manifest: Mapping[str, Any]) -> Figure:
    """Draw all runs of one experiment.

    Parameters
    ----------
    rows, curves : DataFrame
        Tables with the columns of `pianobench.results.schema`.
    manifest : mapping
        Manifest of the run, for the footnote.

    Returns
    -------
    Figure
        Left the gap against gradient equivalents, right against seconds; both axes logarithmic. A run that
        ended above the tolerance ends in a cross with its status; a method that does not solve the problem is
        named in the panel.
    """
    problems = list(rows.groupby(["dataset", "problem"], sort=False, dropna=False))
    with matplotlib.rc_context(RC):
        height = 0.95 + 1.75 * len(problems)
        figure = Figure(figsize=(7.2, height), layout="constrained")
        grid = figure.subplots(len(problems), 2, squeeze=False, sharey="row", sharex="col")
        for axes, (_, members) in zip(grid, problems, strict=True):
            for axis, (cost, _) in zip(axes, AXES_OF_COST, strict=True):
                _panel(axis, members, curves, cost)
            axes[0].set_title(problem_title(members.iloc[0]), loc="left")
            axes[0].set_ylabel("certified gap")
        for axis, (cost, text) in zip(grid[-1], AXES_OF_COST, strict=True):
            axis.set_xlabel(text)
            _limits(axis, curves, cost)
        _legend(figure, rows)
        _footnote(figure, rows, manifest)
    return figure


def _panel(axis: Axes, rows: pd.DataFrame, curves: pd.DataFrame, cost: str) -> None:
    tolerance = float(rows["tolerance"].min())
    axis.set_xscale("log")
    axis.set_yscale("log")
    silent = rows[~rows["key"].isin(curves["key"])]
    # Room for whole marks below the lowest gap drawn, and below them for a line of text each: no curve gets there. Set
    # first, since the limits that a lone line at the tolerance asks for would be a single point.
    axis.set_ylim(tolerance / 10 ** (1.4 + DECADES_OF_A_LINE * len(silent)), 2.5)
    axis.axhline(tolerance, color="#555555", linewidth=0.8, linestyle=(0, (2, 2)), zorder=1, label="tolerance")
    for _, row in rows.iterrows():
        points = curves[(curves["key"] == row["key"]) & (curves[cost] > 0)]
        if len(points):
            _curve(axis, row, points[cost].to_numpy(), points["gap"].clip(lower=tolerance / 10).to_numpy())
    axis.yaxis.set_major_locator(LogLocator(numticks=5))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.xaxis.set_minor_formatter(NullFormatter())
    for line, (_, row) in enumerate(silent.iterrows()):
        text = textwrap.shorten(f"{row['solver_title']} {row['status']}: {row['reason']}", 62, placeholder="…")
        height = tolerance / 10 ** (1.4 + DECADES_OF_A_LINE * (line + 0.8))
        axis.text(
            0.02, height, text, transform=axis.get_yaxis_transform(), fontsize=6.5, color=look(row["solver"]).colour
        )


def _limits(axis: Axes, curves: pd.DataFrame, cost: str) -> None:
    """Limits of a column of panels, from the first step on.

    The points before it cost next to nothing: on a logarithmic axis they would take most of the room.
    """
    drawn = curves.loc[(curves["step"] > 0) & (curves[cost] > 0), cost]
    if len(drawn):
        axis.set_xlim(drawn.min() / 1.6, drawn.max() * 1.6)


def _curve(axis: Axes, row: pd.Series, x: Any, gap: Any) -> None:
    style = look(row["solver"])
    axis.plot(
        x,
        gap,
        color=style.colour,
        linestyle=style.line,
        marker=style.marker,
        markevery=0.18,
        markeredgecolor="white",
        markeredgewidth=0.4,
        label=row["solver_title"],
    )
    end: dict[str, Any] = {"color": style.colour, "linestyle": "none", "clip_on": False, "zorder": 4}
    if row["status"] in REACHED:
        axis.plot(x[-1:], gap[-1:], marker=style.marker, markersize=5.5, **end)
        return
    axis.plot(x[-1:], gap[-1:], marker="x", markersize=6, markeredgewidth=1.6, **end)
    axis.annotate(
        row["status"],
        (x[-1], gap[-1]),
        (0, -5),  # below: a curve comes from above
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=6.5,
        color=style.colour,
    )


def problem_title(row: pd.Series) -> str:
    """Data set, size, penalty and strength, and what else changes the problem."""
    size = f"n = {row['n']:,}, d = {row['d']}, m = {row['m']}" if pd.notna(row["n"]) else "size unknown"
    strength = _TITLES_OF_PENALTIES[row["penalty"]]
    if pd.notna(row["lam_factor"]):
        strength += rf", $\lambda = {row['lam_factor']:g}\,\lambda_{{\max}}$"
    elif pd.notna(row["lam"]):
        strength += rf", $\lambda = {row['lam']:g}$"
    if pd.notna(row["ridge"]):
        strength += rf", ridge {row['ridge']:g}"
    rest = ["intercept" if row["intercept"] else "no intercept"]
    rest += [] if row["conditioning"] == "none" else [f"columns: {row['conditioning']}"]
    return rf"$\bf{{{_bold(row['dataset'])}}}$  ({size}),  {strength},  {', '.join(rest)}"


def _bold(name: str) -> str:
    return name.replace("_", r"\_").replace(" ", r"\ ")


def _legend(figure: Figure, rows: pd.DataFrame) -> None:
    handles = []
    for solver, members in rows.groupby("solver", sort=False):
        style = look(str(solver))
        kinds = sorted(set(members["certificate"].dropna()))
        title = str(members["solver_title"].iloc[0]) + (f" (bound: {', '.join(kinds)})" if kinds else "")
        handles.append(
            Line2D(
                [],
                [],
                color=style.colour,
                linestyle=style.line,
                marker=style.marker,
                markeredgecolor="white",
                label=title,
            )
        )
    tolerance = rows["tolerance"].min()
    handles.append(
        Line2D([], [], color="#555555", linewidth=0.8, linestyle=(0, (2, 2)), label=f"tolerance {tolerance:g}")
    )
    figure.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 4))


def _footnote(figure: Figure, rows: pd.DataFrame, manifest: Mapping[str, Any]) -> None:
    figure.supxlabel(footnote(rows, manifest), x=0.01, ha="left", fontsize=6.5, color="#555555")


def footnote(rows: pd.DataFrame, manifest: Mapping[str, Any], runs: int = 1) -> str:
    """What the gap is, and when, with which code and where the rows were measured."""
    measured = rows["measured_at"].dropna().str.slice(0, 10)
    days = " to ".join(dict.fromkeys([measured.min(), measured.max()])) if len(measured) else "never"
    commits = ", ".join(dict.fromkeys(re.sub(r"\b([0-9a-f]{10})[0-9a-f]{30}\b", r"\1", c) for c in rows["commit"]))
    threads = ", ".join(str(t) for t in sorted(set(rows["threads_asked"])))
    machines = "; ".join(dict.fromkeys(rows["machine"]))
    text = (
        "Gap: (F − L)/F with a certified lower bound L, computed by the suite off the clock. "
        "PIANO: our derivation. "
        f"Experiment {manifest['experiment']}, tier {', '.join(dict.fromkeys(rows['tier']))}; "
        f"measured {days}, commit {commits}, on {machines}, "
        f"{threads} thread{'s' if threads != '1' else ''}; {'one run' if runs == 1 else f'{runs} runs'} per curve."
    )
    return textwrap.fill(text, 150)
