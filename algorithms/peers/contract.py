"""What a black box is: somebody else's solver, fitted anew for each budget. Never called a Solver.

It gets the user's own X, y and weights, whatever the problem's conditioning, and gives back weights in the user's
units.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pianobench.problems import Problem
from pianobench.problems.design import Csr
from pianobench.problems.engines.memory import MemoryRows
from pianobench.problems.penalties import Array


@dataclass(frozen=True)
class Native:
    """A problem as libraries take it.

    Attributes
    ----------
    X : array or csr_array (n, d)
        The user's matrix, rows contiguous.
    codes : array (n,) of intp
        Classes 0 .. m-1, each with a row.
    weights : array (n,) or None
        None where all are 1.
    m : int
    intercept : bool
    l1, l2 : float
        Strengths of the penalty, in units of a loss summed over the samples.
    """

    X: Any
    codes: NDArray[np.intp]
    weights: Array | None
    m: int
    intercept: bool
    l1: float
    l2: float


class BlackBox(Protocol):
    """A frozen dataclass of a library's settings."""

    @property
    def title(self) -> str:
        """Library and method."""
        ...

    @property
    def penalties(self) -> frozenset[str]:
        """Kinds of penalty it takes: of {"none", "l1", "l2", "elasticnet"}."""
        ...

    @property
    def step_is(self) -> str:
        """One unit of its budget in words."""
        ...

    @property
    def max_iter(self) -> int | None:
        """Its documented limit of iterations, to be fitted once with; None: the budget rules, and grows."""
        ...

    def refusal(self, problem: Problem) -> str | None:
        """Why it cannot take the problem, in one sentence, or None."""
        ...

    def convert(self, problem: Problem) -> Any:
        """The problem as the library takes it, and the library imported: all that a fit needs. Timed apart."""
        ...

    def fit(self, native: Any, budget: int, threads: int, seed: int = 0) -> tuple[Array, Array, dict[str, Any]]:
        """Fit anew with this many iterations at most.

        Returns
        -------
        coef : array (m, d)
        b : array (m,)
        info : dict
            ``iterations``, those it says it made, and ``ended``: whether its own rule stopped it before the budget did.
            ``seconds`` too where it works in another process, whose start is no part of the method.
        """
        ...


@cache
def trouble_with(library: str, module: str) -> str | None:
    """None, or why a library cannot be used and what to do."""
    try:
        import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
            return f"{library} is not installed: pip install 'pianobench[peers]'"
        return f"{library} cannot be imported ({error}): install it anew, pip install --force-reinstall {library}"
    return None


def common_refusal(box: BlackBox, problem: Problem) -> str | None:
    """Why no library can take the problem, or this one not its penalty; None if neither."""
    name, kind, rows = box.title, problem.pen.kind, problem.home
    if kind not in box.penalties:
        return f"{name} takes {', '.join(sorted(box.penalties))}, not {kind}"
    if not isinstance(rows, MemoryRows):
        return f"{name} needs X in this process, which rows kept elsewhere do not offer"
    if problem.active is not None:
        return f"{name} takes whole problems, not one restricted to some of its weights"
    penalty = problem.penalty
    if penalty is not None and (np.ndim(penalty.l1) or np.ndim(penalty.l2)):
        return f"{name} takes one strength for all features, not one for each"
    absent = sorted(set(range(problem.m)) - {int(code) for part in rows.parts for code in np.unique(part.codes)})
    if absent:
        label = problem.decode(np.array(absent[:1]))[0]
        return f"{name} learns the classes from the rows, and {str(label)!r} has none"
    return None


def hand_over(problem: Problem) -> Native:
    """The problem in the user's units: what `Problem` was made from, without a copy where that can be."""
    rows = problem.home
    assert isinstance(rows, MemoryRows)
    parts = [part.design.X for part in rows.parts]
    X: Any
    if isinstance(rows.parts[0].design, Csr):
        X = parts[0] if len(parts) == 1 else sp.csr_array(sp.vstack(parts, format="csr"))
        if problem.conditioning != "none":  # the columns are stored scaled, by powers of two: this undoes it exactly
            scale = problem.to_user(np.ones((problem.p, problem.m)))[0][0]
            data = (X.data / scale[X.indices]).astype(X.dtype)
            X = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    else:  # the columns are conditioned on the fly: X is the user's
        X = np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts))
    weights = np.concatenate([part.weights for part in rows.parts])
    penalty = problem.penalty
    return Native(
        X=X,
        codes=np.concatenate([part.codes for part in rows.parts]),
        weights=None if (weights == 1.0).all() else weights,
        m=problem.m,
        intercept=problem.fit_intercept,
        l1=float(penalty.l1) if penalty else 0.0,
        l2=float(penalty.l2) if penalty else 0.0,
    )


def halves(v: Array, b: Array) -> tuple[Array, Array]:
    """Two classes' coefficients (2, d) and intercepts (2,) from the one vector v = w_1 - w_0 of a sigmoid.

    Of all pairs with this difference the halves have the smallest l2 norm and, as others do, the smallest l1 norm.
    Their quadratic penalty is ``l2/4 |v|**2``: a library that adds ``s/2 |v|**2`` wants ``s = l2/2``. For l1 it is
    ``s = l1``.
    """
    v, b = np.ravel(v) / 2, np.ravel(b) / 2
    return np.stack([-v, v]), np.concatenate([-b, b])
