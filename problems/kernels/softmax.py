"""Loss, gradient and PIANO's moments: one pass over the rows, block by block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.compiled import kinds, passes
from pianobench.problems.penalties import Array


class Softmax(NamedTuple):
    """Rows of scores turned into probabilities.

    The largest score of a row is kept apart, so that neither the loss of a well classified row nor its residual
    ``P - 1`` is a difference of two numbers near 1.
    """

    P: Array  # (n, m) probabilities
    top: Array  # (n,) class of the largest score
    rest: Array  # (n,) sum of exp(z - z_top) over the other classes
    largest: Array  # (n,) largest score

    def lse(self) -> Array:
        """(n,) log of the sum of the exponentials."""
        return np.asarray(self.largest + np.log1p(self.rest))


def softmax(Z: Array) -> Softmax:
    """Probabilities of the scores Z (n, m), shifted so that nothing overflows."""
    row = np.arange(Z.shape[0])
    top = Z.argmax(axis=1)
    largest = Z[row, top]
    E = np.exp(Z - largest[:, None])
    E[row, top] = 0.0
    rest = E.sum(axis=1)
    E[row, top] = 1.0
    E /= (1.0 + rest)[:, None]
    return Softmax(E, top, rest, largest)


def losses(part: Part, Z: Array, S: Softmax) -> Array:
    """(n,) ``lse(z) - z_y``."""
    return np.asarray((S.largest - Z[np.arange(part.n), part.codes]) + np.log1p(S.rest))


def residual(part: Part, S: Softmax) -> Array:
    """(n, m) ``a * (P - Y)``; writes over P."""
    row, R = np.arange(part.n), S.P
    R[row, part.codes] -= 1.0
    right = S.top == part.codes  # 1 - P there is rest / (1 + rest), to full relative accuracy
    R[row[right], part.codes[right]] = -S.rest[right] / (1.0 + S.rest[right])
    R *= part.weights.astype(R.dtype, copy=False)[:, None]
    return R


def weighted_sum(part: Part, values: Array) -> float:
    """``sum_j a_j v_j`` in float64; a row of weight 0 counts as one left out, also where its v is infinite."""
    values = values.astype(np.float64, copy=False)
    return float(np.dot(part.weights, values if part.weights.all() else np.where(part.weights > 0, values, 0.0)))


def loss(part: Part, W: Array) -> tuple[float]:
    """Loss at W (p, m)."""
    return (passes.pass_over(part, kinds.LOSS, W)[0],)


def loss_gradient(part: Part, W: Array) -> tuple[float, Array]:
    """Loss and its gradient (p, m) at W."""
    total, G, _ = passes.pass_over(part, kinds.GRADIENT, W)
    return total, G


def moments(part: Part, W: Array, floor: float) -> tuple[float, Array, Array]:
    """Loss at W and PIANO's ``A = X_plus.T (a P)`` and ``B = X_minus.T (a P)``, P taken from `floor` up."""
    return passes.pass_over(part, kinds.MOMENTS, W, number=floor)


def moments_at(part: Part, W: Array, floor: float, lse: Array) -> tuple[float, Array, Array]:
    """`moments` with ``P = exp(X W - lse)`` for a kept lse (n, 1), and the loss with its log replaced by the tangent
    at that lse: ``sum_j a_j [sum_i P_ji - 1 + lse_j - z_{y_j}]``."""
    return passes.pass_over(part, kinds.MOMENTS_AT, W, lse, number=floor)


def class_sums(part: Part, like: Array) -> tuple[Array]:
    """``C = X.T (a Y)`` in the shape and type of `like` (p, m)."""
    return (passes.pass_over(part, kinds.INDICATORS, like)[1],)


def log_sum_exp(part: Part, W: Array, lse: Array) -> tuple[()]:
    """Write the log-sum-exp of ``X W`` into the field lse (n, 1)."""
    passes.pass_over(part, kinds.LOG_SUM_EXP, W, lse)
    return ()
