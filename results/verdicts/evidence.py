"""From tables to numbers: what each arm measured in each cell."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pandas as pd

from pianobench.results.judging import Times
from pianobench.results.ranking import OUT_OF_TIME
from pianobench.results.verdicts.rule import Ask, Quantity

AXES = ("n", "d", "m", "dm", "threads")


@dataclass(frozen=True)
class Unit:
    """A cell of a grid: data and problem.

    Parameters
    ----------
    experiment, dataset, problem, threads
        As the columns of the rows.
    evidence : str
        real, planted or absent.
    penalty : str
    n, d, m : int
        Sizes of the data.
    """

    experiment: str
    dataset: str
    problem: str
    threads: int
    evidence: str
    penalty: str = field(compare=False)
    n: int = field(compare=False)
    d: int = field(compare=False)
    m: int = field(compare=False)

    def others(self, axis: str) -> tuple[object, ...]:
        """What is held while one goes along an axis: cells that agree in it lie on one line."""
        place = (self.experiment, self.problem, self.evidence)
        if axis == "threads":
            return (*place, self.dataset)
        sizes = {"n": (self.d, self.m), "d": (self.n, self.m), "m": (self.n, self.d), "dm": (self.n,)}
        return (*place, self.threads, *sizes.get(axis, ()))


@dataclass(frozen=True)
class Sample:
    """What one arm measured in one cell: its runs, and where the cell lies on each axis.

    `oldest` is the UTC time of the first of its measurements.
    """

    times: Times
    axes: dict[str, float]
    oldest: str


Samples: TypeAlias = dict[tuple[Unit, str], Sample]


def samples(
    ask: Ask, quantity: Quantity, gap: float | None, rows: pd.DataFrame, curves: pd.DataFrame, probes: pd.DataFrame
) -> Samples:
    """Samples by cell and arm; a cell in which an arm has no run is not there."""
    is_probe = quantity.kind == "probe"
    table = probes[probes["quantity"] == ask.of] if is_probe else rows
    table = table[table["experiment"].isin(ask.within)].sort_values(["seed", "repeat"], kind="stable")
    if ask.penalties:
        table = table[table["penalty"].isin(ask.penalties)]
    wanted = {arm for rival in ask.against for arm in rival.arms} | {ask.arm}
    by_key: dict[str, pd.DataFrame] = {} if is_probe else {str(k): c for k, c in curves.groupby("key", sort=False)}
    found: dict[tuple[Unit, str], list[tuple[dict[str, Any], float, float]]] = {}
    records: list[dict[str, Any]] = [{str(k): v for k, v in row.items()} for row in table.to_dict("records")]
    for row in records:
        names = ("experiment", "dataset", "problem", "evidence", "penalty", "n", "d", "m")
        unit = Unit(threads=row["threads_asked"], **{name: row[name] for name in names})
        for arm in wanted:
            if _is_arm(row, arm):
                reached, least = _number(ask.of, quantity, gap, row, by_key.get(str(row.get("key"))))
                if not math.isnan(reached):
                    found.setdefault((unit, arm), []).append((row, reached, least))
    return {
        place: Sample(
            Times(tuple(reached for _, reached, _ in runs), tuple(least for _, _, least in runs)),
            _axes(runs[0][0]),
            min(str(row["measured_at"]) for row, _, _ in runs),
        )
        for place, runs in found.items()
    }


def best(found: Samples, unit: Unit, arms: Sequence[str]) -> Sample | None:
    """The sample with the smallest median: a rival at its best in this cell. None unless all of its forms were run."""
    there = [found[unit, arm] for arm in arms if (unit, arm) in found]
    return min(there, key=lambda sample: sample.times.median) if len(there) == len(arms) else None


def _is_arm(row: dict[str, Any], arm: str) -> bool:
    if "solver" not in row:
        return bool(row["arm"] == arm)
    key, given = _parsed(arm)
    params = json.loads(row["params"])
    return bool(row["solver"] == key) and (params == given or (given != {} and given.items() <= params.items()))


def _parsed(arm: str) -> tuple[str, dict[str, Any]]:
    found = re.fullmatch(r"([^(]+)\((.*)\)", arm)
    if found is None:
        return arm, {}
    pairs = (pair.partition("=") for pair in found[2].split(","))
    return found[1], {name.strip(): json.loads(value) for name, _, value in pairs}


def _number(
    name: str, quantity: Quantity, gap: float | None, row: dict[str, Any], curve: pd.DataFrame | None
) -> tuple[float, float]:
    """A run's number, inf where it did not reach the gap, and what it is at the least."""
    if quantity.kind == "probe":
        return (float(row["value"]),) * 2
    if quantity.kind == "at the end":
        value = _at_the_end(name, row, curve)
        return value, value
    column = {"gradient equivalents": "gradient_equivalents", "steps": "step"}.get(name, "seconds")
    extra = float(row["warmup_seconds"] or 0) if name == "seconds with compile" else 0.0
    there = None if curve is None else curve[curve["gap"] <= gap]
    if there is not None and len(there):
        value = float(there.sort_values("seconds", kind="stable").iloc[0][column]) + extra
        return value, value
    if row["status"] not in OUT_OF_TIME:
        return (math.nan, math.nan) if row["status"] in _NO_WORD else (math.inf, math.inf)
    used = float("nan") if curve is None or curve.empty else float(curve[column].max())
    if column == "seconds":
        used = max(float(row["seconds"]), float(row["max_seconds"])) if row["status"] == "timeout" else used
    return math.inf, (0.0 if math.isnan(used) else used) + extra


# Endings that say nothing about the method: such a run is as if it had not been made.
_NO_WORD = frozenset({"interrupted", "lost", "error"})


def _at_the_end(name: str, row: dict[str, Any], curve: pd.DataFrame | None) -> float:
    if name == "rise":
        return _rise(curve)
    if name == "seconds per step":
        return _ratio(_float(row["seconds"]) - _float(row["setup_seconds"]), row["steps"])
    if name == "gradient equivalents per step":
        return _ratio(row["gradient_equivalents"], row["steps"])
    if name == "non-zero share":
        return _ratio(row["nnz"], _float(row["d"]) * _float(row["m"]))
    return _float(row[{"steps taken": "steps"}.get(name, name.replace(" ", "_"))])


def _rise(curve: pd.DataFrame | None) -> float:
    if curve is None or len(curve) < 2:
        return math.nan
    values = curve.sort_values("step", kind="stable")["objective"].to_numpy()
    return float(max(0.0, (values[1:] - values[:-1]).max()) / abs(values[0]))


def _float(value: Any) -> float:
    return math.nan if pd.isna(value) else float(value)


def _ratio(top: Any, bottom: Any) -> float:
    above, below = _float(top), _float(bottom)
    return above / below if below > 0 else math.nan


def _axes(row: dict[str, Any]) -> dict[str, float]:
    axes = {name: _float(row[name]) for name in ("n", "d", "m")}
    axes |= {"dm": axes["d"] * axes["m"], "threads": float(row["threads_asked"])}
    if row.get("axis"):
        axes[row["axis"]] = float(row["x"])
    return axes
