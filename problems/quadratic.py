"""F's quadratic model at one point in some of the weights, minimised where the rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.cost import Cost
from pianobench.problems.kernels import newton_cd as kernels
from pianobench.problems.kernels.compiled import newton_cd
from pianobench.problems.penalties import Array
from pianobench.problems.rows import Field

if TYPE_CHECKING:
    from pianobench.problems.problem import Problem

REPEATS = 3  # visits of a class's weights before the next class, where X is dense
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
        self._problem, self._XW, self.W = problem, XW, W
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

    def hessian(self, rows: NDArray[np.intp] | None = None) -> Array:
        """H (k, k), of all rows or of those numbered in `rows`, scaled up."""
        problem, k = self._problem, self.model.w.size
        (H,) = problem.home.reduce(kernels.hessian, self.chosen, rows, fields=(self._XW,))
        H[np.diag_indices(k)] += self.model.l2
        n = problem.n if rows is None else rows.size
        problem.meter.charge(Cost(float(n), n * k * (k + k / problem.m), 8.0 * n * k, 1.0) + problem.prices.softmax)
        return np.asarray(H)

    def by_matrix(self, H: Array) -> tuple[Array, Field]:
        """The minimum w (k,) with H (k, k) given, and X D."""
        problem, model = self._problem, self.model
        w = model.w.copy()
        if model.damping > 0.0:
            H = H.copy()
            H[np.diag_indices(w.size)] += model.damping * problem.squares()[self.chosen.columns, 0]
        work = newton_cd.on_matrix(H, model.g.copy(), w, model.l1, model.eta, model.most)
        XD = problem.field(problem.m, dtype=self.W.dtype)
        problem.home.reduce(kernels.some_scores, self.chosen, w - model.w, fields=(XD,))
        columns = np.unique(self.chosen.columns).size
        problem.meter.charge(Cost(flops=2.0 * work, bytes=8.0 * work))
        problem.meter.charge(problem.prices.product(columns / problem.p))
        return w, XD

    def by_margins(self) -> tuple[Array, Field]:
        """The minimum w (k,) and X D, the model known by its margins."""
        problem = self._problem
        XD = problem.field(problem.m, dtype=self.W.dtype)
        w, work = problem.home.reduce(kernels.minimised, self.model, REPEATS, fields=(self._XW, XD))
        bytes_of = problem.prices.entry_bytes + 8.0
        problem.meter.charge(Cost(flops=0.5 * PASS_FLOPS * work, bytes=bytes_of * work) + problem.prices.softmax)
        return w, XD
