"""`check-solver`: does a solver keep the contract? One line for each check."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def check_solver(
    solver: Annotated[
        str,
        typer.Argument(
            metavar="SOLVER",
            help="FILE.py:CLASS, or a key that `pianobench solvers` lists; either with '(name=value, ...)'.",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Check a solver of your own against the contract, on tiny problems."""
    from pianobench.datasets import places
    from pianobench.experiments import solver_choice
    from pianobench.experiments.mistakes import UserMistake

    os.environ.setdefault("NUMBA_CACHE_DIR", str(places.compiled_kernels()))  # before Numba is imported
    from pianobench.experiments.solver_check import Finding, check

    try:
        key, params = solver_choice.parse(solver)
        file = key.rpartition(":")[0]
        made = solver_choice.make(key, str(Path(file).resolve()) if file else None, params)
    except (ValueError, OSError) as error:
        raise UserMistake(f"{solver}: {error}") from error
    findings: list[Finding] = []
    for finding in check(made):
        findings.append(finding)
        if not as_json:
            typer.echo(f"{finding.mark:4}  {finding.check}: {finding.text}")
    failed = sum(finding.mark == "FAIL" for finding in findings)
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        verdict = (
            f"{failed} of {len(findings)} checks fail" if failed else f"the contract is kept, {len(findings)} checks"
        )
        typer.echo(f"{solver}: {verdict}")
    if failed:
        raise typer.Exit(1)
