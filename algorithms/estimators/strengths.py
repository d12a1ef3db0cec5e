"""The strength of a penalty in the words of other libraries.

Ours is ``sum of the losses + lam R(W)`` with ``R = l1_ratio |W|_1 + (1 - l1_ratio)/2 |W|^2`` over the weights of all m
classes. Others multiply the
loss by C, or take its mean over n samples or over n m entries.
With two classes some have one vector v = w_1 - w_0 in place of two. Of all pairs with this difference the halves cost
least: ``|W|_1 = |v|_1`` and ``|W|^2 / 2 = |v|^2 / 4``.

For libraries with other minimisers, whatever the strength, there is no entry: statsmodels and abess (a class of
reference), liblinear, snapml, dask-glm and VW (the intercept is penalised, or the loss is one against the rest),
lightning for m = 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scaling:
    """How a library scales.

    Parameters
    ----------
    parameter : str
        What it calls the strength.
    loss : {"C", "sum", "mean", "mean over classes"}
        What stands before the sum of the losses: C, with 1 before R; or 1, 1/n or 1/(n m), with the strength before R.
    one_vector : bool
        Whether two classes have one vector.
    standardises : str or None
        The setting that must be off, else it penalises the weights of standardised columns.
    """

    parameter: str
    loss: str
    one_vector: bool = False
    standardises: str | None = None


LIBRARIES: dict[str, Scaling] = {
    "scikit-learn": Scaling("C", "C", one_vector=True),
    "scikit-learn-intelex": Scaling("C", "C", one_vector=True),
    "cuml": Scaling("C", "C", one_vector=True),
    "cyanure": Scaling("lambda_1", "mean"),
    "cyanure, two classes": Scaling("lambda_1", "mean", one_vector=True),
    "glmnet": Scaling("lambda", "mean", standardises="standardize=FALSE"),
    "python_glmnet": Scaling("lambda_path", "mean", standardises="standardize=False"),
    "spark": Scaling("regParam", "mean", standardises="standardization=False"),
    "h2o": Scaling("lambda_", "mean", standardises="standardize=False"),
    "spams": Scaling("lambda1", "mean"),
    "xgboost gblinear": Scaling("alpha, lambda", "mean"),
    "mlpack": Scaling("lambda_", "mean"),
    "adelie": Scaling("lmda_path", "mean over classes"),
    "lightning": Scaling("alpha", "sum"),
}


def strength_for(library: str, lam: float, *, n: float, m: int, l1_ratio: float = 0.0) -> tuple[float, float]:
    """A library's strength and l1_ratio for our `lam` and `l1_ratio`.

    Parameters
    ----------
    library : str
        A key of `LIBRARIES`.
    lam : float
    n : float
        Sum of the sample weights: the number of rows where all are 1.
    m : int
        Classes.
    l1_ratio : float
        1 for l1, 0 for l2.

    Returns
    -------
    strength, l1_ratio : float
        With two classes in one vector the ratio of an elastic net changes too.
    """
    scaling, l1, l2 = _scaling(library), _positive("lam", lam) * _share(l1_ratio), lam * (1.0 - l1_ratio)
    if scaling.one_vector and m == 2:
        l2 /= 2.0
    total = l1 + l2
    return (1.0 / total if scaling.loss == "C" else total * _before_loss(scaling, n, m)), l1 / total


def lam_of(library: str, strength: float, *, n: float, m: int, l1_ratio: float = 0.0) -> tuple[float, float]:
    """Our `lam` and `l1_ratio` for a library's: the inverse of `strength_for`."""
    scaling, strength, ratio = _scaling(library), _positive("strength", strength), _share(l1_ratio)
    total = 1.0 / strength if scaling.loss == "C" else strength / _before_loss(scaling, n, m)
    l1, l2 = total * ratio, total * (1.0 - ratio)
    if scaling.one_vector and m == 2:
        l2 *= 2.0
    return l1 + l2, l1 / (l1 + l2)


def _before_loss(scaling: Scaling, n: float, m: int) -> float:
    return {"sum": 1.0, "mean": 1.0 / n, "mean over classes": 1.0 / (n * m)}[scaling.loss]


def _scaling(library: str) -> Scaling:
    if library not in LIBRARIES:
        raise ValueError(f"library={library!r} is unknown: {', '.join(LIBRARIES)} are known")
    return LIBRARIES[library]


def _positive(name: str, value: float) -> float:
    if not 0.0 < value < math.inf:
        raise ValueError(f"{name}={value!r}: a finite number above 0 is expected")
    return float(value)


def _share(l1_ratio: float) -> float:
    if not 0.0 <= l1_ratio <= 1.0:
        raise ValueError(f"l1_ratio={l1_ratio!r}: a number from 0 (all l2) to 1 (all l1) is expected")
    return float(l1_ratio)
