"""How a model does on rows: wrong predictions and log loss, summed."""

from __future__ import annotations

import numpy as np

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.softmax import losses, softmax
from pianobench.problems.penalties import Array


def scored(part: Part, W: Array) -> tuple[Array]:
    """(4,) sums over the rows of weight, weight of wrong predictions, loss and squared loss, at W (p, m)."""
    sums = np.zeros(4)
    for _, block in part.blocks():
        Z = block.design.dot(W)
        S = softmax(Z)
        there, weights = block.weights > 0, block.weights
        loss = np.where(there, losses(block, Z, S), 0.0)
        sums += [
            weights.sum(),
            weights[S.top != block.codes].sum(),
            float(weights @ loss),
            float(weights @ loss**2),
        ]
    return (sums,)


def moved(part: Part, D: Array) -> tuple[float, float]:
    """Sums over the rows of weight, and of weight times ``|x D|^2``, for D (p, m)."""
    total = 0.0
    for _, block in part.blocks():
        total += float(block.weights @ np.square(block.design.dot(D)).sum(axis=1))
    return float(part.weights.sum()), total
