"""What a problem hands out besides numbers: its values along a line, and its curvature at a point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pianobench.problems.kernels import kronecker, second_order
from pianobench.problems.penalties import Array
from pianobench.problems.rows import Field

if TYPE_CHECKING:
    from pianobench.problems.problem import Problem


class Line:
    """f along ``W + t D``: the margins X W and X D stay with the rows, and a trial reads neither X nor W.

    Parameters
    ----------
    problem : Problem
    W, D : arrays (p, m)
        Point and direction.
    XW, XD : Fields, optional
        Margins of W and D if they are known.
    """

    @np.errstate(all="ignore")  # overflow is an answer, see `Rows.reduce`
    def __init__(self, problem: Problem, W: Array, D: Array, XW: Field | None = None, XD: Field | None = None) -> None:
        self._problem, self.W, self.D = problem, W, D
        self._XW = problem.scores(W) if XW is None else XW
        self._XD = problem.scores(D) if XD is None else XD
        # the quadratic penalty along the line is q0 + q1 t + q2 t^2
        penalty = problem.pen
        self._q0, self._q2 = penalty.quadratic(W), penalty.quadratic(D)
        self._q1 = float(np.sum(penalty.l2 * W * D, dtype=np.float64)) if np.any(penalty.l2) else 0.0

    def __call__(self, t: float) -> tuple[float, float]:
        """f and its derivative at t."""
        problem = self._problem
        loss, slope = problem.home.reduce(second_order.along_line, t, fields=(self._XW, self._XD))
        problem.meter.charge(problem.prices.softmax + problem.prices.rowwise(4.0, 2.0))
        return loss + self._q0 + t * (self._q1 + t * self._q2), slope + self._q1 + 2.0 * t * self._q2

    @np.errstate(all="ignore")
    def take(self, t: float) -> Array:
        """The point (p, m) at t."""
        return np.asarray(self.W + self.W.dtype.type(t) * self.D)

    def smooth(self, t: float) -> tuple[float, Array]:
        """f and its gradient at t: half the products of `Problem.smooth`."""
        problem, W = self._problem, self.take(t)
        loss, G = problem.home.reduce(second_order.gradient_on_line, t, fields=(self._XW, self._XD))
        problem.meter.charge(problem.prices.product() + problem.prices.softmax)
        return problem.add_quadratic(loss, G, W)

    def turn(self, t: float, D: Array) -> Line:
        """The line from the point at t in a new direction: its margins are known, only X D is computed."""
        return Line(self._problem, self.take(t), D, self.margins(t))

    def margins(self, t: float) -> Field:
        """Margins of the point at t."""
        problem = self._problem
        XW = problem.field(problem.m, dtype=self.W.dtype)
        problem.home.reduce(second_order.advance, t, fields=(self._XW, self._XD, XW))
        problem.meter.charge(problem.prices.rowwise(2.0, 3.0))
        return XW


class Curvature:
    """Hessian of f at one point; the probabilities there stay with the rows.

    Parameters
    ----------
    problem : Problem
    W : array (p, m)
    """

    def __init__(self, problem: Problem, W: Array) -> None:
        self._problem = problem
        self._P = problem.field(problem.m, dtype=W.dtype)
        problem.home.reduce(second_order.probabilities, W, fields=(self._P,))
        problem.meter.charge(problem.prices.product() + problem.prices.softmax)

    @np.errstate(all="ignore")
    def __matmul__(self, V: Array) -> Array:
        """Hessian times V (p, m), without an exponential."""
        problem = self._problem
        V = problem.only_active(V)
        (H,) = problem.home.reduce(second_order.hessian_product, V, fields=(self._P,))
        problem.meter.charge(problem.prices.product(2.0) + problem.prices.rowwise(5.0))
        return problem.only_active(H + (problem.pen.l2 * V).astype(V.dtype))

    def diag(self) -> Array:
        """Diagonal (p, m) of the Hessian."""
        problem = self._problem
        (h,) = problem.home.reduce(second_order.hessian_diagonal, fields=(self._P,))
        problem.meter.charge(problem.prices.product() + problem.prices.rowwise(3.0))
        return problem.only_active((h + problem.pen.l2).astype(h.dtype))

    def kronecker(self) -> tuple[Array, Array]:
        """L (m, m) and G (p, p) in float64: the loss's Hessian is nearly their Kronecker product.

        Exact at W = 0; in general what is left of ``sum_j a_j (diag p_j - p_j p_j') x (x_j x_j')`` if the first factor
        of each term is replaced by their mean, as large as its trace. The traces are equal.
        """
        problem = self._problem
        L, G = problem.home.reduce(kronecker.factors, fields=(self._P,))
        problem.meter.charge(problem.prices.product(problem.p / problem.m) + problem.prices.rowwise(2.0 * problem.m))
        size = float(np.trace(L))
        return L / size if size > 0.0 else L, G

    def dense(self, most_bytes: int = 1 << 30) -> Array:
        """The whole Hessian (m p, m p), float64, class outer and feature inner.

        Raises
        ------
        MemoryError
            It would take more than `most_bytes`; the message gives the number.
        """
        problem = self._problem
        size = problem.p * problem.m
        if 8 * size * size > most_bytes:
            raise MemoryError(
                f"the Hessian of {size} variables takes {8 * size * size:,} bytes, {most_bytes:,} are allowed: "
                "use a method that multiplies by it only (needs 'curvature', as newton-cg), or allow more"
            )
        (H,) = problem.home.reduce(second_order.hessian_dense, fields=(self._P,))
        problem.meter.charge(problem.prices.product(0.5 * size))
        H[np.diag_indices(size)] += np.broadcast_to(problem.pen.l2, (problem.p, problem.m)).T.ravel()
        frozen = ~problem.active.T.ravel() if problem.active is not None else np.zeros(size, bool)
        H[frozen, :] = 0.0
        H[:, frozen] = 0.0
        return np.asarray(H)
