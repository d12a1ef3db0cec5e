"""Whether a hyperplane for each class separates the labels, so that without a penalty no minimiser exists [AA84].

The data are separable if some D != 0 has ``(d_{y_j} - d_i) . x_j >= 0`` for all rows j and classes i, not all
equal to 0: the loss then falls along D for ever.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from pianobench.problems.engines.memory import Part
from pianobench.problems.penalties import Array
from pianobench.problems.problem import Problem

LARGEST = 5_000_000  # entries of the linear program beyond which it is not tried


def separability(problem: Problem) -> str:
    """``"complete"``, ``"quasi"``, ``"none"``, or ``"unknown"`` where the linear program would be too large.

    "complete": some D makes every inequality strict; "quasi": some D makes at least one strict. Rows of weight 0 and
    the penalty are left out. Needs the rows in one place, else the answer is "unknown".
    """
    if "columns" not in problem.has:
        return "unknown"
    if problem.nnz * 2 * (problem.m - 1) > LARGEST:
        return "unknown"
    (margins,) = problem.home.reduce(_margin_matrix)
    # maximise the sum of the margins, each capped at 1: 0 only if no direction separates anything
    count = margins.shape[0]
    size = problem.p * problem.m
    free = np.ones(size, bool) if problem.active is None else problem.active.T.ravel()
    A = sp.hstack([-margins, sp.csr_array(sp.eye_array(count))]).tocsr()
    from scipy.optimize import linprog  # half a second to import, which only this question needs

    answer = linprog(
        np.concatenate([np.zeros(size), -np.ones(count)]),
        A_ub=A,
        b_ub=np.zeros(count),
        bounds=[(None, None) if may else (0.0, 0.0) for may in free] + [(0.0, 1.0)] * count,
        method="highs",
    )
    if answer.status != 0 or answer.x is None:
        return "unknown"
    strict = answer.x[size:]
    if strict.max(initial=0.0) < 0.5:  # a cone: what can be above 0 at all can be 1
        return "none"
    return "complete" if strict.min(initial=1.0) > 0.5 else "quasi"


def _margin_matrix(part: Part) -> tuple[sp.csr_array]:
    """(n (m - 1), p m) rows ``(d_{y_j} - d_i) . x_j``, columns of X scaled to 1, for rows of positive weight."""
    part = part.slice(np.flatnonzero(part.weights > 0))
    V = sp.csr_array(part.design.values(np.dtype(np.float64)))
    peak: Array = np.asarray(abs(V).max(axis=0).toarray(), np.float64).ravel()
    V = sp.csr_array(V @ sp.diags_array(1.0 / np.where(peak > 0, peak, 1.0)))
    if part.design.intercept:
        V = sp.csr_array(sp.hstack([V, sp.csr_array(np.ones((part.n, 1)))]))
    stacked = []
    for own in range(part.m):
        rows = V[np.flatnonzero(part.codes == own)]
        for other in range(part.m):
            if other != own and rows.shape[0]:
                sign = np.zeros((1, part.m))
                sign[0, own], sign[0, other] = 1.0, -1.0
                stacked.append(sp.kron(sign, rows, format="csr"))
    return (sp.csr_array(sp.vstack(stacked)),)
