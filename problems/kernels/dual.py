"""Dual points and their values, for certificates. Called with float64 weights, so all arithmetic is float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.compiled import certify, passes, threads
from pianobench.problems.kernels.compiled.blas import gemm_address
from pianobench.problems.kernels.softmax import weighted_sum
from pianobench.problems.penalties import Array


def intercept_newton(part: Part, b: Array, Z: Array) -> tuple[float, Array, Array]:
    """Loss at margins ``Z + b``, its gradient (m,) and Hessian (m, m) in b."""
    passes.check_fields(part, part.m, Z)
    m, address = part.m, gemm_address(Z.dtype)
    edges = passes.chunks(part.n, passes.ROWS, m * m * Z.itemsize)
    g, K = np.zeros((len(edges) - 1, m)), np.zeros((len(edges) - 1, m, m))

    def work(chunk: int) -> float:
        ends = edges[chunk], edges[chunk + 1]
        return certify.newton_pass(address, Z, b, part.codes, part.weights, *ends, passes.ROWS, g[chunk], K[chunk])

    losses = threads.run(work, len(edges) - 1, passes.threads_for(Z.size * (m + passes.EXPONENTIAL)))
    whole = K.sum(axis=0)  # sum_j a_j p_j p_j.T, and the p_j add up to 1
    return passes.total(losses), g.sum(axis=0), np.diag(whole.sum(axis=0)) - whole


def mixed_entropy(part: Part, b: Array, t: float, u: Array, c: float, Z: Array) -> tuple[float]:
    """``sum_j a_j H(q_j)`` of ``Q = (1 - c) Y + c ((1 - t) P + 1 u.T)``, P at the margins ``Z + b``."""
    passes.check_fields(part, part.m, Z)
    edges = passes.chunks(part.n, passes.ROWS, 0, most=32)

    def work(chunk: int) -> float:
        ends = edges[chunk], edges[chunk + 1]
        return certify.entropy_pass(Z, b, t, u, c, part.codes, part.weights, *ends, passes.ROWS)

    return (passes.total(threads.run(work, len(edges) - 1, passes.threads_for(passes.EXPONENTIAL * Z.size))),)


def entropies(Q: Array, of: NDArray[np.intp]) -> Array:
    """(n,) H of each row of Q, its element number `of` replaced by what the others leave of 1; writes over Q.

    So the row is in the simplex whatever rounding did, and H is exact also where the row is nearly one-hot.
    """
    Q[np.arange(of.size), of] = 0.0
    rest = np.minimum(Q.sum(axis=1), 1.0)
    others = (Q * np.log(np.where(Q > 0, Q, 1.0))).sum(axis=1)  # 0 log 0 = 0
    return np.asarray(-others - (1.0 - rest) * np.where(rest < 1.0, np.log1p(-rest), 0.0))


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
