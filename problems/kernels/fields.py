"""Products between parameter space and the fields that stay with the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.compiled import kinds, passes, threads
from pianobench.problems.penalties import Array

LARGE = 1 << 20  # numbers of a block of rows whose products BLAS takes on all threads


def scores(part: Part, W: Array, out: Array) -> tuple[()]:
    """``out = X W``, out (n, k)."""
    passes.pass_over(part, kinds.SCORES, W, out)
    return ()


def adjoint(part: Part, field: Array) -> tuple[Array]:
    """``X.T field`` (p, k)."""
    like = np.empty((part.design.d + part.design.intercept, field.shape[1]), field.dtype)
    return (passes.pass_over(part, kinds.FIELD, like, field)[1],)


def gram(part: Part, *weight: Array) -> tuple[Array]:
    """``X.T diag(w) X`` (p, p) in float64, w a field (n, 1) or left out."""
    p = part.design.d + part.design.intercept
    G = np.zeros((p, p))
    for rows, block in part.blocks(LARGE):
        G += block.design.gram(weight[0][rows] if weight else None)
    return (G,)


def reach(part: Part, active: NDArray[np.bool_]) -> tuple[Array]:
    """(k,) largest over the rows of positive weight of ``sum_l |x_l|`` over the active l of each column."""
    blocks = [block for _, block in part.blocks()]

    def work(number: int) -> Array:
        block = blocks[number]
        with np.errstate(all="ignore"):
            sums = block.design.reach(active)[block.weights > 0]
        return np.asarray(np.max(sums, axis=0, initial=0.0))

    most = threads.run(work, len(blocks), passes.threads_for(part.n * active.size))
    return (np.max([np.zeros(active.shape[1]), *most], axis=0),)


def weights(part: Part, out: Array) -> tuple[()]:
    """Copy the sample weights into a field (n, 1)."""
    out[:, 0] = part.weights
    return ()


def total_weight(part: Part) -> tuple[float]:
    """Sum of the sample weights."""
    return (float(part.weights.sum()),)


def signed(part: Part) -> tuple[bool]:
    """Whether X has a negative value."""
    return (not part.design.nonnegative,)


def totals(part: Part) -> tuple[Array]:
    """(m,) weight of each class."""
    return (np.bincount(part.codes, part.weights, minlength=part.m).astype(np.float64),)
