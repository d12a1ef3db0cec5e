"""Commands. Each imports what it needs when it runs: `--help` must not wait for NumPy."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pianobench import __version__
from pianobench.experiments.cli.check_solver import check_solver
from pianobench.experiments.cli.claims import claims
from pianobench.experiments.cli.clean import clean
from pianobench.experiments.cli.compare import compare
from pianobench.experiments.cli.doctor import doctor
from pianobench.experiments.cli.fetch import fetch
from pianobench.experiments.cli.init_config import init_config
from pianobench.experiments.cli.report import report
from pianobench.experiments.cli.reproduce import reproduce
from pianobench.experiments.cli.stream import stream
from pianobench.results.store import DEFAULT_ROOT

app = typer.Typer(
    name="pianobench",
    help="Benchmarks and reproduction of multinomial and sparse multinomial logistic regression.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs.")]
Only = Annotated[
    str | None,
    typer.Option("--only", metavar="PATTERN", help="Run cells whose label contains, or matches, PATTERN."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List the cells and run nothing.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, metavar="N", help="Threads of a cell, in place of the configuration's."),
]
Solvers = Annotated[
    list[str] | None,
    typer.Option(
        "--solver",
        metavar="SOLVER",
        help="A further solver: a key, or FILE.py:CLASS of your own; either with '(name=value, ...)'. Repeatable.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="FILE", help="Your own file in place of all data: CSV, Parquet, svmlight, npz and others."
    ),
]
Read = Annotated[
    list[str] | None,
    typer.Option("--read", metavar="KEY=VALUE", help="How that file is read (docs/data.md), as target=y; repeatable."),
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pianobench {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version  # the callback has done it


@app.command()
def run(
    config: Annotated[str, typer.Argument(metavar="CONFIG", help="A TOML file, or the name of a shipped one.")],
    dry_run: DryRun = False,
    out: Out = DEFAULT_ROOT,
    only: Only = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    threads: Threads = None,
    solver: Solvers = None,
    data: Data = None,
    read: Read = None,
) -> None:
    """Run one configuration: rows, curves and a figure."""
    _run(config, dry_run, out, only, as_json, quiet, threads, solver, data, read)


def _run(
    config: str,
    dry_run: bool,
    out: Path,
    only: str | None,
    as_json: bool,
    quiet: bool,
    threads: int | None,
    solvers: list[str] | None,
    data: Path | None,
    read: list[str] | None,
) -> None:
    from pianobench.experiments import suite
    from pianobench.experiments.cli import show
    from pianobench.experiments.data_choice import read_options
    from pianobench.experiments.mistakes import UserMistake
    from pianobench.results.store import Store, load

    if read and data is None:
        raise UserMistake(f"--read {read[0]} is for --data FILE: a configuration has its own `reading`")
    plan = suite.plan(config, only, threads, solvers or (), data, read_options(read or ()))
    store = Store(out)
    for warning in plan.warnings:
        typer.echo(f"pianobench: warning: {warning}", err=True)
    if dry_run:
        show.cells(plan.cells, store, as_json)
        return
    progress = show.Progress(len(plan.cells), quiet)
    command = ["pianobench", *sys.argv[1:]]
    folder, outcome = suite.execute(plan, store, command, progress.start, progress.row)
    tables = load(folder)
    figures = suite.draw(tables, folder)
    show.outcome(tables, folder, figures, False, as_json)
    if outcome.interrupted:
        raise typer.Exit(130)
    if outcome.failed:
        raise typer.Exit(1)


@app.command()
def redraw(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Name or path of a run, or 'latest'.")] = "latest",
    out: Out = DEFAULT_ROOT,
    as_json: AsJson = False,
) -> None:
    """Draw the figure and print the table of a run again, from its stored tables alone."""
    from pianobench.experiments import suite
    from pianobench.experiments.cli import show
    from pianobench.experiments.mistakes import UserMistake
    from pianobench.results.store import Store, StoreError, load

    try:
        folder = Store(out).folder(run)
        tables = load(folder)
    except StoreError as error:
        raise UserMistake(str(error)) from error
    show.outcome(tables, folder, suite.draw(tables, folder), claims=False, as_json=as_json)


@app.command()
def solvers(as_json: AsJson = False) -> None:
    """List the solvers: key, name in the literature, penalties, what one step is."""
    from pianobench.experiments.cli import listings, show

    show.listing(listings.solvers(), as_json, ("key", "title", "penalties", "step", "from"))


@app.command()
def datasets(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Say all of this one, which is read.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets: size, field, where it comes from; or describe one."""
    from pianobench.experiments.cli import listings, show

    if name is not None:
        show.details(listings.dataset(name), as_json)
    else:
        show.listing(listings.datasets(), as_json, ("name", "n", "d", "m", "source", "field", "description"))


app.command("check-solver")(check_solver)
app.command()(reproduce)
app.command()(report)
app.command()(claims)
app.command()(compare)
app.command()(doctor)
app.command()(fetch)
app.command()(clean)
app.command("init-config")(init_config)
app.command()(stream)
