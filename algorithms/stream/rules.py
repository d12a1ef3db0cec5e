"""When to train: does the newest batch say that the model no longer fits?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pianobench.algorithms.stream.contract import StreamState
from pianobench.algorithms.stream.scores import Score

Kind = Literal["error", "log_loss"]


@dataclass(frozen=True)
class CumulativeRise:
    """SA L-BFGS as written: the share of wrong predictions over all rows, against the spread of its own past.

    (a) rise = I(t+1, theta_t) - I(t, theta_t)
    (b) spread = sigma(t), the standard deviation of I(s, theta_s), s = 0 .. t     ours: the population's

    Two flaws are its own. (a) is ``(m_{t+1}/M_{t+1}) (err - I(t, theta_t))``, which shrinks as 1/t where (b) does not:
    the rule goes blind. And where clicks are rare all predictions are "no click": I is the click rate whatever theta.
    """

    kind: Kind = "error"

    def judge(self, state: StreamState, new: Score) -> tuple[float, float]:
        before = Score.read(state.score)
        rise = (before + new).mean(self.kind) - before.mean(self.kind)  # (a)
        return rise, float(np.std(state.column(f"total_{self.kind}")))  # (b)

    def fires(self, rise: float, spread: float) -> bool:
        return rise > spread


@dataclass(frozen=True)
class BatchRise:
    """The repaired rule: the batch's own score, against the spread of quiet batches.

    (c) rise = mean score of theta_t on the batch - its mean over the rows that came since it was trained and those held
        out of its training, none of which it has seen; where there is none, its mean over all rows before
    (d) spread = the larger of the standard error of this difference and its root mean square over the batches that did
        not fire, that of a batch smaller than the newest one scaled by the root of their ratio, as chance has it
    (e) fires where rise > threshold * spread

    All rows before would be no measure for ever: once the law has changed, a model of the new one does badly on them.
    Neither shrinks with t; log loss tells a good model from a bad one also where clicks are rare.

    Parameters
    ----------
    kind : {"log_loss", "error"}
    threshold : float
        With 2 one batch in forty fires by chance where nothing changes.
    """

    kind: Kind = "log_loss"
    threshold: float = 2.0

    def __post_init__(self) -> None:
        if not self.threshold >= 0.0:
            raise ValueError(f"threshold={self.threshold!r}: a number of 0 or more is expected")

    def judge(self, state: StreamState, new: Score) -> tuple[float, float]:
        unseen = Score.read(state.unseen)
        before = unseen if unseen.weight else Score.read(state.score)
        rise = new.mean(self.kind) - before.mean(self.kind)  # (c)
        quiet = (state.column("steps") == 0) & np.isfinite(state.column("rise"))
        rises, weights = state.column("rise")[quiet], state.column("weight")[quiet]
        past = float(np.sqrt(np.mean(rises**2 * np.minimum(weights / new.weight, 1.0)))) if rises.size else 0.0
        return rise, max(math.hypot(new.doubt(self.kind), before.doubt(self.kind)), past)  # (d)

    def fires(self, rise: float, spread: float) -> bool:
        return rise > self.threshold * spread  # (e)


@dataclass(frozen=True)
class Always:
    """Trains on every batch."""

    def judge(self, state: StreamState, new: Score) -> tuple[float, float]:
        return BatchRise().judge(state, new)

    def fires(self, rise: float, spread: float) -> bool:
        return True


@dataclass(frozen=True)
class Never:
    """Keeps the first model."""

    def judge(self, state: StreamState, new: Score) -> tuple[float, float]:
        return BatchRise().judge(state, new)

    def fires(self, rise: float, spread: float) -> bool:
        return False
