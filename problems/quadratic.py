"""F's quadratic model at one point in some of the weights, minimised where the rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pianobench.problems.cost import Cost
from pianobench.problems.design import Csr
from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels import newton_cd as kernels
from pianobench.problems.kernels.compiled import newton_cd
from pianobench.problems.kernels.compiled.passes import check_fields
from pianobench.problems.penalties import Array
from pianobench.problems.rows import Field

if TYPE_CHECKING:
    from pianobench.problems.problem import Problem

REPEATS = 3  # visits of a class's weights before the next class, where X is dense
COVERED = 0.95  # share of the Hessian's trace for which rows are taken at most, the others by lot
CHEAP = 6.0  # flops of a matrix product in the time of one of a gradient
LAID_OUT = 150.0  # of them in the time of laying out an entry of the columns that are multiplied
EXACT = 2e7  # flops of a matrix of all rows below which none is left out: a step's calls alone take as long
NARROW_RIDGE = 1e-6  # share of the diagonal added in float32 where no row is left out
MOSTLY = 0.5  # share of the columns from which X D is made of all
PASS_FLOPS = 6.0  # of a weight and an entry of its column: slope and step


class Quadratic:
    """``G.D + D.HD / 2 + l1 |W + D|`` in the weights numbered ``i * p + l`` in `chosen`. Needs "columns".

    Parameters
    ----------
    problem : Problem
    W, G : arrays (p, m)
        A point and the gradient of f there.
    XW : Field
        Its margins.
    chosen : array (k,) of intp
        Ascending.
    l1 : array (p, 1)
        Strengths.
    eta : float
        Accuracy of the minimum, as a share of the first pass's steps.
    most : int
        Passes over the weights.
    damping : float
        Share of ``sum a x^2``, the largest curvature there can be times four, added to H's diagonal.
    """

    def __init__(
        self,
        problem: Problem,
        W: Array,
        G: Array,
        XW: Field,
        chosen: NDArray[np.intp],
        l1: Array,
        eta: float,
        most: int,
        damping: float = 0.0,
    ) -> None:
        if "columns" not in problem.has:
            raise TypeError("coordinate steps need all rows in one place: this problem's rows are spread")
        classes, columns = np.divmod(chosen, problem.p)
        self._problem, self._XW, self.W, self.labour = problem, XW, W, 0.0
        self.chosen = kernels.Weights(columns, classes)
        l2 = np.broadcast_to(np.asarray(problem.pen.l2, np.float64), (problem.p, 1))[columns, 0]
        self.w, self.g, self.l1 = self.of(W), self.of(G), l1[columns, 0]
        self.model = kernels.Model(self.chosen, self.w, self.g, self.l1, l2, eta, most, damping)

    def of(self, V: Array) -> Array:
        """The chosen elements (k,) of V (p, m), in float64."""
        return V[self.chosen.columns, self.chosen.classes].astype(np.float64)

    def at(self, w: Array) -> Array:
        """W (p, m) with the chosen elements at w (k,)."""
        target = self.W.copy()
        target[self.chosen.columns, self.chosen.classes] = w
        return target

    def l1_of(self, w: Array) -> float:
        """``l1 |w|`` of the chosen elements."""
        return float(self.l1 @ np.abs(w))

    def rise(self, w: Array) -> float:
        """``l1 |w|`` less what it is at W, without the rounding of either."""
        return float(self.l1 @ (np.abs(w) - np.abs(self.w)))

    def hessian(self, each: float = np.inf, rng: np.random.Generator | None = None) -> Array:
        """H (k, k) of all rows; with `rng` of rows drawn at random, in float32, about `each` for a weight.

        They are more as long as the matrix costs less than a step's other passes over the rows, and all where it
        `is_cheap`.
        """
        problem, k = self._problem, self.model.w.size
        H, rows = np.zeros((0, 0)), problem.n
        if problem.layout == "dense" and (rng is None or is_cheap(problem, k)):
            (H,) = problem.home.reduce(kernels.hessian, self.chosen, fields=(self._XW,))
        else:
            least = CHEAP * problem.prices.smooth.flops / (k * (k + LAID_OUT))
            H, rows = problem.home.reduce(sampled_hessian, self.chosen, each, least, rng, fields=(self._XW,))
        H[np.diag_indices(k)] += self.model.l2
        flops = rows * k * (k + k / problem.m)
        problem.meter.charge(Cost(float(rows), flops, 8.0 * rows * k, 1.0) + problem.prices.softmax)
        return np.asarray(H)

    def by_matrix(self, H: Array) -> tuple[Array, Field]:
        """The minimum w (k,) with H (k, k) given, and X D."""
        problem, model = self._problem, self.model
        w = model.w.copy()
        if model.damping > 0.0:
            H = H.copy()
            H[np.diag_indices(w.size)] += model.damping * problem.squares()[self.chosen.columns, 0]
        if problem.layout == "csr":
            work = _without_free(H, model, w)
        else:
            work = newton_cd.on_matrix(H, model.g.copy(), w, model.l1, model.eta, model.most)
        problem.meter.charge(Cost(flops=2.0 * work, bytes=8.0 * work))
        XD, columns = problem.field(problem.m, dtype=self.W.dtype), self.chosen.columns
        share = np.count_nonzero(np.bincount(columns)) / problem.p
        if problem.layout == "dense" and share > MOSTLY:  # all of them, without a copy of those wanted
            D = np.zeros_like(self.W)
            D[columns, self.chosen.classes] = w - model.w
            problem.xw(D, XD)
        else:
            problem.home.reduce(some_scores, self.chosen, w - model.w, fields=(XD,))
            problem.meter.charge(problem.prices.product(share))
        return w, XD

    def by_margins(self) -> tuple[Array, Field]:
        """The minimum w (k,) and X D, the model known by its margins.

        `labour` are then the multiply-adds along columns: those of the intercept's own matrix are a product's.
        """
        problem = self._problem
        XD = problem.field(problem.m, dtype=self.W.dtype)
        w, work = problem.home.reduce(kernels.minimised, self.model, REPEATS, fields=(self._XW, XD))
        constant = np.count_nonzero(self.chosen.columns == problem.d) if problem.layout == "csr" else 0
        self.labour, bytes_of = float(work) - problem.n * constant**2, problem.prices.entry_bytes + 8.0
        problem.meter.charge(Cost(flops=0.5 * PASS_FLOPS * work, bytes=bytes_of * work) + problem.prices.softmax)
        return w, XD


def is_cheap(problem: Problem, k: int) -> bool:
    """Whether an exact Hessian in k weights takes no longer than a step's calls."""
    return problem.layout == "dense" and is_small(problem.n, k, problem.m)


def is_small(n: int, k: int, m: int) -> bool:
    """Whether a Hessian of n rows in k weights of m classes takes no longer to multiply than a step's calls."""
    return n * k * (k + k / m) <= EXACT


def _without_free(H: Array, model: kernels.Model, w: Array) -> float:
    """`newton_cd.on_matrix` after what no l1 holds is eliminated, as by margins: it depends on all the others."""
    free, rest = np.flatnonzero(model.l1 == 0.0), np.flatnonzero(model.l1 > 0.0)
    if not free.size:
        return float(newton_cd.on_matrix(H, model.g.copy(), w, model.l1, model.eta, model.most))
    B: Array = H[np.ix_(free, free)]
    B += B.trace() / free.size**2  # along equal shifts, in which nothing changes
    across, v = H[np.ix_(free, rest)], w[rest]
    back = np.linalg.solve(B, np.column_stack([across, model.g[free]]))
    inner, g = H[np.ix_(rest, rest)] - across.T @ back[:, :-1], model.g[rest] - across.T @ back[:, -1]
    work = newton_cd.on_matrix(inner, g, v, model.l1[rest], model.eta, model.most)
    w[free] -= back[:, -1] + back[:, :-1] @ (v - w[rest])
    w[rest] = v
    return float(work + rest.size**2 * free.size)


def sampled_hessian(
    part: Part, chosen: kernels.Weights, each: float, least: float, rng: np.random.Generator | None, XW: Array
) -> tuple[Array, int]:
    """Hessian (k, k) of the loss in some weights, of rows that are `drawn` or of all, and how many they are.

    The rows' columns are laid out in full, brought to one size and multiplied in float32; in float64 where all rows are
    and that takes no longer than a step's calls.
    """
    P = np.empty((part.m, part.n))
    kernels.probabilities(XW, P)
    rows, a = np.arange(part.n), part.weights
    if rng is not None:
        rows, a = drawn(part, chosen, each, least, rng, P)
    columns, place = np.unique(chosen.columns, return_inverse=True)
    own, k, starts = columns[columns < part.design.d], place.size, chosen.starts(part.m)
    exact = rng is None and is_small(part.n, k, part.m)
    narrow: type[np.floating[Any]] = np.float64 if exact else np.float32
    some = part.design.slice(rows).columns(own, own.size < columns.size)
    size = np.sqrt(some.square_adjoint(a[:, None])[:, 0])
    size[size == 0.0] = 1.0
    H, root, width = np.zeros((k, k), narrow), np.sqrt(a), max(kernels.MOST_ENTRIES // max(k, 1), 256)
    for at in range(0, rows.size, width):
        block = slice(at, at + width)
        V = some.slice(block).values(np.dtype(np.float64))
        V = V if isinstance(V, np.ndarray) else sp.csr_array(V).toarray()
        V = np.column_stack([V, np.ones(V.shape[0])]) if some.intercept else V
        T, Q = np.ascontiguousarray((V * root[block, None] / size).T, narrow)[place], P[:, rows[block]].astype(narrow)
        for i in range(part.m):
            of = slice(starts[i], starts[i + 1])
            half = T[of] * np.sqrt(Q[i])
            H[of, of] += half @ half.T
            T[of] *= Q[i]
        H -= T @ T.T
    whole: Array = H.astype(np.float64)
    diagonal = np.maximum(whole.diagonal(), 0.0)
    ridge = kernels.SAMPLED_RIDGE if rows.size < part.n else 0.0 if exact else NARROW_RIDGE
    whole[np.diag_indices(k)] = (1.0 + ridge) * diagonal + kernels.RIDGE
    whole *= size[place]
    whole *= size[place][:, None]
    return whole, rows.size


def drawn(
    part: Part, chosen: kernels.Weights, each: float, least: float, rng: np.random.Generator, P: Array
) -> tuple[NDArray[np.intp], Array]:
    """Numbers and weights of rows whose Hessian is nearly that of all.

    A row is taken with a probability by its share of the Hessian's trace, columns brought to one size, and its weight
    is divided by that; the largest are certain. A row undecided among c classes is worth c: there are ``each k / c``
    of them, at least `least`, and no more than have `COVERED` of the trace.
    """
    alike = np.square(P).sum(axis=0)
    h = part.weights * np.maximum(1.0 - alike, 0.0)
    squares = np.zeros(part.design.d + part.design.intercept)
    for rows, block in part.blocks():
        squares += block.design.square_adjoint(h[rows, None])[:, 0]
    columns, counts = np.unique(chosen.columns, return_counts=True)
    share = np.zeros(part.design.d + 1)
    share[columns] = np.divide(counts, squares[columns], out=np.zeros(columns.size), where=squares[columns] > 0.0)
    q = np.empty(part.n)
    for rows, block in part.blocks():
        V = block.design.values(np.dtype(np.float64))
        q[rows] = h[rows] * (block.design.each(V, np.square) @ share[:-1] + share[-1])
    total = float(q.sum())
    if not 0.0 < total < np.inf:
        return np.arange(part.n), part.weights
    falling = np.sort(q)[::-1]
    before = np.concatenate([[0.0], np.cumsum(falling)[:-1]])
    undecided = float(h @ (1.0 / alike)) / float(h.sum())
    wanted = min(max(each * chosen.columns.size / undecided, least), float(np.count_nonzero(before < COVERED * total)))
    # after the first `sure`, which are certain, the next one is so no longer
    sure = int(np.argmax(falling * (wanted - np.arange(part.n)) <= total - before))
    chance = np.minimum(1.0, q * max(wanted - sure, 0.0) / max(total - before[sure], np.finfo(np.float64).tiny))
    chance[q > falling[sure]] = 1.0
    taken = np.flatnonzero(rng.random(part.n) < chance)
    return taken, part.weights[taken] / chance[taken]


def some_scores(part: Part, chosen: kernels.Weights, D: Array, out: Array) -> tuple[()]:
    """``out = X D``, D (k,) in some weights alone."""
    if not isinstance(part.design, Csr):
        return kernels.some_scores(part, chosen, D, out)
    check_fields(part, part.m, out)
    columns, place = np.unique(chosen.columns, return_inverse=True)
    V = np.zeros((columns.size, part.m))
    V[place, chosen.classes] = D
    own = columns[columns < part.design.d]
    out[...] = part.design.whole_columns()[:, own] @ V[: own.size]
    if own.size < columns.size:
        out += V[-1].astype(out.dtype)
    return ()
