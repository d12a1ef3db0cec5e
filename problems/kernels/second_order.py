"""Second-order quantities from margins or probabilities that are kept with the rows."""

from __future__ import annotations

import numpy as np

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.compiled import kinds, passes, threads
from pianobench.problems.kernels.fields import LARGE
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
    like = np.empty((part.design.d + part.design.intercept, part.m), P.dtype)
    return (passes.pass_over(part, kinds.DIAGONAL, like, P)[1],)


def hessian_dense(part: Part, P: Array) -> tuple[Array]:
    """Hessian of the loss (m p, m p) in float64, class outer and feature inner; pairs of classes side by side."""
    passes.check_fields(part, part.m, P)
    p, m = part.design.d + part.design.intercept, part.m
    H = np.empty((m, p, m, p))
    pairs = [(i, k) for i in range(m) for k in range(i + 1)]

    def work(number: int) -> None:
        i, k = pairs[number]
        G = np.zeros((p, p))
        with np.errstate(all="ignore"):  # NumPy's is of a thread
            for rows, block in part.blocks(max(LARGE // 4, 256 * p)):
                q, r = P[rows, i].astype(np.float64), P[rows, k].astype(np.float64)
                G += block.design.gram((block.weights * q * ((i == k) - r))[:, None])
        H[i, :, k, :] = G
        H[k, :, i, :] = G.T

    threads.run(work, len(pairs), passes.threads_for(len(pairs) * part.n * p * p))
    return (H.reshape(m * p, m * p),)
