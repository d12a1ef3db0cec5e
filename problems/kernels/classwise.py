"""Each class on its own at a fixed normalisation of the probabilities: the row arithmetic of log-concavity (LC)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pianobench.problems.cost import EXP_FLOPS
from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels import fields as on_fields
from pianobench.problems.kernels.compiled import passes, threads
from pianobench.problems.kernels.compiled.exponential import exp
from pianobench.problems.kernels.compiled.jit import compiled
from pianobench.problems.penalties import Array

BLOCK = 64  # rows whose terms are added before they join the sum


def log_probabilities(part: Part, W: Array, M: Array) -> tuple[()]:
    """``M = X W - lse``, M (n, m) and lse the log-sum-exp of each row."""
    on_fields.scores(part, W, M)
    _run(part, M, lambda first, last: _normalise(M, first, last))
    return ()


def along(part: Part, t: Array, M: Array, XD: Array, R: Array) -> tuple[Array, Array, Array]:
    """``R = a exp(M + t XD)``, each class with its own t, and the sums over the rows of R, R XD and R XD^2.

    Parameters
    ----------
    t : array (m,)
    M, XD, R : fields (n, m)

    Returns
    -------
    mass, rise, bend : arrays (m,)
        ``sum_j a_j exp(M_ji + t XD_ji)`` and its first two derivatives in t.
    """
    passes.check_fields(part, part.m, M, XD, R)
    step = t.astype(M.dtype)
    chunks = _run(part, M, lambda first, last: _along(M, XD, R, step, part.weights, first, last, BLOCK))
    mass, rise, bend = np.sum(chunks, axis=0)
    return mass, rise, bend


def advance(_part: Part, t: Array, M: Array, XD: Array) -> tuple[()]:
    """``XD = t XD`` and ``M = M + XD``, each class with its own t."""
    np.multiply(XD, t.astype(XD.dtype), out=XD)
    np.add(M, XD, out=M)
    return ()


log_probabilities.flops = EXP_FLOPS + 5.0  # type: ignore[attr-defined]
along.flops = EXP_FLOPS + 8.0  # type: ignore[attr-defined]
advance.flops = 2.0  # type: ignore[attr-defined]


def _run(part: Part, M: Array, work: Any) -> list[Any]:
    edges = passes.chunks(part.n, BLOCK, 0, most=32)
    count = passes.threads_for(passes.EXPONENTIAL * M.size)
    return threads.run(lambda chunk: work(edges[chunk], edges[chunk + 1]), len(edges) - 1, count)


@compiled
def _normalise(M: Any, first: int, last: int) -> None:
    m = M.shape[1]
    for j in range(first, last):
        largest = M[j, 0]
        for i in range(1, m):
            largest = max(largest, M[j, i])
        total = M.dtype.type(0)
        for i in range(m):
            total += exp(M[j, i] - largest)
        lse = largest + M.dtype.type(math.log(total))
        for i in range(m):
            M[j, i] -= lse


@compiled
def _along(M: Any, XD: Any, R: Any, t: Any, weights: Any, first: int, last: int, block: int) -> Any:
    m = M.shape[1]
    most = M.dtype.type(130 if M.itemsize == 4 else 1000)  # beyond it exp is infinite; far beyond, `exp` is wrong
    total, part = np.zeros((3, m)), np.zeros((3, m))
    for at in range(first, last, block):
        part[:] = 0.0
        for j in range(at, min(at + block, last)):
            a = M.dtype.type(weights[j])
            if a == 0:  # a row left out, also where its exponential overflows
                for i in range(m):
                    R[j, i] = 0
                continue
            for i in range(m):
                x = M[j, i] + t[i] * XD[j, i]
                r = a * exp(most if x > most else x)
                R[j, i] = r
                part[0, i] += r
                part[1, i] += r * XD[j, i]
                part[2, i] += r * XD[j, i] * XD[j, i]
        total += part
    return total
