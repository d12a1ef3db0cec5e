"""Fits along a path of strengths, each started from the one before."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from pianobench.algorithms import l0_path
from pianobench.algorithms.estimators import parameters
from pianobench.algorithms.estimators.minimise import Fitted, minimise
from pianobench.algorithms.estimators.training import Training
from pianobench.problems.kernels.fields import total_weight
from pianobench.problems.penalties import Array


@dataclass(frozen=True)
class Path:
    """Models along strengths that fall.

    Parameters
    ----------
    lams : array (k,)
        Strengths, the largest first.
    fits : list of Fitted
        One a strength.
    classes : array (m,)
    estimator : estimator
        A copy of the one asked, which knows the features.
    """

    lams: Array
    fits: list[Fitted]
    classes: NDArray[Any]
    estimator: Any = field(repr=False)

    @property
    def coef(self) -> Array:
        """(k, m, d)."""
        return np.stack([fit.coef for fit in self.fits])

    @property
    def intercept(self) -> Array:
        """(k, m)."""
        return np.stack([fit.intercept for fit in self.fits])

    @property
    def gap(self) -> Array:
        """(k,) certified relative gaps."""
        return np.array([fit.gap for fit in self.fits])

    @property
    def status(self) -> list[str]:
        """How each fit ended."""
        return [fit.status for fit in self.fits]

    @property
    def nnz(self) -> NDArray[np.intp]:
        """(k,) weights that are not 0."""
        return np.array([np.count_nonzero(fit.coef) for fit in self.fits])

    def model(self, number: int) -> Any:
        """The fitted estimator of that strength."""
        lam = float(self.lams[number])
        model = clone(self.estimator).set_params(lam=lam, C=None)
        model._keep(self.fits[number], self.classes)
        model.lam_ = lam
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator, name):
                setattr(model, name, getattr(self.estimator, name))
        return model


def walk(estimator: Any, data: Training, lams: ArrayLike | int, least: float | None) -> Path:
    """The path of the estimator's parameters on these rows; warns of each fit that did not converge."""
    if estimator.penalty is None:
        raise ValueError("penalty=None has no strength: give a penalty for a path")
    strengths = grid(data, estimator.penalty, estimator.l1_ratio, lams, least)
    fits = along(estimator, data, strengths)
    for fit in fits:
        fit.warn()
    return Path(strengths, fits, data.classes, estimator)


def along(estimator: Any, data: Training, strengths: Array) -> list[Fitted]:
    """One fit a strength, each started from the one before; `max_seconds` is for each.

    Under l0 the weakest comes first: weights leave as the strength grows, where from few weights none would enter.
    """
    rng, fits = parameters.generator(estimator.random_state), list[Fitted]()
    upwards = estimator.penalty == "l0"
    for lam in strengths[::-1] if upwards else strengths:
        penalty = parameters.make_penalty(estimator.penalty, float(lam), estimator.l1_ratio)
        start = (fits[-1].coef, fits[-1].intercept) if fits else None
        fits.append(
            minimise(
                data,
                penalty,
                estimator.solver,
                tol=estimator.tol,
                max_seconds=estimator.max_seconds,
                rng=rng,
                start=start,
            )
        )
    return fits[::-1] if upwards else fits


def grid(data: Training, kind: str | None, l1_ratio: float, lams: ArrayLike | int, least: float | None) -> Array:
    """Strengths (k,), the largest first: those given, or so many down to `least` of the largest that makes sense.

    With l1 that leaves no weight; with l0 it is F of the intercept alone, so that none can pay. With l2 it is the
    largest weighted sum of squares of a column about its mean: the curvature of the loss is below it in every direction
    of one weight. All follow the units of X.
    """
    if np.ndim(lams):
        strengths = np.unique([parameters.strength(lam, None) for lam in np.ravel(np.asarray(lams)).tolist()])[::-1]
        if not strengths.size:
            raise ValueError("lams is empty: give one strength at least")
        return np.ascontiguousarray(strengths)
    share = l1_ratio if kind == "elasticnet" else float(kind == "l1")
    least = (1e-3 if share > 0.0 else 1e-5) if least is None else least
    parameters.check_count(lams, least)
    count = int(cast("int", lams))
    if data.present.size == 1:
        return np.geomspace(1.0, least, count)  # nothing depends on it
    problem = data.problem(None)
    if kind == "l0":
        largest = float(l0_path.strengths(problem, 2, 0.5).max())
    elif share > 0.0:
        largest = problem.lambda_max / share * (1.0 + 1e-6)  # at the edge itself rounding decides
    else:
        unit = problem.from_user(np.ones((problem.m, problem.d)))[: problem.d, :1].astype(np.float64)
        largest = float((problem.squares()[: problem.d] * unit * unit).max())
    largest *= data.unit
    if not 0.0 < largest < math.inf:
        (total,) = data.rows.reduce(total_weight)
        largest = float(total) * data.unit  # all columns are constant: every strength gives the same model
    return np.geomspace(largest, least * largest, count)
