"""The baseline of Table 1: the mean click-through rate of each advertisement in the training rows."""

from __future__ import annotations

import numpy as np

from pianobench.datasets.kdd12.auc import Area, auc
from pianobench.datasets.kdd12.layout import Source


def mean_rate(train: Source, test: Source) -> Area:
    """Area of the test rows, each scored by its advertisement's clicks over its views in the training rows.

    One that is not there has the rate of all training rows. Nothing is smoothed.
    """
    ids, clicks, views = [], [], []
    for log in train.blocks():
        there, place = np.unique(log["ad"], return_inverse=True)
        ids.append(there)
        clicks.append(np.bincount(place, log.clicks))
        views.append(np.bincount(place, log.views))
    ads, place = np.unique(np.concatenate(ids), return_inverse=True)
    clicked = np.bincount(place, np.concatenate(clicks))
    seen = np.bincount(place, np.concatenate(views))
    overall = clicked.sum() / seen.sum()
    scores, positives, negatives = [], [], []
    for log in test.blocks():
        at = np.minimum(np.searchsorted(ads, log["ad"]), len(ads) - 1)
        scores.append(np.where(ads[at] == log["ad"], clicked[at] / seen[at], overall))
        positives.append(log.clicks)
        negatives.append(log.views - log.clicks)
    return auc(np.concatenate(scores), np.concatenate(positives), np.concatenate(negatives))
