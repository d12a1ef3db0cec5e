"""The pass of a line search: over scores that stay with the rows, without X."""

from __future__ import annotations

from typing import Any

import numpy as np

from pianobench.problems.kernels.compiled import rows as on_rows
from pianobench.problems.kernels.compiled.jit import compiled


@compiled
def line_pass(
    XW: Any, XD: Any, t: Any, codes: Any, weights: Any, first: int, last: int, block: int
) -> tuple[float, float]:
    """Loss of the rows from `first` to `last` at the scores ``XW + t XD`` (n, m), and its derivative in t."""
    m, dtype = XW.shape[1], XW.dtype
    Z, D = np.empty((m, block), dtype), np.empty((m, block), dtype)
    scratch, losses = np.empty((5, block), dtype), np.empty(block)
    top, largest, rest, own, factor = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    total = slope = 0.0
    for at in range(first, last, block):
        rows = min(block, last - at)
        code, weight = codes[at : at + rows], weights[at : at + rows]
        on_rows.gather(XD[at : at + rows], D)
        on_rows.gather_on_line(XW[at : at + rows], XD[at : at + rows], t, Z)
        on_rows.own_scores(Z, rows, code, own)
        on_rows.exponentiate(Z, rows, top, largest, rest)
        total += on_rows.total_loss(rows, weight, own, largest, rest, losses)
        on_rows.residuals(Z, rows, code, weight, top, rest, factor)
        slope += on_rows.inner(Z, D, rows, losses)
    return total, slope
