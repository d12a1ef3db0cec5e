"""The estimators' parameters: checked once, when a fit begins, and turned into a penalty."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from pianobench.problems import L0, L1, L2, ElasticNet, Penalty

KINDS = (None, "l1", "l2", "elasticnet", "l0")


def strength(lam: float | None, C: float | None) -> float:
    """The strength: `lam`, or ``1 / C``, or 1 where neither is given.

    Raises
    ------
    ValueError
        Both are given, or one is not a finite number above 0.
    """
    if lam is not None and C is not None:
        raise ValueError(f"lam={lam!r} and C={C!r} are both given: they are the same knob, C = 1/lam; give one of them")
    name, value = ("C", C) if C is not None else ("lam", 1.0 if lam is None else lam)
    if not _is_number(value) or not 0.0 < value < math.inf or not 0.0 < 1.0 / float(value) < math.inf:
        raise ValueError(f"{name}={value!r}: a finite number above 0 is expected; for no penalty give penalty=None")
    return float(value) if C is None else 1.0 / float(C)


def make_penalty(kind: str | None, lam: float, l1_ratio: float) -> Penalty | None:
    """The penalty ``lam * R``: an elastic net has ``l1 = lam * l1_ratio`` and ``l2 = lam * (1 - l1_ratio)``.

    Raises
    ------
    ValueError
        The kind is unknown, or `l1_ratio` is outside [0, 1].
    """
    check_kind(kind)
    if kind is None:
        return None
    if kind == "elasticnet":
        if not _is_number(l1_ratio) or not 0.0 <= l1_ratio <= 1.0:
            raise ValueError(f"l1_ratio={l1_ratio!r}: a number from 0 (all l2) to 1 (all l1) is expected")
        if 0.0 < l1_ratio < 1.0:
            return ElasticNet(lam * float(l1_ratio), lam * (1.0 - float(l1_ratio)))
        kind = "l1" if l1_ratio else "l2"
    return {"l1": L1, "l2": L2, "l0": L0}[kind](lam)


def check_kind(kind: Any) -> None:
    """Refuse a penalty that is none of the five."""
    if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
        raise ValueError(f"penalty={kind!r}: None, 'l1', 'l2', 'elasticnet' or 'l0' is expected")


def check_stops(tol: Any, max_seconds: Any, n_threads: Any) -> None:
    """Refuse a tolerance, a time limit or a number of threads that is none."""
    if not _is_number(tol) or not 0.0 < tol < 1.0:
        raise ValueError(f"tol={tol!r}: a relative gap above 0 and below 1 is expected, for example 1e-6")
    if max_seconds is not None and (not _is_number(max_seconds) or not max_seconds > 0.0):
        raise ValueError(f"max_seconds={max_seconds!r}: a number above 0, or None for no limit, is expected")
    whole = isinstance(n_threads, numbers.Integral) and not isinstance(n_threads, bool)
    if n_threads is not None and (not whole or n_threads < 1):
        raise ValueError(f"n_threads={n_threads!r}: a whole number above 0, or None for all cores, is expected")


def check_switch(name: str, value: Any) -> None:
    """Refuse what is neither True nor False: any text would pass for True."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r}: True or False is expected")


def check_count(lams: Any, least: Any) -> None:
    """Refuse what is no number of strengths, or no share of the largest that the least may be."""
    whole = _is_number(lams) and math.isfinite(lams) and lams == int(lams) and lams >= 2
    if not whole or not _is_number(least) or not 0.0 < least < 1.0:
        raise ValueError(
            f"lams={lams!r}, least={least!r}: the strengths are expected, or how many (2 or more), "
            "least between 0 and 1"
        )


def generator(random_state: Any) -> np.random.Generator:
    """A generator of an int, a RandomState, a Generator, or None for what cannot be repeated."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31 - 1)))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state={random_state!r}: a whole number, a NumPy generator or None is expected"
        ) from None


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
