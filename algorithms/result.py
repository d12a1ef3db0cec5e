"""What a run leaves: the rows of its curve, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pianobench.problems import Certificate
from pianobench.problems.penalties import Array


@dataclass(frozen=True)
class Checkpoint:
    """One row of a convergence curve.

    Attributes
    ----------
    step : int
    seconds : float
        On the clock so far: `init` and the steps, nothing else.
    gradient_equivalents, passes : float
        Flops over those of one `smooth`; rows read over n.
    objective, lower, gap : float
        F, its certified lower bound, and (F - L) / F.
    certificate : str
        Kind of the bound.
    residual : float
        Relative KKT residual.
    nnz : int
        Weights that are not 0.
    """

    step: int
    seconds: float
    gradient_equivalents: float
    passes: float
    objective: float
    lower: float
    gap: float
    certificate: str
    residual: float
    nnz: int


@dataclass
class Result:
    """How a run ended.

    Attributes
    ----------
    W : array (p, m)
        The point judged last.
    status : str
        converged, budget, timeout, stalled, stationary, no-minimiser, diverged or breakdown.
    reason : str
        One sentence.
    steps : int
    setup_seconds, seconds : float
        On the clock: in `init`, and in all.
    checkpoints : list of Checkpoint
    certificate : Certificate
        Of W.
    state : State
        To go on from.
    """

    W: Array
    status: str
    reason: str
    steps: int
    setup_seconds: float
    seconds: float
    checkpoints: list[Checkpoint]
    certificate: Certificate
    state: Any = field(repr=False)
