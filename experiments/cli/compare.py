"""`pianobench compare`: rank the methods on one data set."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pianobench.results.store import DEFAULT_ROOT


def compare(
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="Name of a data set, or a file: .csv, .parquet, .svmlight, .npz, ..."),
    ],
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of the labels in a table; by default the last.")
    ] = None,
    read: Annotated[
        list[str] | None,
        typer.Option(
            "--read", metavar="KEY=VALUE", help="How a file is read (docs/data.md), as missing=drop; repeatable."
        ),
    ] = None,
    penalty: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="l1, l2 or none; repeatable; by default l1 and l2.")
    ] = None,
    lam: Annotated[
        list[float] | None, typer.Option(metavar="X", help="Strength in the data's units; repeatable.")
    ] = None,
    lam_factor: Annotated[
        list[float] | None,
        typer.Option(metavar="X", help="The same as a multiple of lambda_max; by default 0.3, 0.03, 0.003."),
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="A key of `pianobench solvers` or path.py:Class; repeatable; by default all."),
    ] = None,
    intercept: Annotated[bool, typer.Option(help="Fit an intercept, never penalised.")] = True,
    conditioning: Annotated[
        str, typer.Option(metavar="KIND", help="Columns as the methods see them: none, scale or centre+scale.")
    ] = "none",
    tol: Annotated[float, typer.Option(metavar="X", help="Certified relative gap to reach.")] = 1e-6,
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds of each run.")] = 5.0,
    repeats: Annotated[int, typer.Option(metavar="N", help="Runs of each method; 5 decide what one cannot.")] = 1,
    threads: Annotated[int, typer.Option(metavar="N", help="Threads of each run.")] = 1,
    seed: Annotated[int, typer.Option(metavar="N", help="Root of all random numbers.")] = 0,
    test: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Held-out samples: adds accuracy and log loss.")
    ] = None,
    split: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Hold this share of the samples out instead.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the runs and run nothing.")] = False,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs.")] = DEFAULT_ROOT,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")] = False,
) -> None:
    """Rank the methods on your data by time to a certified gap, with a page of figures."""
    from pianobench.experiments import compare as comparing
    from pianobench.experiments import compare_data, data_choice
    from pianobench.experiments.cli import show
    from pianobench.experiments.cli.progress import Progress
    from pianobench.experiments.cli.ranking import show_rankings
    from pianobench.experiments.mistakes import UserMistake
    from pianobench.results.store import Store, load

    if test is not None and split is not None:
        raise UserMistake(f"--test {test.name} and --split {split:g} are both given: leave one out")
    if lam and lam_factor:
        raise UserMistake(f"--lam {lam[0]:g} and --lam-factor {lam_factor[0]:g} are both given: leave one out")
    reading = data_choice.read_options(read or ())
    if target is not None and "target" in reading:
        raise UserMistake(f"--target {target} and --read target={reading['target']} are both given: leave one out")
    reading |= {} if target is None else {"target": target}
    held = compare_data.of_options(data, reading, test, split, seed)
    options = comparing.Options(
        penalties=tuple(penalty or ("l1", "l2")),
        lam=tuple(lam or ()),
        lam_factors=tuple(lam_factor or comparing.LAM_FACTORS),
        solvers=tuple(solver or ()),
        intercept=intercept,
        conditioning=conditioning,
        tolerance=tol,
        seconds=budget,
        repeats=repeats,
        threads=threads,
        seed=seed,
    )
    plan, store = comparing.plan(held, options), Store(out)
    if dry_run:
        show.cells(plan.cells, store, as_json)
        return
    # Files by their names alone: a manifest names no folders.
    paths = {data, str(test)}
    command = ["pianobench", *(Path(word).name if word in paths else word for word in sys.argv[1:])]
    with Progress(plan.cells, store, quiet, sys.stderr) as progress:
        folder, outcome = comparing.execute(plan, held, store, command, progress.start, progress.row)
    tables = load(folder)
    show_rankings(tables, folder, comparing.draw(tables, folder), as_json)
    if outcome.interrupted:
        raise typer.Exit(130)
    if outcome.failed:
        raise typer.Exit(1)
