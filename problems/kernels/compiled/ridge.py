"""The quadratic penalty added to a gradient in one pass: on wide data it would cost as much as a pass over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.kernels.compiled import threads
from pianobench.problems.kernels.compiled.jit import compiled

_ROWS = 16384  # of a chunk


@compiled
def _add(G: Any, W: Any, l2: Any, first: int, last: int) -> float:
    sums = np.zeros(W.shape[1])  # class by class, so that the sum runs over vectors
    for l in range(first, last):
        strength, own = l2[l], W.dtype.type(l2[l])
        for i in range(W.shape[1]):
            w = W[l, i]
            G[l, i] += own * w
            sums[i] += strength * (np.float64(w) * np.float64(w))
    total = 0.0
    for i in range(W.shape[1]):
        total += sums[i]
    return total


def add(G: NDArray[Any], W: NDArray[Any], l2: Any) -> float:
    """``G += l2 * W`` in place; returns ``sum l2/2 * W**2``.

    Parameters
    ----------
    G, W : arrays (p, m) of one type, in C order
    l2 : float or array (p, 1)
    """
    strengths = np.broadcast_to(np.asarray(l2, np.float64), (W.shape[0], 1)).ravel()
    edges = [*range(0, W.shape[0], _ROWS), W.shape[0]]
    W = np.ascontiguousarray(W)
    if len(edges) == 2:
        return 0.5 * float(_add(G, W, strengths, 0, W.shape[0]))
    parts = threads.run(
        lambda chunk: _add(G, W, strengths, edges[chunk], edges[chunk + 1]), len(edges) - 1, threads.count()
    )
    return 0.5 * float(np.sum(parts))
