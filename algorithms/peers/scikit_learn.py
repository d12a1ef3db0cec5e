"""scikit-learn's `LogisticRegression` with each of its five softmax solvers.

It minimises ``C * loss + (1 - l1_ratio)/2 |W|**2 + l1_ratio |W|_1``, for two classes over the one vector of a sigmoid.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import Any

import psutil

from pianobench.algorithms.peers.contract import Native, common_refusal, halves, hand_over
from pianobench.problems import Problem
from pianobench.problems.penalties import Array

STEPS = {
    "lbfgs": "one iteration of L-BFGS-B",
    "newton-cg": "one Newton step by conjugate gradients",
    "newton-cholesky": "one Newton step by Cholesky's factorisation",
    "sag": "one pass over the samples, at random",
    "saga": "one pass over the samples, at random",
}


@dataclass(frozen=True)
class ScikitLearn:
    """scikit-learn's softmax regression. The defaults here are the library's own.

    Parameters
    ----------
    solver : {"lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"}
    tol : float
        Its rule of stopping; its meaning differs from solver to solver.
    max_iter : int or None
        None: the budget.
    scale_weights : bool
        Divide sample weights by the largest and multiply C by it: the same minimiser, but sag and saga, whose step
        takes all weights for 1, do not run in circles where some are larger.
    """

    solver: str = "lbfgs"
    tol: float = 1e-4
    max_iter: int | None = 100
    scale_weights: bool = False

    def __post_init__(self) -> None:
        if self.solver not in STEPS:
            raise ValueError(f"solver={self.solver!r}: one of {', '.join(STEPS)} is expected")

    @property
    def title(self) -> str:
        """Library and method."""
        return f"scikit-learn {self.solver}"

    @property
    def penalties(self) -> frozenset[str]:
        """Kinds of penalty it takes."""
        return frozenset({"none", "l2", "l1", "elasticnet"} if self.solver == "saga" else {"none", "l2"})

    @property
    def step_is(self) -> str:
        """One iteration in words."""
        return STEPS[self.solver]

    def refusal(self, problem: Problem) -> str | None:
        """See `BlackBox`."""
        refusal = common_refusal(self, problem)
        if refusal is not None:
            return refusal
        if self.solver in ("sag", "saga") and problem.layout == "csr" and problem.nnz >= 2**31:
            return f"{self.title} takes sparse X with 32-bit indices, and {problem.nnz:,} entries need 64"
        wanted = 8 * (problem.p * (problem.m if problem.m > 2 else 1)) ** 2
        if self.solver == "newton-cholesky" and wanted > psutil.virtual_memory().total:
            return f"{self.title} needs {wanted:,} bytes for its Hessian, more than this machine has"
        return None

    def convert(self, problem: Problem) -> Native:
        """See `BlackBox`."""
        import sklearn.linear_model  # noqa: F401

        return hand_over(problem)

    def fit(self, native: Native, budget: int, threads: int, seed: int = 0) -> tuple[Array, Array, dict[str, Any]]:
        """See `BlackBox`."""
        from sklearn.linear_model import LogisticRegression

        l2 = native.l2 / 2 if native.m == 2 else native.l2  # see `halves`
        weights, unit = native.weights, 1.0
        if weights is not None and self.scale_weights:
            unit = float(weights.max())
            weights = weights / unit
        strength = native.l1 + l2
        ratio = native.l1 / strength if strength else 0.0
        model = LogisticRegression(
            C=unit / strength if strength else math.inf,
            **_penalty(LogisticRegression, ratio, strength),
            solver=self.solver,
            tol=self.tol,
            max_iter=budget,
            fit_intercept=native.intercept,
            random_state=seed,
        )
        model.fit(native.X, native.codes, weights)
        coef, b = halves(model.coef_, model.intercept_) if native.m == 2 else (model.coef_, model.intercept_)
        iterations = int(model.n_iter_.max())
        return coef, b, {"iterations": iterations, "ended": iterations < budget}


def _penalty(model: type[Any], ratio: float, strength: float) -> dict[str, Any]:
    """The penalty in the words of the library's version: since 1.8 `l1_ratio` alone names it."""
    if inspect.signature(model).parameters["penalty"].default == "deprecated":
        return {"l1_ratio": ratio}
    if not strength:
        return {"penalty": None}
    if 0.0 < ratio < 1.0:
        return {"penalty": "elasticnet", "l1_ratio": ratio}
    return {"penalty": "l1" if ratio else "l2"}
