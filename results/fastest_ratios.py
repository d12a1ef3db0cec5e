"""How many times as long as the automatic choice others take, cell by cell: pure functions of the stored table.

A cell is a data set, a penalty and a strength. Where only one side reached the gap the ratio is a bound: a run of ours
that its time ended takes at least that time, a peer at least as long as its longest fit that missed. A method that gave
up, with time left, never arrives.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from pianobench.results.judging import Times, faster
from pianobench.results.ranking import OUT_OF_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable

CELL = ["dataset", "penalty", "lam_factor"]
KINDS = ("both", "ours only", "theirs only", "neither", "not measured")
SURELY = 1.3  # the rule is right where its choice takes at most this many times as long as the best of ours ...
SECONDS = 0.010  # ... or so much longer: below it start-up, caches and the clock decide


def ratios(rows: pd.DataFrame, wanted: Mapping[str, Collection[str]], column: str) -> pd.DataFrame:
    """The fastest of some others over `auto`, for each cell.

    Parameters
    ----------
    rows : DataFrame
        Of one experiment and one number of threads.
    wanted : mapping
        Keys of the others by penalty. A cell that lacks one of them, or `auto`, is not measured.
    column : str
        Seconds to the gap: one of `fastest.LEVELS`.

    Returns
    -------
    DataFrame
        For each cell of `rows`: `kind`, one of `KINDS`; `ours`, `theirs` seconds, NaN where not reached; `chosen`,
        `peer`; `ratio`, a bound from below or above where `kind` is not "both", NaN without one; `word`: faster,
        slower or undecided, by the rule of single runs.
    """
    return pd.DataFrame(
        [
            {**dict(zip(CELL, cell, strict=True)), **_ratio(_by_solver(members), wanted[str(cell[1])], column)}
            for cell, members in rows.groupby(CELL, sort=False)
        ],
        columns=[*CELL, "kind", "ours", "chosen", "theirs", "peer", "ratio", "word"],
    )


def _by_solver(members: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {str(row["solver"]): row for row in cast("list[dict[str, Any]]", members.to_dict("records"))}


def _ratio(here: dict[str, dict[str, Any]], wanted: Collection[str], column: str) -> dict[str, Any]:
    auto = here.get("auto")
    if auto is None or not wanted or not set(wanted) <= set(here):
        return {"kind": "not measured"} if auto is None else {"kind": "not measured", **_of(auto, column)}
    others = [here[key] for key in wanted]
    at_least = min(least(row, column) for row in others)
    arrived = [row for row in others if pd.notna(row[column])]
    first = min(arrived, key=lambda row: float(row[column])) if arrived else None
    ours, bound = float(auto[column]), least(auto, column)
    record = _of(auto, column)
    if first is not None:
        theirs = float(first[column])
        record |= {"theirs": theirs, "peer": first["solver"]}
        if not math.isnan(ours):
            return record | {"kind": "both", "ratio": theirs / ours, "word": word(ours, ours, theirs, theirs)}
        said = word(math.inf, bound, theirs, theirs)
        return record | {"kind": "theirs only", "ratio": theirs / bound, "word": said}
    if not math.isnan(ours):
        said = word(ours, ours, math.inf, at_least)
        return record | {"kind": "ours only", "ratio": at_least / ours, "word": said}
    return record | {"kind": "neither", "word": "undecided"}


def _of(auto: Mapping[str, Any], column: str) -> dict[str, Any]:
    return {"ours": auto[column], "chosen": auto["chosen"]}


def least(row: Mapping[str, Any], column: str) -> float:
    """Seconds that a run needs at the least to the gap: those it took, or was seen to be too short."""
    if pd.notna(row[column]):
        return float(row[column])
    return float(row["seconds"]) if row["status"] in OUT_OF_TIME and pd.notna(row["seconds"]) else math.inf


def word(ours: float, ours_least: float, theirs: float, theirs_least: float) -> str:
    """What a run of each shows: ours is faster, slower, or neither."""
    mine, others = Times((ours,), (ours_least,)), Times((theirs,), (theirs_least,))
    if faster(mine, others):
        return "faster"
    return "slower" if faster(others, mine) else "undecided"


def summary(table: pd.DataFrame) -> dict[str, Any]:
    """Counts of `ratios`' kinds and words, worst and median ratio where both arrived, and the weakest of the bounds."""
    both, only, behind = (table.loc[table["kind"] == kind, "ratio"] for kind in ("both", "ours only", "theirs only"))
    return {
        **{kind: int((table["kind"] == kind).sum()) for kind in KINDS},
        **{said: int((table["word"] == said).sum()) for said in ("faster", "undecided", "slower")},
        "worst": both.min(),
        "median": both.median(),
        "least bound": only.min(),
        "most bound": behind.max(),
    }


def claimed(rows: pd.DataFrame, peers: Iterable[str]) -> pd.DataFrame:
    """For each peer: runs, those that reached their tolerance, and those that said so and had missed it."""
    records = []
    for key in peers:
        mine = rows[rows["solver"] == key]
        missed = mine[mine["reason"].fillna("").str.startswith("reports success")]
        where = missed.sort_values("gap").to_dict("records")[-1] if len(missed) else None
        records.append(
            {
                "peer": key,
                "runs": len(mine),
                "arrived": int((mine["status"] == "converged").sum()),
                "claimed": len(missed),
                "median": missed["gap"].median(),
                "worst": missed["gap"].max(),
                "where": "" if where is None else f"{where['dataset']}, {where['penalty']}, {where['lam_factor']:g}",
            }
        )
    return pd.DataFrame(records)


def judged(rows: pd.DataFrame, wanted: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """For each cell the method that `auto` takes against the best other, in processor seconds of set-up and steps.

    Parameters
    ----------
    rows : DataFrame
        Of one experiment and one number of threads.
    wanted : mapping
        Keys of our methods by penalty. Left out are cells that lack one of them, or `auto`, or that none solved.

    Returns
    -------
    DataFrame
        `chosen`, the method taken, and `ours`, its seconds: the mean of `auto`'s run and its own, the same work, NaN
        where neither arrived; `method` the fastest other one and `best` its seconds; `ratio` of the two, at least so
        much where `ours` is missing, 0 where no other one arrived; `again`: the one run of the same work over the
        other; `right`: `ours` is at most `SURELY` times the best, or `SECONDS` longer.
    """
    busy = (rows["cpu_seconds"] / rows["wall_seconds"]).clip(upper=1.0)  # the share of its time that the run had a core
    rows = rows.assign(cpu=busy * rows["to_1e_6"], spent=busy * rows["seconds"])
    records = []
    for cell, members in rows.groupby(CELL, sort=False):
        here, methods = _by_solver(members), wanted[str(cell[1])]
        if not {"auto", *methods} <= set(here):
            continue
        auto = here["auto"]
        twins = [auto, *([here[auto["chosen"]]] if auto["chosen"] in here else [])]
        arrived = [float(row["cpu"]) for row in twins if pd.notna(row["cpu"])]
        others = [here[key] for key in methods if key != auto["chosen"] and pd.notna(here[key]["cpu"])]
        if not arrived and not others:
            continue
        ours = sum(arrived) / len(arrived) if arrived else max(float(row["spent"]) for row in twins)
        first = min(others, key=lambda row: float(row["cpu"])) if others else None
        best = float(first["cpu"]) if first is not None else math.inf
        records.append(
            {
                **dict(zip(CELL, cell, strict=True)),
                "ours": ours if arrived else math.nan,
                "chosen": auto["chosen"],
                "best": best,
                "method": first["solver"] if first is not None else "",
                "ratio": ours / best,
                "again": arrived[0] / arrived[1] if len(arrived) > 1 else math.nan,
                "right": bool(arrived) and (ours <= SURELY * best or ours - best <= SECONDS),
            }
        )
    columns = [*CELL, "ours", "chosen", "best", "method", "ratio", "again", "right"]
    return pd.DataFrame(records, columns=columns)
