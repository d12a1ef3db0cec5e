"""Table 1 of the second paper in one run: mean rate per advertisement, Vowpal Wabbit and the methods of here.

``python -m pianobench.experiments.clicks.table`` writes ``results/reference/clicks``, a line for each run and target,
and prints the table of it. All have the same rows, weights and lam. Methods take turns, each time in a process of its
own, so that a change of the machine's load touches all. A time is that of the first point whose F is within the target
of the certified optimum.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pianobench.algorithms.peers import PEERS, make_peer
from pianobench.datasets.kdd12.layout import Some
from pianobench.datasets.kdd12.named import prepared, wanted
from pianobench.experiments import environment, machine, provenance
from pianobench.experiments.clicks import arm
from pianobench.experiments.clicks.arm import Order
from pianobench.experiments.clicks.baseline import mean_rate
from pianobench.results.attempt import write_atomically

PLACE = Path(__file__).parents[2] / "results" / "reference" / "clicks"
DATA = ("kdd12_small", "kdd12:rows=2e6")
TARGETS = (1e-3, 1e-4, 1e-6)
OURS = ("lbfgs", "lbfgs-preconditioned", "online-lbfgs")
ONLINE = ("adagrad", "ogd")  # in order, on one thread whatever there is
THEIRS = ("vw-bfgs-best", "vw-online-bfgs-best")
HEAD = (
    *("method", "threads", "gap", "seconds", "CPU s", "steps", "passes", "memory, MB", "area"),
    *("VW bfgs / it", "VW online / it"),
)
MEASURED = ("seconds", "cpu_seconds", "step", "passes", "peak_bytes", "before_bytes", "area", "error", "gap")
STEPS = {**dict.fromkeys(OURS, 500), **dict.fromkeys(ONLINE, 5)}


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
    vw_threads : tuple of int
        Processors that it may use.
    methods : tuple of str
        Which of ours and of Vowpal Wabbit's.
    targets : tuple of float
        Relative gaps, descending.
    threads : tuple of int, optional
        Of our methods; by default one and all there are.
    """

    lam: float
    repeats: int
    vw_repeats: int
    vw_passes: int
    vw_threads: tuple[int, ...]
    methods: tuple[str, ...] = (*OURS, *ONLINE, *THEIRS)
    targets: tuple[float, ...] = TARGETS
    threads: tuple[int, ...] = ()


def run(data: str, plan: Plan) -> Iterator[dict[str, Any]]:
    """All lines of one click log, as they are measured."""
    lam, cores = plan.lam, environment.available_cores()
    log, one = prepared(data), wanted(*data.partition(":")[::2])
    source = one.source()
    facts = {"data": data, "lam": lam, "train": len(log.train), "test": len(log.test), "columns": log.train.d}
    base = mean_rate(Some(source, 0, one.rows), Some(source, one.rows, one.rows + one.test_rows))
    yield {**facts, "method": "mean rate per ad", "area": base.area, "error": base.error}
    optimum = process(Order(data, lam, "reference", cores))
    facts |= {name: optimum[name] for name in ("rows", "objective", "lower")}
    with tempfile.TemporaryDirectory() as scratch:
        refusals = {key: PEERS[key].available() for key in THEIRS if key in plan.methods}
        yield from ({**facts, "method": key, "remark": why} for key, why in refusals.items() if why)
        theirs = [key for key, why in refusals.items() if not why]
        cache = _cache(data, lam, Path(scratch)) if theirs else None
        arms = [(key, threads) for key in OURS for threads in plan.threads or sorted({1, cores})]
        arms += [*((key, 1) for key in ONLINE), *((key, threads) for key in theirs for threads in plan.vw_threads)]
        arms = [(key, threads) for key, threads in arms if key in plan.methods]
        most = {**STEPS, **dict.fromkeys(THEIRS, plan.vw_passes)}
        for repeat in range(max(plan.repeats, plan.vw_repeats)):
            for key, threads in arms:
                if repeat >= (plan.vw_repeats if key in theirs else plan.repeats):
                    continue
                file = str(cache[1]) if cache and key in theirs else ""
                order = Order(data, lam, key, threads, plan.targets, optimum["lower"], most[key], file)
                try:
                    told = process(order)
                except RuntimeError as error:  # a failed run is a line
                    yield {**facts, "method": key, "threads": threads, "repeat": repeat, "remark": str(error)}
                    continue
                memory = {name: told.get(name) for name in ("before_bytes", "peak_bytes")}
                for entry in told["reached"]:
                    yield {**facts, "method": key, "threads": threads, "repeat": repeat, **entry, **memory}
                if key in theirs:  # the same passes again, and none that tells nothing
                    most[key] = told["reached"][-1]["step"]


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
        variables = environment.for_cell(order.threads, "clicks")
        done = subprocess.run(command, env=variables, stdout=subprocess.DEVNULL, check=False)
        if done.returncode or not answer.is_file():
            raise RuntimeError(f"{order.method} on {order.data} ended with code {done.returncode}: see above")
        told: dict[str, Any] = json.loads(answer.read_text("utf-8"))
        return told


def _cache(data: str, lam: float, scratch: Path) -> tuple[Any, Path]:
    """Vowpal Wabbit's rows, made once; they are removed with the first of the two."""
    native = make_peer(THEIRS[0]).convert(arm.problem_of(data, lam))
    file = scratch / "cache.pickle"
    file.write_bytes(pickle.dumps(native))
    return native, file


def summary(lines: Any) -> list[dict[str, Any]]:
    """One entry a data set, method, number of threads and target: medians over the repeats.

    Parameters
    ----------
    lines : DataFrame
        As `run` makes them.
    """
    import pandas as pd

    found = []
    for name, of_data in lines.groupby("data", sort=False):
        keys = ["method", "threads", "target"]
        for (method, threads, target), some in of_data.groupby(keys, sort=False, dropna=False):
            arrived = bool((some["arrived"] == True).all()) if pd.notna(target) else False  # noqa: E712
            entry = {"data": name, "method": method, "threads": threads, "target": target, "arrived": arrived}
            for column in MEASURED:
                entry[column] = float(some[column].median())
            entry["remark"] = next((text for text in some.get("remark", []) if isinstance(text, str)), "")
            found.append(entry)
    peers: dict[tuple[Any, ...], float] = {}  # the fastest number of threads
    for e in found:
        if e["method"] in THEIRS and e["arrived"]:
            what = e["data"], e["target"], e["method"]
            peers[what] = min(peers.get(what, math.inf), e["seconds"])
    for entry in found:
        for key in THEIRS:
            seconds = peers.get((entry["data"], entry["target"], key), math.nan)
            entry[f"{key} / it"] = seconds / entry["seconds"] if entry["arrived"] else math.nan
    return found


def table(lines: Any) -> str:
    """The table as Markdown, a part for each click log."""
    text = []
    for name in dict.fromkeys(lines["data"]):
        some = lines[lines["data"] == name]
        first = some[some["method"] != "mean rate per ad"].iloc[0]
        text.append(
            f"`{name}`: {first['train']:,.0f} training rows ({first['rows']:,.0f} weighted ones), {first['test']:,.0f} "
            f"test rows, {first['columns']:.0f} columns, λ = {first['lam']:g}, F* = {first['objective']:.6f}\n"
        )
        text += ["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
        for e in summary(some):
            threads = "" if math.isnan(e["threads"]) else f"{e['threads']:.0f}"
            if e["remark"]:
                text.append(f"| {e['method']} | {e['remark']} |" + " |" * (len(HEAD) - 2))
                continue
            gap = "" if math.isnan(e["target"]) else f"{e['target']:.0e}"
            gap += "" if e["arrived"] or not gap else f", not reached: {e['gap']:.1e}"
            ratios = [_number(e[f"{key} / it"], ".1f") for key in THEIRS]
            cells = [e["method"], threads, gap, _number(e["seconds"], ".3g"), _number(e["cpu_seconds"], ".3g")]
            cells += [_number(e["step"], ".0f"), _number(e["passes"], ".3g"), _number(e["peak_bytes"] / 1e6, ".0f")]
            cells += [f"{e['area']:.4f} ± {e['error']:.4f}", *ratios]
            text.append("| " + " | ".join(cells) + " |")
        text.append("")
    return "\n".join(text)


def _number(value: float, form: str) -> str:
    return "" if math.isnan(value) else format(value, form)


def main(words: list[str]) -> None:
    """Measure, store, print."""
    import pandas as pd

    parser = argparse.ArgumentParser(prog="pianobench.experiments.clicks.table", description=__doc__)
    parser.add_argument("data", nargs="*", default=DATA, help=f"click logs; by default {' '.join(DATA)}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--vw-repeats", type=int, help="of Vowpal Wabbit, where its runs are long; as --repeats")
    parser.add_argument("--vw-passes", type=int, default=300, help="of Vowpal Wabbit at most")
    parser.add_argument(
        "--vw-threads",
        type=int,
        nargs="*",
        help="of Vowpal Wabbit; by default one",
    )
    known = [*OURS, *ONLINE, *THEIRS]
    parser.add_argument("--methods", nargs="+", default=known, choices=known, metavar="KEY", help=", ".join(known))
    parser.add_argument("--targets", nargs="+", type=float, default=TARGETS, help="relative gaps")
    parser.add_argument("--lam", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=PLACE, metavar="DIR")
    said = parser.parse_args(words)
    once = said.repeats if said.vw_repeats is None else said.vw_repeats
    vw_threads = tuple(said.vw_threads or [1])
    targets = tuple(sorted(said.targets, reverse=True))
    plan = Plan(said.lam, said.repeats, once, said.vw_passes, vw_threads, tuple(said.methods), targets)
    record = provenance.describe("table-1", ["python", "-m", "pianobench.experiments.clicks.table", *words])
    for data in said.data:
        lines: list[dict[str, Any]] = []
        for line in run(data, plan):
            lines.append(line)
            print(json.dumps(line), file=sys.stderr, flush=True)
            now = {**record, "ended_at": provenance.now(), "load_after": machine.load()}
            store(said.out, data.partition(":")[0], pd.DataFrame(lines), now)
    print(stored(said.out))


def store(folder: Path, name: str, lines: Any, record: dict[str, Any]) -> None:
    """Write the lines of a click log and the record of what made them; after each line, the next may take minutes."""
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    lines.to_csv(text, index=False, float_format="%.9g", lineterminator="\n")
    write_atomically(folder / f"{name}.csv", text.getvalue().encode())
    write_atomically(folder / f"{name}.json", (json.dumps(record, indent=1) + "\n").encode())


def stored(folder: Path = PLACE) -> str:
    """The table of all lines that are stored in a folder."""
    import pandas as pd

    return "\n".join(table(pd.read_csv(file)) for file in sorted(folder.glob("*.csv")))


if __name__ == "__main__":
    main(sys.argv[1:])
