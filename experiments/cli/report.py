"""`pianobench report`: one HTML file of the claims and all that is known of them, from stored tables alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pianobench.results.store import DEFAULT_ROOT


def report(
    tier: Annotated[str, typer.Option(help="Judge by the rows of this tier: smoke, laptop or full.")] = "laptop",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The file to write; in the folder of the runs else.")
    ] = None,
    root: Annotated[Path, typer.Option("--root", metavar="DIR", help="Folder of the runs.")] = DEFAULT_ROOT,
) -> None:
    """Write the report: claims, verdicts, evidence, figures and provenance in one HTML file; nothing is run."""
    from pianobench.experiments.claims.experiment import TIERS
    from pianobench.experiments.mistakes import UserMistake
    from pianobench.results.store import StoreError

    if tier not in TIERS:
        raise UserMistake(f"--tier {tier!r}: one of {', '.join(TIERS)} is expected")
    if out is not None and out.is_dir():
        raise UserMistake(f"--out {out} is a folder: the name of a file is expected, as {out / 'report.html'}")
    try:
        written = write(root, tier, out)
    except StoreError as error:
        raise UserMistake(str(error)) from error
    typer.echo(written)


def write(root: Path, tier: str, out: Path | None = None) -> Path:
    """Write the report of a store and return its place, ``report-<tier>.html`` in the store if none is given.

    Raises
    ------
    StoreError
        A table is damaged or of another version, or the file cannot be written.
    """
    from pianobench.experiments.report import report as page
    from pianobench.results.store import StoreError, write_atomically

    file = root / f"report-{tier}.html" if out is None else out
    text = page(root, tier)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, text.encode())
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror or error}; name another with --out") from error
    return file
