"""Which rows to train on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pianobench.algorithms.stream.log import Log
from pianobench.problems import Problem

_MOST = 10**9  # rows of a kind that NumPy draws from


@dataclass(frozen=True)
class ByRise:
    """New and old rows as mu^2 : 1: the larger the rise over its spread, the more the new ones count.

    Ours: the paper has no map from the rise to the two numbers, only the example of 100,000 new and 1,000 old rows,
    which is mu = 10. This one joins its ``lambda = mu^2 / (1 + mu^2)`` to that example. Where the batch has fewer rows
    than its share, the sample shrinks and the ratio stays.

    Parameters
    ----------
    rows : int
        In all, M.
    most : float
        mu at most, so that a rise against no spread at all still leaves old rows in the sample.
    """

    rows: int = 100_000
    most: float = 10.0

    def __post_init__(self) -> None:
        _check_rows(self.rows)
        if not self.most > 0.0:
            raise ValueError(f"most={self.most!r}: a number above 0 is expected")

    def choose(self, log: Log, mu: float, rng: np.random.Generator) -> tuple[Problem, int, int]:
        assert log.newest is not None
        share = self.share(mu)
        new = min(round(self.rows * share), log.newest.n)
        old = min(round(min(new * (1.0 - share) / share, self.rows) if share else self.rows), log.kept)
        if not new + old:
            new = min(1, log.newest.n)
        return log.sample(new, old, rng), new, old

    def share(self, mu: float) -> float:
        """Of new rows, lambda in the paper."""
        mu = min(max(mu, 0.0), self.most)
        return 1.0 if math.isinf(mu) else mu * mu / (1.0 + mu * mu)


@dataclass(frozen=True)
class Uniform:
    """A uniform sample of all rows so far.

    Parameters
    ----------
    rows : int
    """

    rows: int = 100_000

    def __post_init__(self) -> None:
        _check_rows(self.rows)

    def choose(self, log: Log, mu: float, rng: np.random.Generator) -> tuple[Problem, int, int]:
        assert log.newest is not None
        size = min(self.rows, log.rows)
        old_rows = min(log.old_rows, _MOST - 1)  # beyond, the sample holds next to none of the batch either way
        new = int(rng.hypergeometric(log.newest.n, old_rows, size)) if old_rows else size
        old = min(size - new, log.kept)
        return log.sample(new, old, rng), new, old


@dataclass(frozen=True)
class Everything:
    """All rows so far; the log must keep them."""

    def choose(self, log: Log, mu: float, rng: np.random.Generator) -> tuple[Problem, int, int]:
        assert log.newest is not None
        return log.whole_problem(), log.newest.n, log.old_rows


@dataclass(frozen=True)
class Newest:
    """The newest batch alone, on its own scale: what online methods see."""

    def choose(self, log: Log, mu: float, rng: np.random.Generator) -> tuple[Problem, int, int]:
        assert log.newest is not None
        return log.newest_problem(), log.newest.n, 0


def _check_rows(rows: int) -> None:
    if rows != int(rows) or rows < 1:
        raise ValueError(f"rows={rows!r}: a whole number, 1 or more, is expected")
