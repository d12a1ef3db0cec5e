"""Table 2 of the second paper on one click log: a conjunction comes to a trained model, and each method takes it in.

The measuring is that of `pianobench.experiments.streams.table2`, a process for each method; here its lines become
numbers. SA L-BFGS and the samples it is held against have the same twentieth of the rows, the larger of the two shares
of that table and the one that costs less area.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pianobench.experiments.probes.setting import Number, Setting, Unmeasured
from pianobench.experiments.probes.table_1 import PASSES, SOLVED, strength, tell, trouble
from pianobench.experiments.streams import other
from pianobench.experiments.streams.table2 import Plan, run

ARMS = {
    "full-cold": "full",
    "full-warm": "full-warm",
    "vw-bfgs-best": "vowpal-wabbit",
    "sa-lbfgs": "sa-lbfgs",
    "subsample-cold": "subsample-cold",
    "subsample-warm": "subsample-warm",
    "keep": "keep",
}
SHARE = 0.05  # of the rows, in a sample
GAP = 1e-4  # that a training is timed to
PASSES_TO = {GAP: 200, SOLVED: PASSES[SOLVED]}  # of Vowpal Wabbit at most: it always makes all of them
LOST = 0.001  # of area, from which on an update is not accurate
STRENGTHS = (5.0, 10.0, 20.0, 50.0, 100.0)  # of l1, of which the least that leaves half of the weights counts
HALF = 0.5


def times(setting: Setting) -> Iterator[Number]:
    """Seconds of an update: wall clock, of the processor, and of one that is accurate; and what explains its speed-up.

    To SA L-BFGS's seconds those of I on all rows are added.
    """
    found, rest = _lines(setting, GAP, tuple(ARMS))
    for arm, line in found.items():
        yield Number("seconds of an update", arm, _seconds(arm, line, ""))
        yield Number("processor seconds of an update", arm, _seconds(arm, line, "cpu_"))
        if "full" in found:
            accurate = line["area"] >= found["full"]["area"] - LOST
            seconds = _seconds(arm, line, "") if accurate else math.inf
            yield Number("seconds of an accurate update", arm, seconds)
    if {"full", "sa-lbfgs"} <= found.keys():
        value = over_its_factors(found["full"], found["sa-lbfgs"])
        yield Number("speed-up over its two factors", "sa-lbfgs", value)
    tell(rest)


def over_its_factors(full: Mapping[str, Any], own: Mapping[str, Any]) -> float:
    """Speed-up over the ratio of the steps times the ratio of the rows that each has."""
    factors = (full["steps"] / own["steps"]) * (full["sample"] / own["sample"])
    return float(full["seconds"] / _seconds("sa-lbfgs", own, "") / factors)


def areas(setting: Setting) -> Iterator[Number]:
    """`area after an update`: of solved models without the conjunction and with it, and of each way to it.

    Of l1 the model with half of the weights at least at zero that l2 leaves.
    """
    found, rest = _lines(setting, SOLVED, ("full-cold", "vw-bfgs-best", "sa-lbfgs", "model-1"))
    for arm, line in found.items():
        for name in ("full", "model-2") if arm == "full" else (arm,):
            yield Number("area after an update", name, line["area"])
    yield Number("area after an update", "l1", half_of_the_weights(other.sparse((setting.dataset,), STRENGTHS))["area"])
    tell(rest)


def half_of_the_weights(lines: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """The first of some lines under l1 of growing strength with half of the weights at most that the l2 line keeps.

    Raises
    ------
    Unmeasured
    """
    full = next(lines)
    for line in lines:
        if line["kept"] <= HALF * full["kept"]:
            return line
    raise Unmeasured(f"l1 of {STRENGTHS[-1]:g} keeps more than half of the {full['kept']} weights that l2 keeps")


def _lines(setting: Setting, gap: float, methods: tuple[str, ...]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The lines that arrived by arm, and of the others why not."""
    plan = Plan(strength(setting), 1, 1, PASSES_TO[gap], gap, methods, (SHARE,))
    found: dict[str, dict[str, Any]] = {}
    rest: list[str] = []
    for line in run(setting.dataset, plan):
        arm, reason = ARMS.get(line["method"], line["method"]), trouble(line)
        if line["method"] not in methods:  # Model 1 where it is not asked for
            continue
        if reason is None:
            found[arm] = line
        else:
            rest.append(f"{arm}: {reason}")
    return found, rest


def _seconds(arm: str, line: Mapping[str, Any], kind: str) -> float:
    """What an update by an arm took, I included where the arm is to ask it; `kind` is "" or "cpu_"."""
    return float(line[f"{kind}seconds"] + (line[f"score_{kind}seconds"] if arm == "sa-lbfgs" else 0.0))
