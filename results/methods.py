"""The committed table of methods: a row a run as CSV, the machine's record as JSON, the configuration as TOML."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pianobench.results.attempt import StoreError, write_atomically
from pianobench.results.store import Tables

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path(__file__).parent / "reference" / "methods"

COLUMNS = (
    *("dataset", "n", "d", "m", "layout", "penalty", "problem", "lam", "solver", "status", "reason"),
    *("steps", "gradient_equivalents", "seconds", "setup_seconds", "flops"),
    *("objective", "lower", "gap", "certificate", "residual", "nnz", "disturbed", "measured_at", "commit"),
)
RECORD = (
    *("experiment", "title", "command", "started_at", "ended_at", "commit", "changed_since_commit", "pianobench"),
    *("python", "machine", "load_before", "load_after", "numba", "blas", "settings", "objective"),
)
DECISIVE = ("numpy", "scipy", "numba", "scikit-learn")


def write(tables: Tables, config: str, folder: Path = FOLDER) -> None:
    """Store the measured rows of a run, sorted, with numbers to six digits, and the record of its machine."""
    measured = tables.rows[tables.rows["status"] != "interrupted"]
    rows = measured[list(COLUMNS)].sort_values(["penalty", "dataset", "solver"], kind="stable")
    # short forms of what is long and alike in all rows: the record has the load, the repository the commit
    rows = rows.assign(disturbed=rows["disturbed"].notna(), commit=rows["commit"].str[:12])
    text = io.StringIO()
    rows.to_csv(text, index=False, float_format="%.6g", lineterminator="\n")
    record: dict[str, Any] = {key: tables.manifest.get(key) for key in RECORD}
    record["versions"] = {name: tables.manifest["versions"].get(name) for name in DECISIVE}
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "rows.csv", text.getvalue().encode())
    write_atomically(folder / "config.toml", config.encode())
    write_atomically(folder / "record.json", (json.dumps(record, indent=1) + "\n").encode())


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
        raise StoreError(f"{path.name} is not in {folder.name}: `make methods` measures it")
    rows = pd.read_csv(path)
    missing = [name for name in COLUMNS if name not in rows]
    if missing:
        raise StoreError(f"{path.name} has no column {missing[0]!r}: `make methods` writes it anew")
    return rows


def record(folder: Path = FOLDER) -> dict[str, Any]:
    """The machine's record: processor, versions, settings, dates."""
    return dict(json.loads((folder / "record.json").read_text("utf-8")))
