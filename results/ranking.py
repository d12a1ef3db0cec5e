"""Ranking of methods by time to a certified gap: pure functions of the tables of a run.

Time to a gap is that of the first checkpoint at or below it, by the clock: a black box is fitted anew for each.
`seconds` is the clock of the method, its own set-up included; `seconds_with_compile` adds the warm-up: compiling, or
loading what an earlier process compiled. See `pianobench.results.judging` for when one method counts as
faster than another.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import pandas as pd

from pianobench.results.judging import Times, faster
from pianobench.results.schema import FAILED

LOOSE = 1e-3
"""The looser gap that is shown beside the tolerance."""
OUT_OF_TIME = frozenset({"timeout", "budget"})
"""Endings that leave open what a longer run would have reached; any other means that it would not have."""
KINDS = ("reached", "not reached", "refused", "failed")

COLUMNS = {
    "dataset": "data set",
    "problem": "penalty and strength, for people",
    "penalty": "its kind",
    "threads": "threads of each run",
    "level": "gap to reach",
    "method": "key and parameters of the method: its identity",
    "solver": "key of the method",
    "title": "name for people, unique within a table",
    "outcome": f"one of {', '.join(KINDS)}",
    "place": "best place that the measurements leave open, 1 the fastest; missing where no method reached the gap",
    "last_place": "worst place that they leave open",
    "seconds": "median time to the gap",
    "seconds_low": "95 % interval of that median; of fewer than 5 runs shortest and longest",
    "seconds_high": "",
    "place_with_compile": "as place, for seconds_with_compile",
    "seconds_with_compile": "median time with compiling",
    "gradient_equivalents": "median cost to the gap",
    "runs": "number of runs",
    "runs_reached": "those that reached the gap",
    "status": "how the runs ended that did not reach it: the first one's status",
    "gap": "median gap at the end",
    "undecided": "neighbours in this order that it cannot be told apart from, by title",
    "note": "why it did not reach the gap, was refused or failed; or what is undecided",
    "test_accuracy": "median share of held-out samples predicted rightly, at the end",
    "test_log_loss": "median of their mean loss",
}


@dataclass(frozen=True, eq=False)
class Standing:
    """One method on one problem: its runs, and their times to one gap."""

    title: str
    level: float
    rows: pd.DataFrame
    curves: pd.DataFrame

    @cached_property
    def firsts(self) -> list[dict[str, Any] | None]:
        """First checkpoint of each run at or below the gap."""
        there = self.curves[self.curves["gap"] <= self.level]
        points: dict[str, Any] = {
            str(p["key"]): p for p in there.sort_values("seconds", kind="stable")[::-1].to_dict("records")
        }
        return [points.get(str(key)) for key in self.rows["key"]]

    @cached_property
    def outcome(self) -> str:
        """One of `KINDS`; several runs are refused or failed only together."""
        statuses = set(self.rows["status"])
        if statuses == {"skipped"}:
            return "refused"
        if statuses <= FAILED:
            return "failed"
        return "reached" if math.isfinite(self.times.median) else "not reached"

    @property
    def ranked(self) -> bool:
        """Whether it has a place."""
        return self.outcome in ("reached", "not reached")

    @cached_property
    def times(self) -> Times:
        """Times on the method's clock."""
        return self._times([0.0] * len(self.rows))

    @cached_property
    def times_with_compile(self) -> Times:
        """The same with the warm-up of each run."""
        return self._times(list(self.rows["warmup_seconds"].fillna(0.0)))

    def _times(self, extra: list[float]) -> Times:
        reached, least = [], []
        for (_, row), first, more in zip(self.rows.iterrows(), self.firsts, extra, strict=True):
            if first is not None:
                reached.append(float(first["seconds"]) + more)
                least.append(reached[-1])
                continue
            reached.append(math.inf)
            least.append(self.given(row) + more if row["status"] in OUT_OF_TIME else math.inf)
        return Times(tuple(reached), tuple(least))

    @staticmethod
    def given(row: Any) -> float:
        """Seconds that a run used, or was allowed where it used them up."""
        used = float(row["seconds"]) if pd.notna(row["seconds"]) else 0.0
        return max(used, float(row["max_seconds"])) if row["status"] == "timeout" else used

    @property
    def gap(self) -> float:
        """Median gap at the end."""
        return float(self.rows["gap"].median())

    @property
    def status(self) -> str:
        """Status of the first run that did not reach the gap."""
        missed = [i for i, first in enumerate(self.firsts) if first is None]
        return str(self.rows.iloc[missed[0]]["status"]) if missed else ""

    def note(self) -> str:
        """Why it did not reach the gap, was refused, or failed."""
        row = self.rows.iloc[0]
        if self.outcome == "refused":
            return str(row["reason"])
        if self.outcome == "failed":
            return f"{row['status']}: {row['reason']}"
        missed = self.firsts.count(None)
        if not missed:
            return ""
        end = f"gap {self.gap:.1e} at the end" if math.isfinite(self.gap) else "no gap known"
        share = f" in {missed} of {len(self.rows)} runs" if len(self.rows) > 1 else ""
        return f"not reached{share} ({end}; {self.status})"


@dataclass(frozen=True, eq=False)
class Contest:
    """All methods on one problem at one gap, the fastest first, then those that did not reach it by their gap."""

    standings: tuple[Standing, ...]

    @cached_property
    def order(self) -> tuple[Standing, ...]:
        """Ranked ones by time, then by gap at the end; then refused and failed ones as they came."""
        return tuple(
            sorted(
                self.standings,
                key=lambda s: (not s.ranked, s.times.median if s.ranked else 0.0, s.gap if s.ranked else 0.0),
            )
        )

    @cached_property
    def _known(self) -> dict[tuple[Standing, Standing, bool], bool]:
        return {}

    def ahead(self, one: Standing, other: Standing, compiled: bool = False) -> bool:
        """Whether `one` is faster than `other`, decidedly."""
        key = (one, other, compiled)
        if key not in self._known:
            times = [s.times_with_compile if compiled else s.times for s in (one, other)]
            self._known[key] = faster(*times)
        return self._known[key]

    def places(self, one: Standing, compiled: bool = False) -> tuple[int, int]:
        """First and last place that the measurements leave open to a ranked method."""
        others = [s for s in self.standings if s.ranked and s is not one]
        before = sum(self.ahead(s, one, compiled) for s in others)
        behind = sum(self.ahead(one, s, compiled) for s in others)
        return 1 + before, 1 + len(others) - behind

    def undecided(self, one: Standing) -> list[str]:
        """Titles of the neighbours in the order that it cannot be told apart from."""
        ranked = [s for s in self.order if s.ranked]
        return [
            (b if a is one else a).title
            for a, b in pairwise(ranked)
            if one in (a, b) and a.outcome == "reached" and not self.ahead(a, b)
        ]

    @property
    def best(self) -> float:
        """Shortest median time; inf if no method reached the gap."""
        return min((s.times.median for s in self.standings if s.ranked), default=math.inf)


def contests(rows: pd.DataFrame, curves: pd.DataFrame, loose: float = LOOSE) -> Iterator[tuple[float, Contest]]:
    """Level and contest, for each problem and each gap: the tolerance, then `loose` where it is looser."""
    titles = method_titles(rows)
    of_key = dict(list(curves.groupby("key", sort=False)))
    rows = rows.assign(title=[titles[method_of(row)] for _, row in rows.iterrows()])
    for _, members in rows.groupby(["dataset", "problem", "threads_asked"], sort=False, dropna=False):
        tolerance = float(members["tolerance"].min())
        groups = [
            (str(title), runs, pd.concat([of_key[key] for key in runs["key"] if key in of_key] or [curves.iloc[:0]]))
            for title, runs in members.groupby("title", sort=False)
        ]
        for level in (tolerance, *([loose] if loose > tolerance else [])):
            yield level, Contest(tuple(Standing(title, level, runs, points) for title, runs, points in groups))


def by_problem(rows: pd.DataFrame, curves: pd.DataFrame, loose: float = LOOSE) -> pd.DataFrame:
    """Place and time of each method on each problem.

    Parameters
    ----------
    rows, curves : DataFrame
        Tables with the columns of `pianobench.results.schema`.
    loose : float
        A second gap, beside the tolerance of the run.

    Returns
    -------
    DataFrame
        The columns of `COLUMNS`: for each problem and each gap a row for each method, the fastest first.
    """
    records = [_record(contest, standing) for _, contest in contests(rows, curves, loose) for standing in contest.order]
    table = pd.DataFrame(records, columns=list(COLUMNS))
    whole = ("threads", "place", "last_place", "place_with_compile", "runs", "runs_reached")
    return table.astype(dict.fromkeys(whole, "Int64"))


def _record(contest: Contest, standing: Standing) -> dict[str, Any]:
    row = standing.rows.iloc[0]
    record: dict[str, Any] = {
        **{name: row[name] for name in ("dataset", "problem", "penalty", "solver")},
        "threads": row["threads_asked"],
        "level": standing.level,
        "method": method_of(row),
        "title": standing.title,
        "outcome": standing.outcome,
        "note": standing.note(),
        "status": standing.status,
        "undecided": "",
        "runs": len(standing.rows),
        "runs_reached": sum(first is not None for first in standing.firsts),
        "gap": standing.gap,
        **{name: _median_of(standing.rows, name) for name in ("test_accuracy", "test_log_loss")},
    }
    if not standing.ranked:
        return record
    undecided = contest.undecided(standing)
    record |= {
        "undecided": ", ".join(undecided),
        "note": "; ".join(filter(None, (record["note"], f"undecided: {', '.join(undecided)}" * bool(undecided)))),
    }
    if math.isfinite(contest.best):  # else nobody was faster than anybody
        record["place"], record["last_place"] = contest.places(standing)
        record["place_with_compile"], _ = contest.places(standing, compiled=True)
    if standing.outcome == "reached":
        record["seconds"] = standing.times.median
        record["seconds_low"], record["seconds_high"] = standing.times.interval()
        record["seconds_with_compile"] = standing.times_with_compile.median
        costs = [first["gradient_equivalents"] for first in standing.firsts if first is not None]
        record["gradient_equivalents"] = pd.Series(costs).median()
    return record


def _median_of(rows: pd.DataFrame, name: str) -> float:
    return float(rows[name].median()) if name in rows else math.nan


def method_of(row: Any) -> str:
    """Identity of a row's method: its key, with its parameters where it has any."""
    params = json.loads(row["params"]) if isinstance(row["params"], str) else {}
    return str(row["solver"]) + (f"({','.join(f'{k}={v}' for k, v in params.items())})" if params else "")


def method_titles(rows: pd.DataFrame) -> dict[str, str]:
    """A name for each method, by its identity: that of the literature, with what tells it from its namesakes."""
    names = {method_of(row): str(row["solver_title"]) for _, row in rows.iterrows()}
    shared = {name for name in names.values() if list(names.values()).count(name) > 1}
    return {method: f"{name} [{method}]" if name in shared else name for method, name in names.items()}


def without_title(note: str, title: str) -> str:
    """A reason without the method's name at its head; a peer's says no "(default)" there."""
    for name in (title, title.partition(" (")[0]):
        note = note.removeprefix(f"{name} ")
    return note
