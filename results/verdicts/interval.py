"""What a statistic may be, given the runs: an interval, and how surely it lies on a side of a bound.

A count is what it is. A time needs `judging.REPEATS_TO_JUDGE` runs of each arm; its interval is the 95 % bootstrap
interval of a median, or of a ratio of medians. A run that did not reach its gap counts at the least that it needs, in
the direction that is against the conclusion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pianobench.results.judging import REPEATS_TO_JUDGE, Times
from pianobench.results.verdicts.rule import Ask

FLOOR = 0.01
"""No time is known to better than this, relatively: clocks have errors that repeats do not show."""
LEAST_POINTS = 4
"""Places on an axis that a slope or a trend needs."""
LEAST_CELLS = 10
"""Cells that a trend needs: the error of Kendall's tau is that of many."""


@dataclass(frozen=True)
class Interval:
    """95 % interval of a statistic, and the scale and freedom that its p-value is taken from; 0 where it is exact."""

    low: float
    high: float
    centre: float
    error: float = 0.0
    freedom: int = 0
    logarithmic: bool = False

    def p(self, bound: float) -> float:
        """Two-sided p-value of the statistic being this bound."""
        if self.error == 0:
            return 0.0
        centre = self.centre
        if self.logarithmic:
            if bound <= 0 or centre <= 0 or not math.isfinite(centre):
                return 0.0
            centre, bound = math.log(centre), math.log(bound)
        from scipy.stats import t

        return float(2 * t.sf(abs(centre - bound) / self.error, self.freedom))


UNKNOWN = Interval(-math.inf, math.inf, math.nan)
"""Measured, with too few runs or points to say anything."""


def of_pair(ask: Ask, noisy: bool, mine: Times, other: Times | None) -> Interval:
    """Interval of a value, ratio or difference in one cell."""
    if ask.statistic == "value" or other is None:
        return _noisy(mine.drawn, mine.drawn, mine, mine) if noisy and ask.reached is None else _exact(mine)
    if ask.statistic == "difference":
        return _spread([a - b for a, b in zip(mine.reached, other.reached, strict=True)])
    if noisy and min(len(mine.reached), len(other.reached)) < REPEATS_TO_JUDGE:
        return UNKNOWN
    if not noisy:
        low, high = _over(min(other.least), max(mine.reached)), _over(max(other.reached), min(mine.least))
        return UNKNOWN if math.isnan(low) or math.isnan(high) else Interval(low, high, low)
    with np.errstate(divide="ignore", invalid="ignore"):
        least, most = other.least_drawn / mine.drawn, other.drawn / mine.least_drawn
    return _noisy(least, most, mine, other)


def hardest(ask: Ask, found: Sequence[Interval]) -> Interval:
    """Of the intervals against the forms of a rival, what holds against its best, whichever of them that is."""
    if len(found) == 1:
        return found[0]
    bound = ask.above if ask.above is not None else ask.below
    assert bound is not None
    choose = min if ask.above is not None else max
    low, high = choose(one.low for one in found), choose(one.high for one in found)
    if ask.hits(low, high):  # against all of them, so the least certain one counts
        decides = max(found, key=lambda one: one.p(bound))
    else:
        decides = choose(found, key=lambda one: one.high if ask.above is not None else one.low)
    return replace(decides, low=low, high=high)


def _exact(mine: Times) -> Interval:
    return Interval(min(mine.least), max(mine.reached), mine.median)


def _noisy(least: NDArray[np.float64], most: NDArray[np.float64], mine: Times, other: Times) -> Interval:
    runs = min(len(mine.reached), len(other.reached))
    if runs < REPEATS_TO_JUDGE:
        return UNKNOWN
    low = float(np.quantile(np.where(np.isnan(least), 0.0, least), 0.025, method="inverted_cdf"))
    high = float(np.quantile(np.where(np.isnan(most), np.inf, most), 0.975, method="inverted_cdf"))
    # Where one side is endless, the other one is what could be chance.
    finite = next((logs for side in (least, most) if (logs := _logs(side)).size >= side.size / 2), None)
    if finite is None:
        return Interval(low, high, math.inf if low > 0 else 0.0, FLOOR, runs - 1, logarithmic=True)
    error = float(math.hypot(finite.std(), FLOOR))
    return Interval(low, high, float(np.exp(np.median(finite))), error, runs - 1, logarithmic=True)


def _logs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.log(values[np.isfinite(values) & (values > 0)])
    return found


def _spread(values: Sequence[float]) -> Interval:
    """Of differences between seeds: Student's interval of their mean; a single one is exact."""
    found = np.asarray(values, np.float64)
    if not np.isfinite(found).all() or found.size == 0:
        return UNKNOWN
    if found.size == 1:
        return Interval(found[0], found[0], found[0])
    from scipy.stats import t

    error = float(found.std(ddof=1) / math.sqrt(found.size))
    half = float(t.ppf(0.975, found.size - 1)) * error
    mean = float(found.mean())
    return Interval(mean - half, mean + half, mean, error, found.size - 1)


def _over(top: float, bottom: float) -> float:
    """A quotient in which nothing reached is endless; of two that are endless or nothing there is none."""
    if (math.isinf(top) and math.isinf(bottom)) or top == bottom == 0 or min(top, bottom) < 0:
        return math.nan
    return math.inf if bottom == 0 else top / bottom


def slope(x: Sequence[float], values: Sequence[Times]) -> Interval:
    """Exponent of a power law through the medians, with the interval that their scatter gives."""
    known = [(a, t.median) for a, t in zip(x, values, strict=True)]
    # A point that has no logarithm is not left out: it could be the one that bends the line.
    if len(set(x)) < LEAST_POINTS or not all(0 < a < math.inf and 0 < b < math.inf for a, b in known):
        return UNKNOWN
    from scipy.stats import linregress, t

    fit = linregress(np.log([a for a, _ in known]), np.log([b for _, b in known]))
    freedom = len(known) - 2
    error = math.hypot(float(fit.stderr), FLOOR)
    half = float(t.ppf(0.975, freedom)) * error
    return Interval(fit.slope - half, fit.slope + half, float(fit.slope), error, freedom)


def trend(x: Sequence[float], values: Sequence[Times]) -> Interval:
    """Kendall's tau of the cells' medians, with the interval of its normal approximation under independence.

    Of medians, as the repeats of a cell share its data: they are no further cells.
    """
    pairs = [(a, t.median) for a, t in zip(x, values, strict=True)]
    n = len(pairs)
    if n < LEAST_CELLS or len(set(x)) < LEAST_POINTS or not np.isfinite(pairs).all():
        return UNKNOWN
    from scipy.stats import kendalltau

    tau = float(kendalltau([a for a, _ in pairs], [b for _, b in pairs]).statistic)
    tau = 0.0 if math.isnan(tau) else tau
    error = math.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)))
    return Interval(tau - 1.96 * error, tau + 1.96 * error, tau, error, max(n - 2, 1))
