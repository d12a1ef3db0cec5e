"""Signs that other work shared the machine while a cell was measured. Noted in its row, never a reason to drop it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pianobench.experiments.environment import available_cores

if TYPE_CHECKING:
    import pandas as pd

SHORTEST = 0.05  # seconds: of less, the operating system's clocks say nothing
WALL_OVER_CPU = 1.05  # with one thread, which never waits for another
SWITCHES_PER_SECOND = 50.0
SPARE_LOAD = 0.5  # above the threads of the cell that was measured a moment ago


def signs(row: Mapping[str, Any]) -> str | None:
    """What in a row tells of a disturbed measurement, in one line, or None."""
    found = []
    wall, cpu, switches = (row.get(name) for name in ("wall_seconds", "cpu_seconds", "involuntary_switches"))
    if wall is not None and cpu and wall >= SHORTEST:
        if row["threads_asked"] == 1 and wall > WALL_OVER_CPU * cpu:
            found.append(f"wall time {wall / cpu:.2f} times processor time")
        if switches is not None and switches > SWITCHES_PER_SECOND * wall:
            found.append(f"{switches / wall:.0f} involuntary switches a second")
    load = row.get("load_before")
    if load is not None and load > max(available_cores(), row["threads_asked"] + SPARE_LOAD):
        found.append(f"load {load:.1f} on {available_cores()} cores before it began")
    return "; ".join(found) or None


def summary(rows: "pd.DataFrame") -> str | None:
    """One sentence for the end of a run, or None if nothing was disturbed."""
    disturbed = int(rows["disturbed"].notna().sum())
    if not disturbed:
        return None
    return (
        f"Noisy machine: {disturbed} of {len(rows)} measurements shared it with other work (column `disturbed`); "
        "their seconds are too long, their steps, gradients and gaps are not touched."
    )
