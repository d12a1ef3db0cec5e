"""What is said of a batch, and of all of them."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from pianobench.experiments.streaming.kept import Stand
from pianobench.experiments.streaming.training import Told

LISTED = 10  # batches that a sentence names


def line(told: Told) -> str:
    """A batch in one line."""
    record = told.record
    head = f"batch {told.number}: {told.rows:,} rows"
    if told.number == 1:
        return f"{head}, the first model: {record.steps:.0f} steps, {told.training_seconds:.2f} s"
    judged = f"error {record.error:.4f}  log loss {record.log_loss:.4f}"
    if not math.isnan(told.area):
        judged += f"  AUC {told.area:.4f}"
    judged += f"  rise {record.rise:.3g}, spread {record.spread:.3g}"
    decision = "kept"
    if record.steps:
        decision = (
            f"trained on {record.new_rows:,.0f} new + {record.old_rows:,.0f} old rows, {record.steps:.0f} steps, "
            f"{told.training_seconds:.2f} s"
        )
        decision += "" if record.updated else "; no better on rows held out: kept"
    return f"{head}  {judged}  {decision}"


def row(told: Told) -> dict[str, Any]:
    """A batch as JSON; what there is not is null."""
    found = {"batch": told.number, "rows_so_far": told.rows, "auc": told.area, **asdict(told.record)}
    found |= {"seconds": told.seconds, "training_seconds": told.training_seconds}
    return {name: plain(value) for name, value in found.items()}


def totals(stand: Stand, new: int, state: Path, remarks: list[str]) -> dict[str, Any]:
    """All batches as JSON: each was scored by the model before it."""
    column = stand.state.column
    later = slice(1, None)  # no model came before the first
    weight = column("weight")[later]
    scored = float(weight.sum())
    areas = stand.areas[np.isfinite(stand.areas)]
    found = {
        "batches": stand.state.t,
        "new_batches": new,
        "rows": stand.rows,
        "error": float(weight @ column("error")[later]) / scored if scored else math.nan,
        "log_loss": float(weight @ column("log_loss")[later]) / scored if scored else math.nan,
        "mean_auc": float(areas.mean()) if areas.size else math.nan,
        "trained_again": (1 + np.flatnonzero(column("updated")))[later].tolist(),
        "rows_read_by_training": float(column("rows_read").sum()),
        "state": str(state),
        "remarks": remarks,
    }
    return {name: plain(value) for name, value in found.items()}


def sentences(found: dict[str, Any], log: str) -> list[str]:
    """The same in words."""
    new, batches, rows = found["new_batches"], found["batches"], found["rows"]
    if not new:
        return [
            f"nothing new: all of {log} was read before, {rows:,} rows in {_count(batches, 'batch', 'batches')}. "
            f"The state is {found['state']}.",
            *found["remarks"],
        ]
    now = "" if new == batches else f", {new} of them new"
    said = [f"{_count(batches, 'batch', 'batches')}{now}, {rows:,} rows."]
    if batches > 1:
        said.append(_decided(found["trained_again"], batches))
        area = "" if found["mean_auc"] is None else f", mean AUC {found['mean_auc']:.4f}"
        said.append(
            f"Each batch scored before it was learned from: error {found['error']:.4f}, log loss "
            f"{found['log_loss']:.4f}{area}."
        )
    said.append(f"The state is {found['state']}; when the log has grown, the same command goes on with the new rows.")
    return [*said, *found["remarks"]]


def _decided(trained: list[int], batches: int) -> str:
    kept = batches - 1 - len(trained)
    if not trained:
        return f"The first model was kept through all {kept} later batches."
    which = "batch " if len(trained) == 1 else "batches "
    which += ", ".join(map(str, trained[:LISTED])) + (", ..." if len(trained) > LISTED else "")
    return (
        f"After the first batch the model was trained again {_count(len(trained), 'time', 'times')} ({which}) "
        f"and kept {_count(kept, 'time', 'times')}."
    )


def _count(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"


def plain(value: Any) -> Any:
    """A number as JSON has it: NaN, which it has not, is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
