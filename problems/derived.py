"""Problems made of a problem: fewer weights, other rows, a meter of its own."""

from __future__ import annotations

import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.cost import Meter
from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels import fields as on_fields
from pianobench.problems.penalties import Array, Penalty
from pianobench.problems.rows import Rows
from pianobench.problems.sample_space import SampleSpace


class Derived(SampleSpace):
    """What is itself a problem over the same rows, or over some of them.

    Attributes
    ----------
    pen : Penalty
        Strengths (p, 1) on the rows of W.
    """

    pen: Penalty
    _whole: tuple[NDArray[np.intp], tuple[int, int]] | None
    """In a sub-problem the rows kept of the whole W, and its shape."""

    def off_the_clock(self) -> Self:
        """The same problem with a meter of its own, for certificates and references."""
        return self._like(self.home)

    def under(self, pen: Penalty) -> Self:
        """The same problem on the same meter under strengths of a method's own: (p, 1), or (p, m) one for a weight."""
        other = copy.copy(self)
        other.pen = pen
        return other

    def restrict(self, active: NDArray[np.bool_]) -> Self:
        """The sub-problem in which only the weights true in `active` (p, m) may differ from 0.

        Its W has the rows with any active weight; `lift` and `project` go up and down. An intercept stays as it is.
        """
        if self.active is not None:
            raise ValueError("this problem is restricted already: restrict the whole one")
        active = np.asarray(active)
        if active.shape != (self.p, self.m) or active.dtype != bool:
            raise ValueError(
                f"active is {active.dtype} of shape {active.shape}: bool of shape {(self.p, self.m)} is expected"
            )
        kept = np.flatnonzero(active.any(axis=1))
        intercept = self.fit_intercept and self.p - 1 in kept
        other = self._like(self.home.each(Part.columns, kept[kept < self.d], intercept))
        other.active, other.pen, other.fit_intercept = active[kept], self.pen.block(kept), intercept
        other._whole = (kept, (self.p, self.m))
        return other

    def lift(self, W: Array) -> Array:
        """Weights of the whole problem of a sub-problem's W."""
        kept, shape = self._sub()
        whole = np.zeros(shape, W.dtype)
        whole[kept] = W
        return whole

    def project(self, W: Array) -> Array:
        """Weights of this sub-problem of the whole problem's W."""
        return self.only_active(W[self._sub()[0]])

    def _sub(self) -> tuple[NDArray[np.intp], tuple[int, int]]:
        if self._whole is None:
            raise ValueError("this problem is not restricted: lift and project belong to what restrict returns")
        return self._whole

    def rows(self, index: NDArray[np.intp], weight: Array | None = None, total: float | None = None) -> Self:
        """The problem over the rows numbered in `index`, their weights times `weight`, scaled to add up to `total`."""
        index = np.asarray(index)
        if index.dtype.kind not in "iu" or (index.size and not 0 <= index.min() <= index.max() < self.n):
            raise ValueError(f"index is {index.dtype}: row numbers 0 .. {self.n - 1} are expected")
        if weight is not None and np.shape(weight) != index.shape:
            raise ValueError(f"weight has shape {np.shape(weight)}: one a row is expected, shape {index.shape}")
        home = self.home.take(index.astype(np.intp), None if weight is None else np.asarray(weight, np.float64))
        if total is not None:
            (have,) = home.reduce(on_fields.total_weight)
            if not have > 0:
                raise ValueError(f"the rows' weights add up to {have}: they cannot be scaled to total={total}")
            home = home.each(Part.reweighted, total / have)
        return self._like(home)

    def tiny(self) -> Self:
        """At most 64 rows of the same type, layout and penalty: all that a warm-up may touch."""
        return self.rows(np.unique(np.linspace(0, self.n - 1, min(self.n, 64)).astype(np.intp)))

    def _like(self, home: Rows) -> Self:
        other = copy.copy(self)
        for name in ("class_sums", "reach", "signed", "prices", "lambda_max", "row_space"):
            other.__dict__.pop(name, None)
        other.home, other.meter = home, Meter()
        return other
