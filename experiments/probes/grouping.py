"""Rows that stand for several views against a row for each view."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pianobench.datasets.kdd12.auc import auc
from pianobench.datasets.kdd12.encoded import Encoded
from pianobench.datasets.kdd12.kinds import KINDS
from pianobench.datasets.kdd12.named import prepared
from pianobench.experiments.probes.setting import Number, Setting, Unmeasured
from pianobench.problems import Problem

SIZES = (0.01, 0.1, 1.0)  # of the elements of random weights


def grouping(setting: Setting) -> Iterator[Number]:
    """`difference of grouped from expanded`, relative: of loss, gradient and area, at random weights."""
    if setting.dataset.partition(":")[0] not in KINDS:
        raise Unmeasured(f"{setting.dataset} is no click log: its rows stand for one view each")
    for arm, value in differences(prepared(setting.dataset).train, setting).items():
        yield Number("difference of grouped from expanded", arm, value)


def differences(rows: Encoded, setting: Setting) -> dict[str, float]:
    """The largest over some random weights, by arm."""
    grouped, expanded = rows.labelled("grouped"), rows.labelled("expanded")
    penalty = setting.problem.penalty
    one = Problem(grouped.X, grouped.y, sample_weight=grouped.weight, penalty=penalty, fit_intercept=False)
    other = Problem(expanded.X, expanded.y, sample_weight=expanded.weight, penalty=penalty, fit_intercept=False)
    rng, worst = setting.rng(), {"loss": 0.0, "gradient": 0.0, "area": 0.0}
    for size in SIZES:
        W = size * rng.normal(size=(one.p, one.m))
        (f, G), (g, H) = one.smooth(W), other.smooth(W)
        v = W[:, 1] - W[:, 0]
        areas = [_area(grouped, v), _area(expanded, v)]
        found = {
            "loss": abs(f - g) / abs(g),
            "gradient": float(np.max(np.abs(G - H)) / np.max(np.abs(H))),
            "area": abs(areas[0] - areas[1]) / areas[1],
        }
        worst = {arm: max(worst[arm], found[arm]) for arm in worst}
    return worst


def _area(rows: Any, v: Any) -> float:
    weight = rows.weight.astype(np.int64)
    return auc(rows.X @ v, weight * (rows.y == 1), weight * (rows.y == 0)).area
