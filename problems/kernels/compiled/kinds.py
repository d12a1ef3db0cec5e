"""The kinds of pass over the rows: what Z (m, rows), a block of scores or of nothing yet, is turned into.

A pass takes Z as ``(X W).T`` or, from INDICATORS on, has it made here from labels and fields; then it is multiplied
back with X.T where the caller wants that. Fields A and B are (n, k), row-major, of no rows where a kind has none.
"""

from __future__ import annotations

from typing import Any

from pianobench.problems.kernels.compiled import rows as on_rows
from pianobench.problems.kernels.compiled.jit import compiled

LOSS = 0  # nothing besides the loss
GRADIENT = 1  # a (P - Y)
MOMENTS = 2  # a max(P, number)
MOMENTS_AT = 3  # the same of P = exp(Z - lse), A the lse (n, 1); the loss has its log's tangent there
PRODUCT = 4  # a P (Z - rowsum(P Z)), A the field P
PROBABILITIES = 5  # A gets P
LOG_SUM_EXP = 6  # A (n, 1) gets the log-sum-exp
SCORES = 7  # A gets Z
INDICATORS = 8  # a Y
FIELD = 9  # A
ON_LINE = 10  # a (P - Y) at the scores A + number B
DIAGONAL = 11  # a A (1 - A), A the field P; the matrix is X * X


@compiled
def transform(
    kind: int, Z: Any, other: Any, rows: int, codes: Any, weights: Any, number: Any, A: Any, B: Any,
    scratch: Any, losses: Any,
) -> float:  # fmt: skip
    """Turn a block of rows into what `kind` says; its loss, 0 where `kind` has none.

    Parameters
    ----------
    Z : array (m, block)
    other : array (m, block)
        Scratch of PRODUCT, of no rows for other kinds.
    codes, weights : arrays (rows,)
    A, B : arrays (rows, k)
        The block's rows of the fields.
    scratch : array (5, block)
    losses : array (block,) of float64
    """
    top, largest, rest, own, factor = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    if kind == SCORES:
        on_rows.scatter(Z, A)
        return 0.0
    if kind == PRODUCT:
        on_rows.gather(A, other)
        on_rows.curved(Z, other, rows, weights, factor)
        return 0.0
    if kind == INDICATORS:
        on_rows.indicators(Z, rows, codes, weights)
        return 0.0
    if kind == FIELD:
        on_rows.gather(A, Z)
        return 0.0
    if kind == DIAGONAL:
        on_rows.gather(A, Z)
        on_rows.variances(Z, rows, weights)
        return 0.0
    if kind == MOMENTS_AT:
        on_rows.own_scores(Z, rows, codes, own)
        loss = on_rows.exponentiate_at(Z, rows, weights, own, A, largest, rest, losses)
        on_rows.scaled_and_floored(Z, rows, weights, number)
        return loss
    if kind == ON_LINE:
        on_rows.gather_on_line(A, B, number, Z)
    on_rows.own_scores(Z, rows, codes, own)
    on_rows.exponentiate(Z, rows, top, largest, rest)
    loss = on_rows.total_loss(rows, weights, own, largest, rest, losses)
    if kind in (GRADIENT, ON_LINE):
        on_rows.residuals(Z, rows, codes, weights, top, rest, factor)
    elif kind == MOMENTS:
        on_rows.probabilities(Z, rows, rest, factor)
        on_rows.scaled_and_floored(Z, rows, weights, number)
    elif kind == PROBABILITIES:
        on_rows.probabilities(Z, rows, rest, factor)
        on_rows.scatter(Z, A)
    elif kind == LOG_SUM_EXP:
        on_rows.log_sum_exp(rows, largest, rest, A)
    return loss
