"""The store: every file that a run writes or reads goes through here.

Layout below the root (``results/runs`` by default)::

    cells/<key>/<attempt>/   spec.json, curve.jsonl, outcome.json, log.txt, row.json   one process each
    data/<checksum>/         arrays for the processes
    <run>/                   rows.parquet, curves.parquet, manifest.json, config.toml, figures

No result is ever overwritten: a cell that is measured again gets a new attempt, a suite that runs again a new
run. A file is whole or absent (written beside its place, synced, renamed), except `curve.jsonl`, which grows
line by line so that a killed process keeps its curve; its reader drops a torn last line.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from pianobench.results.schema import CURVES, FINISHED, ROWS, SCHEMA_VERSION, frame

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_ROOT = Path("results") / "runs"


class StoreError(ValueError):
    """A run cannot be read: it does not exist, or its files are not what they should be."""


@dataclass(frozen=True)
class Tables:
    """What one run stored: a row per cell, a line per checkpoint, and the manifest."""

    rows: "pd.DataFrame"
    curves: "pd.DataFrame"
    manifest: dict[str, Any]


@dataclass(frozen=True)
class Attempt:
    """Folder of one process of one cell."""

    folder: Path

    def open_log(self) -> BinaryIO:
        """File for the process's output."""
        return open(self.folder / "log.txt", "wb")

    def last_words(self) -> str:
        """Last line of the process's output."""
        lines = (self.folder / "log.txt").read_text("utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        """Write ``name.json`` at once and whole."""
        write_atomically(self.folder / f"{name}.json", (json.dumps(record, indent=1) + "\n").encode())

    def read(self, name: str) -> dict[str, Any] | None:
        """Content of ``name.json``, or None if it was never written."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text("utf-8")) if path.is_file() else None

    def open_curve(self) -> TextIO:
        """The curve's file for appending; each line reaches the operating system as it is written."""
        return open(self.folder / "curve.jsonl", "a", buffering=1, encoding="utf-8")

    def curve(self) -> list[dict[str, Any]]:
        """All checkpoints, in order; a last line that was cut by a kill is left out."""
        path = self.folder / "curve.jsonl"
        if not path.is_file():
            return []
        # A complete file ends with a newline: what comes after the last one is empty, or torn.
        whole = path.read_text("utf-8", errors="replace").split("\n")[:-1]
        points = []
        for number, line in enumerate(whole, 1):
            try:
                points.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise StoreError(f"{path}, line {number}: not JSON ({error.msg})") from error
        return points


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

    def new_attempt(self, key: str) -> Attempt:
        """A fresh folder for a process of this cell. Two suites on one store never get the same one."""
        cell = self.root / "cells" / key
        cell.mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(p.name) for p in cell.iterdir() if p.name.isdigit()), default=0)
        while True:
            try:
                (cell / f"{number:03d}").mkdir()
            except FileExistsError:
                number += 1
            else:
                return Attempt(cell / f"{number:03d}")

    def finished(self, key: str) -> Attempt | None:
        """Newest attempt of this cell whose row says something about the method, or None."""
        cell = self.root / "cells" / key
        attempts = sorted(cell.iterdir(), reverse=True) if cell.is_dir() else []
        for folder in attempts:
            row = Attempt(folder).read("row")
            if row is not None and row["status"] in FINISHED and row["schema"] == SCHEMA_VERSION:
                return Attempt(folder)
        return None

    def save_run(
        self,
        name: str,
        rows: Iterable[Mapping[str, Any]],
        curves: Iterable[Mapping[str, Any]],
        manifest: Mapping[str, Any],
        config: str,
    ) -> Path:
        """Write the tables of a suite; return the run's folder, whose name gets a number if it is taken."""
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
        _write_parquet(folder / "rows.parquet", frame(rows, ROWS))
        _write_parquet(folder / "curves.parquet", frame(curves, CURVES))
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
        If there is no such run, or it was written by another version of the schema.
    """
    import pandas as pd

    folder = Store(root).folder(run)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    if manifest.get("schema") != SCHEMA_VERSION:
        raise StoreError(
            f"{folder.name} has schema {manifest.get('schema')}, this version reads {SCHEMA_VERSION}: "
            "use the pianobench that wrote it, or run it again"
        )
    return Tables(
        rows=pd.read_parquet(folder / "rows.parquet"),
        curves=pd.read_parquet(folder / "curves.parquet"),
        manifest=manifest,
    )


def run_name(experiment: str, moment: str) -> str:
    """Name of a run's folder: the experiment and the UTC time, without characters that a shell minds."""
    return f"{experiment}-{re.sub(r'[^0-9TZ]', '', moment)}"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is either the old one or the new one, never half, even if the machine stops."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with open(part, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(part, path)


def _write_parquet(path: Path, table: "pd.DataFrame") -> None:
    import io

    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    write_atomically(path, buffer.getvalue())
