"""The factors of the Kronecker product that stands for the Hessian: classes by classes, features by features."""

from __future__ import annotations

import numpy as np

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.fields import LARGE
from pianobench.problems.penalties import Array


def factors(part: Part, P: Array) -> tuple[Array, Array]:
    """``sum_j a_j (diag p_j - p_j p_j')`` (m, m) and ``sum_j a_j (1 - |p_j|^2) x_j x_j'`` (p, p), in float64."""
    p = part.design.d + part.design.intercept
    L, G = np.zeros((part.m, part.m)), np.zeros((p, p))
    for rows, block in part.blocks(LARGE):
        Q = P[rows].astype(np.float64)
        aQ = block.weights[:, None] * Q
        L += np.diag(aQ.sum(axis=0)) - Q.T @ aQ
        G += block.design.gram((block.weights - np.einsum("ji,ji->j", aQ, Q))[:, None])
    return L, G
