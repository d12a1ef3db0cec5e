"""Penalties: what is added to the loss, row by row of the weights.

``R(W) = sum_li  l1_l |W_li| + l2_l / 2 * W_li**2 + l0_l [W_li != 0]``. The quadratic part is smooth and belongs to
``f``; l1 and l0 are the non-smooth part, which `Penalty.prox` handles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating]
Strength: TypeAlias = float | Array  # one number, or (p, 1): one for each row of W


@dataclass(frozen=True)
class Penalty:
    """Strengths of the three terms; make one with `L1`, `L2`, `L0` or `ElasticNet`.

    Parameters
    ----------
    l1, l2, l0 : float, or array (p, 1)
        Strength of each term, in units of the loss (a sum over samples), one for all rows or one for each row of W.
    """

    l1: Strength = 0.0
    l2: Strength = 0.0
    l0: Strength = 0.0

    @property
    def kind(self) -> str:
        """``none``, ``l1``, ``l2``, ``elasticnet`` or ``l0``: the name a solver declares in `penalties`."""
        if np.any(self.l0):
            return "l0"
        if np.any(self.l1):
            return "elasticnet" if np.any(self.l2) else "l1"
        return "l2" if np.any(self.l2) else "none"

    def by_row(self, unit: Array) -> Penalty:
        """The same penalty where ``W / unit`` is what it acts on: strengths ``l1/unit, l2/unit**2, l0`` on a row of W.

        Parameters
        ----------
        unit : array (p,)
            Unit of each row of the rescaled weights; infinity marks a row that no term touches (the intercept).
        """
        inverse = (1.0 / unit)[:, None]
        l0 = np.where(np.isinf(unit)[:, None], 0.0, self.l0)
        return Penalty(self.l1 * inverse, self.l2 * inverse * inverse, l0)

    def block(self, rows: NDArray[np.intp]) -> Penalty:
        """Penalty of some rows of W: of a sub-problem's variables."""
        l1, l2, l0 = (s if np.ndim(s) == 0 else np.asarray(s)[rows] for s in (self.l1, self.l2, self.l0))
        return Penalty(l1, l2, l0)

    @np.errstate(all="ignore")  # a penalty that overflows is infinite
    def quadratic(self, W: Array) -> float:
        """``sum l2/2 * W**2``, the part that is smooth."""
        return 0.5 * float(np.sum(self.l2 * np.square(W, dtype=np.float64))) if np.any(self.l2) else 0.0

    @np.errstate(all="ignore")
    def nonsmooth(self, W: Array) -> float:
        """``sum l1 |W| + l0 [W != 0]``."""
        value = float(np.sum(self.l1 * np.abs(W), dtype=np.float64)) if np.any(self.l1) else 0.0
        return value + (float(np.sum(self.l0 * (W != 0))) if np.any(self.l0) else 0.0)

    def value(self, W: Array) -> float:
        """The whole penalty at W."""
        return self.quadratic(W) + self.nonsmooth(W)

    def prox(self, V: Array, step: float) -> Array:
        """``argmin_U  step * (l1 |U| + l0 [U != 0]) + (U - V)**2 / 2``, element by element, in V's dtype.

        At an exact tie of the l0 term the zero is taken.
        """
        U: Array = soft(V, step * self.l1)
        if np.any(self.l0):
            # keeping U costs step*(l1|U| + l0) + (U-V)^2/2, dropping it V^2/2; with U = soft(V) the difference is U^2/2
            U = np.where(step * np.asarray(self.l0) < 0.5 * U * U, U, 0.0)
        return U.astype(V.dtype, copy=False)


def soft(V: Array, threshold: Strength) -> Array:
    """Minimiser of ``threshold |U| + (U - V)**2 / 2``, element by element, in V's dtype."""
    return np.asarray(np.sign(V) * np.maximum(np.abs(V) - threshold, 0.0), V.dtype)


def L1(lam: float) -> Penalty:
    """``lam * sum |W|``."""
    return Penalty(l1=_strength("lam", lam))


def L2(lam: float) -> Penalty:
    """``lam / 2 * sum W**2``."""
    return Penalty(l2=_strength("lam", lam))


def L0(lam: float) -> Penalty:
    """``lam *`` the number of non-zero weights."""
    return Penalty(l0=_strength("lam", lam))


def ElasticNet(l1: float, l2: float) -> Penalty:
    """``l1 * sum |W| + l2 / 2 * sum W**2``."""
    return Penalty(l1=_strength("l1", l1), l2=_strength("l2", l2))


def _strength(name: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (0.0 < number < math.inf):
        raise ValueError(
            f"{name}={value!r}: a strength must be a finite number above 0; for no penalty give penalty=None"
        )
    return number
