"""Step lengths for a convex function: strong Wolfe conditions [NW06, section 3.5], backtracking [NW06, section 3.1]."""

from __future__ import annotations

import math
from collections.abc import Callable


def strong_wolfe(
    phi: Callable[[float], tuple[float, float]],
    f0: float,
    slope0: float,
    t: float,
    *,
    sufficient: float = 1e-4,
    curvature: float = 0.9,
    noise: float = 0.0,
    most: int = 40,
) -> float | None:
    """Step length t > 0, or None if `most` trials did not find one.

    Parameters
    ----------
    phi : callable
        t -> (value, slope). The last call is at the step that is returned.
    f0, slope0 : float
        Value and slope (< 0) at 0.
    t : float
        First trial.
    sufficient, curvature : float
        c1 and c2: ``phi(t) <= f0 + c1 t slope0`` and ``|phi'(t)| <= c2 |slope0|``.
    noise : float
        Rounding error of a value. Differences below it decide nothing; there the slope does: up to f0 + noise, a slope
        ``phi'(t) <= (2 c1 - 1) slope0`` counts as a sufficient decrease, as it would for a quadratic.
    """
    low = (0.0, f0, slope0)  # sufficient, and still too steep
    high: tuple[float, float, float] | None = None  # too far
    for _ in range(most):
        f, slope = phi(t)
        sufficiently = f <= f0 + sufficient * t * slope0 or (
            f <= f0 + noise and slope <= (2.0 * sufficient - 1.0) * slope0
        )
        if not (sufficiently and math.isfinite(slope)):
            high = (t, f, slope)
        elif slope < curvature * slope0:
            low = (t, f, slope)
        elif slope > -curvature * slope0:
            high = (t, f, slope)
        else:
            return t
        t = _between(low, high) if high else _beyond(low, slope0)
    return None


def falls_enough(before: float, after: float, promised: float, estimate: float, noise: float) -> bool:
    """Whether F is at most ``before + promised``; where values differ by rounding alone, whether the estimate is.

    Parameters
    ----------
    before, after : float
        F before and after a step, not necessarily along a line.
    promised : float
        Change of F (< 0) asked for.
    estimate : float
        The change by the trapezoid of the slopes at both ends, exact for a quadratic.
    noise : float
        Rounding error of a value.
    """
    return after <= before + promised or (after <= before + noise and estimate <= promised)


def armijo(
    phi: Callable[[float], tuple[float, float]],
    f0: float,
    slope0: float,
    t: float,
    *,
    sufficient: float = 1e-4,
    noise: float = 0.0,
    most: int = 60,
) -> float | None:
    """Step length of backtracking [NW06, algorithm 3.1]: t, halved until f falls sufficiently; None if it never does.

    Parameters
    ----------
    phi, f0, slope0, t, sufficient, noise
        As for `strong_wolfe`. Where f differs from f0 by noise alone, the slope decides instead.
    """
    for _ in range(most):
        f, slope = phi(t)
        flat = abs(f - f0) <= noise
        if slope <= (2.0 * sufficient - 1.0) * slope0 if flat else f <= f0 + sufficient * t * slope0:
            return t
        t *= 0.5
    return None


def _beyond(low: tuple[float, float, float], slope0: float) -> float:
    """Further out, where the slope would vanish if it went on rising as it did from 0: 2 to 10 times as far."""
    t, _, slope = low
    rise = slope - slope0
    return t * min(max(slope0 / -rise if rise > 0 else 10.0, 2.0), 10.0)


def _between(low: tuple[float, float, float], high: tuple[float, float, float]) -> float:
    """Minimiser of the cubic through both ends, kept a tenth of the bracket away from them; else the middle."""
    (t0, f0, s0), (t1, f1, s1) = low, high
    width = t1 - t0
    if math.isfinite(f1) and math.isfinite(s1):
        a = s0 + s1 - 3.0 * (f1 - f0) / width
        square = a * a - s0 * s1
        if square >= 0.0:
            root = math.sqrt(square)
            bottom = s1 - s0 + 2.0 * root
            if bottom > 0.0:
                t = t1 - width * (s1 + root - a) / bottom
                return min(max(t, t0 + 0.1 * width), t1 - 0.1 * width)
    return t0 + 0.5 * width
