"""Second-order quantities from margins or probabilities that are kept with the rows."""

from __future__ import annotations

import numpy as np

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.softmax import losses, residual, softmax, weighted_sum
from pianobench.problems.penalties import Array


def along_line(part: Part, t: float, XW: Array, XD: Array) -> tuple[float, float]:
    """Loss at ``XW + t XD`` and its derivative in t, without touching X."""
    total = slope = 0.0
    for rows, block in part.blocks():
        Z, D = XW[rows] + XW.dtype.type(t) * XD[rows], XD[rows]
        S = softmax(Z)
        total += weighted_sum(block, losses(block, Z, S))
        slope += float(np.sum(residual(block, S) * D, dtype=np.float64))
    return total, slope


def gradient_on_line(part: Part, t: float, XW: Array, XD: Array) -> tuple[float, Array]:
    """Loss at ``XW + t XD`` and its gradient in W (p, m): the product with X.T alone."""
    total = 0.0
    G = np.zeros((part.design.d + part.design.intercept, part.m), XW.dtype)
    for rows, block in part.blocks():
        Z = XW[rows] + XW.dtype.type(t) * XD[rows]
        S = softmax(Z)
        total += weighted_sum(block, losses(block, Z, S))
        G += block.design.adjoint(residual(block, S))
    return total, G


def advance(_part: Part, t: float, XW: Array, XD: Array, out: Array) -> tuple[()]:
    """``out = XW + t XD``."""
    np.multiply(XD, XD.dtype.type(t), out=out)
    out += XW
    return ()


def probabilities(part: Part, W: Array, P: Array) -> tuple[()]:
    """Write the softmax of ``X W`` into the field P (n, m)."""
    for rows, block in part.blocks():
        P[rows] = softmax(block.design.dot(W)).P
    return ()


def hessian_product(part: Part, V: Array, P: Array) -> tuple[Array]:
    """``X.T (a * P * (U - rowsum(P * U)))``, U = X V: the loss's Hessian times V (p, m)."""
    H = np.zeros_like(V)
    for rows, block in part.blocks():
        U, Q = block.design.dot(V), P[rows].astype(V.dtype, copy=False)
        U -= (Q * U).sum(axis=1, keepdims=True)
        U *= Q
        U *= block.weights.astype(V.dtype, copy=False)[:, None]
        H += block.design.adjoint(U)
    return (H,)


def hessian_diagonal(part: Part, P: Array) -> tuple[Array]:
    """Diagonal of the loss's Hessian, ``(X * X).T (a * P * (1 - P))`` (p, m)."""
    h = np.zeros((part.design.d + part.design.intercept, part.m), P.dtype)
    for rows, block in part.blocks():
        Q = P[rows]
        h += block.design.square_adjoint(Q * (1.0 - Q) * block.weights.astype(Q.dtype, copy=False)[:, None])
    return (h,)


def hessian_dense(part: Part, P: Array) -> tuple[Array]:
    """Hessian of the loss (m p, m p) in float64, class outer and feature inner."""
    p, m = part.design.d + part.design.intercept, part.m
    H = np.zeros((m, p, m, p))
    for rows, block in part.blocks():
        Q = P[rows].astype(np.float64)
        for i in range(m):
            for k in range(i + 1):
                weight = block.weights * Q[:, i] * ((i == k) - Q[:, k])
                G = block.design.gram(weight[:, None])
                H[i, :, k, :] += G
                if i != k:
                    H[k, :, i, :] += G.T
    return (H.reshape(m * p, m * p),)
