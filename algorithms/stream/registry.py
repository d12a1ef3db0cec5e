"""Learners by name: SA L-BFGS, its repaired form, and what it is held against."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from pianobench.algorithms.stream.learner import Learner
from pianobench.algorithms.stream.rules import Always, BatchRise, CumulativeRise, Never
from pianobench.algorithms.stream.samples import ByRise, Everything, Newest, Uniform
from pianobench.algorithms.stream.trainers import AdaGradPass, LbfgsRun, OnlineStart, SolverRun

ROWS, TOL = 100_000, 1e-4
HELD = 0.1  # of a batch


@dataclass(frozen=True)
class Entry:
    """A learner by name.

    Attributes
    ----------
    title : str
    about : str
        When it trains, and on what.
    whole : bool
        Whether the log must keep all rows.
    make : callable
        Of the rows of a sample and the relative gap.
    penalties : tuple of str
        Those that it takes.
    """

    title: str
    about: str
    whole: bool
    make: Callable[[int, float], Learner]
    penalties: tuple[str, ...] = ("l2", "l1", "elasticnet")


def _solved(tol: float) -> OnlineStart:
    return OnlineStart(then=LbfgsRun(tol))


STREAMS: dict[str, Entry] = {
    "sa-lbfgs": Entry(
        "SA L-BFGS",
        "as written: trains where the share of errors over all rows rises by more than its own spread",
        False,
        lambda rows, tol: Learner(CumulativeRise(), ByRise(rows), OnlineStart(), LbfgsRun(tol)),
    ),
    "sa-lbfgs-repaired": Entry(
        "SA L-BFGS, repaired",
        "trains where the log loss of the newest batch rises by more than chance gives it",
        False,
        lambda rows, tol: Learner(BatchRise(), ByRise(rows), _solved(tol), LbfgsRun(tol), held=HELD),
    ),
    "sa-auto": Entry(
        "SA, repaired, solver chosen",
        "as the one before, each training by the solver that `auto` takes for the sample",
        False,
        lambda rows, tol: Learner(BatchRise(), ByRise(rows), SolverRun(tol), SolverRun(tol), held=HELD),
    ),
    "keep": Entry(
        "First model kept",
        "never trains again",
        False,
        lambda rows, tol: Learner(Never(), ByRise(rows), _solved(tol), LbfgsRun(tol)),
    ),
    "online": Entry(
        "AdaGrad",
        "one pass of AdaGrad over every batch",
        False,
        lambda _rows, _tol: Learner(Always(), Newest(), AdaGradPass(), AdaGradPass()),
        ("l2",),  # the pass knows no other, and would leave it out unsaid
    ),
    "subsample-warm": Entry(
        "Sample of all rows, warm",
        "every batch, from the model at hand",
        False,
        lambda rows, tol: Learner(Always(), Uniform(rows), _solved(tol), LbfgsRun(tol, carry=False)),
    ),
    "subsample-cold": Entry(
        "Sample of all rows, cold",
        "every batch, from 0",
        False,
        lambda rows, tol: Learner(Always(), Uniform(rows), _solved(tol), LbfgsRun(tol, carry=False), warm=False),
    ),
    "full-warm": Entry(
        "All rows, warm",
        "every batch, from the model at hand",
        True,
        lambda _, tol: Learner(Always(), Everything(), _solved(tol), LbfgsRun(tol, carry=False)),
    ),
    "full-cold": Entry(
        "All rows, cold",
        "every batch, from 0",
        True,
        lambda _, tol: Learner(Always(), Everything(), _solved(tol), LbfgsRun(tol, carry=False), warm=False),
    ),
}


def make_stream(key: str, rows: int = ROWS, tol: float = TOL) -> Learner:
    """The learner of that name.

    Parameters
    ----------
    key : str
    rows : int
        Of a sample at most.
    tol : float
        Relative gap of L-BFGS on it.

    Raises
    ------
    ValueError
        There is none of that name, or a value is out of its range.
    """
    return _entry(key).make(rows, tol)


def check_penalty(key: str, kind: str | None) -> None:
    """Refuse a penalty that the learner of that name does not take.

    Raises
    ------
    ValueError
        As `make_stream`, or the penalty is none of its own.
    """
    taken = _entry(key).penalties
    if kind not in taken:
        raise ValueError(f"penalty={kind!r}: {key} takes {' or '.join(map(repr, taken))}")


def _entry(key: str) -> Entry:
    if str(key) not in STREAMS:  # which a list is not either
        near = difflib.get_close_matches(str(key), STREAMS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"stream method {key!r} is unknown: {hint}they are {', '.join(STREAMS)}")
    return STREAMS[key]
