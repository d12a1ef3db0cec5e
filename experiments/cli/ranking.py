"""Rankings for people: a table for each problem, then one over the problems of each penalty."""

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pianobench.results import judging, overall, ranking
from pianobench.results.store import Tables

WIDTH = 100


def show_rankings(tables: Tables, folder: Path, figures: Sequence[Path], as_json: bool) -> None:
    """Print the rankings of a comparison, where its figures lie, and how places were given."""
    problems = ranking.by_problem(tables.rows, tables.curves)
    whole = overall.over_problems(tables.rows, tables.curves)
    if as_json:
        document = {
            "run": str(folder),
            "figures": [str(path) for path in figures],
            "ranking": _records(problems),
            "overall": _records(whole),
            "rows": _records(tables.rows),
        }
        print(json.dumps(document, indent=1, allow_nan=False))
        return
    out = Console(width=None if sys.stdout.isatty() else WIDTH)
    for (dataset, problem), members in problems.groupby(["dataset", "problem"], sort=False):
        row = tables.rows[tables.rows["problem"] == problem].iloc[0]
        lam = f", lam = {row['lam']:.4g}" if pd.notna(row["lam"]) else ""
        out.print(f"\n{dataset}  {problem}{lam}", style="bold", highlight=False, markup=False)
        _problem(out, members)
    _overall(out, whole)
    _rules(out, tables, problems)
    out.print(f"Tables  {folder}\nFigure  {', '.join(str(path) for path in figures)}", highlight=False, soft_wrap=True)


def _problem(out: Console, members: pd.DataFrame) -> None:
    levels = sorted(set(members["level"]))
    main = members[members["level"] == levels[0]]
    tested = main["test_accuracy"].notna().any()
    table = _table(("place", "method"))
    for level in levels:
        table.add_column(f"s to {level:.0e}".replace("e-0", "e-"), justify="right", no_wrap=True)
    for name in ("with compile", "gradients", *(("accuracy", "log loss") if tested else ())):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    ranked = main[main["outcome"].isin(("reached", "not reached"))]
    for row in ranked.to_dict("records"):
        same = members[members["method"] == row["method"]].set_index("level")
        table.add_row(
            places(row),
            row["title"],
            *(seconds(same.loc[level, "seconds"]) or "not reached" for level in levels),
            seconds(row["seconds_with_compile"]),
            _number(row["gradient_equivalents"], ",.0f"),
            *((_number(row["test_accuracy"], ".4f"), _number(row["test_log_loss"], ".4f")) if tested else ()),
            _remark(row),
        )
    out.print(table)
    outside(out, main)


def outside(out: Console, main: pd.DataFrame) -> None:
    """Methods without a place, those with the same reason in one line."""
    left = main[main["outcome"].isin(("refused", "failed"))]
    reasons = [ranking.without_title(*pair) for pair in zip(left["note"], left["title"], strict=True)]
    for (outcome, reason), members in left.assign(reason=reasons).groupby(["outcome", "reason"], sort=False):
        text = f"{outcome}: {', '.join(members['title'])}: {reason}"
        out.print(Padding(Text(text), (0, 0, 0, 2)), style="dim", highlight=False)


def _overall(out: Console, whole: pd.DataFrame) -> None:
    for penalty, both in whole.groupby("penalty", sort=False):
        # The tolerance; where no method reached it on any problem the looser gap.
        levels = sorted(set(both["level"]))
        level = next((one for one in levels if both.loc[both["level"] == one, "place"].notna().any()), levels[-1])
        members = both[both["level"] == level]
        ranked = members[members["place"].notna()]
        count = int(members["of"].iloc[0])
        kind = str(penalty) if penalty != "none" else "no penalty"
        title = f"\nOver {count} problem{'s' if count != 1 else ''} with {kind}"
        out.print(f"{title}: time to a gap of {level:g} as a ratio to the fastest", style="bold", highlight=False)
        if ranked.empty:
            out.print("  no method reached the gap on any problem: give a larger --budget or --tol", highlight=False)
            continue
        table = _table(("place", "method"))
        for name in ("reached", "worst", "median", "mean", "compiled"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", overflow="fold")
        for row in ranked.to_dict("records"):
            undecided = f"undecided: {row['undecided']}" if row["undecided"] else ""
            table.add_row(
                places(row),
                row["title"],
                f"{row['reached']} of {row['of']}",
                *(_ratio(row[name]) for name in ("worst", "median", "mean", "mean_with_compile")),
                "; ".join(filter(None, (undecided, row["note"]))),
            )
        out.print(table)
        out_of_it = members[members["place"].isna()]
        if len(out_of_it):
            text = ", ".join(out_of_it["title"])
            out.print(Padding(Text(f"not ranked: {text}"), (0, 0, 0, 2)), style="dim", highlight=False)


def _rules(out: Console, tables: Tables, problems: pd.DataFrame) -> None:
    runs = int(problems["runs"].max())
    if runs < judging.REPEATS_TO_JUDGE:
        rule = (
            f"{runs} run{'s' if runs > 1 else ''} of each: undecided within a factor of {judging.FACTOR_OF_ONE_RUN:g} "
            f"or {1000 * judging.SECONDS_OF_ONE_RUN:g} ms; --repeats {judging.REPEATS_TO_JUDGE} decides more"
        )
    else:
        rule = (
            f"{runs} runs of each: undecided unless the 95 % interval of the ratio of medians lies beyond "
            f"{judging.MARGIN:g}"
        )
    words = [
        f"A range of places, as 2–4: the measurements leave them open. {rule}.",
        "mean: geometric, the order; with compile, compiled: the warm-up counts, too (compiling, imports).",
        f"A gap not reached counts as {overall.CHARGE:g} × the budget of {tables.rows['max_seconds'].max():g} s.",
        f"Ahead over all is who is faster on {100 * overall.AGREEING:g} % of the problems.",
        "PIANO here is our derivation: the paper's own update was not available.",
    ]
    reused = int(tables.rows["reused"].sum())
    if reused:
        words.append(f"{reused} of {len(tables.rows)} runs were measured earlier and taken from the store.")
    out.print("\n" + " ".join(words) + "\n", style="dim", highlight=False)


def _table(names: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, no_wrap=name == "place", overflow="fold")
    return table


def _remark(row: Any) -> str:
    """What is undecided, and where a gap was not reached how near it came and how it ended."""
    missed = row["runs"] - row["runs_reached"]
    parts = []
    if missed:
        share = f" in {missed} of {row['runs']}" if row["runs"] > 1 else ""
        gap = f"gap {row['gap']:.1e}, " if pd.notna(row["gap"]) else ""
        parts.append(f"{gap}{row['status']}{share}")
    if row["undecided"]:
        parts.append(f"undecided: {row['undecided']}")
    return "; ".join(parts)


def places(row: Any) -> str:
    """First and last place, or the one."""
    if pd.isna(row["place"]):
        return "–"
    first, last = int(row["place"]), int(row["last_place"])
    return str(first) if first == last else f"{first}–{last}"


def seconds(value: Any) -> str:
    """Three digits."""
    if pd.isna(value) or math.isinf(value):
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}" if value >= 0.001 else f"{value:.1e}"


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows for strict JSON: what is missing or not finite as null."""
    return [{str(key): _plain(value) for key, value in row.items()} for row in table.astype(object).to_dict("records")]


def _plain(value: Any) -> Any:
    if pd.isna(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    return value.item() if hasattr(value, "item") else value


def _ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"


def _number(value: Any, form: str) -> str:
    return "" if pd.isna(value) else format(value, form)
