"""Several samples side by side: does the model hang on the draw, and are new rows and old ones of one mind?

The paper runs independent trainings on samples of varied distribution and compares the models. Here they differ in the
share of new rows, with some draws of each share. Models of equal share differ by chance alone. If those of unlike
shares differ by much more, the batch tells something else than the rows before: a drift, or labels gone wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pianobench.algorithms.stream.contract import StreamState
from pianobench.algorithms.stream.learner import Learner
from pianobench.algorithms.stream.log import Log
from pianobench.algorithms.stream.samples import ByRise
from pianobench.problems import Problem
from pianobench.problems.kernels.scoring import moved
from pianobench.problems.penalties import Array

SHARES = (0.1, 0.5, 0.9)
PROBE = 20_000  # rows, new and old in equal parts, on which models are compared
LARGEST_RATIO = 2.0


@dataclass(frozen=True)
class Draws:
    """Models of samples drawn side by side.

    Attributes
    ----------
    shares : tuple of float
        Of new rows.
    W : array (shares, draws, p, m)
    within : float
        Root mean square difference of scores between two models of equal share.
    between : float
        The same between the smallest and the largest share.
    """

    shares: tuple[float, ...]
    W: Array
    within: float
    between: float

    @property
    def ratio(self) -> float:
        """`between` over `within`: about 1 where new and old rows agree."""
        return self.between / self.within if self.within > 0.0 else (math.inf if self.between > 0.0 else 1.0)

    @property
    def consistent(self) -> bool:
        """Whether the share matters little more than the draw does."""
        return self.ratio <= LARGEST_RATIO


def draw(learner: Learner, log: Log, state: StreamState, shares: Sequence[float] = SHARES, draws: int = 3) -> Draws:
    """Train on samples of each share, as many as `draws`, from the same state; the state stays as it is.

    Parameters
    ----------
    learner : Learner
        Whose sampling goes by mu, as `ByRise` does.
    log : Log
        One batch ahead of the state, or where it was.
    state : StreamState
    shares : sequence of float
        Of new rows, ascending, above 0 and below 1.
    draws : int
        Two at least.

    Notes
    -----
    Samples are no larger than the newest batch and the rows kept allow at every share: where a share took all of them,
    its draws would be the same, and an ordinary batch would seem strange.

    Raises
    ------
    ValueError
        A parameter is out of its range, or there is no old row yet.
    """
    if draws != int(draws) or draws < 2:
        raise ValueError(f"draws={draws!r}: a whole number of 2 or more is expected, or chance cannot be told")
    if len(shares) < 2 or list(shares) != sorted(set(shares)) or not 0.0 < shares[0] <= shares[-1] < 1.0:
        raise ValueError(f"shares={tuple(shares)!r}: two or more ascending numbers between 0 and 1 are expected")
    if not log.kept:
        raise ValueError("the log has one batch only: new and old rows are needed")
    sampling = learner.sampling
    if isinstance(sampling, ByRise):
        assert log.newest is not None
        most = max(int(min(log.newest.n / shares[-1], log.kept / (1.0 - shares[0]))), 1)
        learner = replace(learner, sampling=replace(sampling, rows=min(sampling.rows, most)))
    W = np.stack(
        [
            np.stack([learner.trained(log, state, math.sqrt(s / (1.0 - s)), 1 + r)[0].W for r in range(draws)])
            for s in shares
        ]
    )
    probe = log.sample(PROBE // 2, PROBE // 2, np.random.default_rng([state.seed, state.t]))
    within = [distance(probe, a, b) for models in W for a, b in combinations(models, 2)]
    between = [distance(probe, a, b) for a in W[0] for b in W[-1]]
    return Draws(tuple(shares), W, *(float(np.sqrt(np.mean(np.square(some)))) for some in (within, between)))


def distance(problem: Problem, W: Array, V: Array) -> float:
    """Root mean square over rows of the difference of two models' scores, of which a row's mean says nothing."""
    D = W - V
    D = D - D.mean(axis=1, keepdims=True)
    weight, total = problem.home.reduce(moved, D)
    return math.sqrt(float(total) / float(weight))
