"""Second-order quantities from margins or probabilities that are kept with the rows."""

from __future__ import annotations

import numpy as np

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.compiled import kinds, passes
from pianobench.problems.penalties import Array


def along_line(part: Part, t: float, XW: Array, XD: Array) -> tuple[float, float]:
    """Loss at ``XW + t XD`` and its derivative in t, without touching X."""
    return passes.line_pass(part, t, XW, XD)


def gradient_on_line(part: Part, t: float, XW: Array, XD: Array) -> tuple[float, Array]:
    """Loss at ``XW + t XD`` and its gradient in W (p, m): the product with X.T alone."""
    like = np.empty((part.design.d + part.design.intercept, part.m), XW.dtype)
    total, G, _ = passes.pass_over(part, kinds.ON_LINE, like, XW, XD, number=t)
    return total, G


def advance(_part: Part, t: float, XW: Array, XD: Array, out: Array) -> tuple[()]:
    """``out = XW + t XD``."""
    np.multiply(XD, XD.dtype.type(t), out=out)
    out += XW
    return ()


def probabilities(part: Part, W: Array, P: Array) -> tuple[()]:
    """Write the softmax of ``X W`` into the field P (n, m)."""
    passes.pass_over(part, kinds.PROBABILITIES, W, P)
    return ()


def hessian_product(part: Part, V: Array, P: Array) -> tuple[Array]:
    """``X.T (a * P * (U - rowsum(P * U)))``, U = X V: the loss's Hessian times V (p, m)."""
    return (passes.pass_over(part, kinds.PRODUCT, V, P)[1],)


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
