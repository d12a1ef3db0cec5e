"""Hundreds or thousands of classes, of unequal sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pianobench.datasets.generators.dense import Dense
from pianobench.datasets.generators.parameters import parameter


@dataclass(frozen=True)
class ManyClasses(Dense):
    """Columns as in `Dense`, and many classes whose sizes follow a power law, so that W is larger than a row of X.

    Parameters
    ----------
    imbalance : float
        1 is Zipf's law; 0 makes classes about equal.
    """

    m: int = parameter(200, 2, 10**6)
    signal: float = parameter(4.0, 0.0, 1e3)
    imbalance: float = parameter(1.0, 0.0, 10.0)

    family: ClassVar[str] = "many_classes"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "near-normal columns, hundreds of classes of power-law sizes from a true softmax"
