"""What zeros in the weights spare when samples are predicted."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from pianobench.algorithms.loop import solve
from pianobench.algorithms.prox_newton_active import ProxNewtonActive
from pianobench.experiments.probes.setting import Number, Setting, check_arrived

GAP = 1e-3
MOST, LEAST = 100, 5  # predictions of each kind


def prediction(setting: Setting) -> Iterator[Number]:
    """`seconds to predict` all samples, and `bytes of the weights`, of the same l1 solution kept in two ways.

    Dense, and sparse in the better of two ways: as a sparse matrix, or as the dense rows of the features that have a
    weight with their numbers.
    """
    problem = setting.problem
    result = solve(ProxNewtonActive(), problem, tol=GAP, max_seconds=setting.left(0.6), few=True)
    check_arrived(result, "no solution to predict with")
    coef, b = problem.to_user(result.W)
    dense, ways = kept(setting.X, np.ascontiguousarray(coef.T, problem.dtype), b)
    answers = [way[0]() for way in (dense, *ways)]
    agree = min(float(np.mean(one == answers[0])) for one in answers)
    if agree < 0.999:  # ties of rounding apart
        raise RuntimeError(f"the ways to predict agree on {agree:.4f} of the samples")
    times: list[list[float]] = [[] for _ in answers]
    while len(times[0]) < MOST and (len(times[0]) < LEAST or setting.left(0.9)):
        for (predict, _), taken in zip((dense, *ways), times, strict=True):
            began = time.perf_counter()
            predict()
            taken.append(time.perf_counter() - began)
    medians = [statistics.median(taken) for taken in times]
    best = min(range(1, len(medians)), key=lambda i: medians[i])
    for arm, i, size in (("dense", 0, dense[1]), ("sparse", best, ways[best - 1][1])):
        yield Number("seconds to predict", arm, medians[i])
        yield Number("bytes of the weights", arm, float(size))


def kept(X: Any, W: Any, b: Any) -> tuple[tuple[Callable[[], Any], int], list[tuple[Callable[[], Any], int]]]:
    """Predictions of X (n, d) with W (d, m) and intercepts b (m,), and the bytes of what each keeps."""
    thin = sp.csr_array(W)
    features = np.flatnonzero(W.any(axis=1))
    rows = np.ascontiguousarray(W[features])
    as_dense = (lambda: np.argmax(X @ W + b, axis=1)), W.nbytes
    as_sparse = (
        (lambda: np.argmax(_full(X @ thin) + b, axis=1)),
        sum(part.nbytes for part in (thin.data, thin.indices, thin.indptr)),
    )
    by_rows = (lambda: np.argmax(X[:, features] @ rows + b, axis=1)), rows.nbytes + features.nbytes
    return as_dense, [as_sparse, by_rows]


def _full(scores: Any) -> Any:
    return scores if isinstance(scores, np.ndarray) else scores.toarray()
