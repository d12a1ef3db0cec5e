"""Settings of probes on tiny problems, and all numbers that a probe yields there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from cases import draw

from pianobench.experiments.claims import ledger
from pianobench.experiments.probes.registry import PROBES
from pianobench.experiments.probes.setting import Setting
from pianobench.problems import Penalty, Problem

FOR_EVER = 1e6  # seconds: what ends is not the time, whatever else the machine does
Numbers = dict[tuple[str, str], float]


def setting(penalty: Penalty | None, lam: float | None = None, sort: str = "signed", **more: Any) -> Setting:
    X, y, _ = draw(n=40, d=3, m=2 if sort == "two classes" else 3, seed=4)
    X = np.floor(2.0 * np.abs(X)) if sort == "counts" else X
    problem = Problem(X, y, penalty=penalty, fit_intercept=False)
    return Setting(problem, X, y, lam, **{"lam_factor": 0.1, "seconds": FOR_EVER, **more})


def of(key: str, given: Setting) -> Numbers:
    """All that the probe measures."""
    probe = next(one for one in PROBES.values() if one.key == key)
    function = getattr(import_module(probe.module), probe.place.partition(":")[2])
    found = [((number.quantity, number.arm), number.value) for number in function(given)]
    assert len(dict(found)) == len(found), "each arm once"
    assert {quantity for (quantity, _), _ in found} == set(probe.quantities)
    asked = {
        (ask.of, arm)
        for claim in ledger()
        for ask in claim.rule
        if ask.of in probe.quantities
        for arm in (ask.arm, *(arm for rival in ask.against for arm in rival.arms))
        if arm != "lc" or given.problem.m == 2
    }
    assert asked <= set(dict(found)), "all that the rules name"
    return dict(found)
