"""What a solver is: frozen hyper-parameters, `init` and `step` on an explicit state. Nothing else."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from pianobench.problems import Problem
from pianobench.problems.penalties import Array


class Breakdown(Exception):
    """A method cannot go on from where it is; the message says why. The point reached so far stays good."""


def check_squares(squares: Any, dtype: Any) -> None:
    """Refuse sums of squares of X's entries, or of a gradient's, that are no numbers of the type computed in.

    Raises
    ------
    Breakdown
    """
    if not np.all(np.abs(squares) <= np.finfo(dtype).max):  # false of NaN, too
        raise Breakdown(
            f"the squares of X's entries overflow {np.dtype(dtype)}: give conditioning='scale', which leaves penalty "
            "and solution in the units they are in"
        )


@dataclass
class State:
    """Where a method stands. Subclasses add fields: arrays, numbers, row fields of the problem, or None.

    Attributes
    ----------
    W : array (p, m)
        The point to be judged.
    rejected : int
        Steps so far that left W where it was.
    """

    W: Array
    rejected: int = 0

    def export(self) -> dict[str, Array]:
        """All fields as arrays, for an npz without pickles; `load` restores the same bits."""
        saved: dict[str, Array] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if hasattr(value, "export"):
                saved |= {f"{f.name}/{place}": part for place, part in enumerate(value.export())}
            elif value is not None:
                saved[f.name] = np.array(value)
        return saved

    @classmethod
    def load(cls, problem: Problem, saved: dict[str, Array]) -> Self:
        """The state that `export` saved, on a problem with the same rows."""
        values: dict[str, Any] = {}
        for name, value in saved.items():
            base, _, place = name.partition("/")
            if not place:
                values[base] = value.item() if value.ndim == 0 else value.copy()
            elif place == "0":
                parts = [saved[f"{base}/{i}"] for i in range(sum(key.startswith(f"{base}/") for key in saved))]
                values[base] = problem.field(value.shape[1], dtype=value.dtype)
                values[base].load(parts)
        return cls(**values)


class Solver(Protocol):
    """A frozen dataclass of hyper-parameters with the attributes below.

    Attributes
    ----------
    penalties : frozenset of str
        Kinds of penalty it can take: of {"none", "l1", "l2", "elasticnet", "l0"}.
    needs : frozenset of str
        What it asks of a problem beyond `value`, `smooth` and `prox` (see `Problem.has`).
    monotone : bool
        Whether F provably never rises.
    step_is : str
        One step in the paper's words.
    """

    penalties: ClassVar[frozenset[str]]
    needs: ClassVar[frozenset[str]]
    monotone: ClassVar[bool]
    step_is: ClassVar[str]

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        """Bytes it needs besides X."""
        ...

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> Any:
        """State at W0, which is never written. On the clock."""
        ...

    def step(self, problem: Problem, state: Any) -> Any:
        """State after one iteration of the paper. Raises `Breakdown`; never loops for ever."""
        ...
