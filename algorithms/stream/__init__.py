"""Training on rows that keep arriving: SA L-BFGS, the rules and samples it is made of, and what it is held against."""

from pianobench.algorithms.stream.contract import Record, StreamState, Trainer
from pianobench.algorithms.stream.draws import Draws, draw
from pianobench.algorithms.stream.learner import Learner, widened
from pianobench.algorithms.stream.least_squares import LeastSquares
from pianobench.algorithms.stream.log import Log
from pianobench.algorithms.stream.registry import STREAMS, make_stream
from pianobench.algorithms.stream.scores import Score

__all__ = [
    "STREAMS",
    "Draws",
    "Learner",
    "LeastSquares",
    "Log",
    "Record",
    "Score",
    "StreamState",
    "Trainer",
    "draw",
    "make_stream",
    "widened",
]
