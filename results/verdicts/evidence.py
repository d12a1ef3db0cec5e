"""From tables to numbers: what each arm measured in each cell."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pianobench.results.judging import Times
from pianobench.results.ranking import LOOSE, OUT_OF_TIME
from pianobench.results.schema import FAILED
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
    runs : int
        Runs of each arm that are planned: seeds times repeats. With fewer nothing is said.
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
    runs: int = field(default=1, compare=False)

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

    `oldest` is the UTC time of the first of its measurements, `runs` are seed and repeat of each, `disturbed` the keys
    of those during which other work shared the machine.
    """

    times: Times
    axes: dict[str, float]
    oldest: str
    runs: tuple[tuple[Any, Any], ...]
    disturbed: tuple[str, ...]

    def paired(self, other: Sample) -> tuple[Times, Times]:
        """The times of both in the runs that both have made, in one order."""
        known = dict(zip(other.runs, zip(other.times.reached, other.times.least, strict=True), strict=True))
        pairs = [
            (reached, least, *known[run])
            for run, reached, least in zip(self.runs, self.times.reached, self.times.least, strict=True)
            if run in known
        ]
        a, b, c, d = zip(*pairs, strict=True) if pairs else ((), (), (), ())
        return Times(a, b), Times(c, d)


Samples: TypeAlias = dict[tuple[Unit, str], Sample]
Curve: TypeAlias = dict[str, NDArray[np.float64]]


class Evidence:
    """Tables made ready to be asked many times: rows as records, curves by the key of their row.

    Parameters
    ----------
    rows, curves, probes : DataFrame
        With the columns of `pianobench.results.schema`.
    """

    def __init__(self, rows: pd.DataFrame, curves: pd.DataFrame, probes: pd.DataFrame) -> None:
        self.rows, self.probes = _records(rows), _records(probes)
        columns = ["step", "seconds", "gradient_equivalents", "gap", "objective"]
        ordered = curves.sort_values(["key", "step", "seconds"], kind="stable")
        values = ordered[columns].to_numpy(np.float64, na_value=np.nan)
        keys, starts = np.unique(ordered["key"].to_numpy(str), return_index=True)
        parts = np.split(values, starts[1:])
        self.curves = {
            str(key): dict(zip(columns, part.T, strict=True)) for key, part in zip(keys, parts, strict=False)
        }

    def samples(self, ask: Ask, quantity: Quantity, gap: float | None) -> Samples:
        """What an ask needs, by cell and arm; a cell in which an arm has no run is not there."""
        is_probe = quantity.kind == "probe"
        wanted = [_Arm(arm) for arm in {ask.arm, *(arm for rival in ask.against for arm in rival.arms)}]
        found: dict[tuple[Unit, str], list[tuple[dict[str, Any], float, float]]] = {}
        for row in self.probes if is_probe else self.rows:
            if not ask.about(row["experiment"], row["penalty"], row["problem"]) or (
                is_probe and row["quantity"] != ask.of
            ):
                continue
            for arm in wanted:
                if arm.made(row):
                    reached, least = _number(ask, quantity, gap, row, self.curves.get(str(row.get("key"))))
                    if not math.isnan(reached):
                        found.setdefault((_unit(row), arm.name), []).append((row, reached, least))
        return {
            place: Sample(
                Times(tuple(reached for _, reached, _ in runs), tuple(least for _, _, least in runs)),
                _axes(runs[0][0]),
                min(str(row["measured_at"]) for row, _, _ in runs),
                tuple((row["seed"], row["repeat"]) for row, _, _ in runs),
                tuple(str(row["key"]) for row, _, _ in runs if pd.notna(row.get("disturbed"))),
            )
            for place, runs in found.items()
        }


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    ordered = table.sort_values(["seed", "repeat"], kind="stable")
    return [{str(name): value for name, value in row.items()} for row in ordered.to_dict("records")]


def _unit(row: dict[str, Any]) -> Unit:
    names = ("experiment", "dataset", "problem", "evidence", "penalty", "n", "d", "m")
    return Unit(threads=row["threads_asked"], **{name: row[name] for name in names})


class _Arm:
    """Which rows an arm has made."""

    def __init__(self, name: str) -> None:
        self.name = name
        found = re.fullmatch(r"([^(]+)\((.*)\)", name)
        pairs = (pair.partition("=") for pair in found[2].split(",")) if found else ()
        self._key = found[1] if found else name
        self._params = {one.strip(): json.loads(value) for one, _, value in pairs}

    def made(self, row: dict[str, Any]) -> bool:
        if "solver" not in row:
            return bool(row["arm"] == self.name)
        if row["solver"] != self._key:
            return False
        params = json.loads(row["params"])
        return bool(params == self._params)


def _number(
    ask: Ask, quantity: Quantity, gap: float | None, row: dict[str, Any], curve: Curve | None
) -> tuple[float, float]:
    """A run's number, inf where it did not reach the gap, and what it is at the least; nan if it says nothing."""
    if quantity.kind == "probe":
        return (_float(row["value"]),) * 2
    if quantity.kind == "at the end":
        value = _at_the_end(ask.of, row, curve)
        return value, value
    column = {"gradient equivalents": "gradient_equivalents", "steps": "step"}.get(ask.of, "seconds")
    extra = _float(row["warmup_seconds"]) if ask.of == "seconds with compile" else 0.0
    there = np.flatnonzero(curve["gap"] <= (gap or 0.0)) if curve is not None else np.array([], int)
    if curve is not None and there.size:
        value = float(curve[column][there[0]]) + extra
        return value, value
    if _says_nothing(ask, row):
        return math.nan, math.nan
    if row["status"] not in OUT_OF_TIME | {"converged"}:  # which is out of time if it had a looser gap to reach
        return math.inf, math.inf
    used = float(np.nanmax(curve[column], initial=0.0)) if curve is not None else 0.0
    if column == "seconds":
        # Not what it was allowed: one that was killed may have spent its time on certificates, off its clock.
        used = float(np.nanmax([used, _float(row["seconds"])]))
    return math.inf, used + extra


def _says_nothing(ask: Ask, row: dict[str, Any]) -> bool:
    """Whether that a run missed the gap is no word on its method: the run is as if it had not been made.

    It failed for a reason of its own, the problem has no solution, no bound was found that could certify a gap, or the
    problem is of a kind that the method refuses, which makes it neither slow nor divergent.
    """
    status = row["status"]
    return bool(
        status in FAILED
        or status == "no-minimiser"
        or (status in ("stalled", "breakdown") and row["certificate"] == "zero")
        or (status == "skipped" and ask.reached is not False)
    )


def _at_the_end(name: str, row: dict[str, Any], curve: Curve | None) -> float:
    if name == "rise":
        return _rise(curve)
    if name == "seconds per step":
        return _ratio(_float(row["seconds"]) - _float(row["setup_seconds"]), row["steps"])
    if name == "gradient equivalents per step":
        return _ratio(row["gradient_equivalents"], row["steps"])
    if name == "non-zero share":
        # Far from the optimum it is that of the start, or of nothing in particular.
        if not (row["status"] == "stationary" or _float(row["gap"]) <= LOOSE):
            return math.nan
        return _ratio(row["nnz"], _float(row["d"]) * _float(row["m"]))
    return _float(row[{"steps taken": "steps"}.get(name, name.replace(" ", "_"))])


def _rise(curve: Curve | None) -> float:
    if curve is None or curve["objective"].size < 2:
        return math.nan
    values = curve["objective"]
    if not np.isfinite(values).all():  # it diverged
        return math.inf
    return float(max(0.0, np.diff(values).max()) / abs(values[0]))


def _float(value: Any) -> float:
    return math.nan if pd.isna(value) else float(value)


def _ratio(top: Any, bottom: Any) -> float:
    above, below = _float(top), _float(bottom)
    return above / below if below > 0 else math.nan


def _axes(row: dict[str, Any]) -> dict[str, float]:
    axes = {name: _float(row[name]) for name in ("n", "d", "m")}
    axes |= {"dm": axes["d"] * axes["m"], "threads": float(row["threads_asked"])}
    if pd.notna(row.get("axis")):
        axes[row["axis"]] = float(row["x"])
    return axes
