"""Tables that a claim's rule must read in a known way: each of its cells for, against, or not measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pianobench.experiments.claims import Claim, experiments, probes
from pianobench.experiments.solver_choice import parse
from pianobench.results.schema import CURVES, PROBES, ROWS, frame
from pianobench.results.verdicts import Ask, Evidence, Unit, quantities

REPEATS = 6
WHEN = "2026-06-01T00:00:00+00:00"
TIER = "laptop"
Side = Callable[[int, int, Unit], str]
"""From number of the ask, number of the cell and the cell to "for", "against" or "missing"."""

_GAP_COLUMNS = {"gradient equivalents": "gradient_equivalents", "steps": "step"}


def grid(claim: Claim) -> list[Unit]:
    """Cells of a claim."""
    return [unit for name in claim.experiments for unit in experiments()[name].units(TIER)]


@dataclass(frozen=True)
class Planted:
    """Tables that a test may change before they are judged."""

    rows: pd.DataFrame
    curves: pd.DataFrame
    probes: pd.DataFrame

    @property
    def evidence(self) -> Evidence:
        """As a rule reads them."""
        return Evidence(self.rows, self.curves, self.probes)


def planted(claim: Claim, side: Side) -> Planted:
    """Rows, curves and probes that say this of each cell of a claim, with six runs of everything."""
    known = quantities(probes())
    found: dict[tuple[Unit, str], dict[str, float]] = {}
    for number, ask in enumerate(claim.rule):
        for i, unit in enumerate(_units(ask, claim)):
            if side(number, i, unit) != "missing":
                for arm, value in _values(ask, unit, side(number, i, unit) == "for"):
                    found.setdefault((unit, arm), {})[ask.of] = value
    rows, curves, probed = [], [], []
    for (unit, arm), values in found.items():
        runs = {name: value for name, value in values.items() if known[name].kind != "probe"}
        for repeat in range(REPEATS):
            noise = 1 + 0.001 * repeat
            probed += [
                _probe(unit, arm, name, value, repeat) for name, value in values.items() if known[name].kind == "probe"
            ]
            if runs:
                row, curve = _run(unit, arm, runs, repeat, noise)
                rows.append(row)
                curves += curve
    return Planted(frame(rows, ROWS), frame(curves, CURVES), frame(probed, PROBES))


def _units(ask: Ask, claim: Claim) -> list[Unit]:
    return [u for u in grid(claim) if ask.about(u.experiment, u.penalty, u.problem)]


def _values(ask: Ask, unit: Unit, holds: bool) -> Iterator[tuple[str, float]]:
    """Value of each arm in a cell where the ask holds, or surely does not."""
    inf = float("inf")
    if ask.reached is not None:
        yield ask.arm, 10.0 if ask.reached == holds else inf
        return
    target = _target(ask, holds)
    if ask.statistic in ("slope", "trend"):
        place = _place(ask, unit)
        yield ask.arm, place**target if ask.statistic == "slope" else (1 + place if target > 0 else 1 / (1 + place))
        return
    # Of a comparison the rivals have the plain value, or the arm has; a ratio is rival ÷ arm, a difference arm − rival.
    plain = 0.7 if ask.statistic == "difference" else 1.0
    yield ask.arm, plain + target if ask.statistic == "difference" else target if ask.statistic == "value" else plain
    for rival in ask.against:
        for arm in rival.arms:
            yield arm, plain if ask.statistic == "difference" else target


def _target(ask: Ask, holds: bool) -> float:
    """A value of the statistic well on one side of the bound."""
    additive = ask.statistic in ("difference", "slope", "trend")
    if ask.above is not None and ask.below is not None:
        inside, outside = (ask.above + ask.below) / 2, (ask.below + 1 if additive else 3 * ask.below)
        return inside if holds else outside
    bound = ask.above if ask.above is not None else ask.below
    assert bound is not None
    up = (ask.above is not None) == holds
    if additive:
        return bound + (0.5 if up else -0.5)
    return bound * (3.0 if up else 0.3)


def _place(ask: Ask, unit: Unit) -> float:
    if ask.along == "dm":
        return float(unit.d * unit.m)
    if ask.along in ("n", "d", "m"):
        return float(getattr(unit, ask.along) or _named(unit, "rows"))
    return _named(unit, str(ask.along))


def _named(unit: Unit, name: str) -> float:
    """A parameter in the name of a data set; of one that has it not, its place in the alphabet of seeds."""
    pairs = dict(one.split("=") for one in unit.dataset.partition(":")[2].split(",") if "=" in one)
    return float(pairs.get(name, pairs.get("seed", 0)))


def _about(unit: Unit) -> dict[str, Any]:
    names = ("experiment", "dataset", "problem", "evidence", "penalty", "m")
    return {
        **{name: getattr(unit, name) for name in names},
        "n": unit.n or int(_named(unit, "rows")),
        "d": unit.d,
        "threads_asked": unit.threads,
        "tier": TIER,
        "measured_at": WHEN,
        "seed": 0,
    }


def _probe(unit: Unit, arm: str, name: str, value: float, repeat: int) -> dict[str, Any]:
    axis = {"axis": "drift", "x": _named(unit, "drift")} if "drift" in unit.experiment else {}
    # Noise that leaves equal values equal would hide a wrong pairing.
    value = value * (1 + 1e-9 * repeat)
    return {**_about(unit), "quantity": name, "arm": arm, "value": value, "repeat": repeat, **axis}


def _run(unit: Unit, arm: str, values: dict[str, float], repeat: int, noise: float) -> tuple[dict[str, Any], list[Any]]:

    key, params = parse(arm)
    steps, rise = 100, values.get("rise", 0.0)
    ends = {name: values.get(name, 1.0) for name in ("seconds", "gradient equivalents", "steps")}
    reached = max(ends.values()) < float("inf")
    row = {
        **_about(unit),
        "key": f"{unit}{arm}{repeat}", "label": f"{unit}{arm}{repeat}", "solver": key, "params": json.dumps(params),
        "repeat": repeat, "status": "converged" if reached else "stalled", "steps": steps, "setup_seconds": 0.0,
        "seconds": steps * values.get("seconds per step", 0.01) * noise, "max_seconds": 5.0, "warmup_seconds": 0.1,
        "nnz": round(values.get("non-zero share", 0.3) * unit.d * unit.m), "gap": 1e-7 if reached else 0.5,
    }  # fmt: skip
    point = {"key": row["key"], "objective": 1.0}
    curve = [
        {**point, "step": 0, "seconds": 0.0, "gap": 1.0, "gradient_equivalents": 0.0},
        {
            **point,
            "objective": 1.0 + rise,
            "step": int(min(ends["steps"], 1e6)),
            "seconds": min(ends["seconds"], 5.0) * noise,
            "gradient_equivalents": min(ends["gradient equivalents"], 1e9),
            "gap": 1e-9 if reached else 0.5,
        },
    ]
    return row, curve
