"""The problem in coordinates of the space that the rows span: n variables a class where there were d.

Under l2, or without a penalty, W has no use for a part that no row of X sees. With ``(X l2^-1/2)' = Q R`` (Q (d, k)
orthonormal, k the rank of X) and ``W = T V``, ``T = l2^-1/2 Q``: the scores are ``X W = R' V`` and the penalty
``|V|^2 / 2``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import qr

from pianobench.problems.cost import Cost
from pianobench.problems.design import Dense
from pianobench.problems.engines.memory import MemoryRows, Part
from pianobench.problems.kernels.compiled.threads import one_blas_thread
from pianobench.problems.penalties import L2, Array

if TYPE_CHECKING:
    from pianobench.problems.problem import Problem


class RowSpace(NamedTuple):
    """What takes W there and back; an intercept stays as it is."""

    problem: Problem  # over R', dense, with penalty L2(1) or none
    T: Array  # (d, k)
    back: Array  # (k, d) Q' l2^1/2

    def lift(self, V: Array) -> Array:
        """W (p, m) of V."""
        k = len(self.back)
        return np.vstack([self.T.astype(V.dtype, copy=False) @ V[:k], V[k:]])

    def project(self, W: Array) -> Array:
        """The V (k or k + 1, m) with the scores of W."""
        d = len(self.T)
        return np.vstack([self.back.astype(W.dtype, copy=False) @ W[:d], W[d:]])


def row_space(problem: Problem, part: Part) -> RowSpace:
    """Of a problem whose rows are one part, without l1 and l0; charged to it.

    Raises
    ------
    TypeError
        The problem is restricted, or has a penalty for which W has to be itself.
    """
    if problem.active is not None or problem.pen.kind not in ("none", "l2"):
        raise TypeError("the row space serves a whole problem under l2 or without a penalty")
    from pianobench.problems.problem import Problem as Whole

    n, d = part.n, part.design.d
    l2 = np.broadcast_to(problem.pen.l2, (problem.p, 1))[:d]
    root = np.sqrt(np.where(l2 > 0.0, l2, 1.0))
    X = part.design.values(np.dtype(np.float64))
    X = X if isinstance(X, np.ndarray) else X.toarray()
    with one_blas_thread():  # the same bits on any machine
        Q, R, order = qr((X / root.T).T, mode="economic", overwrite_a=True, check_finite=False, pivoting=True)
    # what is rounding of the largest row would be a direction that nothing holds
    k = max(int(np.count_nonzero(np.abs(np.diag(R)) > max(n, d) * np.finfo(float).eps * np.abs(R[0, 0]))), 1)
    Q, V = Q[:, :k], np.empty((n, k), problem.dtype)
    V[order] = R[:k].T
    problem.meter.charge(Cost(n, 4.0 * d * n * min(n, d), 8.0 * n * d, 1.0))
    design = Dense(V, problem.fit_intercept)
    rows = MemoryRows((Part(design, part.codes, part.weights, part.m),))
    inner = Whole.over(
        rows, problem.classes, penalty=L2(1.0) if l2.any() else None, fit_intercept=problem.fit_intercept
    )
    return RowSpace(inner, Q / root, Q.T * root.T)
