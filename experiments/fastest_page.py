"""``docs/fastest.md`` and its figure, from the stored table alone.

``python -m pianobench.experiments.fastest_page`` writes them anew.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pianobench.algorithms.peers.registry import PEERS
from pianobench.algorithms.registry import SOLVERS
from pianobench.experiments import config as configuration
from pianobench.results import fastest
from pianobench.results.fastest_ratios import SECONDS, SURELY, claimed, judged, ratios, summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pianobench.experiments.config import Config

DOCS = Path(__file__).parents[1] / "docs"
PENALTIES = ("l2", "l1")
BEST = "-best"  # ending of the key of a peer at its best setting


def page() -> str:
    """The page.

    Raises
    ------
    StoreError
        There is no stored table.
    """
    rows = fastest.read()
    main = rows[rows["experiment"] == "fastest"]
    counts = sorted({int(threads) for threads in main["threads"]})
    parts = [_head(rows)]
    if not counts:
        parts.append(
            f"Of the {sum(asked('fastest', kind) for kind in PENALTIES)} cells against peers none is stored yet."
        )
    for threads in counts:
        some = main[main["threads"] == threads]
        parts += [_headline(some, threads, figure=threads == counts[0]), _cells(some, threads), _claims(some, threads)]
    parts.append(_how())
    gaps = rows[rows["experiment"] == "fastest-gaps"]
    if len(gaps):
        parts.append(_gaps(gaps))
    own = rows[rows["experiment"] == "auto-judged"]
    if len(own):
        parts.append(_judged(own))
    return "\n\n".join(parts) + "\n"


def write() -> None:
    """Write the page and its figure."""
    from pianobench.plots.files import save_bitmap

    drawn = figure()
    if drawn is not None:
        save_bitmap(drawn, DOCS / "fastest.png")
    (DOCS / "fastest.md").write_text(page(), "utf-8")


def figure() -> Figure | None:
    """Ratios of all cells, None where none is stored."""
    from pianobench.plots.fastest import fastest as draw

    rows = fastest.read()
    main = rows[rows["experiment"] == "fastest"]
    tables = {
        threads: ratios(main[main["threads"] == threads], peers("fastest", best=True), "to_1e_6")
        for threads in sorted({int(threads) for threads in main["threads"]})
    }
    return draw(tables) if tables else None


def read_config(experiment: str) -> Config:
    """The configuration of that name."""
    return configuration.read(configuration.locate(experiment))


def peers(experiment: str, best: bool) -> dict[str, list[str]]:
    """Keys of an experiment's peers at their best setting, or as documented, by penalty."""
    keys = [choice.key for choice in read_config(experiment).solvers if choice.key in PEERS]
    return {
        penalty: [key for key in keys if key.endswith(BEST) == best and penalty in PEERS[key].penalties]
        for penalty in PENALTIES
    }


def ours(experiment: str) -> dict[str, list[str]]:
    """Keys of an experiment's methods of ours besides `auto`, by penalty."""
    keys = [choice.key for choice in read_config(experiment).solvers if choice.key in SOLVERS and choice.key != "auto"]
    return {kind: [key for key in keys if kind in SOLVERS[key].penalties] for kind in PENALTIES}


def asked(experiment: str, penalty: str) -> int:
    """Cells (data, penalty, strength) of an experiment."""
    grids = [grid for grid in read_config(experiment).problems if grid.penalty == penalty]
    return sum(len(grid.sources) * len(grid.lam_factor) for grid in grids)


def _head(rows: pd.DataFrame) -> str:
    record = fastest.record()
    days = sorted({str(moment)[:10] for moment in rows["measured_at"]})
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items() if version)
    return (
        "# The automatic choice against what a user picks instead\n\n"
        "This page is generated: `make fastest` measures and writes it, `python -m "
        "pianobench.experiments.fastest_page` only\nwrites it, from `results/reference/fastest/rows.csv`. A test keeps "
        "it in step. Not run here: measured on\n"
        f"{', '.join(sorted(set(rows['machine'])))}; {days[0]} to {days[-1]}; commits "
        f"{', '.join(sorted(set(rows['commit'])))};\n{versions}.\n{len(rows)} runs, one of each: no interval can be "
        f"given, and a ratio near 1 says nothing. {int(rows['disturbed'].sum())} runs show signs of\nother work on the "
        "machine."
    )


def _how() -> str:
    cap = read_config("fastest").budget.seconds
    return (
        "## How the time is taken\n\n"
        "Every run is a process of its own, from W = 0, with an intercept. Off the clock for all: reading and "
        "standardising\nthe data, making the problem or handing it over in the library's form, imports, compiling and "
        "a first call on 64\nrows, certificates, the log.\n\n"
        "- `auto`: set-up and steps of the method chosen, up to the first checkpoint whose certified relative gap is "
        "at most\n  1e-6. Checkpoints lie 15 % of the work apart.\n"
        "- A peer at its best setting (keys that end in `-best`): its own tolerance is off. It is fitted anew with "
        "1, 2, 3, 5, ...\n  iterations, each time half as many again, until the result has the gap; then fewer are "
        "tried until the number that is\n  needed is known to a tenth. Its time is that of this one fit: as if its "
        "user had known the number beforehand.\n"
        "- A peer as documented is fitted once, with the tolerance and the limit of iterations that it has by "
        "default. Its time\n  counts if the result has the gap.\n"
        f"- The cap is {cap:g} s for `auto` and for each single fit of a peer; all fits of a peer together, "
        f"certificates included,\n  may take {4 * cap:g} s. What did not arrive gives a bound: `auto` takes more than "
        "it was given, a peer more than its\n  longest fit that missed. A method that gave up by itself, or stopped at "
        "its documented limit, never arrives."
    )


def _headline(rows: pd.DataFrame, threads: int, figure: bool) -> str:
    lines = []
    for name, best in (("best setting", True), ("as documented", False)):
        wanted = peers("fastest", best)
        for penalty in PENALTIES:
            table = ratios(rows[rows["penalty"] == penalty], wanted, "to_1e_6")
            told, all_cells = summary(table), asked("fastest", penalty)
            lines.append(
                (
                    penalty,
                    name if wanted[penalty] else f"{name}: none",
                    f"{len(table) - told['not measured']} of {all_cells}",
                    told["both"],
                    _times(told["worst"]),
                    _times(told["median"]),
                    f"{told['ours only']}" + (f", at least {_times(told['least bound'])}" if told["ours only"] else ""),
                    f"{told['theirs only']}"
                    + (f", at most {_times(told['most bound'])}" if told["theirs only"] else ""),
                    told["neither"],
                    f"{told['faster']} / {told['undecided']} / {told['slower']}",
                )
            )
    head = ("penalty", "peers", "cells measured", "both arrived", "worst", "median", "only auto", "only a peer")
    text = _table((*head, "neither", "faster / undecided / slower"), lines)
    return (
        f"## {_threads(threads)}: the fastest peer over `auto`, gap 1e-6\n\n"
        "Seconds of the fastest peer that arrived over those of `auto`: above 1, `auto` takes less. A cell is a data "
        "set, a\npenalty and a strength; one counts as measured when `auto` and all of these peers are. *Faster* and "
        "*slower* are said\nonly where the one run of each differs by a factor of 1.5 and 10 ms.\n\n"
        + text
        + "\n\n"
        + _slower(rows)
        + ("\n\n![Ratios of all cells](fastest.png)" if figure else "")
    )


def _slower(rows: pd.DataFrame) -> str:
    table = ratios(rows, peers("fastest", best=True), "to_1e_6")
    behind = table[(table["ratio"] < 1.0) & (table["kind"] != "ours only")]
    if not len(behind):
        return "No measured cell has a ratio below 1 against peers at their best setting."
    names = [
        f"{row['dataset']}, {row['penalty']}, {row['lam_factor']:g}: {'at most ' * (row['kind'] == 'theirs only')}"
        f"{_times(row['ratio'])} ({row['peer']}; {row['word']})"
        for _, row in behind.sort_values("ratio").iterrows()
    ]
    return "Below 1 against peers at their best setting:\n\n" + "\n".join(f"- {name}" for name in names)


def _cells(rows: pd.DataFrame, threads: int) -> str:
    best, default = (ratios(rows, peers("fastest", kind), "to_1e_6") for kind in (True, False))
    lines = []
    for (_, one), (_, other) in zip(best.iterrows(), default.iterrows(), strict=True):
        method = one["chosen"] if isinstance(one["chosen"], str) else ""  # NaN where `auto` has no row yet
        ours = _seconds(one["ours"]) if method else "not measured"
        lines.append(
            (
                one["dataset"],
                one["penalty"],
                f"{one['lam_factor']:g}",
                f"{ours} `{method}`" if method else ours,
                _peer(one),
                _bound(one),
                _peer(other),
                _bound(other),
            )
        )
    head = ("data", "penalty", "λ / λ_max", "`auto`: seconds, method", "fastest peer, best setting", "ratio")
    return (
        f"### {_threads(threads)}: every cell\n\n"
        "A dash: not reached under the cap. > and < mark bounds; ∞: all peers gave up. The method is what the rule "
        "takes today;\n`auto`'s row may be of an older commit.\n\n"
        + _table((*head, "fastest peer as documented", "ratio"), lines)
    )


def _peer(row: pd.Series) -> str:
    if row["kind"] == "not measured":
        return "not measured"
    return f"{_seconds(row['theirs'])} `{row['peer']}`" if pd.notna(row["theirs"]) else "–"


def _bound(row: pd.Series) -> str:
    if pd.isna(row["ratio"]):
        return ""
    return {"ours only": "> ", "theirs only": "< "}.get(row["kind"], "") + _times(row["ratio"])


def _claims(rows: pd.DataFrame, threads: int) -> str:
    keys = [key for best in (False, True) for key in _union(peers("fastest", best).values())]
    table = claimed(rows, keys)
    lines = [
        (
            f"`{row['peer']}`",
            row["runs"],
            row["arrived"],
            row["claimed"],
            *((f"{row['median']:.1e}", f"{row['worst']:.1e} ({row['where']})") if row["claimed"] else ("", "")),
        )
        for _, row in table.iterrows()
    ]
    head = ("peer", "runs", "certified 1e-6", "reported success, missed it", "their gaps: median", "worst")
    return (
        f"### {_threads(threads)}: what peers report, and the gap they reached\n\n"
        "*Reported success*: the library ended by its own rule, without a warning. The gap is certified by us at the "
        "point that\nit returned.\n\n" + _table(head, lines)
    )


def _gaps(rows: pd.DataFrame) -> str:
    lines = []
    wanted = peers("fastest-gaps", best=True)
    for (threads, penalty), some in rows.groupby(["threads", "penalty"]):
        for column, level in fastest.LEVELS.items():
            told = summary(ratios(some, wanted, column))
            lines.append(
                (
                    penalty,
                    threads,
                    f"{level:g}",
                    f"{len(some.groupby(['dataset', 'lam_factor'])) - told['not measured']} of "
                    f"{asked('fastest-gaps', str(penalty))}",
                    told["both"],
                    _times(told["worst"]),
                    _times(told["median"]),
                    told["ours only"],
                    told["theirs only"],
                    told["neither"],
                )
            )
    head = ("penalty", "threads", "gap", "cells measured", "both arrived", "worst", "median", "only auto")
    return (
        "## Other gaps, and a weaker penalty\n\n"
        "Runs to 1e-9, the looser gaps read off their curves. There a peer's time is that of the first fit with the "
        "gap, whose\nnumber of iterations is not narrowed: it may be up to half too long.\n\n"
        + _table((*head, "only a peer", "neither"), lines)
    )


def _judged(rows: pd.DataFrame) -> str:
    table = judged(rows, ours("auto-judged"))
    lines = []
    for penalty, some in table.groupby("penalty"):
        lines.append(
            (
                penalty,
                f"{len(some)} of {asked('auto-judged', str(penalty))}",
                int(some["right"].sum()),
                int((some["ratio"] <= 1.0).sum()),
                _times(float(some["ratio"].max())),
                _times(float(some["ratio"].median())),
                " to ".join(_times(float(some["again"].quantile(share))) for share in (0.1, 0.9)),
            )
        )
    wrong = table[~table["right"].astype(bool)].sort_values("ratio", ascending=False)
    names = [
        f"- {row['dataset']}, {row['penalty']}, {row['lam_factor']:g}: `{row['chosen']}` {_seconds(row['ours'])} s, "
        f"`{row['method']}` {_seconds(row['best'])} s: {'at least ' * bool(pd.isna(row['ours']))}{_times(row['ratio'])}"
        for _, row in wrong.iterrows()
    ]
    head = ("penalty", "cells measured", "right", "best of all", "worst ratio", "median", "noise")
    return (
        "## The rule on data that it was not made on\n\n"
        "The method that `auto` takes over the best other one of ours, in processor seconds of set-up and steps to "
        "1e-6: one\nthread, one run each, on a core that other work shared. The method taken is run twice, once by "
        "`auto` and once\nby itself; its time is the mean. *Noise*: the one of these over the other, the middle 80 % "
        f"of cells. *Right*: at most\n{SURELY:g} times as long as the best other, or {1e3 * SECONDS:g} ms longer. A "
        "cell counts where `auto` and all these methods are\nmeasured and one arrived:\n"
        + ", ".join(f"`{key}`" for key in _union(ours("auto-judged").values()))
        + ".\n\n"
        + _table(head, lines)
        + ("\n\nNot right:\n\n" + "\n".join(names) if names else "")
    )


def _union(lists: Iterable[Collection[str]]) -> list[str]:
    return list(dict.fromkeys(key for keys in lists for key in keys))


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def _seconds(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3g}"


def _times(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    titles = list(head)
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


if __name__ == "__main__":
    write()
