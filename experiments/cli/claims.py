"""`pianobench claims`: the ledger, or one claim with its rule in words, its grid and its evidence."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pianobench.results.store import DEFAULT_ROOT

if TYPE_CHECKING:
    from pianobench.experiments.claims import Standing

LISTED = 12


def claims(
    claim: Annotated[str | None, typer.Argument(metavar="[CLAIM]", help="Say all of this one, as P8.")] = None,
    tier: Annotated[str, typer.Option(help="Judge by the rows of this tier: smoke, laptop or full.")] = "laptop",
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs.")] = DEFAULT_ROOT,
    fix: Annotated[bool, typer.Option("--fix", help="Note the rules that have changed as fixed now.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Where the papers' claims stand: the verdict of each, and the rule that it follows."""
    import json

    from pianobench.experiments.claims import evidence, fix_rules, ledger, standings
    from pianobench.experiments.claims.experiment import TIERS
    from pianobench.experiments.cli import show
    from pianobench.experiments.mistakes import UserMistake
    from pianobench.results.store import Store, StoreError

    known = {one.id: one for one in ledger()}
    claim = claim and claim.upper()
    if claim is not None and claim not in known:
        raise UserMistake(f"no claim is called {claim!r}: there are {', '.join(known)}")
    if tier not in TIERS:
        raise UserMistake(f"--tier {tier!r}: one of {', '.join(TIERS)} is expected")
    if fix:
        noted = fix_rules(known.values(), datetime.now(UTC))
        typer.echo(f"Fixed now: {', '.join(noted)}; commit the change." if noted else "All rules are fixed already.")
        return
    try:
        found = standings(known.values() if claim is None else [known[claim]], tier, evidence(Store(out), tier))
    except StoreError as error:
        raise UserMistake(str(error)) from error
    if claim is None:
        entries = [_entry(one) for one in found]
        show.listing(entries, as_json, ("id", "verdict", "description") if not as_json else ())
    elif as_json:
        print(json.dumps(_whole(found[0]), indent=1))
    else:
        _text(found[0])


def _entry(standing: Standing) -> dict[str, Any]:
    claim, verdict = standing.claim, standing.verdict
    return {
        "id": claim.id,
        "verdict": verdict.word + (" *" if standing.amended else ""),
        "description": claim.statement,
        "place": claim.place,
        "source": claim.source,
        "cites": list(claim.cites),
        "tier": standing.tier,
        "reasons": list(verdict.reasons),
        "amended": standing.amended,
        "oldest": verdict.oldest,
        "experiments": list(claim.experiments),
    }


def _whole(standing: Standing) -> dict[str, Any]:
    from pianobench.algorithms import SOLVERS
    from pianobench.experiments.claims import experiments

    claim, fixed = standing.claim, standing.fixed
    grids = []
    for name in claim.experiments:
        experiment = experiments()[name]
        units = list(experiment.units(standing.tier))
        grids.append(
            {
                "experiment": name,
                "title": experiment.title,
                "evidence": experiment.evidence,
                "arms": list(experiment.arms()),
                "waiting": list(experiment.waiting(SOLVERS)),
                "data": list(dict.fromkeys(unit.dataset for unit in units)),
                "problems": list(dict.fromkeys(unit.problem for unit in units)),
                "threads": list(dict.fromkeys(unit.threads for unit in units)),
                "cells": len(units),
                "runs": experiment.runs(standing.tier) if units else 0,
                "seconds": experiment.seconds(standing.tier) if units else None,
            }
        )
    return {
        **_entry(standing),
        "judged": claim.judged,
        "rule": claim.words(),
        "universal": claim.universal,
        "refutable": claim.refutable,
        "fixed": None if fixed is None else {"at": fixed.at.isoformat(), "commit": fixed.commit},
        "grid": grids,
        "parts": [{"part": p.title, "word": p.word, **p.counts} for p in standing.verdict.parts],
    }


def _text(standing: Standing) -> None:
    from rich.table import Table

    from pianobench.experiments.cli import show

    facts, out = _whole(standing), show.console()
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    fixed = facts["fixed"]
    by = f" by commit {fixed['commit'][:12]}" if fixed and fixed["commit"] else ", not committed yet"
    lines = [
        (facts["id"], facts["description"]),
        ("place", f"{facts['place']} ({facts['source']}); {', '.join(facts['cites'])}"),
        ("verdict", f"{standing.verdict.word}, by the rows of tier {standing.tier}"),
        *(("", f"- {reason}") for reason in facts["reasons"][:LISTED]),
        *(
            [("", f"- and {len(facts['reasons']) - LISTED} parts more: --json")]
            if len(facts["reasons"]) > LISTED
            else []
        ),
        *(("rule" if i == 0 else "", f"{i + 1}. {words}") for i, words in enumerate(facts["rule"])),
        ("judged", facts["judged"]),
        ("fixed", f"{fixed['at'][:16]}{by}" if fixed else "not yet: `pianobench claims --fix`"),
        *([("", "rule amended after evidence")] if standing.amended else []),
        *((("grid" if i == 0 else ""), _grid(one)) for i, one in enumerate(facts["grid"])),
    ]
    for name, text in lines:
        table.add_row(name, text)
    out.print(table, highlight=False, markup=False)


def _grid(one: dict[str, Any]) -> str:
    if not one["cells"]:
        return f"{one['experiment']}: no cell in this tier"
    waiting = f"; waits for {', '.join(one['waiting'])}" if one["waiting"] else ""
    return (
        f"{one['experiment']} ({one['evidence']}): {_some(one['data'])} × {', '.join(one['problems'])}: "
        f"{one['cells']} cells, {one['runs']} runs of each arm, {one['seconds']:g} s each{waiting}"
    )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
