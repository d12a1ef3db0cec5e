"""The committed table of the automatic choice: a row a run as CSV, the machine's record as JSON."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pianobench.results.attempt import Attempt, StoreError, write_atomically
from pianobench.results.methods import DECISIVE, RECORD
from pianobench.results.schema import FAILED, SCHEMA_VERSION
from pianobench.results.store import Store

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path(__file__).parent / "reference" / "fastest"

LEVELS = {"to_1e_3": 1e-3, "to_1e_6": 1e-6, "to_1e_9": 1e-9}  # seconds to a gap, by column
IDENTITY = ["experiment", "threads", "dataset", "penalty", "lam_factor", "solver"]
COLUMNS = (
    *("experiment", "threads", "dataset", "n", "d", "m", "layout", "penalty", "lam_factor", "solver", "chosen"),
    *("tolerance", "max_seconds", "status", "reason", "steps", "seconds", *LEVELS, "gap", "cpu_seconds"),
    *("wall_seconds", "disturbed", "measured_at", "commit", "machine"),
)
UNSAID = frozenset({"interrupted", "lost"})  # endings that say nothing of the method


def held(store: Store, experiment: str, cells: Iterable[Any]) -> list[dict[str, Any]]:
    """Newest row of each of these cells and each number of threads, from whatever state of the code.

    Parameters
    ----------
    store : Store
    experiment : str
        What the rows are called.
    cells : iterable of Cell
        Their threads do not count.
    """
    wanted: dict[Any, Any] = {
        (c.problem.checksum, c.problem.title, c.solver, c.params, c.seed, c.repeat, c.tolerance, c.max_seconds): c
        for c in cells
    }
    newest: dict[Any, dict[str, Any]] = {}
    for key in store.cells():
        found = _telling(store, key)
        if found is None:
            continue
        attempt, row = found
        names = ("data_checksum", "problem", "solver", "params", "seed", "repeat", "tolerance", "max_seconds")
        cell = wanted.get(tuple(row.get(name) for name in names))
        if cell is None:
            continue
        place = (cell.problem.dataset, row["problem"], row["solver"], row["threads_asked"])
        if place not in newest or newest[place]["measured_at"] < row["measured_at"]:
            curve = attempt.curve()
            newest[place] = {
                **row,
                "experiment": experiment,
                "threads": row["threads_asked"],
                "dataset": cell.problem.dataset,
                **{name: _time_to(curve, level) for name, level in LEVELS.items()},
            }
    return list(newest.values())


def _telling(store: Store, key: str) -> tuple[Attempt, dict[str, Any]] | None:
    """The finished attempt of a cell; else the newest that failed and says something of the method."""
    attempt = store.finished(key)
    if attempt is not None:
        row = attempt.row()
        return (attempt, row) if row is not None else None
    for attempt in reversed(store.attempts(key)):
        try:
            row = attempt.row()
        except StoreError:
            continue
        if row is not None and row["status"] in FAILED - UNSAID and row["schema"] == SCHEMA_VERSION:
            return attempt, row
    return None


def _time_to(curve: Sequence[Mapping[str, Any]], level: float) -> float:
    """Seconds of the earliest point of a curve whose gap is at most `level`, NaN if there is none."""
    return min((point["seconds"] for point in curve if point["gap"] <= level), default=math.nan)


def merged(records: Iterable[Mapping[str, Any]], before: pd.DataFrame | None = None) -> pd.DataFrame:
    """Records as rows of the table, among those of before that no newer measurement replaces."""
    import pandas as pd

    rows = pd.DataFrame([{name: record.get(name) for name in COLUMNS} for record in records], columns=list(COLUMNS))
    # short forms of what is long and alike in all rows: the certified gap says what "converged" adds
    rows["disturbed"] = rows["disturbed"].notna()
    rows["commit"] = rows["commit"].astype("string").str[:12]
    rows["reason"] = rows["reason"].where(rows["status"] != "converged")
    both = [part for part in (before, rows) if part is not None and len(part)]
    whole = pd.concat(both, ignore_index=True) if both else rows
    whole = whole.sort_values([*IDENTITY, "measured_at"], kind="stable")
    return whole.drop_duplicates(IDENTITY, keep="last").reset_index(drop=True)


def write(rows: pd.DataFrame, manifest: Mapping[str, Any], folder: Path = FOLDER) -> None:
    """Store the rows, numbers to five digits, and the record of the machine that wrote them."""
    text = io.StringIO()
    rows.to_csv(text, index=False, float_format="%.5g", lineterminator="\n")
    record: dict[str, Any] = {key: manifest.get(key) for key in RECORD if key in manifest}
    record["versions"] = {name: manifest["versions"].get(name) for name in (*DECISIVE, "cyanure")}
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "rows.csv", text.getvalue().encode())
    write_atomically(folder / "record.json", (json.dumps(record, indent=1) + "\n").encode())


def stored(folder: Path = FOLDER) -> pd.DataFrame | None:
    """The rows, or None if there are none yet."""
    return read(folder) if (folder / "rows.csv").is_file() else None


def read(folder: Path = FOLDER) -> pd.DataFrame:
    """The rows.

    Raises
    ------
    StoreError
        If there are none, or a column is missing.
    """
    import pandas as pd

    path = folder / "rows.csv"
    if not path.is_file():
        raise StoreError(f"{path.name} is not in {folder.name}: `make fastest` measures it")
    rows = pd.read_csv(path, dtype={"commit": str, "reason": str, "chosen": str})  # a commit may look like a number
    missing = [name for name in COLUMNS if name not in rows]
    if missing:
        raise StoreError(f"{path.name} has no column {missing[0]!r}: `make fastest` writes it anew")
    return rows


def record(folder: Path = FOLDER) -> dict[str, Any]:
    """The machine's record: processor, versions, settings, dates."""
    return dict(json.loads((folder / "record.json").read_text("utf-8")))
