"""What a probe is told and what it yields."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pianobench.algorithms.result import Result
from pianobench.problems import Problem


class Unmeasured(Exception):
    """The quantity cannot be measured on this problem; the message says why."""


class OutOfTime(Unmeasured):
    """Not within the allowed seconds; the message says how far it came."""


def check_arrived(result: Result, what: str) -> None:
    """Refuse a solution that a probe needs and has not.

    Raises
    ------
    Unmeasured
    """
    if result.status != "converged":
        kind = OutOfTime if result.status == "timeout" else Unmeasured
        raise kind(f"{what}: {result.status}, {result.reason}")


@dataclass(frozen=True)
class Number:
    """One line of the table of probes.

    Attributes
    ----------
    quantity, arm : str
        As the rules name them.
    value : float
    axis : str, optional
        Name of a further axis.
    x : float, optional
        Place on it.
    """

    quantity: str
    arm: str
    value: float
    axis: str | None = None
    x: float | None = None


@dataclass(frozen=True)
class Setting:
    """One cell of a grid.

    Attributes
    ----------
    problem : Problem
    X, y : arrays
        What it was made of.
    lam : float or None
        Strength in user units.
    lam_factor : float or None
        Strength over ``lambda_max`` where the grid gives it so.
    dataset : str
        Name of the data.
    seed : int
    seconds : float
        That it may take; what takes longer is ended from outside.
    """

    problem: Problem
    X: Any
    y: Any
    lam: float | None
    lam_factor: float | None = None
    dataset: str = ""
    seed: int = 0
    seconds: float = 10.0
    began: float = field(default_factory=time.perf_counter)

    def rng(self) -> np.random.Generator:
        """Draws that the seed alone decides."""
        return np.random.default_rng(self.seed)

    def left(self, share: float = 1.0) -> float:
        """Seconds until this share of the allowed ones is over; not below 0."""
        return max(0.0, self.began + share * self.seconds - time.perf_counter())
