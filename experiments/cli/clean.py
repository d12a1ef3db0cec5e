"""`clean`: delete what runs have written and what can be made again, and nothing else."""

from __future__ import annotations

import re
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from pianobench.results.store import DEFAULT_ROOT

DAY = 86400.0
AT_WORK = 900.0  # seconds: a cell without a row that was written to since may have a process
# Names that the store and the cache give; what has another name is somebody else's and stays.
RUN = re.compile(r".+-\d{8}T\d{6}Z(-\d+)?")
HEX = re.compile(r"[0-9a-f]{8,64}")


@dataclass(frozen=True)
class Item:
    """What may go.

    Attributes
    ----------
    kind : str
        runs, cells, arrays, cache or fetched.
    path : Path
        A folder, or a file of the cache.
    size : int
        Bytes of the files in it.
    newest : float
        When the newest of them was written, in seconds since the epoch.
    """

    kind: str
    path: Path
    size: int
    newest: float


def clean(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs.")] = DEFAULT_ROOT,
    runs: Annotated[bool, typer.Option("--runs", help="Tables and figures of runs, and measured cells.")] = False,
    cache: Annotated[
        bool, typer.Option("--cache", help="Compiled kernels and parsed files, which are made again when needed.")
    ] = False,
    data: Annotated[bool, typer.Option("--data", help="Arrays written for the measuring processes.")] = False,
    fetched: Annotated[
        bool, typer.Option("--fetched", help="What `pianobench fetch` brought: it takes a network to bring again.")
    ] = False,
    older_than: Annotated[
        float | None, typer.Option("--older-than", min=0, metavar="DAYS", help="Only what is older.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go and delete nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete runs, arrays, the cache or fetched data. Without one of these options: say what each would free."""
    from pianobench.datasets.places import cache_folder, fetched_folder
    from pianobench.experiments.mistakes import UserMistake

    _refuse_reference(out)
    busy = at_work(out)
    options = {"--runs": runs, "--data": data, "--cache": cache, "--fetched": fetched}
    wanted = [kind for kind, option in KINDS.items() if options[option]]
    roots = dict.fromkeys(KINDS, out) | {"cache": cache_folder(), "fetched": fetched_folder()}
    items = [*in_store(out), *in_cache(roots["cache"]), *in_fetched(roots["fetched"])]
    if older_than is not None:
        items = [item for item in items if item.newest < time.time() - older_than * DAY]
    chosen = [item for item in items if item.kind in (wanted or KINDS)]
    for kind, option in KINDS.items():
        of_kind = [item for item in chosen if item.kind == kind]
        if of_kind or (not wanted and kind != "cells"):
            number, size = len(of_kind), sum(item.size for item in of_kind)
            typer.echo(f"{kind:7} {number:5}  {readable(size):>9}  {option:9}  {roots[kind]}")
    if busy:
        typer.echo(
            f"Cells that may be at work, since they have no row yet: {len(busy)}. They stay, and so do the arrays."
        )
    total = readable(sum(item.size for item in chosen))
    if not wanted:
        typer.echo("Nothing is deleted: name what should go, --runs, --data, --cache or --fetched.")
    elif not chosen:
        typer.echo("There is nothing to delete.")
    elif dry_run:
        for item in chosen:
            typer.echo(f"would delete {item.path}  {readable(item.size)}")
        typer.echo(f"Nothing is deleted: without --dry-run {total} would be.")
    else:
        if not yes:
            if not sys.stdin.isatty():
                raise UserMistake("nobody can be asked here: say --yes to delete these, or --dry-run to see each")
            typer.confirm(f"Delete these, {total}?", abort=True)
        for item in chosen:
            _delete(item.path, roots[item.kind])
        typer.echo(f"{total} deleted.")


KINDS = {"runs": "--runs", "cells": "--runs", "arrays": "--data", "cache": "--cache", "fetched": "--fetched"}


def in_store(root: Path) -> Iterator[Item]:
    """What a store holds, recognised by the names that it gives; symbolic links are never followed."""
    for path in _folders(root):
        if RUN.fullmatch(path.name) and (path / "manifest.json").is_file():
            yield _item("runs", path)
    busy = at_work(root)
    for path in _folders(root / "cells"):
        if HEX.fullmatch(path.name) and path not in busy:
            yield _item("cells", path)
    for path in _folders(root / "data"):
        if HEX.fullmatch(path.name) and not busy:
            yield _item("arrays", path)


def at_work(root: Path) -> list[Path]:
    """Cells whose newest attempt has no row and was written to not long ago: a process may be at work there."""
    since = time.time() - AT_WORK
    newest = ((cell, (_folders(cell) or [cell])[-1]) for cell in _folders(root / "cells"))
    return [cell for cell, last in newest if not (last / "row.json").is_file() and size_of(last)[1] > since]


def in_cache(root: Path) -> Iterator[Item]:
    """What can be made again: kernels for each state of the sources, files in parsed form, and clicks as features."""
    for place in ("numba", "parsed", "kdd12"):
        for path in _folders(root / place):
            if HEX.fullmatch(path.name):
                yield _item("cache", path)
    for path in () if (root / "parsed").is_symlink() else sorted((root / "parsed").glob("*.json")):
        if HEX.fullmatch(path.stem) and not path.is_symlink():
            yield _item("cache", path)


def in_fetched(root: Path) -> Iterator[Item]:
    """Sets with a receipt, and what an interruption left of others; not what is being fetched now."""
    from pianobench.datasets.fetching import lock
    from pianobench.datasets.fetching.receipts import RECEIPT, SOURCES

    for source in SOURCES if not root.is_symlink() else ():
        for path in _folders(root / source):
            if lock.is_free(path):
                of_a_part = [one for one in _folders(path) if one.name == "incoming"]
                yield from (_item("fetched", one) for one in ([path] if (path / RECEIPT).is_file() else of_a_part))


def size_of(place: Path) -> tuple[int, float]:
    """Bytes of a file or those below a folder, and when the newest was written; links count for themselves."""
    newest = place.lstat().st_mtime
    size = 0 if place.is_dir() else place.lstat().st_size
    for path in place.rglob("*"):
        try:
            facts = path.lstat()
        except FileNotFoundError:  # deleted meanwhile
            continue
        if not stat.S_ISDIR(facts.st_mode):
            size += facts.st_size
        newest = max(newest, facts.st_mtime)
    return size, newest


def readable(size: int) -> str:
    """Bytes for people."""
    value = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{size} bytes" if unit == "bytes" else f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"


def _folders(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())


def _item(kind: str, path: Path) -> Item:
    return Item(kind, path, *size_of(path))


def _delete(path: Path, root: Path) -> None:
    """Delete a folder or a file, which must be below the root it was found in and be no link."""
    inside = path.resolve()
    if path.is_symlink() or not inside.is_relative_to(root.resolve()) or inside == root.resolve():
        raise RuntimeError(f"{path} is not inside {root}")
    _refuse_reference(inside)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _refuse_reference(path: Path) -> None:
    """The committed reference results are not what a run wrote."""
    from pianobench.experiments.mistakes import UserMistake

    resolved = path.resolve()
    if any(p.name == "reference" and p.parent.name == "results" for p in (resolved, *resolved.parents)):
        raise UserMistake(f"--out {path}: the reference results are never deleted")
