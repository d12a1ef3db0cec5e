"""`pianobench claims`: the ledger, or one claim with its rule in words, its grid and its evidence."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pianobench.results.store import DEFAULT_ROOT

if TYPE_CHECKING:
    from pianobench.experiments.claims import Standing


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
    from pianobench.experiments.claims.facts import brief, facts
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
        entries = [brief(one) for one in found]
        show.listing(entries, as_json, ("id", "verdict", "description") if not as_json else ())
    elif as_json:
        print(json.dumps(facts(found[0]), indent=1))
    else:
        _text(found[0])


def _text(standing: Standing) -> None:
    from rich.table import Table

    from pianobench.experiments.claims.facts import LISTED, facts, grid_line
    from pianobench.experiments.cli import show

    about, out = facts(standing), show.console()
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    fixed = about["fixed"]
    by = f" by commit {fixed['commit'][:12]}" if fixed and fixed["commit"] else ", not committed yet"
    lines = [
        (about["id"], about["description"]),
        ("place", f"{about['place']} ({about['source']}); {', '.join(about['cites'])}"),
        ("verdict", f"{standing.verdict.word}, by the rows of tier {standing.tier}"),
        *(("", f"- {reason}") for reason in about["reasons"][:LISTED]),
        *(
            [("", f"- and {len(about['reasons']) - LISTED} parts more: --json")]
            if len(about["reasons"]) > LISTED
            else []
        ),
        *(("rule" if i == 0 else "", f"{i + 1}. {words}") for i, words in enumerate(about["rule"])),
        ("judged", about["judged"]),
        ("fixed", f"{fixed['at'][:16]}{by}" if fixed else "not yet: `pianobench claims --fix`"),
        *([("", "rule amended after evidence")] if standing.amended else []),
        *((("grid" if i == 0 else ""), grid_line(one)) for i, one in enumerate(about["grid"])),
    ]
    for name, text in lines:
        table.add_row(name, text)
    out.print(table, highlight=False, markup=False)
