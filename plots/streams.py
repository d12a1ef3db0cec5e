"""Figures of the experiments on streams, from the stored tables alone: samples, courses, speed-up, draws."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from pianobench.algorithms.stream.samples import ByRise
from pianobench.plots.style import RC, Look

WIDTH = 7.2  # inches
LOOKS = {
    "sa-lbfgs": Look("#0072B2", "-", "o"),
    "sa-lbfgs-repaired": Look("#D55E00", (0, (5, 1.5)), "s"),
    "keep": Look("#8A8A8A", (0, (1, 1.2)), "v"),
    "full-cold": Look("#000000", (0, (5, 1.5, 1, 1.5)), "D"),
    "full-warm": Look("#000000", (0, (2, 2)), "P"),
    "subsample-warm": Look("#009E73", (0, (7, 1, 3, 1)), "^"),
    "subsample-cold": Look("#009E73", (0, (1, 2.5)), "<"),
    "online": Look("#56B4E9", (0, (3, 1, 1, 1, 1, 1)), "X"),
}
TITLES = {
    "sa-lbfgs": "SA L-BFGS as written",
    "sa-lbfgs-repaired": "repaired rule",
    "keep": "first model kept",
    "full-cold": "all rows, from 0",
    "full-warm": "all rows, warm",
    "subsample-warm": "sample of all rows, warm",
    "subsample-cold": "sample of all rows, from 0",
    "online": "AdaGrad, a pass over each batch",
}
KINDS = (("none", "no drift"), ("sudden", "sudden drift"), ("gradual", "gradual drift"))
NEWEST = (("ordinary", "ordinary"), ("turned", "law turned"), ("flipped", "labels flipped"))
MUS = (0.3, 1.0, 3.0, 10.0, 30.0)  # written on the axis
_MARKS = {0.03: "o", 0.3: "^"}


def sample_sizes(streams: pd.DataFrame, rows: int) -> Figure:
    """New and old rows of a sample against the rise over its spread: the map, and the samples that were drawn.

    Parameters
    ----------
    streams : DataFrame
        Columns ``learner``, ``rate``, ``batch``, ``rise``, ``spread``, ``updated``, ``new_rows``, ``old_rows``.
    rows : int
        Of a sample.
    """
    sampling, mu = ByRise(rows), np.geomspace(0.3, 30.0, 200)
    share = np.array([sampling.share(float(one)) for one in mu])
    trained = streams[(streams["updated"] == 1) & (streams["batch"] > 0)]
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH, 2.7), layout="constrained")
        for axis, key in zip(figure.subplots(1, 2, sharey=True), ("sa-lbfgs", "sa-lbfgs-repaired"), strict=True):
            axis.plot(mu, share * rows, color="#0072B2", label="new rows, the map")
            axis.plot(mu, (1 - share) * rows, color="#D55E00", linestyle=(0, (5, 1.5)), label="old rows, the map")
            for rate, of_rate in trained[trained["learner"] == key].groupby("rate"):
                rise = of_rate["rise"] / of_rate["spread"].where(of_rate["spread"] > 0)
                x = rise.fillna(np.inf).clip(upper=28.0)
                mark: dict[str, Any] = {"marker": _MARKS[float(str(rate))], "linestyle": "none", "markersize": 3.6}
                mark |= {"markeredgecolor": "black", "markeredgewidth": 0.35, "alpha": 0.7}
                clicks = f"{100 * float(str(rate)):g} % clicks"
                axis.plot(x, of_rate["new_rows"], color="#0072B2", label=f"new, {clicks}", **mark)
                axis.plot(x, of_rate["old_rows"], color="#D55E00", label=f"old, {clicks}", **mark)
            axis.set_xscale("log")
            axis.set_xlim(0.3, 30.0)
            axis.set_xticks(MUS, [f"{one:g}" for one in MUS])
            axis.xaxis.set_minor_formatter(NullFormatter())
            axis.set_xlabel(r"rise over its spread, $\mu = \Delta / \sigma$")
            number = int((trained["learner"] == key).sum())
            axis.set_title(f"{TITLES[key]}: {number} samples drawn", loc="left")
        figure.axes[0].set_ylabel("rows of the sample")
        handles, labels = figure.axes[1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, handlelength=2.6)
    return figure


def courses(
    streams: pd.DataFrame,
    rate: float,
    size: float = 1.0,
    keys: tuple[str, ...] = ("sa-lbfgs", "sa-lbfgs-repaired", "keep", "full-cold"),
) -> Figure:
    """Updates, error, log loss and area along streams of one click rate: means over seeds, a column for each drift.

    Parameters
    ----------
    streams : DataFrame
        Lines of `drift.run`.
    rate, size : float
        Of the streams drawn; those without drift have size 0.
    keys : tuple of str
        Learners.
    """
    some = streams[(streams["rate"] == rate) & (streams["learner"].isin(keys))]
    panels = (("error", "error"), ("log_loss", "log loss, nats"), ("area_before", "area"))
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH, 6.0), layout="constrained")
        grid = figure.subplots(4, 3, sharex=True, sharey="row", height_ratios=(0.6, 1, 1, 1))
        for column, (kind, title) in zip(grid.T, KINDS, strict=True):
            drawn = some[(some["kind"] == kind) & ((some["size"] == size) | (kind == "none"))]
            column[0].set_title(f"{title}, {drawn['seed'].nunique()} streams", loc="left")
            for number, key in enumerate(keys):
                of_key, style = drawn[drawn["learner"] == key], LOOKS[key]
                mean = of_key.groupby("batch").mean(numeric_only=True)
                if key.startswith("sa-"):
                    left = mean.index + (number - 0.5) * 0.4
                    hatch = "////" if number else ""
                    face = "white" if number else style.colour
                    column[0].bar(left, mean["updated"], 0.38, color=face, edgecolor=style.colour, hatch=hatch)
                for axis, (name, _) in zip(column[1:], panels, strict=True):
                    line: dict[str, Any] = {"color": style.colour, "linestyle": style.line}
                    line |= {"marker": style.marker, "markersize": 3.0}
                    axis.plot(mean.index[1:], mean[name].iloc[1:], label=TITLES[key], **line)
            column[-1].set_xlabel("batch")
            column[-1].set_xticks(range(0, int(some["batch"].max()) + 1, 2))
        grid[0, 0].set_ylabel("share of streams\nthat train")
        for axis, (_, label) in zip(grid[1:, 0], panels, strict=True):
            axis.set_ylabel(label)
        figure.legend(*grid[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, handlelength=3.4)
    return figure


def speed_up(
    after: pd.DataFrame, keys: tuple[str, ...] = ("sa-lbfgs", "sa-lbfgs-repaired", "subsample-warm", "online")
) -> Figure:
    """Full retraining's seconds over a learner's, and the area that it lacks, against the size of the divergence.

    Parameters
    ----------
    after : DataFrame
        A line for each stream and learner: ``rate``, ``size``, ``seed``, ``learner``, ``speed_up``, ``area_lost``.
    keys : tuple of str
        Learners.
    """
    rates = sorted(after["rate"].unique())
    panels = (
        ("speed_up", "full retraining's seconds\nover its own"),
        ("area_lost", "area below that of\nfull retraining"),
    )
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH, 4.6), layout="constrained")
        grid = figure.subplots(2, len(rates), sharex=True, sharey="row", squeeze=False)
        for column, rate in zip(grid.T, rates, strict=True):
            column[0].set_title(f"{100 * rate:g} % clicks", loc="left")
            for number, key in enumerate(keys):
                of_key = after[(after["rate"] == rate) & (after["learner"] == key)].groupby("size")
                style, sizes = LOOKS[key], np.array(sorted(after["size"].unique()))
                place = np.arange(len(sizes)) + 0.09 * (number - (len(keys) - 1) / 2)
                for axis, (name, _) in zip(column, panels, strict=True):
                    low, middle, high = (of_key[name].quantile(q).reindex(sizes).to_numpy() for q in (0.25, 0.5, 0.75))
                    line: dict[str, Any] = {"color": style.colour, "linestyle": style.line, "marker": style.marker}
                    axis.errorbar(
                        place, middle, [middle - low, high - middle], elinewidth=0.8, label=TITLES[key], **line
                    )
            column[0].set_yscale("log")
            column[1].axhline(0.0, color="#555555", linewidth=0.7, zorder=1)
            column[1].set_xticks(range(len(sizes)), [f"{size:g}" for size in sizes])
            column[1].set_xlabel("size of the sudden drift")
        for axis, (_, label) in zip(grid[:, 0], panels, strict=True):
            axis.set_ylabel(label)
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, handlelength=3.4)
    return figure


def draws(table: pd.DataFrame, limit: float) -> Figure:
    """Areas of models drawn side by side, by the share of new rows, and what tells a batch that does not belong.

    Parameters
    ----------
    table : DataFrame
        Lines of `draws.spread`.
    limit : float
        Ratio from which a batch is flagged.
    """
    rates = sorted(table["rate"].unique())
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
        grid = figure.subplots(2, len(rates), sharey="row", squeeze=False)
        for column, rate in zip(grid.T, rates, strict=True):
            some = table[table["rate"] == rate]
            _areas(column[0], some)
            _ratios(column[1], some, limit)
            column[0].set_title(f"{100 * rate:g} % clicks, {some['seed'].nunique()} streams", loc="left")
        grid[0, 0].legend(loc="lower left", markerscale=1.8, title="newest batch")
        grid[0, 0].set_ylabel("area of a draw,\nlaw before the batch")
        grid[1, 0].set_ylabel("unlike shares\nover like ones")
    return figure


_DRAWN = {"ordinary": ("#0072B2", "o"), "turned": ("#D55E00", "s"), "flipped": ("#000000", "^")}


def _areas(axis: Axes, some: pd.DataFrame) -> None:
    shares = sorted(some["share"].unique())
    for number, (name, title) in enumerate(NEWEST):
        of_name, (colour, marker) = some[some["newest"] == name], _DRAWN[name]
        for place, share in enumerate(shares):
            areas = of_name.loc[of_name["share"] == share, "area"].to_numpy()
            x = place + 0.27 * (number - 1) + np.linspace(-0.09, 0.09, len(areas))
            mark: dict[str, Any] = {"marker": marker, "markersize": 2.2, "markeredgewidth": 0.0, "alpha": 0.7}
            axis.plot(x, areas, color=colour, linestyle="none", label="" if place else title, **mark)
    axis.set_xticks(range(len(shares)), [f"{share:g}" for share in shares])
    axis.set_xlabel("share of new rows in the sample")
    axis.set_ylim(0.0, 1.0)
    axis.grid(axis="x", visible=False)


def _ratios(axis: Axes, some: pd.DataFrame, limit: float) -> None:
    one = some.drop_duplicates(["seed", "newest"])
    for place, (name, _) in enumerate(NEWEST):
        of_name, (colour, marker) = one[one["newest"] == name], _DRAWN[name]
        x = place + np.linspace(-0.2, 0.2, len(of_name))
        axis.plot(x, of_name["ratio"], color=colour, marker=marker, linestyle="none", markersize=3.2)
        axis.text(place, 24.0, f"{of_name['flagged'].mean():.0%} flagged", ha="center", va="center", fontsize=7.5)
    axis.axhline(limit, color="#555555", linewidth=0.8, linestyle=(0, (2, 2)))
    axis.set_yscale("log")
    axis.set_ylim(0.6, 32.0)
    axis.set_yticks([1, 2, 5, 10, 20])
    axis.yaxis.set_major_formatter(ScalarFormatter())
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_xticks(range(len(NEWEST)), [title for _, title in NEWEST])
    axis.set_xlim(-0.5, len(NEWEST) - 0.5)
    axis.set_xlabel("newest batch")
    axis.grid(axis="x", visible=False)
