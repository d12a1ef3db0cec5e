"""Rows whose law turns as they come: ``turning:rate=0.3,drift=1`` in the registry, and the streams that it is made of.

A row x is standard normal in `D` dimensions and is a click with probability sigmoid(b + x.w). Where the law has turned
by s, w is ``STRENGTH (u + s v) / sqrt(1 + s^2)``, u and v orthonormal: it keeps its length, so that the click rate and
the best area stay, and its correlation with the first one is ``1 / sqrt(1 + s^2)``. b gives the click rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from pianobench.datasets.dataset import Dataset
from pianobench.datasets.entry import Entry
from pianobench.datasets.generators.parameters import check, parameter, parse, written

Array = NDArray[np.float64]
BATCHES, FLIPPED = 10, 8  # of the data set; number of the batch whose labels may be flipped

D = 20
STRENGTH = 1.5
Kind = Literal["none", "sudden", "gradual"]


@dataclass(frozen=True)
class Stream:
    """A stream of batches; any batch can be made without those before it.

    Parameters
    ----------
    kind : {"none", "sudden", "gradual"}
        Sudden: the law turns by `size` at batch `change`. Gradual: it turns by equal parts around that
        batch, over as many batches.
    rate : float
        Share of clicks.
    size : float
        s of the last law.
    seed : int
    rows : int
        Of a batch.
    change : int
        Number of the batch, 0 the first, at which a law turns.
    """

    kind: Kind
    rate: float
    size: float
    seed: int
    rows: int = 2000
    change: int = 5
    _u: Array = field(init=False, repr=False, compare=False)
    _v: Array = field(init=False, repr=False, compare=False)
    _b: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < 1.0:
            raise ValueError(f"rate={self.rate!r}: a share of clicks above 0 and below 1 is expected")
        if not 0.0 <= self.size < np.inf:
            raise ValueError(f"size={self.size!r}: a finite number of 0 or more is expected")
        axes = np.linalg.qr(np.random.default_rng([self.seed, 0]).normal(size=(D, 2)))[0]
        object.__setattr__(self, "_u", axes[:, 0])
        object.__setattr__(self, "_v", axes[:, 1])
        object.__setattr__(self, "_b", intercept(self.rate))

    def turned(self, t: int) -> float:
        """s at batch t."""
        if self.kind == "none":
            return 0.0
        if self.kind == "sudden":
            return self.size if t >= self.change else 0.0
        return self.size * float(np.clip((t - self.change / 2) / self.change, 0.0, 1.0))

    def law(self, t: int) -> tuple[Array, float]:
        """w (D,) and b at batch t."""
        s = self.turned(t)
        return STRENGTH * (self._u + s * self._v) / np.sqrt(1.0 + s * s), self._b

    def batch(self, t: int, rows: int | None = None, part: int = 1) -> tuple[Array, Array]:
        """X (k, D) and y (k,) of batch t; other parts are other rows of the same law."""
        rng = np.random.default_rng([self.seed, part, t])
        k = rows or self.rows
        X = rng.normal(size=(k, D))
        w, b = self.law(t)
        return X, (rng.random(k) < 1.0 / (1.0 + np.exp(-(X @ w + b)))).astype(np.int64)


def intercept(rate: float) -> float:
    """b at which the mean of sigmoid(b + STRENGTH z) over a standard normal z is the rate."""
    z, weight = np.polynomial.hermite_e.hermegauss(60)
    weight = weight / weight.sum()
    return float(brentq(lambda b: weight @ (1.0 / (1.0 + np.exp(-(b + STRENGTH * z)))) - rate, -30.0, 30.0))


def weights(w: Array, b: float) -> Array:
    """W (D + 1, 2) of the law w, b, the intercept last."""
    half = np.append(w, b) / 2.0
    return np.stack([-half, half], axis=1)


@dataclass(frozen=True)
class Turning:
    """Ten batches of a stream as a data set.

    Parameters
    ----------
    rate : float
        Share of clicks.
    drift : float
        By how much the law turns at the middle, at once; 0 for not at all.
    flipped : int
        1: batch `FLIPPED`, the first being 0, has its labels flipped.
    seed : int

    Raises
    ------
    UnusableParameter
        A value is out of its range.
    """

    rate: float = parameter(0.3, 1e-3, 0.9)
    drift: float = parameter(0.0, 0.0, 100.0)
    flipped: int = parameter(0, 0, 1)
    seed: int = parameter(0, 0, 2**31 - 1)

    family: ClassVar[str] = "turning"

    def __post_init__(self) -> None:
        check(self)

    @property
    def stream(self) -> Stream:
        """What its batches come from; none of them is flipped."""
        return Stream("sudden" if self.drift else "none", self.rate, self.drift, self.seed)

    def dataset(self) -> Dataset:
        """All rows, batch by batch."""
        text, batches = written(self), [self.stream.batch(t) for t in range(BATCHES)]
        y = np.concatenate([1 - y if self.flipped and t == FLIPPED else y for t, (_, y) in enumerate(batches)])
        return Dataset(
            name=f"{self.family}:{text}" if text else self.family,
            X=np.concatenate([X for X, _ in batches]),
            y=y,
            classes=("not clicked", "clicked"),
            features=(),
            description="rows in ten batches, whose law may turn at the sixth",
            field="synthetic",
            origin=ORIGIN,
            licence="generated, none needed",
        )


ORIGIN = "generated by pianobench: a logistic law in 20 normal features"


def entries() -> Iterator[Entry]:
    """The one set, with the sizes that it has whatever its parameters."""
    n, d, m, _ = size()
    about = "rows in ten batches, whose law may turn at the sixth"
    licence = "generated, none needed"
    yield Entry("turning", about, "synthetic", ORIGIN, licence, n, d, m, "turning", partial(load, ""))


def wanted(text: str = "") -> Turning:
    """What parameters such as ``rate=0.3,seed=2`` stand for.

    Raises
    ------
    UnusableParameter
    """
    return Turning(**parse(Turning, text))


def load(text: str = "") -> Dataset:
    """The data set with these parameters.

    Raises
    ------
    UnusableParameter
    """
    return wanted(text).dataset()


def size(text: str = "") -> tuple[int, int, int, int]:
    """Samples, columns, classes and bytes of X.

    Raises
    ------
    UnusableParameter
    """
    wanted(text)
    n = BATCHES * Stream.rows
    return n, D, 2, 8 * n * D
