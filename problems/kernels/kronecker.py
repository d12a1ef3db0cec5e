"""The factors of the Kronecker product that stands for the Hessian: classes by classes, features by features."""

from __future__ import annotations

import numpy as np

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.compiled import passes, threads
from pianobench.problems.penalties import Array

ROWS = 64  # of a chunk at least


def factors(part: Part, P: Array) -> tuple[Array, Array]:
    """``sum_j a_j (diag p_j - p_j p_j')`` (m, m) and ``sum_j a_j (1 - |p_j|^2) x_j x_j'`` (p, p), in float64."""
    passes.check_fields(part, part.m, P)
    p = part.design.d + part.design.intercept
    edges = passes.chunks(part.n, ROWS, 8 * p * p)

    def work(chunk: int) -> tuple[Array, Array]:
        rows = slice(edges[chunk], edges[chunk + 1])
        block, Q = part.slice(rows), P[rows].astype(np.float64)
        aQ = block.weights[:, None] * Q
        spread = block.weights - np.einsum("ji,ji->j", aQ, Q)
        return np.diag(aQ.sum(axis=0)) - Q.T @ aQ, block.design.gram(np.maximum(spread, 0.0)[:, None])

    found = threads.run(work, len(edges) - 1, passes.threads_for(part.n * p * p))
    return sum(L for L, _ in found), sum(G for _, G in found)
