"""`doctor`: what a measurement on this machine would meet, and what to do about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pianobench.results.store import DEFAULT_ROOT

WIDTH = 100


def doctor(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs.")] = DEFAULT_ROOT,
    floor: Annotated[
        bool, typer.Option("--floor", help="Measure kernels against what this machine can do at best: a minute.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Say what this machine offers, what is missing, and what would spoil a measurement."""
    from pianobench.experiments import health

    facts = health.examine(out)
    if floor:
        from pianobench.experiments import floor as measured

        facts["floor"] = measured.examine()
    if as_json:
        print(json.dumps(facts, indent=1))
    else:
        _show(facts)
        if floor:
            print("\n" + "\n".join(floor_lines(facts["floor"])))
    if facts["broken"]:
        raise typer.Exit(1)


def _show(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from pianobench.experiments.cli import show

    terminal = show.console()
    out = Console(width=min(terminal.width, WIDTH), highlight=False, markup=False)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in lines(facts):
        table.add_row(name, text)
    out.print(table)
    out.print()
    for title, key, style in (("broken", "broken", "bold red"), ("warning", "warnings", "yellow")):
        table = Table.grid(padding=(0, 2))
        table.add_column(style=style, no_wrap=True)
        table.add_column(overflow="fold")
        for text in facts[key]:
            table.add_row(title, text)
        if facts[key]:
            out.print(table)
    if not facts["broken"] and not facts["warnings"]:
        out.print("Nothing is wrong.", style="green")
    elif not facts["broken"]:
        out.print("Nothing is broken.", style="green")


def lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts as names and sentences."""
    from pianobench.experiments.cli.clean import readable

    software, machine, numba = facts["software"], facts["machine"], facts["numba"]
    cache, results, shared = facts["cache"], facts["results"], facts["shared_data"]
    changed = ", changed since" if software["changed_since_commit"] else ""
    physical = f" of {machine['cores_physical']} physical" if machine["cores_physical"] else ""
    quota = f", time for {machine['cores_quota']:g} allowed" if machine["cores_quota"] else ", no quota"
    variables = ", ".join(f"{name}={value}" for name, value in facts["variables"].items())
    found = [
        ("pianobench", f"{software['pianobench']}, commit {software['commit'][:12]}{changed}"),
        ("python", f"{software['python']} ({software['implementation']}), {software['platform']}"),
        ("processor", str(machine["cpu"])),
        ("cores", f"{machine['cores_usable']} usable, {machine['cores_logical']} logical{physical}{quota}"),
        ("load", "unknown" if machine["load"] is None else f"{machine['load']:g} in the last minute"),
        (
            "memory",
            f"{readable(machine['memory_bytes'])}, {readable(machine['memory_available_bytes'])} of it available",
        ),
        ("variables", variables or "none that concern threads"),
    ]
    for pool in facts["blas"]:
        kernel = f", kernels for {pool['architecture']}" if pool.get("architecture") else ""
        what = "BLAS" if pool["user_api"] == "blas" else "threads"
        version = pool.get("version") or "unknown version"
        found.append(
            (what, f"{pool['internal_api']} {version}, {pool['num_threads']} threads{kernel} ({pool['file']})")
        )
    if numba.get("error"):
        found.append(("numba", f"{numba['version']}: {numba['error']}"))
    else:
        loop = f"a trivial loop compiled and ran in {numba['compile_seconds']:g} s"
        layer = f"threading layer {numba['layer']}, {numba['threads']} threads"
        found.append(("numba", f"{numba['version']}, {layer}; {loop}"))
    states = "nothing yet; kernels compile on first use"
    if cache["states"]:
        here = "with" if cache["has_present_state"] else "without"
        states = (
            f"{readable(cache['bytes'])}, {readable(cache['kernels_bytes'])} of it kernels of {cache['states']} states "
            f"of the sources, {here} the present one"
        )
    writable = "cannot be written to" if results["error"] else f"{readable(results['free_bytes'])} of disk free"
    found += [
        ("cache", f"{cache['folder']}: {states}"),
        (
            "results",
            f"{results['folder']}: {readable(results['bytes'])}, {results['runs']} runs, {results['cells']} cells",
        ),
        ("disk", writable),
    ]
    if shared["folder"]:
        found.append(("shared data", f"{shared['folder']}: {shared['sets']} sets"))
    else:
        found.append(("shared data", "none; PIANOBENCH_SHARED_DATA names the folder of larger sets"))
    return found + _libraries(facts["libraries"])


def floor_lines(found: dict[str, Any]) -> list[str]:
    """What `--floor` has measured, in tables, and what their numbers mean."""
    said = ["At best, by threads: one read of an array larger than the cache, and products of square matrices."]
    for rate in found["rates"]:
        flops = f"{1e-9 * rate['float64']:.1f} Gflop/s in float64, {1e-9 * rate['float32']:.1f} in float32"
        said.append(f"{rate['threads']:4} threads  {1e-9 * rate['bytes']:.1f} GB/s, {flops}")
    said += [
        "",
        "Kernels, median of several calls, on random data in float64.",
        "  floor: time over the larger of its products' flops at that rate and one read of X; 1 is the best there is,",
        "         and what is above it goes to exponentials where classes are few, and to indices where X is sparse.",
        "  NumPy: time over that of X @ W and X.T @ R alone, on all threads; below 1 is faster.",
        "  Gflop/s: what the call declares as its cost over its time; alike for all where declared costs are just.",
        f"{'rows':>7} {'columns':>7} {'classes':>7} threads  {'kernel':9} {'ms':>8} {'floor':>6} {'NumPy':>6} Gflop/s",
    ]
    for row in found["kernels"]:
        shape = f"{row['n']:7} {row['d']:7} {row['m']:7} {row['threads']:7}  {row['kernel']:9}"
        ratios = f"{row['times_floor']:6.2f} {row['times_numpy']:6.2f} {row['declared_gigaflops']:7.1f}"
        said.append(f"{shape} {row['milliseconds']:8.2f} {ratios}" + (" sparse" if row["layout"] == "csr" else ""))
    first = found["first_calls"]
    said += [
        "",
        "First calls of what PIANO and L-BFGS use, on 64 rows: paid once in each process, off the clock.",
        f"  compiled {first['compiled']:.1f} s, from the cache {first['from_cache']:.2f} s, then {first['warm']:.4f} s",
    ]
    return said


def _libraries(libraries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """A line for the required ones, and one for each extra with what installs it."""
    found = []
    for extra in dict.fromkeys(one["extra"] for one in libraries):
        group = [one for one in libraries if one["extra"] == extra]
        there = ", ".join(f"{one['name']} {one['version']}" for one in group if one["version"])
        missing = [one for one in group if not one["version"]]
        text = there
        if missing:
            names = ", ".join(one["name"] for one in missing)
            text += f"{'; ' if there else ''}missing: {names} ({missing[0]['remedy']})"
        found.append(("required" if extra is None else f"extra {extra}", text))
    return found
