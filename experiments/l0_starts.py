"""How often PIANO finds the global optimum of a small l0 problem, by start: counted against every support.

``python -m pianobench.experiments.l0_starts`` writes ``results/reference/l0/starts.csv`` and the table of
``docs/l0.md``. The same draws give the same counts.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.l0_exhaustive import exhaustive
from pianobench.algorithms.l0_path import STARTS, best, from_starts, path
from pianobench.problems import L0, Problem
from pianobench.problems.penalties import Array
from pianobench.results.attempt import write_atomically

SHAPES = ((60, 3, 3), (60, 4, 3), (60, 8, 2))  # n, d, m
DRAWS, LAM = 20, 2.0
NEIGHBOURS = (8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.125)  # strengths of the path, as multiples of LAM
FOUND = 1e-5  # excess over the global minimum, relative to it, that counts as found
PLACE = Path(__file__).parents[1] / "results" / "reference" / "l0" / "starts.csv"
WAYS = (*STARTS, "path", "l1 shifted")


def draw(n: int, d: int, m: int, seed: int) -> tuple[Array, NDArray[np.intp]]:
    """Normal X (n, d), and labels of a softmax in which two weights of five are not 0; every class occurs."""
    rng = np.random.default_rng([n, d, m, seed])
    X = rng.normal(size=(n, d))
    T = 1.5 * rng.normal(size=(d, m)) * (rng.random((d, m)) < 0.4)
    y = (X @ T + rng.gumbel(size=(n, m))).argmax(axis=1)
    y[:m] = np.arange(m)
    return X, y


def row(n: int, d: int, m: int, seed: int) -> dict[str, float]:
    """Global minimum of one draw and the excess over it of each way."""
    X, y = draw(n, d, m, seed)
    problem, least = Problem(X, y, penalty=L0(LAM)), exhaustive(X, y, LAM)
    reached = {name: report.objective for name, (_, report) in from_starts(problem).items()}
    points = best(path(problem, [LAM * factor for factor in NEIGHBOURS]))
    reached["l1 shifted"] = from_starts(problem, ["l1"], shift=True)["l1"][1].objective
    reached["path"] = next(point.report.objective for point in points if point.lam == LAM)
    facts = {"n": n, "d": d, "m": m, "seed": seed, "lam": LAM, "minimum": least.objective}
    return {**facts, "nnz": int(least.support.sum()), **{way: reached[way] - least.objective for way in WAYS}}


def main() -> None:
    """Count, and store one line a draw."""
    import pandas as pd

    rows = []
    for n, d, m in SHAPES:
        for seed in range(DRAWS):
            rows.append(row(n, d, m, seed))
            print(rows[-1], file=sys.stderr, flush=True)
    text = io.StringIO()
    pd.DataFrame(rows).to_csv(text, index=False, float_format="%.6g", lineterminator="\n")
    PLACE.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(PLACE, text.getvalue().encode())
    print(table())


def table() -> str:
    """The counts as Markdown, from the stored lines: found of drawn, and the median excess where not found."""
    import pandas as pd

    rows = pd.read_csv(PLACE)
    lines = ["| n, d, m | " + " | ".join(WAYS) + " | any |", "|---" * (len(WAYS) + 2) + "|"]
    for (n, d, m), some in rows.groupby(["n", "d", "m"]):
        found = some[list(WAYS)].le(FOUND * some["minimum"], axis=0)
        cells = []
        for way in WAYS:
            missed = (some[way] / some["minimum"])[~found[way]]
            cells.append(f"{found[way].sum()} of {len(some)}" + (f" ({missed.median():.0%})" if len(missed) else ""))
        lines.append(f"| {n}, {d}, {m} | " + " | ".join(cells) + f" | {found.any(axis=1).sum()} of {len(some)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
