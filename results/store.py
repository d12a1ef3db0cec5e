"""The store: every file that a run writes or reads goes through here.

Layout below the root (``results/runs`` by default)::

    cells/<key>/<attempt>/   spec.json, outcome.json, log.txt, row.json, and curve.jsonl
                             of a solver, numbers.json of a probe; one process each
    data/<checksum>/         arrays for the processes
    measuring.lock           held while a cell is measured: two suites on one store take turns
    <run>/                   rows.parquet, curves.parquet, manifest.json, config.toml, figures; probes.parquet

No result is ever overwritten: a cell that is measured again gets a new attempt, a suite that runs again a new
run. A file is whole or absent (written beside its place, synced, renamed), except `curve.jsonl`, which grows
line by line so that a killed process keeps its curve; its reader drops a torn last line. An attempt that a
failing disk has damaged counts as none: the cell is measured again, and its row says after what.
"""

import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pianobench.results.attempt import Attempt, StoreError, write_atomically
from pianobench.results.schema import CURVES, FINISHED, PROBES, ROWS, SCHEMA_VERSION, frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DEFAULT_ROOT", "Attempt", "Store", "StoreError", "Tables", "load", "run_name", "write_atomically"]

DEFAULT_ROOT = Path("results") / "runs"


@dataclass(frozen=True)
class Tables:
    """What one run stored: a row per cell, a line per checkpoint, the manifest, and a line per number probed."""

    rows: "pd.DataFrame"
    curves: "pd.DataFrame"
    manifest: dict[str, Any]
    probes: "pd.DataFrame" = field(default_factory=lambda: frame([], PROBES))


class Store:
    """All runs and cells below one folder.

    Parameters
    ----------
    root : Path
        Folder of the store; made when first written to.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(root)

    @property
    def data(self) -> Path:
        """Folder of the arrays."""
        return self.root / "data"

    @property
    def lock(self) -> Path:
        """File of the lock that is held while a cell is measured."""
        return self.root / "measuring.lock"

    def new_attempt(self, key: str) -> Attempt:
        """A fresh folder for a process of this cell. Two suites on one store never get the same one."""
        cell = self.root / "cells" / key
        cell.mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(attempt.folder.name) for attempt in self.attempts(key)), default=0)
        while True:
            try:
                (cell / f"{number:03d}").mkdir()
            except FileExistsError:
                number += 1
            else:
                return Attempt(cell / f"{number:03d}")

    def cells(self) -> list[str]:
        """Keys of all cells that were ever begun."""
        return sorted(path.name for path in (self.root / "cells").glob("*"))

    def attempts(self, key: str) -> list[Attempt]:
        """All attempts of this cell, oldest first."""
        cell = self.root / "cells" / key
        folders = [path for path in cell.iterdir() if path.name.isdigit()] if cell.is_dir() else []
        return [Attempt(folder) for folder in sorted(folders, key=lambda path: int(path.name))]

    def finished(self, key: str) -> Attempt | None:
        """Newest whole attempt of this cell whose row says something about the method, or None."""
        for attempt in reversed(self.attempts(key)):
            try:
                row = attempt.row()
            except StoreError:
                continue
            if row is not None and row["status"] in FINISHED and row["schema"] == SCHEMA_VERSION:
                return attempt
        return None

    def history(self, key: str) -> str | None:
        """How the attempts of this cell have ended so far, in one line, or None if there are none."""
        endings = [f"{attempt.folder.name} {attempt.ending()}" for attempt in self.attempts(key)]
        return ", ".join(endings) or None

    def save_run(
        self,
        name: str,
        rows: Iterable[Mapping[str, Any]],
        curves: Iterable[Mapping[str, Any]],
        manifest: Mapping[str, Any],
        config: str,
        probes: Iterable[Mapping[str, Any]] = (),
    ) -> Path:
        """Write the tables of a suite; return the run's folder, whose name gets a number if it is taken."""
        tables = {"rows": frame(rows, ROWS), "curves": frame(curves, CURVES)}
        probed = frame(probes, PROBES)
        if len(probed):
            tables["probes"] = probed
        folder = self.root / name
        number = 1
        self.root.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                folder.mkdir()
                break
            except FileExistsError:
                number += 1
                folder = self.root / f"{name}-{number}"
        write_atomically(folder / "config.toml", config.encode())
        for title, table in tables.items():
            write_atomically(folder / f"{title}.parquet", _parquet(table))
        # Last: a folder with a manifest is complete.
        whole = {"schema": SCHEMA_VERSION, **manifest}
        write_atomically(folder / "manifest.json", (json.dumps(whole, indent=1) + "\n").encode())
        return folder

    def runs(self) -> list[str]:
        """Names of the complete runs, oldest first."""
        return [p.parent.name for p in sorted(self.root.glob("*/manifest.json"), key=lambda p: p.stat().st_mtime)]

    def folder(self, run: str | Path) -> Path:
        """Folder of a run given by name, by path, or as ``latest``.

        Raises
        ------
        StoreError
            Naming the runs that exist.
        """
        known = self.runs()
        if str(run) == "latest" and known:
            return self.root / known[-1]
        for folder in (self.root / run, Path(run)):
            if (folder / "manifest.json").is_file():
                return folder
        listed = f"runs here: {', '.join(known[-5:])}" if known else "there is no run yet: `pianobench reproduce`"
        raise StoreError(f"no run {str(run)!r} in {self.root}; {listed}")


def load(run: str | Path, root: Path = DEFAULT_ROOT) -> Tables:
    """Tables of one run, by name below `root` or by path.

    Raises
    ------
    StoreError
        If there is no such run, it was written by another version of the schema, or a file is damaged.
    """
    folder = Store(root).folder(run)
    try:
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    except ValueError as error:
        raise StoreError(f"{folder.name}/manifest.json is damaged: {error}; {_AGAIN}") from error
    if manifest.get("schema") != SCHEMA_VERSION:
        raise StoreError(
            f"{folder.name} has schema {manifest.get('schema')}, this version reads {SCHEMA_VERSION}: "
            "use the pianobench that wrote it, or run it again"
        )
    probes = folder / "probes.parquet"
    probed = _table(probes) if probes.is_file() else frame([], PROBES)
    return Tables(_table(folder / "rows.parquet"), _table(folder / "curves.parquet"), manifest, probed)


_AGAIN = "run the configuration again, its cells are kept and will be reused"


def _table(path: Path) -> "pd.DataFrame":
    import pandas as pd
    from pyarrow import ArrowException

    try:
        return pd.read_parquet(path)
    except (ArrowException, OSError) as error:
        raise StoreError(f"{path.parent.name}/{path.name} is damaged: {error}; {_AGAIN}") from error


def run_name(experiment: str, moment: str) -> str:
    """Name of a run's folder: the experiment and the UTC time, without characters that a shell minds."""
    return f"{experiment}-{re.sub(r'[^0-9TZ]', '', moment)}"


def _parquet(table: "pd.DataFrame") -> bytes:
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    return buffer.getvalue()
