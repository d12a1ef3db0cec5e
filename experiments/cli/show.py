"""What the commands print: results on standard output, progress on standard error."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from pianobench.experiments import noise
from pianobench.experiments.cells import Cell
from pianobench.results.store import Store, Tables

if TYPE_CHECKING:
    import pandas as pd

WIDTH_OF_PIPES = 118
MOST_LISTED = 20


class Progress:
    """One line for each cell, on standard error."""

    def __init__(self, total: int, quiet: bool) -> None:
        self.total = total
        self.quiet = quiet
        self.number = 0

    def start(self, cell: Cell) -> None:
        """Name the cell that starts."""
        if not self.quiet:
            print(f"[{self.number + 1}/{self.total}] {cell.label} … ", end="", file=sys.stderr, flush=True)

    def row(self, row: Mapping[str, Any]) -> None:
        """Say how it ended."""
        self.number += 1
        if self.quiet:
            return
        text = row["status"]
        if row.get("seconds") is not None:
            text += f", {row['steps']} steps" if row.get("steps") is not None else ""
            text += f", {row['seconds']:.3g} s"
        if row["reused"] or row["reason"].startswith("not started"):
            text = f"[{self.number}/{self.total}] {row['label']}: {text}"
        if row["reused"]:
            text += f", measured {row['measured_at'][:10]}"
        elif row.get("earlier"):
            text += f" (measured again; before: {row['earlier']})"
        print(text, file=sys.stderr, flush=True)


def cells(cells: Sequence[Cell], store: Store, as_json: bool) -> None:
    """What would be run, and what the store already holds."""
    listed: list[dict[str, Any]] = [
        {"label": c.label, "key": c.key, "held": store.finished(c.key) is not None} for c in cells
    ]
    if as_json:
        print(json.dumps({"cells": listed}, indent=1))
        return
    for entry in listed:
        print(f"{entry['key'][:8]}  {'held' if entry['held'] else 'to run':6}  {entry['label']}")
    held = sum(bool(entry["held"]) for entry in listed)
    print(f"{len(listed)} cells, {held} held by the store, {len(listed) - held} to run")


def listing(entries: Sequence[Mapping[str, Any]], as_json: bool, columns: Sequence[str]) -> None:
    """A table of entries; as text these columns of the usable ones, as JSON everything."""
    if as_json:
        print(json.dumps(list(entries), indent=1))
        return
    wide = {"description", "licence"} & set(columns)  # they share what room the others leave, a line each
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=bool(wide))
    for name in columns:
        if name in wide:
            table.add_column(name, overflow="ellipsis", no_wrap=True, ratio=2 if name == "description" else 1)
        else:
            table.add_column(name, overflow="fold", no_wrap=name in ("source", columns[0]))
    missing: dict[str, list[str]] = {}
    for entry in entries:
        if entry.get("error"):
            reason = str(entry["error"]).replace(f" {entry[columns[0]]}`", " NAME`")
            missing.setdefault(reason, []).append(entry[columns[0]])
            continue
        values = (entry[name] for name in columns)
        table.add_row(*(", ".join(v) if isinstance(v, list) else "" if v is None else str(v) for v in values))
    out = console()
    out.print(table, highlight=False)
    for reason, names in missing.items():
        verb = "is" if len(names) == 1 else "are"
        out.print(f"{', '.join(names)} {verb} not available: {reason}", highlight=False, markup=False)
    left_out = [name for name in entries[0] if name not in columns]
    if left_out:
        out.print(f"(--json adds {', '.join(left_out)})", style="dim", highlight=False)


def details(facts: Mapping[str, Any], as_json: bool) -> None:
    """One entry, a line for each fact that there is; long lists are cut in text, never in JSON."""
    if as_json:
        print(json.dumps(facts, indent=1))
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if value not in (None, "", [], {}):
            table.add_row(name, _in_words(value))
    console().print(table, highlight=False, markup=False)


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return _in_words([f"{key} ({_in_words(one)})" for key, one in value.items()])
    if isinstance(value, list):
        more = f" and {len(value) - MOST_LISTED} more" if len(value) > MOST_LISTED else ""
        return ", ".join(map(str, value[:MOST_LISTED])) + more
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if isinstance(value, float) else str(value)


def outcome(tables: Tables, folder: Path, figures: Sequence[Path], claims: bool, as_json: bool) -> None:
    """Table of results, files, and what the run itself says on the claims."""
    of_probes = bool(tables.manifest.get("probes"))
    verdicts = _verdicts(tables) if claims else {}
    if as_json:
        document = {
            "run": str(folder),
            "figures": [str(path) for path in figures],
            "rows": _plain_rows(tables.rows),
            **({"probes": _plain_rows(tables.probes)} if of_probes else {}),
            **({"claims": {key: list(told) for key, told in verdicts.items()}} if claims else {}),
        }
        print(json.dumps(document, indent=1, allow_nan=False))
        return
    out = console()
    out.print(f"\n{tables.manifest['title']}", style="bold", highlight=False)
    out.print(numbers(tables) if of_probes else results(tables))
    for _, row in tables.rows.iterrows():
        if row["status"] not in ("converged", "measured"):
            where = f"{row['dataset']}/{row['problem']}"
            out.print(
                f"{where}, {row['solver_title']}: {row['status']}: {row['reason']}",
                highlight=False,
                markup=False,
            )
    noisy = noise.summary(tables.rows)
    if noisy:
        out.print(noisy, style="bold", highlight=False)
    out.print(
        "PIANO here is our derivation: the paper's own update and figures were not available.",
        highlight=False,
    )
    figure = f"\nFigure  {', '.join(path.name for path in figures)}" if figures else ""
    out.print(f"\nTables  {folder}{figure}", highlight=False, soft_wrap=True)
    if claims:
        _claims(out, verdicts)


def _verdicts(tables: Tables) -> dict[str, tuple[str, str]]:
    """Word and first reason on each claim that the run has evidence for, by this run alone."""
    from pianobench.experiments.claims import ledger, standings
    from pianobench.experiments.claims.standing import gathered

    tier = str(tables.rows["tier"].iloc[0])
    found = standings(ledger(), tier, gathered([tables], tier))
    return {one.claim.id: (one.verdict.word, one.verdict.reasons[0]) for one in found}


def results(tables: Tables) -> Table:
    """The rows of a run as a table for people."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("data", "problem", "method", "outcome"):
        table.add_column(name, no_wrap=True)
    for name in ("gap", "steps", "gradients", "seconds", "non-zero"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in tables.rows.to_dict("records"):
        table.add_row(
            row["dataset"],
            row["problem"],
            row["solver_title"],
            row["status"] + (" (reused)" if row["reused"] else ""),
            *(_number(row[k], f) for k, f in _NUMBERS),
        )
    return table


def numbers(tables: Tables) -> Table:
    """What probes have measured as a table for people: a line for each cell and arm, its runs together."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("data", "problem", "quantity", "arm"):
        table.add_column(name, overflow="fold")
    for name in ("runs", "least", "median", "most"):
        table.add_column(name, justify="right", no_wrap=True)
    places = ["dataset", "problem", "quantity", "arm", "axis", "x"]
    for _, runs in tables.probes.groupby(places, sort=False, dropna=False):
        first, values = runs.iloc[0], runs["value"]
        arm = first["arm"] + ("" if _missing(first["axis"]) else f" at {first['axis']} {first['x']:g}")
        numbers = (f"{value:.4g}" for value in (values.min(), values.median(), values.max()))
        table.add_row(first["dataset"], first["problem"], first["quantity"], arm, str(len(runs)), *numbers)
    return table


_NUMBERS = (
    ("gap", ".1e"),
    ("steps", ",.0f"),
    ("gradient_equivalents", ",.1f"),
    ("seconds", ".3f"),
    ("nnz", ",.0f"),
)


def console() -> Console:
    """Standard output; wider than a terminal's 80 columns where it is a file or a pipe."""
    return Console() if sys.stdout.isatty() else Console(width=WIDTH_OF_PIPES)


def _claims(out: Console, verdicts: Mapping[str, tuple[str, str]]) -> None:
    out.print("\nClaims, by this run", style="bold")
    by_word: dict[str, list[str]] = {}
    for key, (word, _) in verdicts.items():
        by_word.setdefault(word, []).append(key)
    for word, keys in by_word.items():
        out.print(f"{word}: {', '.join(keys)}", highlight=False)
    out.print("`pianobench claims P2 --tier smoke` says why, with the rule.", highlight=False)


def _missing(value: Any) -> bool:
    import pandas as pd

    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def _number(value: Any, form: str) -> str:
    return "" if _missing(value) else format(value, form)


def _plain_rows(table: "pd.DataFrame") -> list[dict[str, Any]]:
    return [{str(k): _plain(v) for k, v in row.items()} for row in table.to_dict("records")]


def _plain(value: Any) -> Any:
    """For strict JSON: missing as null, infinities as text."""
    if _missing(value):
        return None
    return str(value) if isinstance(value, float) and math.isinf(value) else value
