"""Dual points and their values, for certificates. Called with float64 weights, so all arithmetic is float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.softmax import losses, residual, softmax, weighted_sum
from pianobench.problems.penalties import Array


def mean_probabilities(part: Part, W: Array) -> tuple[Array]:
    """(m,) ``sum_j a_j p_j``."""
    total = np.zeros(part.m)
    for _, block in part.blocks():
        total += block.weights @ softmax(block.design.dot(W)).P
    return (total,)


def mixed_point(part: Part, W: Array, t: float, u: Array) -> tuple[Array]:
    """``V = X.T (a (Y - Q))`` (p, m) of ``Q = (1 - t) P + 1 u.T``; t = 0 and u = 0 give minus the gradient."""
    V = np.zeros_like(W)
    for _, block in part.blocks():
        R = residual(block, softmax(block.design.dot(W)))  # a (P - Y)
        if t or u.any():
            a = block.weights[:, None]
            R = (1.0 - t) * R + a * (u - t * block.one_hot(R.dtype))
        V -= block.design.adjoint(R)
    return (V,)


def mixed_entropy(part: Part, W: Array, t: float, u: Array, c: float) -> tuple[float]:
    """``sum_j a_j H(q_j)`` of ``Q = (1 - c) Y + c ((1 - t) P + 1 u.T)``."""
    total = 0.0
    for _, block in part.blocks():
        Z = block.design.dot(W)
        S = softmax(Z)
        if c == 1.0 and not t and not u.any():  # H(p) = sum p (lse - z), exact where p is near 1
            loss_of = S.lse()[:, None] - Z
            loss_of[np.arange(block.n), S.top] = np.log1p(S.rest)
            H = np.where(S.P > 0, S.P * loss_of, 0.0).sum(axis=1)
        else:
            H = entropies(c * ((1.0 - t) * S.P + u), block.codes)
        total += weighted_sum(block, H)
    return (total,)


def entropies(Q: Array, of: NDArray[np.intp]) -> Array:
    """(n,) H of each row of Q, its element number `of` replaced by what the others leave of 1; writes over Q.

    So the row is in the simplex whatever rounding did, and H is exact also where the row is nearly one-hot.
    """
    Q[np.arange(of.size), of] = 0.0
    rest = np.minimum(Q.sum(axis=1), 1.0)
    others = (Q * np.log(np.where(Q > 0, Q, 1.0))).sum(axis=1)  # 0 log 0 = 0
    return np.asarray(-others - (1.0 - rest) * np.where(rest < 1.0, np.log1p(-rest), 0.0))


def intercept_newton(part: Part, b: Array, Z: Array) -> tuple[float, Array, Array]:
    """Loss at margins ``Z + b``, its gradient (m,) and Hessian (m, m) in b."""
    total, g, H = 0.0, np.zeros(part.m), np.zeros((part.m, part.m))
    for rows, block in part.blocks():
        margins = Z[rows] + b
        S = softmax(margins)
        total += weighted_sum(block, losses(block, margins, S))
        aP = S.P * block.weights[:, None]
        H -= S.P.T @ aP
        H[np.diag_indices(part.m)] += aP.sum(axis=0)
        g += residual(block, S).sum(axis=0)
    return total, g, H


def correct(part: Part, V: Array, Q: Array) -> tuple[Array]:
    """``Q += Q * (U - rowsum(Q * U))``, U = X V, in place; returns minus the smallest factor ``1 + U - rowsum`` (1,),
    which must stay positive for Q to stay in the simplex. Rows of weight 0 have no say."""
    smallest = np.array([np.inf])
    for rows, block in part.blocks():
        U = block.design.dot(V)
        factor = 1.0 + U - (Q[rows] * U).sum(axis=1, keepdims=True)
        Q[rows] *= factor
        smallest = np.minimum(smallest, factor[block.weights > 0].min(initial=np.inf))
    return (-smallest,)  # the largest of the negatives over the parts


def residual_of(part: Part, Q: Array) -> tuple[Array, Array, float]:
    """``R = X.T (a (Q - Y))`` (p, m), the sums of the absolute values of its terms, and ``sum_j a_j |q_j - y_j|^2``.

    By the last two the size of R is judged: it is small only where the terms of a sum cancel.
    """
    T, terms = (np.zeros((part.design.d + part.design.intercept, part.m)) for _ in range(2))
    square = 0.0
    for rows, block in part.blocks():
        R, row = Q[rows].copy(), np.arange(block.n)
        R[row, block.codes] = 0.0
        R[row, block.codes] = -R.sum(axis=1)  # q - 1 without its cancellation
        square += weighted_sum(block, np.square(R).sum(axis=1))
        R *= block.weights[:, None]
        T += block.design.adjoint(R)
        terms += sum(block.design.signed_adjoint(np.abs(R)))
    return T, terms, square


def entropy_of(part: Part, Q: Array) -> tuple[float]:
    """``sum_j a_j H(q_j)``."""
    total = 0.0
    for rows, block in part.blocks():
        total += weighted_sum(block, entropies(Q[rows].copy(), Q[rows].argmax(axis=1)))
    return (total,)
