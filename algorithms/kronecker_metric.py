"""A metric for smooth F that follows the Hessian: features and classes, each with one matrix.

With L (m, m) and G (p, p) of `Curvature.kronecker`, the Hessian of F at W is nearly ``M = G x L + diag(l2) x I``. With
the eigenvalues g of ``l2^-1/2 G l2^-1/2`` and e of L, its inverse takes two products with each matrix of eigenvectors:

(1) M^-1 R = V [ (V'R U) / (1 + g e') ] U',   V = l2^-1/2 times the first's eigenvectors, U the second's

At W = 0 that is the Hessian itself. Rows that no penalty touches get a strength too small to matter. Where G is dear,
a sample of the rows makes L and G nearly as well: `sample`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from pianobench.problems import Problem
from pianobench.problems.cost import Cost
from pianobench.problems.kernels.compiled.threads import one_blas_thread
from pianobench.problems.penalties import Array

FAINT = 1e-8  # strength given to a row that no penalty touches, as a share of its curvature
EIGEN_FLOPS = 9.0  # of all eigenvectors of a (k, k) matrix, over k^3
RATE = 4.0  # times as fast as in passes over the rows flops are done in products and eigenvectors
DEAR = 2.0  # gradients that G may take; where it takes longer it is made of some rows
ROWS_EACH = 20  # of these for each row of W: directions that few of them have are then rare


class Metric(NamedTuple):
    """What (1) takes, in float64."""

    V: Array  # (p, p)
    U: Array  # (m, m)
    D: Array  # (p, m) 1 / (1 + g e')


def sample(problem: Problem, rng: np.random.Generator) -> NDArray[np.intp] | None:
    """Rows to make the metric of, ascending, or None for all of them.

    Some where G of all takes longer than `DEAR` gradients and these are less than half. Under l2 alone: in a direction
    that the sample lacks, M is the penalty.
    """
    wanted = ROWS_EACH * problem.p
    dear = problem.prices.product(problem.p / problem.m).flops > DEAR * RATE * problem.prices.smooth.flops
    if problem.pen.kind != "l2" or not dear or 2 * wanted > problem.n:
        return None
    return np.sort(rng.choice(problem.n, wanted, replace=False))


def kronecker_metric(problem: Problem, W: Array, rows: NDArray[np.intp] | None = None) -> Metric:
    """The metric at W (p, m), of all rows or of those numbered in `rows`, which then stand for all."""
    some = problem if rows is None else problem.rows(rows)
    L, G = some.curvature(W).kronecker()
    if some is not problem:
        problem.meter.charge(some.meter.taken())
        G *= problem.n / some.n
    faint = FAINT * np.diag(G)[:, None] / problem.m
    l2 = np.maximum(np.broadcast_to(problem.pen.l2, (problem.p, 1)), np.where(faint > 0.0, faint, 1.0))
    root, g, V = 1.0 / np.sqrt(l2), np.zeros(problem.p), np.eye(problem.p)
    alive = np.flatnonzero(np.diag(G))  # a column without entries stays apart: its weights get no rounding of others
    with one_blas_thread():  # the same bits on any machine, and no BLAS threads that spin on
        g[alive], V[np.ix_(alive, alive)] = eigh((root * G * root.T)[np.ix_(alive, alive)], driver="evd")
        e, U = eigh(L, driver="evd", check_finite=False)
    problem.meter.charge(Cost(flops=EIGEN_FLOPS * (problem.p**3 + problem.m**3), depth=1.0))
    return Metric(root * V, U, 1.0 / (1.0 + np.maximum(g, 0.0)[:, None] * np.maximum(e, 0.0)[None, :]))


def steps_worth(problem: Problem, rows: NDArray[np.intp] | None = None) -> int:
    """Gradients that take about as long as a metric, of all rows or of those numbered in `rows`."""
    p, m, prices = problem.p, problem.m, problem.prices
    share = 1.0 if rows is None else rows.size / problem.n
    flops = share * prices.product(p / m).flops + EIGEN_FLOPS * (p**3 + m**3)
    return int(np.ceil(flops / RATE / prices.smooth.flops))


def solved(metric: Metric, R: Array) -> Array:
    """(1) for R (p, m), in R's type."""
    V, U, D = metric
    with one_blas_thread():
        return np.asarray(V @ ((V.T @ R @ U) * D) @ U.T, R.dtype)
