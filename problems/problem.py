"""`Problem`: the objective, and all that a solver may ask of it.

``F(W) = loss(W) + penalty(W)`` with ``loss(W) = sum_j a_j [log sum_i exp(w_i . x_j) - w_{y_j} . x_j]``: a sum over
samples, as in both papers. ``f`` is its smooth part, the loss and the quadratic penalty; ``F = f + l1 + l0``.
W is (p, m): a column a class, a row a feature and, with an intercept, one more row that no penalty touches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pianobench.problems.conditioning import condition
from pianobench.problems.cost import EXP_FLOPS, Cost, Meter
from pianobench.problems.data import rows_in_memory
from pianobench.problems.derived import Derived
from pianobench.problems.engines.memory import MemoryRows
from pianobench.problems.kernels import fields as on_fields
from pianobench.problems.kernels import softmax as on_softmax
from pianobench.problems.kernels.compiled import ridge
from pianobench.problems.kernels.coordinate import Rule, coordinate_sweep
from pianobench.problems.oracles import Curvature, Line
from pianobench.problems.penalties import Array, Penalty
from pianobench.problems.row_space import RowSpace, row_space
from pianobench.problems.rows import Field, Rows

FLOOR = {4: 1e-37, 8: 1e-290}  # smallest probability that enters A and B, by bytes of the dtype

MomentsUpdate: TypeAlias = Callable[[Array, Array, Array, Array, Array, Penalty], Array]


class Problem(Derived):
    """A multinomial logistic regression problem. Immutable; what its calls cost is added up in `meter`.

    Parameters
    ----------
    X : array or sparse matrix (n, d)
        float32 and float64 are kept, other numbers become float64; sparse formats become CSR. Never written.
    y : array-like (n,)
        Labels of any kind; `classes` and `decode` map the codes back.
    penalty : Penalty, optional
        ``L1(lam)``, ``L2(lam)``, ``L0(lam)``, ``ElasticNet(l1, l2)``; None for none.
    sample_weight : array-like (n,), optional
        Weights a_j >= 0, 1 by default; weight 2 counts as the row twice.
    fit_intercept : bool
        Whether W has a last row for a constant column.
    conditioning : {"none", "scale", "centre+scale"}
        Columns the solver sees; penalty, solution (`to_user`) and objective stay in the user's units.
    classes : array-like (m,), optional
        All classes, also those absent from y.

    Attributes
    ----------
    n, p, m, d, nnz : int
        Rows, rows of W, classes, features, stored entries of X.
    dtype : numpy dtype
        Of X, and so of W.
    layout : {"dense", "csr"}
    pen : Penalty
        Strengths (p, 1) on the rows of W, 0 on the intercept.
    has : frozenset of str
        What can be asked: of {"moments", "line", "curvature", "gram", "fields", "rows", "restrict"} and, where all rows
        are in one place, {"columns", "rows in order"}.
    active : array (p, m) of bool, or None
        In a sub-problem, the weights that may differ from 0.

    Raises
    ------
    ValueError
        The input is not what is described here; the message names the value and the remedy.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        penalty: Penalty | None = None,
        sample_weight: ArrayLike | None = None,
        fit_intercept: bool = True,
        conditioning: str = "none",
        classes: ArrayLike | None = None,
    ) -> None:
        rows, known = rows_in_memory(X, y, sample_weight, fit_intercept, classes)
        self._set_up(rows, known, penalty, fit_intercept, conditioning)

    @classmethod
    def over(
        cls,
        rows: Rows,
        classes: NDArray[Any],
        *,
        penalty: Penalty | None = None,
        fit_intercept: bool = True,
        conditioning: str = "none",
    ) -> Problem:
        """The problem over rows that live elsewhere; they must have been made with the same `fit_intercept`."""
        problem = cls.__new__(cls)
        problem._set_up(rows, classes, penalty, fit_intercept, conditioning)
        return problem

    def _set_up(self, rows: Rows, classes: NDArray[Any], penalty: Penalty | None, intercept: bool, kind: str) -> None:
        if penalty is not None and not isinstance(penalty, Penalty):
            raise ValueError(f"penalty={penalty!r}: L1(lam), L2(lam), L0(lam), ElasticNet(l1, l2) or None is expected")
        self.home, self._conditioned = condition(rows, kind, intercept, penalty.l2 if penalty else 0.0)
        self.classes, self.conditioning, self.fit_intercept = classes, kind, intercept
        self.active = None
        self._whole = None
        self.meter = Meter()
        self._set_penalty(penalty)

    def _set_penalty(self, penalty: Penalty | None) -> None:
        self.penalty = penalty
        unit = np.append(self._conditioned.unit, np.inf)  # an infinite one leaves the intercept free of any penalty
        kept = np.arange(self.p) if self._whole is None else self._whole[0]
        self.pen = (penalty or Penalty()).by_row(unit[kept])

    # the objective ----------------------------------------------------------------------------------------------------

    def value(self, W: Array) -> float:
        """F at W (p, m)."""
        (loss,) = self.home.reduce(on_softmax.loss, W)
        self.meter.charge(self.prices.product() + self.prices.softmax)
        return float(loss) + self.pen.value(W)

    def smooth(self, W: Array) -> tuple[float, Array]:
        """f and its gradient (p, m) at W, in one read of X."""
        loss, G = self.home.reduce(on_softmax.loss_gradient, W)
        self.meter.charge(self.prices.smooth)
        return self.add_quadratic(loss, G, W)

    @np.errstate(all="ignore")  # overflow is an answer, see `Rows.reduce`
    def add_quadratic(self, loss: float, G: Array, W: Array) -> tuple[float, Array]:
        """f and its gradient, of the loss and its gradient G, which is written over."""
        quadratic = ridge.add(G, W, self.pen.l2) if np.any(self.pen.l2) else 0.0
        return float(loss) + quadratic, self.only_active(G)

    def prox(self, V: Array, step: float) -> Array:
        """Proximal point of ``step * (l1 + l0)`` at V (p, m)."""
        return self.only_active(self.pen.prox(V, step))

    def moments_map(self, W: Array, update: MomentsUpdate, lse: Field | None = None) -> tuple[Array, float]:
        """New W from PIANO's moments, and f at the old one.

        Calls ``update(W, A, B, C, S, pen)`` on blocks of classes, here one: W (p, m); ``A = X_plus.T (a P)`` and
        ``B = X_minus.T (a P)`` (p, m); ``C = X.T (a Y)`` (p, m); S (1, m) the largest ``sum_l |x_jl|`` over
        the features active in a class; pen with strengths (p, 1). It returns the new W and must be element-wise.
        With `lse` (n, 1), P is ``exp(X W - lse)`` and f has the tangent of its log at that lse, as LC wants it.
        """
        floor = FLOOR[W.dtype.itemsize]
        kernel, kept = (on_softmax.moments, ()) if lse is None else (on_softmax.moments_at, (lse,))
        loss, A, B = self.home.reduce(kernel, W, floor, fields=kept)
        self.meter.charge(self.prices.product(3.0 if self.signed else 2.0) + self.prices.softmax)
        W_new = update(W, A, B, self.class_sums, self.reach, self.pen).astype(W.dtype, copy=False)
        return self.only_active(W_new), float(loss) + self.pen.quadratic(W)

    @cached_property
    def class_sums(self) -> Array:
        """``C = X.T (a Y)`` (p, m), charged to who asks first."""
        (C,) = self.home.reduce(on_softmax.class_sums, self.zeros())
        self.meter.charge(self.prices.product())
        return np.asarray(C)

    @cached_property
    def reach(self) -> Array:
        """S (1, m) or (1, 1): ``max_j sum_l |x_jl|`` over the active features l, 1 where X is 0."""
        (S,) = self.home.reduce(
            on_fields.reach, np.ones((self.p, 1), bool) if self.active is None else self.active, largest=True
        )
        self.meter.charge(Cost(self.n, 2.0 * self.prices.nnz, self.prices.nnz * self.prices.entry_bytes, 1.0))
        return np.asarray(np.where(S > 0, S, 1.0))[None, :]

    @cached_property
    def row_space(self) -> RowSpace:
        """The problem in coordinates of the space its rows span, charged to who asks first. Needs "columns"."""
        if not isinstance(self.home, MemoryRows) or not self.home.local:
            raise TypeError("the row space needs all rows in one place: this problem's rows are spread")
        return row_space(self, self.home.parts[0])

    @cached_property
    def signed(self) -> bool:
        """Whether X, as the solver sees it, has negative values."""
        return bool(self.home.reduce(on_fields.signed, largest=True)[0])

    def line(self, W: Array, D: Array) -> Line:
        """f along ``W + t D``."""
        return Line(self, W, self.only_active(D))

    def curvature(self, W: Array) -> Curvature:
        """Hessian of f at W."""
        return Curvature(self, W)

    def sweep(
        self,
        rule: Rule,
        W: Array,
        margins: Field,
        order: NDArray[np.intp],
        groups: int = 1,
        gamma: float = 1.0,
    ) -> tuple[Array, float]:
        """One pass of coordinate steps over the weights numbered ``l * m + i`` in `order`, and f at the new W.

        The order is cut into `groups` equal runs. Inside a run a step sees the steps before it; runs see each other
        only at the end. `margins` holds X W and is kept up to date. Needs "columns".
        """
        if "columns" not in self.has:
            raise TypeError("coordinate steps need all rows in one place: this problem's rows are spread")
        old = W
        W, loss = self.home.reduce(coordinate_sweep, rule, W, order, groups, gamma, self.pen, fields=(margins,))
        # a weight costs a slope over its column and, where it moves, an exponential an entry
        seen, moved = order.size / W.size, np.count_nonzero(old != W) / W.size
        entries, prices = self.prices.nnz * self.m, self.prices
        flops = (6.0 * seen + (EXP_FLOPS + 6.0) * moved) * entries
        self.meter.charge(Cost((seen + moved) * self.n, flops, (seen + moved) * entries * prices.entry_bytes))
        self.meter.charge(Cost(depth=math.ceil(order.size / groups)) + prices.softmax + prices.softmax)
        return W, float(loss) + self.pen.quadratic(W)

    # other problems from this one -------------------------------------------------------------------------------------

    def with_penalty(self, penalty: Penalty | None) -> Problem:
        """The same rows under another penalty, with its own meter."""
        other = self._like(self.home)
        other._set_penalty(penalty)
        return other

    # the user's units -------------------------------------------------------------------------------------------------

    def to_user(self, W: Array) -> tuple[Array, Array]:
        """Coefficients (m, d) and intercept (m,) for the user's X, float64."""
        if self._whole is None:
            return self._conditioned.to_user(W, self.fit_intercept)
        d = self._conditioned.unit.size
        return self._conditioned.to_user(self.lift(W), self._whole[1][0] > d)

    def from_user(self, coef: Array, b: Array | None = None) -> Array:
        """W (p, m), of X's type, of coefficients (m, d) and intercept (m,)."""
        if self._whole is not None:
            raise ValueError("this problem is restricted: project what the whole one's from_user returns")
        coef, b = np.asarray(coef), np.zeros(self.m) if b is None else np.asarray(b)
        if coef.shape != (self.m, self.d) or b.shape != (self.m,):
            raise ValueError(
                f"coef has shape {coef.shape} and b {b.shape}: {(self.m, self.d)} and {(self.m,)} are expected"
            )
        return self._conditioned.from_user(coef, b, self.fit_intercept).astype(self.dtype)

    def decode(self, codes: NDArray[np.intp]) -> NDArray[Any]:
        """The caller's labels of codes 0 .. m-1."""
        return np.asarray(self.classes[codes])

    @cached_property
    def lambda_max(self) -> float:
        """Smallest strength of l1 (alone or in an elastic net) at which all penalised weights are 0, in user units."""
        if self._whole is not None:
            raise ValueError("this problem is restricted: ask the whole one for lambda_max")
        W = np.zeros((self.p, self.m))
        if self.fit_intercept:
            (counts,) = self.home.reduce(on_fields.totals)
            with np.errstate(divide="ignore"):
                W[-1] = np.log(counts / counts.sum())  # -inf for a class that no row has: its probability is 0
        _, G = self.home.reduce(on_softmax.loss_gradient, W)
        return float((np.abs(G[: self.d]) * self._conditioned.unit[:, None]).max())
