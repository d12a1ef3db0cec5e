"""Ranking over several problems, for each kind of penalty: within one, methods are either taken or refused as a whole.

A method's number on a problem is the ratio of its time to that of the fastest there. A gap that was not reached is
charged as `CHARGE` times the seconds that were allowed. Worst and median of the ratios come before their geometric
mean, which gives the order.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from pianobench.results.ranking import LOOSE, Contest, Standing, contests, method_of

CHARGE = 2.0
AGREEING = 0.8
"""Share of the common problems on which one must be faster, to be called ahead of another over all."""

COLUMNS = {
    "penalty": "kind of penalty",
    "threads": "threads of each run",
    "level": "gap to reach",
    "method": "key and parameters of the method",
    "solver": "key of the method",
    "title": "name for people",
    "place": "best place that the measurements leave open",
    "last_place": "worst place that they leave open",
    "problems": "problems that it ran on, of those that any method solved",
    "reached": "those on which it reached the gap",
    "of": "problems that any method solved",
    "worst": "largest ratio to the fastest",
    "median": "median ratio",
    "mean": "geometric mean of the ratios: the order",
    "mean_with_compile": "the same for times with compiling",
    "undecided": "neighbours in this order that it cannot be told apart from",
    "note": "refusals and failures",
}


def over_problems(rows: pd.DataFrame, curves: pd.DataFrame, loose: float = LOOSE) -> pd.DataFrame:
    """Place of each method over all problems of each penalty; `rows` and `curves` as for `ranking.by_problem`.

    Problems on which no method reached the gap say nothing of who is faster, and are left out.
    """
    groups: dict[tuple[str, int, float], list[Contest]] = {}
    order: dict[float, int] = {}
    for level, contest in contests(rows, curves, loose):
        first = contest.standings[0].rows.iloc[0]
        groups.setdefault((str(first["penalty"]), int(first["threads_asked"]), level), []).append(contest)
        order.setdefault(level, len(order))
    records: list[dict[str, Any]] = []
    for (penalty, threads, level), members in sorted(groups.items(), key=lambda item: order[item[0][2]]):
        solved = [contest for contest in members if math.isfinite(contest.best)]
        for record in _rank(solved, members):
            records.append({"penalty": penalty, "threads": threads, "level": level, **record})
    table = pd.DataFrame(records, columns=list(COLUMNS))
    return table.astype(dict.fromkeys(("threads", "place", "last_place", "problems", "reached", "of"), "Int64"))


def _rank(solved: Sequence[Contest], members: Sequence[Contest]) -> list[dict[str, Any]]:
    titles = list(dict.fromkeys(s.title for contest in members for s in contest.standings))
    records = [_record(title, solved, members) for title in titles]
    # Those that ran on all problems first: a mean over the easy half is no rival to one over all.
    records.sort(key=lambda r: (not r["problems"], r["problems"] < r["of"], r.get("mean", math.inf)))
    ranked = [r for r in records if r["problems"]]
    for record in ranked:
        others = [r for r in ranked if r is not record]
        record["place"] = 1 + sum(_ahead(r["title"], record["title"], solved) for r in others)
        record["last_place"] = 1 + len(others) - sum(_ahead(record["title"], r["title"], solved) for r in others)
    for a, b in pairwise(ranked):
        if not _ahead(a["title"], b["title"], solved) and a["reached"]:
            a["undecided"].append(b["title"])
            b["undecided"].append(a["title"])
    return [{**record, "undecided": ", ".join(record["undecided"])} for record in records]


def _record(title: str, solved: Sequence[Contest], members: Sequence[Contest]) -> dict[str, Any]:
    everywhere = [_of(contest, title) for contest in members]
    first = next(standing for standing in everywhere if standing is not None)
    row = first.rows.iloc[0]
    outside = [s for s in everywhere if s is not None and not s.ranked]
    record: dict[str, Any] = {
        "method": method_of(row),
        "solver": row["solver"],
        "title": title,
        "problems": 0,
        "reached": 0,
        "of": len(solved),
        "undecided": [],
        "note": "; ".join(dict.fromkeys(f"{s.outcome}: {s.note()}" for s in outside)),
    }
    ran = [(contest, s) for contest in solved if (s := _of(contest, title)) is not None and s.ranked]
    if not ran:
        return record
    best_compiled = [min(s.times_with_compile.median for s in c.standings if s.ranked) for c, _ in ran]
    ratios = [charged(s) / contest.best for contest, s in ran]
    compiled = [charged(s, compiled=True) / best for (_, s), best in zip(ran, best_compiled, strict=True)]
    return record | {
        "problems": len(ran),
        "reached": sum(s.outcome == "reached" for _, s in ran),
        "worst": max(ratios),
        "median": float(np.median(ratios)),
        "mean": _geometric_mean(ratios),
        "mean_with_compile": _geometric_mean(compiled),
    }


def charged(standing: Standing, compiled: bool = False) -> float:
    """Median time; where the gap was not reached, `CHARGE` times the seconds allowed, or used if they were more."""
    times = standing.times_with_compile if compiled else standing.times
    if math.isfinite(times.median):
        return times.median
    return CHARGE * max(max(float(row["max_seconds"]), standing.given(row)) for _, row in standing.rows.iterrows())


def _of(contest: Contest, title: str) -> Standing | None:
    return next((s for s in contest.standings if s.title == title), None)


def _ahead(one: str, other: str, solved: Sequence[Contest]) -> bool:
    common = [
        (contest, a, b)
        for contest in solved
        if (a := _of(contest, one)) and (b := _of(contest, other)) and a.ranked and b.ranked
    ]
    return bool(common) and sum(c.ahead(a, b) for c, a, b in common) >= AGREEING * len(common)


def _geometric_mean(ratios: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(np.maximum(ratios, 1e-300)))))
