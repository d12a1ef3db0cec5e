"""cyanure's `Classifier` with the softmax loss, for two classes with the logistic loss of one vector.

It minimises ``loss / n + penalty`` with the strengths ``lambda_1`` (the only one, or of l1) and ``lambda_2`` (of l2 in
an elastic net).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pianobench.algorithms.peers.contract import Native, common_refusal, halves, hand_over, trouble_with
from pianobench.problems import Problem
from pianobench.problems.engines.memory import MemoryRows
from pianobench.problems.penalties import Array

GAP = 3  # row of its optimization_info_


@dataclass(frozen=True)
class Cyanure:
    """cyanure. The defaults here are the library's own.

    Parameters
    ----------
    solver : str
        ``auto`` takes qning-miso or, for small problems, another.
    tol : float
        Relative duality gap, as it computes it itself.
    max_iter : int or None
        Passes over the data; None: the budget.
    duality_gap_interval : int or None
        Passes between its own checks, where alone it stops, and whose last point it returns; None: the budget, so that
        it checks once.
    sparse_solver : str
        In place of `solver` for sparse X with an intercept and more than two classes. There its miso family, which
        ``auto`` takes, diverges in version 1.2.2 and calls that converged; its svrg family ends the process.
    """

    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int | None = 500
    duality_gap_interval: int | None = 5
    sparse_solver: str = "auto"

    @property
    def title(self) -> str:
        """Library and method."""
        return f"cyanure {self.solver}"

    @property
    def penalties(self) -> frozenset[str]:
        """Kinds of penalty it takes."""
        return frozenset({"none", "l2", "l1", "elasticnet"})

    @property
    def step_is(self) -> str:
        """One iteration in words."""
        return "one pass over the samples, at random"

    def refusal(self, problem: Problem) -> str | None:
        """See `BlackBox`."""
        refusal = trouble_with("cyanure", "cyanure.estimators") or common_refusal(self, problem)
        if refusal is not None:
            return refusal
        rows = problem.home
        assert isinstance(rows, MemoryRows)
        if any((part.weights != 1.0).any() for part in rows.parts):
            return f"{self.title} has no sample weights"
        if problem.layout == "csr" and problem.nnz >= 2**31:
            return f"{self.title} takes sparse X with 32-bit indices, and {problem.nnz:,} entries need 64"
        if problem.n < 2:
            return f"{self.title} needs two rows"
        return None

    def convert(self, problem: Problem) -> Native:
        """See `BlackBox`."""
        import cyanure.estimators  # noqa: F401

        return hand_over(problem)

    def fit(self, native: Native, budget: int, threads: int, seed: int = 0) -> tuple[Array, Array, dict[str, Any]]:
        """See `BlackBox`."""
        from cyanure.estimators import Classifier

        (n, d), two = native.X.shape, native.m == 2
        l1, l2 = native.l1 / n, native.l2 / (2 * n if two else n)  # see `halves`
        sparse = not isinstance(native.X, np.ndarray) and native.intercept and not two
        interval = self.duality_gap_interval or budget
        model = Classifier(
            loss="logistic" if two else "multiclass-logistic",
            penalty="elasticnet" if l1 and l2 else "l1" if l1 else "l2" if l2 else "none",
            lambda_1=l1 or l2,
            lambda_2=l2 if l1 else 0.0,
            solver=self.sparse_solver if sparse else self.solver,
            tol=self.tol,
            max_iter=budget,
            duality_gap_interval=interval,
            fit_intercept=native.intercept,
            n_threads=threads,
            random_state=seed,
            verbose=False,
        )
        # labels 0 .. m-1 and none missing: others end the process, or are predicted as these
        model.fit(native.X, native.codes)
        W = np.asarray(model.coef_).reshape(d, -1).T
        b = np.ravel(model.intercept_) if native.intercept else np.zeros(len(W))
        coef, b = halves(W, b) if two else (W, b)
        # of the last check: it stops between two of them only when the budget is used up
        iterations = int(model.n_iter_.max())
        gap = float(model.optimization_info_[0, GAP, -1]) if model.optimization_info_.size else math.nan
        return coef, b, {"iterations": iterations, "ended": iterations + interval <= budget, "claimed_gap": gap}
