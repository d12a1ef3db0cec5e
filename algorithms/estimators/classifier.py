"""Multinomial logistic regression with a certified gap, as scikit-learn's estimators are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from pianobench.algorithms.estimators import parameters
from pianobench.algorithms.estimators.minimise import minimise, thread_limit
from pianobench.algorithms.estimators.path import Path, walk
from pianobench.algorithms.estimators.softmax_classifier import SoftmaxClassifier
from pianobench.algorithms.estimators.training import Training, read, training
from pianobench.problems.penalties import Array


class MultinomialLogisticRegression(SoftmaxClassifier):
    """Multinomial (softmax) logistic regression.

    Minimises ``sum_j a_j [log sum_i exp(w_i . x_j + b_i) - w_{y_j} . x_j - b_{y_j}] + lam R(W)``: a sum over the
    samples, with weights for every class and no penalty on the intercepts b.

    Parameters
    ----------
    penalty : {None, "l1", "l2", "elasticnet", "l0"}
        R is ``|W|_1``, ``|W|^2 / 2``, ``l1_ratio |W|_1 + (1 - l1_ratio) |W|^2 / 2``, or the number of weights that
        are not 0. l0 is not convex: the fit starts from l1 solutions, ends at a point that is stationary, and no gap is
        known.
    lam : float, optional
        Strength, 1 if neither it nor C is given. Without a penalty it says nothing.
    C : float, optional
        The strength as scikit-learn has it, ``1/lam``. Not both.
    l1_ratio : float
        Share of l1 in an elastic net.
    tol : float
        Relative gap ``(F - L) / F`` to reach, L a certified lower bound; for l0 the residual of a fixed point.
    solver : str or Solver
        "auto", a key of `pianobench solvers`, or a solver.
    fit_intercept : bool
    class_weight : dict, "balanced" or None
        Factors of the rows' weights; balanced: all classes weigh the same.
    classes : array-like (m,), optional
        All classes, also such as y does not hold; one without weight gets the probability 0.
    warm_start : bool
        Start from the last fit, where classes and features are the same.
    max_seconds : float, optional
        On the solver's clock.
    n_threads : int, optional
        Of all parallel work; None: OMP_NUM_THREADS or all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        Of solvers that draw; None gives other bits each time.

    Attributes
    ----------
    coef_ : array (m, d)
        Of the type of X, also for two classes one row a class.
    intercept_ : array (m,)
        Float64.
    classes_ : array (m,)
        Sorted, in the kind of the labels.
    objective_, lower_bound_, gap_ : float
        F, a certified bound below its minimum, and ``(F - L) / F``.
    status_, reason_ : str
        "converged", or how else it ended (`docs/guide.md`), and a sentence on it.
    n_iter_ : int
        Steps.
    history_ : dict of str to array
        The certified checkpoints: step, seconds, objective, lower, gap and more, a value each.
    lam_ : float
        The strength used.
    n_features_in_ : int
    feature_names_in_ : array (d,)
        Where X has names.

    Notes
    -----
    Columns are centred (dense X with an intercept) and scaled inside; penalty, weights and objective stay in the units
    of X. The first fit of a process loads, and the first ever compiles, the kernels: that takes seconds, once.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pianobench import MultinomialLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MultinomialLogisticRegression().fit(X, y)
    >>> model.status_, bool(model.gap_ <= 1e-6), model.coef_.shape
    ('converged', True, (3, 4))
    """

    def __init__(
        self,
        penalty: str | None = "l2",
        *,
        lam: float | None = None,
        C: float | None = None,
        l1_ratio: float = 0.5,
        tol: float = 1e-6,
        solver: Any = "auto",
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        classes: ArrayLike | None = None,
        warm_start: bool = False,
        max_seconds: float | None = None,
        n_threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.penalty = penalty
        self.lam = lam
        self.C = C
        self.l1_ratio = l1_ratio
        self.tol = tol
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.classes = classes
        self.warm_start = warm_start
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to X (n, d), dense or sparse, and labels y (n,) of any kind; weight 2 counts as the row twice.

        Raises
        ------
        ValueError
            Of a parameter or the input; the message names the value, what is expected and the remedy.
        """
        parameters.check_stops(self.tol, self.max_seconds, self.n_threads)
        parameters.check_switch("warm_start", self.warm_start)
        lam = parameters.strength(self.lam, self.C)
        penalty = parameters.make_penalty(self.penalty, lam, self.l1_ratio)
        before = self._before() if self.warm_start else None
        with thread_limit(self.n_threads):
            data = self._training(X, y, sample_weight)
            if before is not None and not self._fits(before, data):
                before = None
            fitted = minimise(
                data,
                penalty,
                self.solver,
                tol=self.tol,
                max_seconds=self.max_seconds,
                rng=parameters.generator(self.random_state),
                start=None if before is None else before[:2],
            )
        fitted.warn()
        self.lam_ = lam
        return self._keep(fitted, data.classes)

    def path(
        self,
        X: Any,
        y: Any,
        lams: ArrayLike | int = 50,
        *,
        sample_weight: ArrayLike | None = None,
        least: float | None = None,
    ) -> Path:
        """Fits at many strengths, each started from the one before: from the strongest down, under l0 up.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        lams : array-like or int
            The strengths, or how many: then from where no weight is left (l1) or all are small (l2), geometrically
            down to `least` of it.
        least : float, optional
            1e-3 by default, without l1 1e-5.

        Returns
        -------
        Path
            The estimator itself stays as it is.
        """
        parameters.check_stops(self.tol, self.max_seconds, self.n_threads)
        own = clone(self)  # which takes the features' names
        with thread_limit(self.n_threads):
            return walk(own, own._training(X, y, sample_weight), lams, least)

    def _training(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Training:
        parameters.check_switch("fit_intercept", self.fit_intercept)
        X, y = read(self, X, y)
        return training(
            X,
            y,
            sample_weight=sample_weight,
            class_weight=self.class_weight,
            classes=self.classes,
            fit_intercept=self.fit_intercept,
        )

    def _before(self) -> tuple[Array, Array, Any] | None:
        fitted = hasattr(self, "coef_")
        return (self.coef_, self.intercept_, self.classes_) if fitted else None

    def _fits(self, before: tuple[Array, Array, Any], data: Training) -> bool:
        coef, _, classes = before
        return coef.shape == (data.classes.size, data.rows.d) and np.array_equal(classes, data.classes)
