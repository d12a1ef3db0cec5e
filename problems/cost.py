"""What the calls of a problem cost, so that methods are compared by work and not by seconds alone."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cost:
    """Work of one or more calls. Costs add.

    Attributes
    ----------
    rows : float
        Rows of X read; ``rows / n`` are passes over the data.
    flops : float
        Floating point operations; an exponential counts as `EXP_FLOPS`.
    bytes : float
        Bytes of X and of row-sized arrays moved.
    depth : float
        Steps that must come one after another: a product or a reduction is one, a coordinate sweep one an element.
    """

    rows: float = 0.0
    flops: float = 0.0
    bytes: float = 0.0
    depth: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.rows + other.rows,
            self.flops + other.flops,
            self.bytes + other.bytes,
            self.depth + other.depth,
        )


EXP_FLOPS = 20.0  # a vectorised exponential: range reduction, a polynomial of degree 11, scaling


@dataclass
class Meter:
    """Sum of what has been charged so far: the one thing about a problem that changes."""

    total: Cost = field(default_factory=Cost)

    def charge(self, cost: Cost) -> None:
        """Add one call's cost."""
        self.total = self.total + cost

    def taken(self) -> Cost:
        """The sum, which then begins anew: to be charged to another."""
        total, self.total = self.total, Cost()
        return total


@dataclass(frozen=True)
class Prices:
    """Costs of the elementary operations on n rows with p variables, m classes and `nnz` stored entries.

    Parameters
    ----------
    n, m : int
        Rows and classes.
    nnz : int
        Stored entries of X; a dense X stores n*d. An intercept adds one an entry a row.
    itemsize : int
        Bytes of a number; `entry_bytes` those of a stored entry of X with its index.
    """

    n: int
    m: int
    nnz: int
    itemsize: int
    entry_bytes: int

    def product(self, count: float = 1.0) -> Cost:
        """`count` products ``X W`` or ``X.T R`` in one read of X, block by block."""
        return Cost(float(self.n), count * 2.0 * self.nnz * self.m, float(self.nnz * self.entry_bytes), max(count, 1.0))

    def rowwise(self, flops: float, arrays: float = 1.0) -> Cost:
        """`flops` an entry of an (n, m) array, `arrays` of which are read or written."""
        return Cost(0.0, flops * self.n * self.m, arrays * self.n * self.m * self.itemsize, 1.0)

    @property
    def softmax(self) -> Cost:
        """Probabilities and loss from scores."""
        return self.rowwise(EXP_FLOPS + 5.0)

    @property
    def smooth(self) -> Cost:
        """Loss and gradient in one read of X, the unit called gradient equivalent."""
        return self.product(2.0) + self.softmax
