"""Coordinate descent on the exact margins: one weight after another, as SMLR and the Gauss-Jacobi family do it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.design import Csr, Dense
from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.compiled import coordinate, threads
from pianobench.problems.kernels.compiled.passes import (
    EXPONENTIAL,
    check,
    check_fields,
    chunks,
    conditions,
    threads_for,
)
from pianobench.problems.kernels.compiled.passes import total as total_of
from pianobench.problems.penalties import Array, Penalty

BOUNDS = {"bohning": coordinate.BOHNING, "quarter": coordinate.QUARTER, "taylor": coordinate.TAYLOR}
BLOCK = 128  # rows whose scores are transformed at a time
NOTHING = np.empty(0)


@dataclass(frozen=True)
class Rule:
    """Curvature of the quadratic model in one weight.

    Parameters
    ----------
    bound : {"bohning", "quarter", "taylor"}
        ``(1 - 1/m) / 2 * sum a x^2`` [Böh92], ``1/4 * sum a x^2``, or the second derivative itself.
    tau : float
        Added to it: FLEXA's proximal weight.
    """

    bound: Literal["bohning", "quarter", "taylor"] = "bohning"
    tau: float = 0.0


def coordinate_sweep(
    part: Part,
    rule: Rule,
    W: Array,
    order: NDArray[np.intp],
    groups: int,
    gamma: float,
    pen: Penalty,
    margins: Array,
) -> tuple[Array, float]:
    """One sweep; see `Problem.sweep`. Writes the margins (n, m).

    Besides X by columns, made once, it takes four fields and two more for each group that runs at the same time; a step
    costs what its column has, so that a short `order` makes a cheap sweep: beginning and end are a pass each.

    Raises
    ------
    ValueError
        W or the margins have another shape, or `order` has a number that is of no weight.
    """
    n, m = part.n, part.m
    check(part, W)
    check_fields(part, m, margins)
    if order.ndim != 1 or order.dtype.kind not in "iu" or (order.size and not 0 <= order.min() <= order.max() < W.size):
        raise ValueError(f"order is {order.dtype} {order}: numbers of weights 0 .. {W.size - 1} are expected")
    W, order = W.copy(), order.astype(np.intp)
    l1, l2 = (np.broadcast_to(np.asarray(s, np.float64), W.shape) for s in (pen.l1, pen.l2))
    columns, entries = _columns(part)
    rates = BOUNDS[rule.bound], float(rule.tau), float(gamma)
    runs = [group for group in np.array_split(order, groups) if group.size]
    apart = np.unique(order).size == order.size  # else a group has to see what an earlier one did to a weight
    together = min(threads_for(order.size * entries * EXPONENTIAL), max(len(runs), 1)) if apart else 1
    start, alone = _scores(part), len(runs) < 2
    fields = [start] if alone else [_scores(part) for _ in range(together)]
    change = NOTHING if alone else np.zeros_like(start[0])
    edges, many = chunks(n, BLOCK, 0), threads_for(n * m * EXPONENTIAL)

    def over_rows(kernel: Any, *arguments: Any) -> list[Any]:
        return threads.run(lambda chunk: kernel(*arguments, *edges[chunk : chunk + 2]), len(edges) - 1, many)

    over_rows(coordinate.begin, margins, *start, BLOCK)
    for first in range(0, len(runs), together):
        now = runs[first : first + together]

        def work(place: int, now: list[NDArray[np.intp]] = now) -> None:
            Z, E = fields[place]
            if not alone:
                Z[...], E[...] = start
            total = np.ones(n)
            coordinate.sweep(now[place], m, *rates, W, l1, l2, part.codes, part.weights, Z, E, total, *columns)

        threads.run(work, len(now), together)
        if not alone:
            for Z, _ in fields[: len(now)]:
                over_rows(coordinate.add_change, Z, start[0], change)
    if not alone:
        start[0][...] += change
    losses = over_rows(coordinate.end, margins, start[0], part.codes, part.weights, BLOCK)
    return W, total_of(losses)


def _scores(part: Part) -> tuple[Array, Array]:
    """Z and E (m, n): a class in one piece where X is dense; a sample where it is sparse, with E beside Z."""
    if isinstance(part.design, Dense):
        return np.empty((part.m, part.n)), np.empty((part.m, part.n))
    both = np.empty((part.n, part.m, 2))
    return both[:, :, 0].T, both[:, :, 1].T


def _columns(part: Part) -> tuple[tuple[Any, ...], float]:
    """X by columns as `coordinate.sweep` takes it, and the mean number of entries of a column."""
    design = part.design
    if isinstance(design, Dense):
        whole = np.empty(0, np.int32)
        return (design.transposed, *conditions(design), whole, whole, NOTHING), design.n
    assert isinstance(design, Csr)
    C = design.whole_columns()
    return (np.empty((0, 0)), NOTHING, NOTHING, C.indptr, C.indices, C.data), C.nnz / max(design.d, 1)
