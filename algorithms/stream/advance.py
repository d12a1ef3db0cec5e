"""One batch more, or, where it cannot be taken, everything as it was."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pianobench.algorithms.stream.contract import StreamState
from pianobench.algorithms.stream.learner import Learner
from pianobench.algorithms.stream.log import Log


def advance(
    learner: Learner,
    log: Log,
    state: StreamState | None,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    *,
    seed: int = 0,
) -> tuple[Log, StreamState]:
    """A log with the batch X (k, d), y (k,), and the state after it; those given stay as they are.

    Parameters
    ----------
    learner : Learner
    log : Log
    state : StreamState or None
        None before the first batch.
    X, y, sample_weight
        As `Log.add` has them.
    seed : int
        Of the first state.

    Raises
    ------
    ValueError
        The batch does not fit, or the numbers left their range.
    """
    longer = copy.copy(log)  # its parts are never written
    longer.add(X, y, sample_weight)
    after = learner.init(longer, seed) if state is None else learner.step(longer, state)
    if not np.isfinite(after.W).all() or not np.isfinite(after.score).all():
        raise ValueError(
            f"scores or weights left the range of numbers at batch {after.t}, and the model stays as it was: bring the "
            "columns to values near 1"
        )
    return longer, after
