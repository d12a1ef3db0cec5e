"""When is one method faster than another? The rule, on the times of their runs alone.

A time is either reached, or known to be longer than something (the run was still going when its time was up), or
endless (the run gave up). A method is faster only where the measurements exclude anything else; two methods of which
neither is faster are *undecided*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Draws: TypeAlias = NDArray[np.float64]

MARGIN = 1.1
"""With repeats: the 95 % bootstrap interval of the ratio of medians must lie beyond this."""
REPEATS_TO_JUDGE = 5
"""Runs of each that make a bootstrap worth its name; with fewer the rule of single runs holds, on their medians."""
FACTOR_OF_ONE_RUN = 1.5
"""With single runs: the slower must take this many times as long ..."""
SECONDS_OF_ONE_RUN = 0.010
"""... and this much longer: below it start-up, caches and the clock decide."""
DRAWS = 2000


@dataclass(frozen=True)
class Times:
    """Times of one method's runs to one gap.

    Parameters
    ----------
    reached : tuple of float
        Seconds of each run, inf where it did not reach the gap.
    least : tuple of float
        Seconds that each run needs at the least: as in `reached`, and where it did not reach the gap what it was given,
        or inf if it gave up by itself.
    """

    reached: tuple[float, ...]
    least: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median of the times, inf if half of the runs or more did not reach the gap."""
        return _median(self.reached)

    def interval(self) -> tuple[float, float]:
        """95 % bootstrap interval of the median; of fewer than `REPEATS_TO_JUDGE` runs the shortest and the longest."""
        if len(self.reached) < REPEATS_TO_JUDGE:
            return min(self.reached), max(self.reached)
        return _percentiles(self.drawn)

    @cached_property
    def drawn(self) -> Draws:
        """Medians of bootstrap samples."""
        return _medians(np.random.default_rng(0), self.reached)

    @cached_property
    def least_drawn(self) -> Draws:
        """The same of `least`, drawn independently, for the slower of a pair."""
        return _medians(np.random.default_rng(1), self.least)


def faster(one: Times, other: Times) -> bool:
    """Whether the measurements show that `one` is faster than `other`; not so is not the opposite.

    Examples
    --------
    >>> faster(Times((1.0,), (1.0,)), Times((1.4,), (1.4,)))
    False
    >>> faster(Times((1.0,), (1.0,)), Times((math.inf,), (5.0,)))
    True
    """
    mine, others = one.median, _median(other.least)
    if others <= mine:
        return False
    if min(len(one.reached), len(other.reached)) < REPEATS_TO_JUDGE:
        return others >= FACTOR_OF_ONE_RUN * mine and others - mine >= SECONDS_OF_ONE_RUN
    ratios = np.zeros(DRAWS)  # a draw whose median was never reached speaks against
    np.divide(other.least_drawn, one.drawn, out=ratios, where=np.isfinite(one.drawn))
    return _percentiles(ratios)[0] > MARGIN


def _median(values: Sequence[float]) -> float:
    """Median; of an even number the mean of the middle two, so inf where one of them is."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _medians(rng: np.random.Generator, values: Sequence[float]) -> Draws:
    """Medians of `DRAWS` samples drawn with replacement."""
    drawn = np.sort(rng.choice(np.asarray(values, np.float64), (DRAWS, len(values))), axis=1)
    middle: Draws = drawn[:, [(len(values) - 1) // 2, len(values) // 2]]
    means: Draws = middle.mean(axis=1)
    return means


def _percentiles(values: Draws) -> tuple[float, float]:
    # No interpolation: between a number and inf there is nothing.
    low, high = np.quantile(values, (0.025, 0.975), method="inverted_cdf")
    return float(low), float(high)
