"""`pianobench reproduce`: run the experiments on the papers' claims, tier by tier."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pianobench.results.store import DEFAULT_ROOT

if TYPE_CHECKING:
    from pianobench.experiments.claims.tier import Outline
    from pianobench.experiments.suite import Plan


def reproduce(
    tier: Annotated[str, typer.Option(help="Size of the reproduction: smoke, laptop or full.")] = "smoke",
    experiment: Annotated[
        list[str] | None,
        typer.Option("--experiment", metavar="NAME", help="Only this one; repeatable. --dry-run lists the names."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List cells, minutes and megabytes; run nothing.")] = False,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs.")] = DEFAULT_ROOT,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="PATTERN", help="Run cells whose label contains, or matches, PATTERN."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")] = False,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, metavar="N", help="Threads of a cell, in place of the tier's.")
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option("--solver", metavar="SOLVER", help="A further solver, as of `pianobench run`; repeatable."),
    ] = None,
) -> None:
    """Run the experiments on the papers' claims: rows, curves, figures, and a verdict on each claim."""
    from pianobench.algorithms import SOLVERS
    from pianobench.experiments.claims import experiments
    from pianobench.experiments.claims.experiment import TIERS
    from pianobench.experiments.claims.tier import outlines
    from pianobench.experiments.cli import show
    from pianobench.experiments.mistakes import UserMistake
    from pianobench.results.store import Store

    if tier not in TIERS:
        raise UserMistake(f"--tier {tier!r}: one of {', '.join(TIERS)} is expected")
    for name in experiment or ():
        if name not in experiments() or tier not in experiments()[name].tiers:
            there = ", ".join(one.name for one in experiments().values() if tier in one.tiers)
            raise UserMistake(f"--experiment {name!r}: tier {tier} has {there}")
    chosen = [one for one in outlines(tier, SOLVERS) if not experiment or one.experiment.name in experiment]
    if dry_run and only is None and not solver:
        _outline(chosen, tier, as_json)
        return
    plans, store = _plans(chosen, tier, only, threads, solver or []), Store(out)
    for warning in dict.fromkeys(warning for plan in plans for warning in plan.warnings):
        typer.echo(f"pianobench: warning: {warning}", err=True)
    if dry_run:
        show.cells([cell for plan in plans for cell in plan.cells], store, as_json)
        return
    _run(plans, store, tier, quiet, as_json)


def _plans(chosen: list[Outline], tier: str, only: str | None, threads: int | None, solvers: list[str]) -> list[Plan]:
    from pianobench.algorithms import SOLVERS
    from pianobench.experiments import data_choice, suite
    from pianobench.experiments.claims.tier import grids, runnable
    from pianobench.experiments.config import written
    from pianobench.experiments.mistakes import UserMistake
    from pianobench.experiments.probes.plan import plan as probing

    plans, mistakes = [], []
    for one in chosen:
        config, _ = runnable(one.experiment, tier, SOLVERS)
        here, _ = grids(one.experiment, tier)
        config = config and data_choice.override(config, solvers, None, {})
        try:
            if one.experiment.processes and here:
                plans.append(probing(one.experiment, tier, here, only, threads))
            if config is None:
                continue
            name, where = one.experiment.name, "--threads" if threads else f"{one.experiment.name}: threads"
            plans.append(suite.of_config(config, name, written(config), Path(), only, threads, where=where))
        except UserMistake as mistake:
            mistakes.append(mistake)
    if not plans:
        if mistakes:  # of a pattern that no cell of any experiment matches, or of the threads
            raise mistakes[0]
        waiting = ", ".join(dict.fromkeys(name for one in chosen for name in (*one.waiting, *one.missing)))
        raise UserMistake(f"nothing of this can be run by this version: it waits for {waiting}")
    return plans


def _run(plans: list[Plan], store: object, tier: str, quiet: bool, as_json: bool) -> None:
    from pianobench.experiments import suite
    from pianobench.experiments.cli import show
    from pianobench.experiments.cli.report import write
    from pianobench.results.store import Store, load

    assert isinstance(store, Store)
    command, failed = ["pianobench", *sys.argv[1:]], False
    for plan in plans:
        progress = show.Progress(len(plan.cells), quiet)
        folder, outcome = suite.execute(plan, store, command, progress.start, progress.row)
        tables = load(folder)
        show.outcome(tables, folder, suite.draw(tables, folder), len(plans) == 1, as_json)
        if outcome.interrupted:
            raise typer.Exit(130)
        failed = failed or bool(outcome.failed)
    report = write(store.root, tier)
    if not as_json:
        if len(plans) > 1:
            typer.echo(f"\n`pianobench claims --tier {tier}` gives the verdicts.")
        typer.echo(f"Report  {report}")
    if failed:
        raise typer.Exit(1)


def _outline(chosen: list[Outline], tier: str, as_json: bool) -> None:
    from rich.table import Table

    from pianobench.experiments.cli import show

    if as_json:
        entries = [
            {
                "experiment": one.experiment.name,
                "title": one.experiment.title,
                "evidence": one.experiment.evidence,
                "cells": one.cells,
                "planned": one.planned,
                "minutes": one.minutes,
                "megabytes": one.megabytes,
                "waiting": list(one.waiting),
                "missing": list(one.missing),
            }
            for one in chosen
        ]
        print(json.dumps({"tier": tier, "experiments": entries}, indent=1))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
    table.add_column("experiment", no_wrap=True)
    for name in ("cells", "of", "minutes", "MB"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("waits for, or is not on this machine", ratio=1, overflow="fold")
    for one in chosen:
        waits = ", ".join((*one.waiting, *one.missing))
        numbers = (f"{one.cells:,}", f"{one.planned:,}", f"{one.minutes:.1f}", f"{one.megabytes:.1f}")
        table.add_row(one.experiment.name, *numbers, waits)
    out = show.console()
    out.print(table, highlight=False, markup=False)
    cells, planned = sum(one.cells for one in chosen), sum(one.planned for one in chosen)
    minutes, megabytes = sum(one.minutes for one in chosen), sum(one.megabytes for one in chosen)
    out.print(
        f"tier {tier}: {cells:,} of {planned:,} cells can be run, in {minutes:.0f} minutes and {megabytes:.0f} MB "
        "at most, every cell to its cap. --only '*' lists the cells.",
        highlight=False,
    )
