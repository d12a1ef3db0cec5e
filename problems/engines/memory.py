"""Rows in the memory of this process, in one part or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.design import Csr, Dense, Design, blocks
from pianobench.problems.penalties import Array
from pianobench.problems.rows import Kernel, Layout, Rows


@dataclass(frozen=True)
class Part:
    """Some rows: what a kernel works on.

    Parameters
    ----------
    design : Design
        (n, p) matrix.
    codes : array (n,) of intp
        Class of each row.
    weights : array (n,) of float64
        Weight a_j >= 0 of each row.
    m : int
        Number of classes.
    """

    design: Design
    codes: NDArray[np.intp]
    weights: Array
    m: int

    @property
    def n(self) -> int:
        """Rows."""
        return self.design.n

    def blocks(self, size: int = 1 << 17) -> Iterator[tuple[slice, Part]]:
        """The rows in blocks of about so many numbers, by default such that they fit a cache."""
        width = max(self.m, self.design.d if isinstance(self.design, Dense) else 1)
        for rows in blocks(self.n, width, size):
            yield rows, self.slice(rows)

    def slice(self, rows: slice | NDArray[np.intp]) -> Part:
        """Some of the rows."""
        return replace(self, design=self.design.slice(rows), codes=self.codes[rows], weights=self.weights[rows])

    def columns(self, index: NDArray[np.intp], intercept: bool) -> Part:
        """The same rows with some of the columns."""
        return replace(self, design=self.design.columns(index, intercept))

    def reweighted(self, factor: float) -> Part:
        """The same rows with all weights times `factor`."""
        return replace(self, weights=self.weights * factor)

    def one_hot(self, dtype: np.dtype[Any]) -> Array:
        """(n, m) Y."""
        Y = np.zeros((self.n, self.m), dtype)
        Y[np.arange(self.n), self.codes] = 1
        return Y


@dataclass
class MemoryField:
    """(n, k) array, one piece a part."""

    k: int
    parts: list[Array] = field(default_factory=list)

    def export(self) -> list[Array]:
        return [part.copy() for part in self.parts]

    def load(self, parts: Sequence[Array]) -> None:
        for mine, given in zip(self.parts, parts, strict=True):
            mine[...] = given


@dataclass(frozen=True)
class MemoryRows:
    """`Rows` as a list of parts in this process. Kernels run on them one after another, sums are taken in order."""

    parts: tuple[Part, ...]

    @property
    def n(self) -> int:
        return sum(part.n for part in self.parts)

    @property
    def d(self) -> int:
        return self.parts[0].design.d

    @property
    def m(self) -> int:
        return self.parts[0].m

    @property
    def nnz(self) -> int:
        return sum(int(part.design.X.nnz) if isinstance(part.design, Csr) else part.n * self.d for part in self.parts)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.parts[0].design.X.dtype
        return dtype

    @property
    def layout(self) -> Layout:
        return "csr" if isinstance(self.parts[0].design, Csr) else "dense"

    @property
    def local(self) -> bool:
        return len(self.parts) == 1

    def reduce(
        self, kernel: Kernel, *parameters: Any, fields: Sequence[Any] = (), largest: bool = False
    ) -> tuple[Any, ...]:
        combine = np.maximum if largest else np.add
        total: tuple[Any, ...] | None = None
        with np.errstate(all="ignore"):  # overflow is an answer here: infinity or NaN, which the caller tests for
            for place, part in enumerate(self.parts):
                result = kernel(part, *parameters, *(f.parts[place] for f in fields))
                total = result if total is None else tuple(combine(t, r) for t, r in zip(total, result, strict=True))
        return () if total is None else total

    def field(self, k: int, fill: float, dtype: np.dtype[Any]) -> MemoryField:
        if not fill:  # pages are then made where they are written first, by the threads of a kernel
            return MemoryField(k, [np.zeros((part.n, k), dtype) for part in self.parts])
        return MemoryField(k, [np.full((part.n, k), fill, dtype) for part in self.parts])

    def each(self, change: Callable[..., Part], *parameters: Any) -> Rows:
        return MemoryRows(tuple(change(part, *parameters) for part in self.parts))

    def take(self, index: NDArray[np.intp], weight: Array | None) -> Rows:
        offsets = np.cumsum([0, *(part.n for part in self.parts)])
        home = np.searchsorted(offsets, index, side="right") - 1
        taken = []
        for place, part in enumerate(self.parts):
            mine = home == place
            chosen = part.slice(index[mine] - offsets[place])
            taken.append(chosen if weight is None else replace(chosen, weights=chosen.weights * weight[mine]))
        return MemoryRows(tuple(taken))
