"""`fetch`: bring data sets from where they are published, check them, and keep a receipt."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pianobench.datasets.fetching.fetch import Outcome
    from pianobench.datasets.fetching.job import Watch

COLUMNS = ("name", "n", "d", "m", "here", "licence", "description")


def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="libsvm/letter, openml/61, openml/letter, sklearn/covtype, kaggle/avazu; without a name: the list.",
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List what can be fetched and what is here.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Fetch anew; the bytes must be those of the first time.")
    ] = False,
    accept_changed: Annotated[
        bool, typer.Option("--accept-changed", help="Fetch anew, and take other bytes than those of the first time.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")] = False,
) -> None:
    """Download data sets of LIBSVM, OpenML and scikit-learn, with checksums; for Kaggle's: say what to do."""
    from pianobench.datasets.fetching.fetch import fetch as bring
    from pianobench.datasets.fetching.wanted import ByHand, FetchError
    from pianobench.experiments.mistakes import UserMistake

    if listed or not names:
        from pianobench.experiments.cli import show

        show.listing(_listed(), as_json, COLUMNS)
        return
    done: list[dict[str, Any]] = []
    troubles: list[str] = []
    for name in dict.fromkeys(names):
        try:
            with _progress(quiet) as watch:
                outcome = bring(
                    name,
                    watch=watch,
                    anew=force,
                    accept_changed=accept_changed,
                    waiting=lambda name=name: typer.echo(f"{name}: another process fetches it, waiting", err=True),  # type: ignore[misc]
                )
        except (FetchError, OSError) as error:
            text = str(error) if isinstance(error, FetchError) else f"{name}: {error}"
            done.append({"name": name, "status": "by hand" if isinstance(error, ByHand) else "failed", "error": text})
            troubles.append(text)
        except KeyboardInterrupt:
            typer.echo(f"\n{name}: interrupted; the same command goes on with what has come of a file", err=True)
            raise typer.Exit(130) from None
        else:
            done.append(_facts(outcome))
            if not as_json:
                _tell(done[-1])
    if as_json:
        print(json.dumps(done, indent=1))
    if troubles:
        raise UserMistake("\n".join(troubles))


def _listed() -> list[dict[str, Any]]:
    """What the catalogue has and what has been fetched besides."""
    from pianobench.datasets import fetched
    from pianobench.datasets.fetching import described, receipts

    here = {receipt.name: receipt for receipt in receipts.every()}
    entries = []
    for name in dict.fromkeys([*described.names(), *here]):
        receipt = here.get(name)
        facts = fetched.facts_of(name, receipt)
        sizes = {one: (receipt and getattr(receipt, one)) or facts.get(one) for one in "ndm"}
        entries.append(
            {
                "name": name,
                **sizes,
                "here": f"{receipt.date[:10]}, {_megabytes(receipt.files)}" if receipt else "",
                **{text: facts.get(text) for text in ("licence", "description", "field", "origin")},
                "folder": str(receipts.folder(name)),
                "fetched": receipt.date if receipt else None,
                "bytes": sum(got.bytes for got in receipt.files) if receipt else None,
            }
        )
    return entries


def _megabytes(files: Any) -> str:
    from pianobench.experiments.cli.clean import readable

    return readable(sum(got.bytes for got in files))


def _facts(outcome: Outcome) -> dict[str, Any]:
    from pianobench.datasets.fetching import receipts

    receipt = outcome.receipt
    return {
        "name": receipt.name,
        "status": outcome.status,
        "n": receipt.n,
        "d": receipt.d,
        "m": receipt.m,
        "folder": str(receipts.folder(receipt.name)),
        "fetched": receipt.date,
        "files": [asdict(got) for got in receipt.files],
        "notes": list(outcome.notes),
        "error": outcome.trouble,
    }


def _tell(facts: dict[str, Any]) -> None:
    from pianobench.experiments.cli.clean import readable

    how = {"here": f"is here since {facts['fetched'][:10]}", "fetched": "fetched", "found": "found in its folder"}
    size = f", n={facts['n']} d={facts['d']} m={facts['m']}" if facts["n"] else ""
    total = readable(sum(file["bytes"] for file in facts["files"]))
    typer.echo(f"{facts['name']}: {how[facts['status']]}, {total}{size}")
    typer.echo(f"  {facts['folder']}: {', '.join(file['name'] for file in facts['files'])}")
    for note in facts["notes"]:
        typer.echo(f"  {note}")
    if facts["error"]:
        typer.echo(f"  The files are right, but cannot be read as they are: {facts['error']}.")
        typer.echo("  With options of your own: --data FILE --read OPTION=VALUE")


@contextmanager
def _progress(quiet: bool) -> Iterator[Watch]:
    """Told of the bytes that come: a bar on a terminal, else nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def watch(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bar.add_task(file, total=total)
            bar.update(tasks[file], completed=done, total=total)

        yield watch
