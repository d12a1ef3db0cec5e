"""What was asked for, checked once."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from pianobench.algorithms.stream.registry import STREAMS, check_penalty, make_stream
from pianobench.experiments.mistakes import UserMistake
from pianobench.problems import L1, L2, Penalty

KEPT = 100_000


@dataclass(frozen=True)
class Options:
    """Options of `pianobench stream` that decide the result: one state has one of each.

    Parameters
    ----------
    method : str
        A key of `STREAMS`.
    batch_rows, rows : int
        Of a batch, and of a sample at most.
    kept : int or None
        Rows kept of the batches before the newest, None for all.
    lam : float
    penalty : {"l2", "l1"}
    tol : float
        Relative gap of each training.
    form : str
        Of the log.
    model : int
        Of clicks.
    classes : tuple of int, optional
    tolerated : float
        Share of a click log's lines that may be left out.
    seed : int

    Raises
    ------
    UserMistake
        A value is out of its range.
    """

    method: str = "sa-lbfgs-repaired"
    batch_rows: int = 100_000
    rows: int = 100_000
    kept: int | None = KEPT
    lam: float = 1.0
    penalty: str = "l2"
    tol: float = 1e-4
    form: str = "svmlight"
    model: int = 1
    classes: tuple[int, ...] | None = None
    tolerated: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in (("batch_rows", self.batch_rows), ("rows", self.rows), ("kept", self.kept)):
            if value is not None and value < 1:
                raise UserMistake(f"{word(name)} {value}: a whole number of rows, 1 or more, is expected")
        if not 0.0 < self.lam < math.inf:
            raise UserMistake(f"--lam {self.lam:g}: a finite number above 0 is expected")
        if self.penalty not in ("l2", "l1"):
            raise UserMistake(f"--penalty {self.penalty}: l2 or l1 is expected")
        if not 0.0 < self.tol < 1.0:
            raise UserMistake(f"--tol {self.tol:g}: a relative gap above 0 and below 1 is expected, for example 1e-4")
        if self.model not in (1, 2):
            raise UserMistake(f"--model {self.model}: 1 or 2 is expected")
        if not 0.0 <= self.tolerated <= 1.0:
            raise UserMistake(f"--tolerated {self.tolerated:g}: a share from 0 to 1 is expected, for example 0.001")
        if not 0 <= self.seed < 2**63:
            raise UserMistake(f"--seed {self.seed}: a whole number of 0 or more is expected")
        if self.classes is not None and len(set(self.classes)) < 2:
            raise UserMistake(f"--classes {','.join(map(str, self.classes))}: two at least are expected, as 0,1")
        try:
            make_stream(self.method, self.rows, self.tol)
            check_penalty(self.method, self.penalty)
        except ValueError as error:
            raise UserMistake(f"--method {self.method}: {error}") from error
        if STREAMS[self.method].whole and self.kept is not None:
            raise UserMistake(f"--kept {self.kept}: {self.method} trains on all rows; give --kept all, or leave it out")

    @property
    def penalised(self) -> Penalty:
        """The penalty."""
        return L1(self.lam) if self.penalty == "l1" else L2(self.lam)

    def facts(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def differences(self, kept: dict[str, Any]) -> list[str]:
        """What differs from the options of a state, each as it would have to be given."""
        return [
            f"{word(name)} was {shown(kept.get(name))} and is {shown(value)} now"
            for name, value in self.facts().items()
            if kept.get(name) != value
        ]


def word(name: str) -> str:
    """An option as it is typed."""
    return "--" + ("format" if name == "form" else name.replace("_", "-"))


def shown(value: Any) -> str:
    """A value as it is typed."""
    if value is None:
        return "all"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def kept_rows(text: str | None, method: str) -> int | None:
    """``--kept``: a number of rows, or ``all``; by default what the method needs.

    Raises
    ------
    UserMistake
    """
    if text is None:
        return None if method in STREAMS and STREAMS[method].whole else KEPT
    if text == "all":
        return None
    try:
        return int(text)
    except ValueError:
        raise UserMistake(f"--kept {text}: a whole number of rows, or all, is expected") from None


def class_list(text: str | None) -> tuple[int, ...] | None:
    """``--classes``: whole numbers with commas between them.

    Raises
    ------
    UserMistake
    """
    if text is None:
        return None
    try:
        return tuple(sorted({int(one) for one in text.split(",")}))
    except ValueError:
        raise UserMistake(f"--classes {text}: whole numbers with commas between them are expected, as 0,1") from None
