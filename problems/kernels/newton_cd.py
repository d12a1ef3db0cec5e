"""A quadratic model of the loss in some weights, minimised with l1: by its matrix, or by margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.design import Csr, Dense
from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.compiled import newton_cd, threads
from pianobench.problems.kernels.compiled.passes import EXPONENTIAL, check_fields, chunks, conditions, threads_for
from pianobench.problems.penalties import Array

BLOCK = 128  # rows whose scores are transformed at a time
MOST_ENTRIES = 1 << 22  # of the matrix of weighted columns that is multiplied at a time
RIDGE = 1e-9  # share of ``sum a x^2`` added to the diagonal: where P is 0 or 1 to rounding the model is flat
SAMPLED_RIDGE = 1e-4  # share of the diagonal added to one that is made of some of the rows


@dataclass(frozen=True)
class Weights:
    """Some weights, sorted by class and then by column.

    Parameters
    ----------
    columns, classes : arrays (k,) of intp
    """

    columns: NDArray[np.intp]
    classes: NDArray[np.intp]

    def starts(self, m: int) -> NDArray[np.intp]:
        """(m + 1,) where each class begins."""
        return np.searchsorted(self.classes, np.arange(m + 1))


@dataclass(frozen=True)
class Model:
    """``g.D + D.HD / 2 + l1 |w + D|`` in some weights, H the Hessian of the loss and l2.

    Parameters
    ----------
    chosen : Weights
    w, g, l1, l2 : arrays (k,) of float64
        Their values, slopes and strengths.
    eta : float
        Accuracy, as a share of the first pass's steps.
    most : int
        Passes.
    damping : float
        Share of ``sum a x^2``, added to the diagonal.
    """

    chosen: Weights
    w: Array
    g: Array
    l1: Array
    l2: Array
    eta: float
    most: int
    damping: float = 0.0


def minimised(part: Part, model: Model, repeats: int, XW: Array, XD: Array) -> tuple[Array, float]:
    """Weights (k,) of the minimum by margins, and the multiply-adds taken; XD gets the change of the margins XW."""
    check_fields(part, part.m, XW, XD)
    if isinstance(part.design, Csr):
        return _by_sparse_margins(part, part.design, model, XW, XD)
    n, m, w = part.n, part.m, model.w.copy()
    XT, place = columns_of(part, model.chosen.columns)
    P, U = np.empty((m, n)), np.zeros((m, n))
    probabilities(XW, P)
    given = w, model.g, model.l1, model.l2.copy(), RIDGE + model.damping
    starts = model.chosen.starts(m)
    work = newton_cd.on_dense(starts, place, *given, XT, P, U, part.weights, repeats, model.eta, model.most)
    XD[...] = U.T
    return w, float(work)


def _by_sparse_margins(part: Part, design: Csr, model: Model, XW: Array, XD: Array) -> tuple[Array, float]:
    n, m, a, ridge = part.n, part.m, part.weights, RIDGE + model.damping
    constant = model.chosen.columns == design.d
    free, rest = np.flatnonzero(constant), np.flatnonzero(~constant)
    inner = Weights(model.chosen.columns[rest], model.chosen.classes[rest])
    own = model.chosen.classes[free]
    columns, starts, X = inner.columns, inner.starts(m), design.whole_columns()
    PU, SA = np.zeros((m, n, 2)), np.zeros((n, 2))
    SA[:, 1] = a
    probabilities(XW, PU[:, :, 0])
    C: Array = np.zeros((rest.size, 0))
    R: Array = C
    b: Array = np.zeros(0)
    work = 0.0
    if free.size:
        P = np.ascontiguousarray(PU[:, :, 0].T)
        C = np.zeros((rest.size, m))
        newton_cd.crossed(starts, columns, X.indptr, X.indices, X.data, PU, P, a, C)
        C = np.ascontiguousarray(C[:, own])
        half = P[:, own] * np.sqrt(a)[:, None]
        B: Array = np.diag(a @ P[:, own]) - half.T @ half
        B[np.diag_indices(own.size)] += ridge * a.sum()
        B += B.trace() / max(own.size, 1) ** 2  # along equal shifts, in which nothing changes
        back = np.linalg.solve(B, np.column_stack([C.T, model.g[free]]))
        R, b = np.ascontiguousarray(-back[:, :-1].T), -back[:, -1]
        work = float(n * own.size**2 + np.diff(X.indptr)[columns].sum() * m)
    w, l2 = model.w[rest].copy(), model.l2[rest].copy()
    given = w, model.g[rest], model.l1[rest], l2, ridge
    work += newton_cd.on_sparse(
        starts, columns, *given, X.indptr, X.indices, X.data, PU, SA, C, R, b, model.eta, model.most
    )
    XD[...] = PU[:, :, 1].T
    XD[:, own] += b.astype(XD.dtype)
    both = np.empty_like(model.w)
    both[rest], both[free] = w, model.w[free] + b
    return both, work


def hessian(part: Part, chosen: Weights, XW: Array) -> tuple[Array]:
    """Hessian (k, k) of the loss at margins XW in some weights.

    ``blockdiag(X_i.T (a T_i)) - T.T (a T)`` with T (n, k) the columns ``p_i x_l``; a small ridge makes it definite.
    """
    check_fields(part, part.m, XW)
    XT, place = columns_of(part, chosen.columns)
    a, k, starts = part.weights, place.size, chosen.starts(part.m)
    P = np.empty((part.m, a.size))
    probabilities(XW, P)
    H, root = np.zeros((k, k)), np.sqrt(a)
    width = max(MOST_ENTRIES // max(k, 1), 256)
    for at in range(0, a.size, width):
        own = slice(at, at + width)
        T = XT[place, own] * root[own]
        for i in range(part.m):
            of = slice(starts[i], starts[i + 1])
            half = T[of] * np.sqrt(P[i, own])
            H[of, of] += half @ half.T
            T[of] *= P[i, own]
        H -= T @ T.T
    ridge = RIDGE * (np.square(XT) @ a)[place]
    diagonal = np.maximum(H.diagonal(), 0.0)
    H[np.diag_indices(k)] = diagonal + ridge
    return (H,)


def some_scores(part: Part, chosen: Weights, D: Array, out: Array) -> tuple[()]:
    """``out = X D``, D (k,) in some weights alone."""
    check_fields(part, part.m, out)
    XT, place = columns_of(part, chosen.columns)
    V = np.zeros((XT.shape[0], part.m))
    V[place, chosen.classes] = D
    out[...] = XT.T @ V
    return ()


def columns_of(part: Part, columns: NDArray[np.intp]) -> tuple[Array, NDArray[np.intp]]:
    """Columns of a dense X in float64, conditioned, each a line of (c, n) and once; and where each asked for is."""
    design = part.design
    assert isinstance(design, Dense)
    kept, place = np.unique(columns, return_inverse=True)
    own = kept[kept < design.d]
    centre, scale = conditions(design)
    XT = design.transposed[own].astype(np.float64, copy=False)
    if centre.size:
        XT -= centre[own, None]
        XT *= scale[own, None]
    return (XT if own.size == kept.size else np.vstack([XT, np.ones((1, part.n))])), place


def probabilities(XW: Array, P: Array) -> None:
    """Write the softmax of the margins (n, m) into P (m, n)."""
    edges = chunks(XW.shape[0], BLOCK, 0)
    threads.run(
        lambda chunk: newton_cd.spread(XW, P, BLOCK, edges[chunk], edges[chunk + 1]),
        len(edges) - 1,
        threads_for(XW.size * EXPONENTIAL),
    )
