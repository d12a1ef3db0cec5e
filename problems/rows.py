"""The contract between the objective and the place where rows live.

Everything the objective needs of its rows is a *kernel* applied to each part of the rows and added up in order. A
kernel is a plain function ``kernel(part, *parameters, *fields) -> tuple`` of a module of `pianobench.problems`, so it
can be sent to another process by name. An engine that keeps rows elsewhere implements `Rows`, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pianobench.problems.penalties import Array

if TYPE_CHECKING:
    from pianobench.problems.engines.memory import Part

Kernel: TypeAlias = "Callable[..., tuple[Any, ...]]"
Layout: TypeAlias = Literal["dense", "csr"]


class Field(Protocol):
    """An (n, k) array that stays with its rows; a solver passes it about and never looks inside."""

    k: int

    def export(self) -> list[Array]:
        """Copies of the parts, in order, to be stored."""
        ...

    def load(self, parts: Sequence[Array]) -> None:
        """Put back what `export` gave, bit for bit."""
        ...


class Rows(Protocol):
    """Rows of X with their labels and weights, wherever they are.

    Attributes
    ----------
    n, d, m : int
        Rows, features, classes.
    nnz : int
        Stored entries of X.
    dtype : numpy dtype
        Of X.
    layout : {"dense", "csr"}
    local : bool
        Whether all rows are one part in this process, as methods that walk along columns need.
    """

    @property
    def n(self) -> int: ...
    @property
    def d(self) -> int: ...
    @property
    def m(self) -> int: ...
    @property
    def nnz(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def local(self) -> bool: ...

    def reduce(
        self, kernel: Kernel, *parameters: Any, fields: Sequence[Field] = (), largest: bool = False
    ) -> tuple[Any, ...]:
        """Results of `kernel` on every part, added in the order of the parts (or their largest, element by element).

        Fields come last among the kernel's arguments, as arrays, and may be written; parameters may not. An overflow is
        an answer, infinity or NaN, and no warning.
        """
        ...

    def field(self, k: int, fill: float, dtype: np.dtype[Any]) -> Field:
        """A new field of n rows and k columns."""
        ...

    def each(self, change: Callable[..., Part], *parameters: Any) -> Rows:
        """New rows, each part of them made by ``change(part, *parameters)``: conditioned, or with fewer columns.

        The fields of the old rows serve the new ones too: the parts keep their rows.
        """
        ...

    def take(self, index: NDArray[np.intp], weight: Array | None) -> Rows:
        """Some rows by their number, their weights multiplied by `weight` (k,): in this order within each part.

        A part that gives no row stays, empty, so that the number of parts never changes.
        """
        ...
