"""Tables of a few cells with times and probes written by hand, and the verdicts on them."""

from __future__ import annotations

import json
import math
from typing import Any

from pianobench.results.schema import CURVES, PROBES, ROWS, frame
from pianobench.results.verdicts import Ask, Evidence, Rival, Unit, Verdict, judge, quantities

KNOWN = quantities({"area": ("area under the curve", False)})
RATIO = Ask("seconds", "a", ("x",), "ratio", above=1.1, against=(Rival("b"),), gaps=(1e-6,))
INF = math.inf


def units(count: int, evidence: str = "real", experiment: str = "x") -> list[Unit]:
    return [Unit(experiment, f"d{i}", "l2:1", 1, evidence, "l2", 100, 5 + i, 3) for i in range(count)]


def runs(unit: Unit, arm: str, seconds: list[float], **changes: Any) -> tuple[list[Any], list[Any]]:
    """Runs that reach 1e-6 after so many seconds; inf is a run that was cut at 5 seconds, -1 one that gave up."""
    rows, curves = [], []
    about = {
        name: getattr(unit, name) for name in ("experiment", "dataset", "problem", "evidence", "penalty", "n", "d", "m")
    }
    for repeat, value in enumerate(seconds):
        key = f"{unit.experiment}{unit.dataset}{arm}{repeat}"
        reached = 0 <= value < INF
        rows.append(
            {
                **about, "threads_asked": 1, "key": key, "label": key, "solver": arm, "params": json.dumps({}),
                "repeat": repeat, "seed": 0, "max_seconds": 5.0, "seconds": value if reached else 5.0,
                "status": "converged" if reached else "timeout" if value > 0 else "stalled",
                "measured_at": f"2026-01-0{1 + repeat % 9}T00:00:00Z",
                **changes,
            }
        )  # fmt: skip
        points = [(0.001, 1.0), (value if reached else 5.0, 1e-7 if reached else 1e-2)]
        curves += [
            {"key": key, "step": i, "seconds": s, "gap": g, "gradient_equivalents": 10 * s, "objective": 1 - i / 9}
            for i, (s, g) in enumerate(points)
        ]
    return rows, curves


def verdict(measured: list[tuple[list[Any], list[Any]]], grid: list[Unit], *asks: Ask, **more: Any) -> Verdict:
    rows = frame([row for one, _ in measured for row in one], ROWS)
    curves = frame([point for _, one in measured for point in one], CURVES)
    return judge(asks or (RATIO,), KNOWN, grid, Evidence(rows, curves, frame([], PROBES)), **more)


def five(seconds: float, scatter: float = 0.02) -> list[float]:
    return [seconds * (1 + scatter * k) for k in (-2, -1, 0, 1, 2)]


def cut_at(last: float, seconds: float | None, measured: tuple[list[Any], list[Any]]) -> tuple[list[Any], list[Any]]:
    """The same with another last checkpoint and clock."""
    rows, curves = measured
    points = [{**point, "seconds": min(point["seconds"], last)} for point in curves]
    return [{**row, "seconds": seconds} for row in rows], points


def probed(unit: Unit, arm: str, values: dict[int, float], quantity: str = "area", **changes: Any) -> list[Any]:
    """Probes by seed."""
    about = {name: getattr(unit, name) for name in ("experiment", "dataset", "problem", "evidence", "penalty", "m")}
    more = {"n": 100, "d": 5, "threads_asked": 1, "repeat": 0, "measured_at": "2026-01-01T00:00:00Z", **changes}
    return [
        {**about, **more, "quantity": quantity, "arm": arm, "seed": seed, "value": value}
        for seed, value in values.items()
    ]


def of_probes(probes: list[Any], grid: list[Unit], ask: Ask) -> Verdict:
    return judge((ask,), KNOWN, grid, Evidence(frame([], ROWS), frame([], CURVES), frame(probes, PROBES)))
