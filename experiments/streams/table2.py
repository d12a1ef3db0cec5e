"""Table 2 of the second paper in one run: a conjunction comes to a trained model, and each method takes it in.

``python -m pianobench.experiments.streams.table2`` writes ``results/reference/streams``, a line for each run, and
prints the table of it. Model 1 is trained first; its weights and curvature pairs are what the others may begin with.
Methods take turns, each time in a process of its own. All stop at the same relative gap of their own problem, L known
beforehand from a solve off the clock; `full gap` is that on all rows.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pianobench.algorithms.peers import PEERS, make_peer
from pianobench.experiments import environment, machine, provenance
from pianobench.experiments.clicks import arm as clicks_arm
from pianobench.experiments.clicks import table as clicks
from pianobench.experiments.streams import arm
from pianobench.experiments.streams.arm import OURS, SAMPLES, Order, of_model

PLACE = clicks.PLACE.parent / "streams"
DATA = ("kdd12_small", "kdd12:rows=2e6,interaction=1")
THEIRS = clicks.THEIRS
SHARES = (0.05, 0.01)
TITLES = {
    "model-1": "Model 1, from 0",
    "vw-bfgs-best": "Vowpal Wabbit, L-BFGS",
    "vw-online-bfgs-best": "Vowpal Wabbit, online pass first",
    "full-cold": "L-BFGS, all rows, from 0",
    "full-warm": "L-BFGS, all rows, warm",
    "full-warm-pairs": "the same, with Model 1's pairs",
    "full-cold-preconditioned": "preconditioned, all rows, from 0",
    "full-warm-preconditioned": "preconditioned, all rows, warm",
    "sa-lbfgs": "SA L-BFGS",
    "subsample-warm": "sample, warm, no pairs",
    "subsample-cold": "sample, from 0",
    "subsample-warm-preconditioned": "sample, warm, preconditioned",
    "sa-lbfgs-10": "SA L-BFGS, 10 steps",
    "subsample-warm-10": "sample, warm, no pairs, 10 steps",
    "keep": "Model 1 kept",
}
HEAD = (
    *("method", "sample", "seconds", "CPU s", "steps", "rows read", "gap of its own", "full gap", "area"),
    *("below full", "full / it", "CPU: full / it", "fewer rows", "fewer passes"),
)
MEASURED = (
    "seconds",
    "cpu_seconds",
    "steps",
    "rows_read",
    "gap",
    "full_gap",
    "area",
    "error",
    "sample",
    "score_seconds",
)


@dataclass(frozen=True)
class Plan:
    """What is measured on a click log.

    Attributes
    ----------
    lam : float
        Strength of l2, beside a sum over the views.
    repeats, vw_repeats : int
        Of our methods and of Vowpal Wabbit.
    vw_passes : int
        Of Vowpal Wabbit's L-BFGS at most.
    target : float
        Relative gap.
    methods : tuple of str
    shares : tuple of float, optional
        Of the rows, that samples have; by default `SHARES`.
    """

    lam: float = 1.0
    repeats: int = 3
    vw_repeats: int = 1
    vw_passes: int = 150
    target: float = 1e-4
    methods: tuple[str, ...] = (*THEIRS, *OURS)
    shares: tuple[float, ...] = ()


def run(data: str, plan: Plan) -> Iterator[dict[str, Any]]:
    """All lines of one click log, as they are measured."""
    first, second = (process(Order(data, plan.lam, f"reference-{k}")) for k in (1, 2))
    names = ("rows", "train", "test", "columns", "objective", "lower")
    facts = {"data": data, "lam": plan.lam, "target": plan.target, **{f"{name}_2": second[name] for name in names}}
    with tempfile.TemporaryDirectory() as scratch:
        model = str(Path(scratch) / "model.npz")
        theirs = [key for key in THEIRS if key in plan.methods]
        refusals = {key: PEERS[key].available() for key in theirs}
        yield from ({**facts, "method": key, "remark": why} for key, why in refusals.items() if why)
        theirs = [key for key in theirs if not refusals[key]]
        file = Path(scratch) / "cache.pickle"
        native = None  # its files are removed with it
        if theirs:
            native = make_peer(theirs[0]).convert(clicks_arm.problem_of(of_model(data, 2), plan.lam))
            file.write_bytes(pickle.dumps(native))
        shares = plan.shares or SHARES
        ours = [(key, share) for key in OURS if key in plan.methods for share in (shares if key in SAMPLES else (1.0,))]
        most = dict.fromkeys(theirs, plan.vw_passes)
        for repeat in range(max(plan.repeats, plan.vw_repeats)):
            label: dict[str, Any] = {**facts, "repeat": repeat}
            if repeat < plan.repeats:
                order = Order(data, plan.lam, "model-1", plan.target, first["lower"], model=model)
                yield {**label, "method": "model-1", "share": 1.0, **process(order)}
            for key in theirs if repeat < plan.vw_repeats else ():
                told = _theirs(clicks_arm.Order(
                    of_model(data, 2), plan.lam, key, 1, (plan.target,), second["lower"], most[key], str(file)
                ), second["rows"])  # fmt: skip
                most[key] = told["steps"]  # the same passes again, and none that tells nothing
                yield {**label, "method": key, "share": 1.0, **told}
            for key, share in ours if repeat < plan.repeats else ():
                order = Order(data, plan.lam, key, plan.target, second["lower"], share, repeat, model)
                yield {**label, "method": key, "share": share, **process(order)}
        del native


def process(order: Order) -> dict[str, Any]:
    """What `arm.measure` says of an order, from a process of its own.

    Raises
    ------
    RuntimeError
        The process failed; its own message has gone to the standard error.
    """
    with tempfile.TemporaryDirectory() as scratch:
        said, answer = Path(scratch) / "order.json", Path(scratch) / "answer.json"
        said.write_text(arm.written(order), "utf-8")
        command = [sys.executable, "-P", "-m", arm.__name__, str(said), str(answer)]
        variables = environment.for_cell(1, "streams")
        done = subprocess.run(command, env=variables, stdout=subprocess.DEVNULL, check=False)
        if done.returncode or not answer.is_file():
            raise RuntimeError(f"{order.method} on {order.data} ended with code {done.returncode}: see above")
        told: dict[str, Any] = json.loads(answer.read_text("utf-8"))
        return told


def _theirs(order: clicks_arm.Order, rows: int) -> dict[str, Any]:
    (found,) = clicks.process(order)["reached"]
    names = ("seconds", "cpu_seconds", "gap", "arrived", "area", "error")
    told = {name: found[name] for name in names}
    read = rows * found["passes"]
    return {**told, "sample": rows, "steps": found["step"], "rows_read": read, "full_gap": found["gap"]}


def summary(lines: Any) -> list[dict[str, Any]]:
    """One entry a data set, method and share: medians over the repeats, and what they are against full retraining.

    Parameters
    ----------
    lines : DataFrame
        As `run` makes them.

    Returns
    -------
    list of dict
        `speed_up` and `cpu_speed_up` are full retraining's seconds over those of the entry; `fewer_rows` is its rows
        over those of the sample, `fewer_passes` its passes over the entry's, one over all of its own rows each: their
        product is the ratio of the rows read.
    """
    found = []
    for name, of_data in lines.groupby("data", sort=False):
        entries = []
        for (method, share), some in of_data.groupby(["method", "share"], sort=False, dropna=False):
            entry: dict[str, Any] = {"data": name, "method": method, "share": share}
            entry |= {column: float(some[column].median()) for column in MEASURED if column in some}
            remarks = some.get("remark", [])
            entry["remark"] = next((text for text in remarks if isinstance(text, str)), "")
            entry["arrived"] = bool((some["arrived"] == True).all())  # noqa: E712
            entries.append(entry)
        full = next((e for e in entries if e["method"] == "full-cold"), None)
        for e in entries:
            against = full if full is not None and e["method"] != "model-1" and not e["remark"] else None
            e |= _against(e, against)
        found += entries
    return found


def _against(e: dict[str, Any], full: dict[str, Any] | None) -> dict[str, float]:
    names = ("loss", "speed_up", "cpu_speed_up", "fewer_rows", "fewer_passes")
    if full is None:
        return dict.fromkeys(names, math.nan)
    told = dict.fromkeys(names, math.inf)
    told["loss"] = full["area"] - e["area"]
    if e["rows_read"]:
        told["speed_up"] = full["seconds"] / e["seconds"]
        told["cpu_speed_up"] = full["cpu_seconds"] / e["cpu_seconds"]
        told["fewer_rows"] = full["sample"] / e["sample"]
        told["fewer_passes"] = full["rows_read"] / full["sample"] * e["sample"] / e["rows_read"]
    return told


def table(lines: Any) -> str:
    """The table as Markdown, a part for each click log."""
    text = []
    for name in dict.fromkeys(lines["data"]):
        some = lines[lines["data"] == name]
        first = some.iloc[0]
        text.append(
            f"`{name}`: {first['train_2']:,.0f} training rows ({first['rows_2']:,.0f} weighted ones), "
            f"{first['test_2']:,.0f} test rows, {first['columns_2']:.0f} columns with the conjunction, "
            f"λ = {first['lam']:g}, gap {first['target']:.0e}, F* = {first['objective_2']:.2f}, "
            f"medians of {some['repeat'].nunique()}\n"
        )
        text += ["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
        for e in summary(some):
            title = TITLES[e["method"]]
            if e["remark"]:
                text.append(f"| {title} | {e['remark']} |" + " |" * (len(HEAD) - 2))
                continue
            size = "" if math.isnan(e["share"]) or e["share"] == 1.0 else f"{100 * e['share']:g} %"
            given_up = not e["arrived"] and not e["method"].endswith("-10")
            gap = _number(e["gap"], ".1e") + (", not reached" if given_up else "")
            cells = [title, size, _number(e["seconds"], ".3g"), _number(e["cpu_seconds"], ".3g")]
            cells += [_number(e["steps"], ".0f"), _number(e["rows_read"], ".2e"), gap, _number(e["full_gap"], ".1e")]
            cells += [f"{e['area']:.4f} ± {e['error']:.4f}", _number(e["loss"], "z.4f")]
            cells += [_number(e[key], ".1f") for key in ("speed_up", "cpu_speed_up", "fewer_rows", "fewer_passes")]
            text.append("| " + " | ".join(cells) + " |")
        text.append("")
    return "\n".join(text)


def _number(value: float, form: str) -> str:
    if math.isnan(value):
        return ""
    return "∞" if math.isinf(value) else format(value, form)


def main(words: list[str]) -> None:
    """Measure, store, print."""
    import pandas as pd

    parser = argparse.ArgumentParser(prog="pianobench.experiments.streams.table2", description=__doc__)
    parser.add_argument("--data", nargs="+", default=DATA, help=f"click logs; by default {' '.join(DATA)}")
    parser.add_argument("--repeats", type=int, default=Plan.repeats)
    parser.add_argument("--vw-repeats", type=int, default=Plan.vw_repeats, help="of Vowpal Wabbit, whose runs are long")
    parser.add_argument("--vw-passes", type=int, default=Plan.vw_passes, help="of Vowpal Wabbit at most")
    known = list(Plan.methods)
    parser.add_argument("--methods", nargs="+", default=known, choices=known, metavar="KEY", help=", ".join(known))
    parser.add_argument("--target", type=float, default=Plan.target, help="relative gap")
    parser.add_argument("--lam", type=float, default=Plan.lam)
    parser.add_argument("--out", type=Path, default=PLACE, metavar="DIR")
    said = parser.parse_args(words)
    plan = Plan(said.lam, said.repeats, said.vw_repeats, said.vw_passes, said.target, tuple(said.methods))
    record = provenance.describe("table-2", ["python", "-m", "pianobench.experiments.streams.table2", *words])
    for data in said.data:
        lines: list[dict[str, Any]] = []
        for line in run(data, plan):
            lines.append(line)
            print(json.dumps(line), file=sys.stderr, flush=True)
            now = {**record, "ended_at": provenance.now(), "load_after": machine.load()}
            clicks.store(said.out, file_name(data), pd.DataFrame(lines), now)
    print(stored(said.out))


def file_name(data: str) -> str:
    """Of the lines of a click log, without its ending."""
    return "table2_" + re.sub(r"[^\w.=]+", "-", data)


def stored(folder: Path = PLACE) -> str:
    """The table of all lines that are stored in a folder."""
    import pandas as pd

    return "\n".join(table(pd.read_csv(file)) for file in sorted(folder.glob("table2_*.csv")))


if __name__ == "__main__":
    main(sys.argv[1:])
