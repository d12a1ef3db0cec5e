"""The passes of a certificate over margins that stay with the rows: the intercept's Newton step, and an entropy."""

from __future__ import annotations

from typing import Any

import numpy as np

from pianobench.problems.kernels.compiled import rows as on_rows
from pianobench.problems.kernels.compiled.blas import NO, gemm, start
from pianobench.problems.kernels.compiled.exponential import log1p
from pianobench.problems.kernels.compiled.jit import compiled

TURNED = ord("T")


@compiled
def newton_pass(
    address: int, Z: Any, b: Any, codes: Any, weights: Any, first: int, last: int, block: int, g: Any, K: Any
) -> float:
    """Loss of the rows from `first` to `last` at the scores ``Z + b`` (n, m).

    ``g += sum_j a_j (p_j - y_j)`` (m,) and ``K += sum_j a_j p_j p_j.T`` (m, m).
    """
    m = Z.shape[1]
    P, aP, scratch, losses = np.empty((m, block)), np.empty((m, block)), np.empty((5, block)), np.empty(block)
    R = np.zeros((m, block))  # a sum for each place in a block: one number alone would wait for each addition
    top, largest, rest, own, factor = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    total = 0.0
    for at in range(first, last, block):
        rows = min(block, last - at)
        code, weight = codes[at : at + rows], weights[at : at + rows]
        on_rows.gather_shifted(Z[at : at + rows], rows, b, P)
        on_rows.own_scores(P, rows, code, own)
        on_rows.exponentiate(P, rows, top, largest, rest)
        total += on_rows.total_loss(rows, weight, own, largest, rest, losses)
        on_rows.probabilities(P, rows, rest, factor)
        for i in range(m):
            for j in range(rows):
                aP[i, j] = weight[j] * P[i, j]
        gemm(address, TURNED, NO, m, m, rows, start(P, 0), block, start(aP, 0), block, 1.0, start(K, 0), m)
        for j in range(rows):
            y = code[j]
            right = top[j] == y  # 1 - p there is rest / (1 + rest), to full relative accuracy
            aP[y, j] = -rest[j] * factor[j] * weight[j] if right else aP[y, j] - weight[j]
        for i in range(m):
            for j in range(rows):
                R[i, j] += aP[i, j]
    for i in range(m):
        for j in range(block):
            g[i] += R[i, j]
    return total


@compiled
def entropy_pass(
    Z: Any, b: Any, t: float, u: Any, c: float, codes: Any, weights: Any, first: int, last: int, block: int
) -> float:
    """``sum_j a_j H(q_j)`` of some rows, ``Q = (1 - c) Y + c ((1 - t) P + 1 u.T)``, P that of the scores ``Z + b``."""
    m = Z.shape[1]
    S, P, scratch, H = np.empty((m, block)), np.empty((m, block)), np.empty((4, block)), np.empty(block)
    top, largest, rest, factor = scratch[0], scratch[1], scratch[2], scratch[3]
    plain = c == 1.0 and t == 0.0 and not np.any(u)
    total = 0.0
    for at in range(first, last, block):
        rows = min(block, last - at)
        code = codes[at : at + rows]
        on_rows.gather_shifted(Z[at : at + rows], rows, b, P)
        if plain:
            S[:, :rows] = P[:, :rows]
        on_rows.exponentiate(P, rows, top, largest, rest)
        on_rows.probabilities(P, rows, rest, factor)
        H[:] = 0.0
        if plain:  # sum p (lse - z), exact where p is near 1
            for i in range(m):
                for j in range(rows):
                    if P[i, j] > 0.0:
                        H[j] += P[i, j] * (largest[j] - S[i, j] + log1p(rest[j]))
        else:
            mixed_entropies(P, rows, t, u, c, code, rest, H)
        total += on_rows.weighted_total(rows, weights[at : at + rows], H)
    return total


@compiled
def mixed_entropies(P: Any, rows: int, t: float, u: Any, c: float, codes: Any, rest: Any, H: Any) -> None:
    """Add to H (rows,) the entropies of ``Q``; the element of a row's own class is what the others leave of 1.

    So the row is in the simplex whatever rounding did, and H is exact also where the row is nearly one-hot. `rest`
    (rows,) is scratch.
    """
    for j in range(rows):
        rest[j] = 0.0
    for i in range(P.shape[0]):
        for j in range(rows):
            q = c * ((1.0 - t) * P[i, j] + u[i])
            if i != codes[j] and q > 0.0:
                rest[j] += q
                H[j] -= q * np.log(q)
    for j in range(rows):
        if rest[j] < 1.0:
            H[j] -= (1.0 - rest[j]) * np.log1p(-rest[j])
