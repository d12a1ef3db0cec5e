"""Rows and what is computed on them in parameter or sample space, each call charged: the ground `Problem` stands on."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.cost import Cost, Meter, Prices
from pianobench.problems.kernels import conflicts
from pianobench.problems.kernels import fields as on_fields
from pianobench.problems.penalties import Array
from pianobench.problems.rows import Field, Kernel, Layout, Rows

ANYWHERE = frozenset({"moments", "line", "curvature", "gram", "fields", "rows", "restrict"})
IN_ONE_PLACE = frozenset({"columns", "rows in order"})  # what walks along columns, or from row to row


class SampleSpace:
    """Rows with a meter. Arrays of n rows stay with the rows, as fields; only sums over the rows come back.

    Attributes
    ----------
    home : Rows
        Where the rows live.
    meter : Meter
        What the calls so far have cost.
    fit_intercept : bool
        Whether W has a last row for a constant column.
    active : array (p, m) of bool, or None
        In a sub-problem, the weights that may differ from 0.
    """

    home: Rows
    meter: Meter
    fit_intercept: bool
    active: NDArray[np.bool_] | None

    @property
    def n(self) -> int:
        return self.home.n

    @property
    def d(self) -> int:
        return self.home.d

    @property
    def p(self) -> int:
        return self.d + self.fit_intercept

    @property
    def m(self) -> int:
        return self.home.m

    @property
    def nnz(self) -> int:
        return self.home.nnz

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.home.dtype

    @property
    def layout(self) -> Layout:
        return self.home.layout

    @property
    def has(self) -> frozenset[str]:
        return ANYWHERE | IN_ONE_PLACE if self.home.local else ANYWHERE

    @cached_property
    def prices(self) -> Prices:
        """Costs of the elementary operations."""
        index = 4 if self.layout == "csr" else 0
        entries = self.nnz + self.n * self.fit_intercept
        return Prices(self.n, self.m, entries, self.dtype.itemsize, self.dtype.itemsize + index)

    def gradient_equivalents(self, cost: Cost) -> float:
        """Flops of `cost` over those of one `smooth`."""
        return cost.flops / self.prices.smooth.flops

    def zeros(self) -> Array:
        """W = 0 (p, m)."""
        return np.zeros((self.p, self.m), self.dtype)

    # fields -----------------------------------------------------------------------------------------------------

    def field(self, k: int, fill: float = 0.0, dtype: Any = None) -> Field:
        """A new (n, k) array that stays with the rows."""
        return self.home.field(k, fill, np.dtype(dtype or self.dtype))

    def map_rows(
        self, kernel: Kernel, *fields: Field, W: Array | None = None, parameters: tuple[Any, ...] = ()
    ) -> tuple[Any, ...]:
        """Sums, over the parts of the rows, of ``kernel(part, [W,] *parameters, *fields)``; it may write the fields."""
        result = self.home.reduce(kernel, *(() if W is None else (W,)), *parameters, fields=fields)
        width = sum(f.k for f in fields) / self.m
        self.meter.charge(self.prices.rowwise(getattr(kernel, "flops", 5.0), width))
        if W is not None:
            self.meter.charge(self.prices.product())
        return result

    def scores(self, W: Array) -> Field:
        """A new field with X W."""
        out = self.field(W.shape[1], dtype=W.dtype)
        self.xw(W, out)
        return out

    def xw(self, W: Array, out: Field) -> None:
        """``out = X W``."""
        self.home.reduce(on_fields.scores, W, fields=(out,))
        self.meter.charge(self.prices.product(W.shape[1] / self.m))

    def xt(self, field: Field) -> Array:
        """``X.T field`` (p, k): the transpose of `xw`, without weights."""
        (T,) = self.home.reduce(on_fields.adjoint, fields=(field,))
        self.meter.charge(self.prices.product(field.k / self.m))
        return self.only_active(T) if field.k == self.m else np.asarray(T)

    def weights(self) -> Field:
        """The sample weights a as a field (n, 1)."""
        out = self.field(1, dtype=np.float64)
        self.home.reduce(on_fields.weights, fields=(out,))
        return out

    def gram(self, w: Field | None = None) -> Array:
        """``X.T diag(w) X`` (p, p), float64; w is a field (n, 1), or None for plain ``X.T X``."""
        (G,) = self.home.reduce(on_fields.gram, fields=() if w is None else (w,))
        self.meter.charge(self.prices.product(self.p / self.m))
        return np.asarray(G)

    def squares(self, crowded: bool = False) -> Array:
        """``sum_j a_j x_jl^2`` (p, 1), float64; where `crowded`, each row counts as often as it has non-zeros."""
        (s,) = self.home.reduce(conflicts.squares, crowded)
        self.meter.charge(self.prices.product((1.0 + crowded) / self.m))
        return np.asarray(s)

    def colours(self) -> NDArray[np.intp]:
        """Colours (p,) of the columns, from 0: no row is non-zero in two of one colour. Needs "columns"."""
        if "columns" not in self.has:
            raise TypeError("colours need all rows in one place: this problem's rows are spread")
        (colour,) = self.home.reduce(conflicts.colours)
        self.meter.charge(self.prices.product(1.0 / self.m))
        return np.asarray(colour)

    def only_active(self, V: Array) -> Array:
        """V (p, m) with 0 where a weight is held at 0."""
        return V if self.active is None else np.where(self.active, V, V.dtype.type(0))
