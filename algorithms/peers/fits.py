"""One fit of a black box: on a clock of its own, quiet, with so many threads, and certified at the point it gives."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pianobench.algorithms.peers.contract import BlackBox
from pianobench.algorithms.peers.output import printed
from pianobench.problems import Certificate, Problem, certificate
from pianobench.problems.engines.memory import MemoryRows
from pianobench.problems.penalties import Array


class Raised(Exception):
    """The library raised an exception."""


@dataclass(frozen=True)
class Fit:
    """A fit and what is known of its result.

    Attributes
    ----------
    budget : int
    seconds : float
        Of `BlackBox.fit` alone, or what it tells of a process of its own.
    W : array (p, m)
    certificate : Certificate
    info : dict
        What the box told (``iterations``, ``ended``), and what it said: ``warnings`` and ``printed``.
    """

    budget: int
    seconds: float
    W: Array
    certificate: Certificate
    info: dict[str, Any]


@dataclass
class Record:
    """What is known besides the result; `Result.state` of a black box.

    Attributes
    ----------
    convert_seconds, wall_seconds : float
        For `convert`; for everything, certificates included.
    fits : list of dict
        ``budget``, ``seconds`` and `Fit.info` of each fit.
    """

    convert_seconds: float
    wall_seconds: float = 0.0
    fits: list[dict[str, Any]] = field(default_factory=list)


class Fitter:
    """A box with one problem in its hands."""

    def __init__(self, box: BlackBox, problem: Problem, threads: int, seed: int, reference: float | None) -> None:
        self.box, self.problem, self.threads, self.seed, self.reference = box, problem, threads, seed, reference
        self.began = time.perf_counter()
        self.native = box.convert(problem)
        self.record = Record(self.wall)
        self.bounds: list[tuple[int, float]] = []  # budget and lower bound of each fit

    @property
    def wall(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.began

    def fit(self, budget: int) -> Fit:
        """Fit anew with this many iterations at most.

        Raises
        ------
        Raised
            What the library raised, as text.
        """
        with warnings.catch_warnings(record=True) as caught, threadpool_limits(self.threads), printed() as text:
            warnings.simplefilter("always")
            start = time.perf_counter()
            try:
                coef, b, info = self.box.fit(self.native, budget, self.threads, self.seed)
            except Exception as error:  # of any kind: somebody else's code
                raise Raised(f"{type(error).__name__}: {error}") from error
            seconds = info.get("seconds", time.perf_counter() - start)
        said = [f"{w.category.__name__}: {w.message}" for w in caught]
        info = {**info, "warnings": said, "printed": "".join(text)}
        self.record.fits.append({"budget": budget, **info, "seconds": seconds})
        W = self.problem.from_user(coef, b)
        return Fit(budget, seconds, W, self._certificate(budget, W), info)

    def nothing(self) -> Fit:
        """W = 0, for want of a fit."""
        W = self.problem.zeros()
        return Fit(0, 0.0, W, self._certificate(0, W), {})

    def _certificate(self, budget: int, W: Array) -> Certificate:
        """That of W, with the best bound of all fits whose budget was no larger: as if they were one run."""
        c = certificate(self.problem, W, self.reference)
        self.bounds.append((budget, c.lower if c.kind == "dual" else 0.0))
        bound = max(lower for at, lower in self.bounds if at <= budget)
        return replace(c, lower=min(bound, c.objective), kind="dual") if bound > c.lower else c


def warm_up(box: BlackBox, problem: Problem, threads: int = 1) -> None:
    """One fit to rows of the problem, at least one of each class: imports, first calls and pools of threads."""
    rows = problem.home
    assert isinstance(rows, MemoryRows)
    firsts = np.unique(np.concatenate([part.codes for part in rows.parts]), return_index=True)[1]
    some = np.linspace(0, problem.n - 1, min(problem.n, 64)).astype(np.intp)
    Fitter(box, problem.rows(np.unique(np.concatenate([firsts, some]))), threads, 0, None).fit(2)
