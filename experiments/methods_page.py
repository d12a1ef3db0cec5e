"""``docs/methods.md``: the registry, the solvers' source, what only people can say, and the stored table, on one page.

``python -m pianobench.experiments.methods_page`` writes it anew. What only people can say is ``docs/methods.toml``.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pianobench.algorithms.registry import SOLVERS, Entry, make_solver
from pianobench.results import methods

if TYPE_CHECKING:
    import pandas as pd

DOCS = Path(__file__).parents[1] / "docs"
KINDS = ("none", "l2", "l1", "elasticnet", "l0")
ASKED = ("flops", "parallel", "proven")  # keys of a method in methods.toml; `departs` may be there too
SIZE = {"n": 10_000, "p": 1_001, "m": 10, "nnz": 10_000_000, "itemsize": 8}  # at which memory is given
APART = frozenset({"contract", "loop", "registry"})  # modules that are no part of a method


def missing() -> list[str]:
    """Registered keys of which ``methods.toml`` says nothing, or not all, and keys in it that are not registered."""
    told = _told()
    bare = [key for key in SOLVERS if not set(ASKED) <= set(told.get(key, {}))]
    return bare + [key for key in told if key not in SOLVERS]


def page() -> str:
    """The page.

    Raises
    ------
    StoreError
        There is no stored table.
    """
    rows = methods.read()
    parts = [_head(), _what(), _cost(rows), _standing(rows), _departures(), _hyperparameters()]
    return "\n\n".join(parts) + "\n"


def write() -> None:
    """Write the page."""
    (DOCS / "methods.md").write_text(page(), "utf-8")


def _told() -> dict[str, dict[str, str]]:
    return dict(tomllib.loads((DOCS / "methods.toml").read_text("utf-8")))


def _head() -> str:
    return (
        "# Methods\n\n"
        "Every registered solver. This page is generated: `make methods` measures and writes it, `python -m\n"
        "pianobench.experiments.methods_page` only writes it, from the registry, the solvers' source, "
        "`docs/methods.toml`\nand `results/reference/methods`. A test keeps it in step. The keys of the sources are "
        "those of `references.md`."
    )


def _what() -> str:
    table = _table(
        ("key", "method", "source", "minimises the loss with", "one step", "F never rises", "asks for"),
        (
            (
                f"`{key}`",
                entry.title,
                f"[{entry.citation}]",
                ", ".join(_word(kind) for kind in KINDS if kind in entry.penalties),
                entry.step_is,
                "yes" if entry.solver_class.monotone else "not proven",
                ", ".join(sorted(entry.solver_class.needs)) or "gradients",
            )
            for key, entry in SOLVERS.items()
        ),
    )
    return (
        "## What they solve\n\n"
        "*F never rises*: proven in exact arithmetic for every setting of the method. *Asks for*: what the rows must\n"
        "offer beyond value and gradient (`contract.md`); *columns* and *rows in order* need all rows in one place.\n\n"
        + table
    )


def _cost(rows: pd.DataFrame) -> str:
    told = _told()
    table = _table(
        ("key", "flops of a step", "in gradients", "memory", "parallel over", "convergence"),
        (
            (
                f"`{key}`",
                told.get(key, {}).get("flops", "?"),
                _gradients(rows[rows["solver"] == key]),
                _bytes(make_solver(key).memory(**SIZE)),
                told.get(key, {}).get("parallel", "?"),
                told.get(key, {}).get("proven", "?"),
            )
            for key in SOLVERS
        ),
    )
    return (
        "## What a step costs\n\n"
        "N is the number of stored entries of X with the intercept's column, n p if X is dense. A gradient takes "
        "4 N m + 25 n m\nflops: two products and the softmax. *In gradients*: the median over the stored runs, with "
        "set-up shared out over\nthe steps; the range where half of them lie. *Memory* besides X, at n = 10,000, "
        "d = 1,000 dense, m = 10, float64.\n\n" + table
    )


def _standing(rows: pd.DataFrame) -> str:
    record = methods.record()
    machine = record["machine"]
    table = _table(
        ("key", *(_word(kind) for kind in KINDS)),
        ((f"`{key}`", *(_stands(rows, key, kind) for kind in KINDS)) for key in SOLVERS),
    )
    notes = [line[2:] for line in (methods.FOLDER / "config.toml").read_text("utf-8").splitlines() if line[:2] == "# "]
    busy = int(rows["disturbed"].sum())
    commits = ", ".join(sorted(set(rows["commit"])))
    days = sorted({str(moment)[:10] for moment in rows["measured_at"]})
    return (
        "## Where they stand on the bundled sets\n\n"
        "`a/b/c: g`: of c runs a reached the certified gap 1e-6 and b the gap 1e-3, those that reached 1e-6 in g "
        "gradients\n(median). l0, which has no gap: runs that came to rest of all runs. A dash: the method refuses "
        "the penalty; a dot: not\nmeasured yet. Problems without a minimiser are left out. No target was set: where "
        "a method did not arrive, the table\nsays how far it came under its cap.\n\n"
        + table
        + "\n\n"
        + "\n".join(f"- {note}" for note in notes)
        + f"\n- {len(rows)} runs on {machine.get('cpu', machine)}, {days[0]} to {days[-1]}, commit {commits}; {busy} "
        "of them shared the\n  machine with other work, so that fewer steps fitted under the cap. Counts of "
        "gradients are not touched by that."
    )


def _departures() -> str:
    told, lines = _told(), []
    for key, entry in SOLVERS.items():
        said = [told[key]["departs"]] if "departs" in told.get(key, {}) else []
        lines += [f"- `{key}`: {text}" for text in [*said, *departures(entry)]]
    return (
        "## Departures from the papers\n\nWhat the source marks with `departs:`, and what is of no single line. "
        "Methods without an entry have none that is marked.\n\n" + "\n".join(lines)
    )


def departures(entry: Entry) -> list[str]:
    """What the method's source, what it shares with others included, marks with ``departs:``, each only once."""
    found: dict[str, None] = {}
    for name in _parts(entry.module):
        text = inspect.getsource(import_module(name))
        for match in re.finditer(r"# departs: (.*(?:\n\s*# (?!departs:).*)*)", text):
            found[re.sub(r"\s*\n\s*# ", " ", match[1]).strip()] = None
    return list(found)


def _parts(module: str) -> Iterator[str]:
    """The module and what methods share that it is put together from.

    Not the modules of other methods, from which a method may take no more than a function, nor loop and registry.
    """
    others = APART | {entry.place.partition(":")[0] for entry in SOLVERS.values()}
    seen, ahead = set(), [module]
    while ahead:
        name = ahead.pop(0)
        if name in seen:
            continue
        seen.add(name)
        yield name
        text = inspect.getsource(import_module(name))
        imported = re.findall(r"^from pianobench\.algorithms\.(\w+) import", text, re.M)
        ahead += [f"pianobench.algorithms.{part}" for part in imported if part not in others]


def _hyperparameters() -> str:
    lines = []
    for key, entry in SOLVERS.items():
        values = ", ".join(f"{f.name} = {f.default}" for f in fields(entry.solver_class) if f.init)
        lines.append(f"- `{key}`: {values or 'none'}")
    return (
        "## Hyper-parameters\n\nWith their defaults; `params = { name = value }` in a configuration. The classes' "
        "docstrings explain them.\n\n" + "\n".join(lines)
    )


def _gradients(rows: pd.DataFrame) -> str:
    some = rows[(rows["steps"] >= 1) & rows["gradient_equivalents"].notna()]
    if not len(some):
        return "·"
    low, middle, high = (some["gradient_equivalents"] / some["steps"]).quantile([0.25, 0.5, 0.75])
    return f"{middle:.3g}" + (f" ({low:.3g} to {high:.3g})" if high > 1.05 * low else "")


def _stands(rows: pd.DataFrame, key: str, kind: str) -> str:
    if kind not in SOLVERS[key].penalties:
        return "–"
    some = rows[rows["penalty"] == kind]
    without = some.loc[some["status"] == "no-minimiser", "dataset"].unique()
    some = some[(some["solver"] == key) & ~some["dataset"].isin(without)]
    if not len(some):
        return "·"
    if kind == "l0":
        return f"{(some['status'] == 'stationary').sum()}/{len(some)}"
    reached = some[some["gap"] <= 1e-6]
    text = f"{len(reached)}/{(some['gap'] <= 1e-3).sum()}/{len(some)}"
    return text + (f": {reached['gradient_equivalents'].median():.3g}" if len(reached) else "")


def _word(kind: str) -> str:
    return {"none": "no penalty", "elasticnet": "elastic net"}.get(kind, kind)


def _bytes(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count / 1e3:.3g} kB"


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    titles = list(head)
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


if __name__ == "__main__":
    for name in missing():
        print(f"docs/methods.toml and the registry do not agree on {name!r}", file=sys.stderr)
    write()
