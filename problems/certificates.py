"""How far F(W) can be above its minimum: a lower bound on F* from the dual, computed at the point a solver returned.

For every Q with rows in the simplex, ``F* >= D(Q) = sum_j a_j H(q_j) - R*(V)``, ``V = X.T (a (Y - Q))``, H the entropy
and R* the penalty's conjugate. Any Q gives a true bound, so a poor one costs tightness and never truth. All arithmetic
is float64, and nothing here is charged to the solver.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pianobench.problems.kernels import dual
from pianobench.problems.kernels import fields as on_fields
from pianobench.problems.penalties import Array
from pianobench.problems.problem import Problem
from pianobench.problems.unpenalised import NEWTON_STEPS, bound_without_penalty


@dataclass(frozen=True)
class Certificate:
    """What is known of F* from one point.

    Attributes
    ----------
    objective : float
        F at the point.
    lower : float
        A bound on the minimum from below, at least 0.
    kind : {"dual", "zero", "reference", "stationary"}
        Where the bound is from: a dual point made from W; only that F cannot be negative; a bound given by the caller;
        or nothing, because the problem is not convex (l0).
    residual : float
        Largest element of the minimum-norm subgradient at W, over the largest of the loss's gradient at 0. For l0
        only of the weights that are not 0: W is stationary there, which says nothing about the minimum.
    nnz : int
        Weights that are not 0, the intercept left out.
    """

    objective: float
    lower: float
    kind: str
    residual: float
    nnz: int

    @property
    def gap(self) -> float:
        """``(F - L) / F`` in [0, 1]; 1 where F is not finite."""
        if not math.isfinite(self.objective):
            return 1.0
        return 0.0 if self.objective <= 0.0 else min(max((self.objective - self.lower) / self.objective, 0.0), 1.0)


def certificate(problem: Problem, W: Array, reference: float | None = None, *, walk: bool = True) -> Certificate:
    """Certificate of W (p, m).

    Parameters
    ----------
    problem : Problem
    W : array (p, m)
        Point to be judged.
    reference : float, optional
        A lower bound known from elsewhere, taken where it is the larger.
    walk : bool
        Without a penalty a bound can be made near the optimum only; whether to walk there from W, which costs some
        Newton steps. A bound found once serves all points.

    Notes
    -----
    l2, l1 and elastic net: P, mixed until the constraint of the free intercept holds exactly and scaled towards Y until
    R* is finite (see `_bound_with_penalty`). No penalty: `bound_without_penalty`. l0: no bound, kind "stationary".
    """
    problem = problem.off_the_clock()
    W = W.astype(np.float64)
    with np.errstate(all="ignore"):
        F, residual = problem.value(W), kkt_residual(problem, W)
        nnz = int(np.count_nonzero(W[: problem.d] if problem.fit_intercept else W))
        plain = Certificate(F, 0.0, "zero", residual, nnz)
        if not math.isfinite(F):
            return plain
        if problem.pen.kind == "l0":
            return replace(plain, kind="stationary")
        if problem.pen.kind == "none":
            bound = bound_without_penalty(problem, W, NEWTON_STEPS if walk else 0)
        else:
            bound = _bound_with_penalty(problem, W)
    lower, kind = (bound, "dual") if bound > 0.0 else (0.0, "zero")
    if reference is not None and reference > lower:
        lower, kind = reference, "reference"
    return replace(plain, lower=min(lower, F), kind=kind)


def kkt_residual(problem: Problem, W: Array) -> float:
    """Largest element of F's minimum-norm subgradient at W (p, m), over that of the loss's gradient at 0.

    For l0 the elements at 0 are left out: the penalty keeps them there whatever the slope.
    """
    problem = problem.off_the_clock()
    W = W.astype(np.float64)
    with np.errstate(all="ignore"):
        _, G = problem.smooth(W)
        at_zero = np.abs(
            problem.only_active(-problem.home.reduce(dual.mixed_point, np.zeros_like(W), 0.0, np.zeros(problem.m))[0])
        )
        l1 = problem.pen.l1
        slope = np.where(W == 0, np.maximum(np.abs(G) - l1, 0.0), np.abs(G + l1 * np.sign(W)))
        if problem.pen.kind == "l0":
            slope = np.where((W == 0) & (np.asarray(problem.pen.l0) > 0), 0.0, slope)
        return float(slope.max(initial=0.0)) / (float(at_zero.max(initial=0.0)) or 1.0)


def _bound_with_penalty(problem: Problem, W: Array) -> float:
    """D at the best of ``Q(c) = (1 - c) Y + c Q1``, Q1 = P made feasible for the intercept, 0 < c <= c_max.

    V is c times that of Q1, and R* finite while ``|V| <= l1`` where only l1 acts; so ``c_max = min(1, min l1/|V1|)``.
    D is concave in c. Near the optimum c_max is best: the search is made only where a smaller c is better.
    """
    t, u = 0.0, np.zeros(problem.m)
    if problem.fit_intercept:
        W = with_best_intercept(problem, W)
        (sums,) = problem.home.reduce(dual.mean_probabilities, W)
        (counts,) = problem.home.reduce(on_fields.totals)
        shares, total = np.divide(counts, sums, out=np.ones_like(counts), where=sums > 0), counts.sum()
        t = max(0.0, 1.0 - float(shares.min()))  # the intercept's constraint: Q has the class sums of Y
        u = np.maximum(counts - (1.0 - t) * sums, 0.0) / total
    (V,) = problem.home.reduce(dual.mixed_point, W, t, u)
    V = problem.only_active(V)
    if problem.fit_intercept:
        V[-1] = 0.0  # by the choice of Q, but for rounding
    l1, l2 = (np.broadcast_to(s, V.shape) for s in (problem.pen.l1, problem.pen.l2))
    hard = (l2 == 0) & (np.abs(V) > l1)
    c_max = min(1.0, float((l1[hard] / np.abs(V[hard])).min())) if hard.any() else 1.0

    def bound(c: float) -> float:
        (H,) = problem.home.reduce(dual.mixed_entropy, W, t, u, c)
        over = np.maximum(np.abs(c * V) - l1, 0.0)
        return float(H) - float(np.sum(np.divide(np.square(over), 2.0 * l2, out=np.zeros_like(V), where=l2 > 0)))

    at_end, before = bound(c_max), bound(0.9 * c_max)
    if at_end >= before:
        return at_end
    from scipy.optimize import minimize_scalar  # half a second to import, which most cells do without

    best = minimize_scalar(lambda c: -bound(c), bounds=(0.0, c_max), method="bounded", options={"xatol": 1e-9 * c_max})
    return max(at_end, before, -float(best.fun))


def with_best_intercept(problem: Problem, W: Array, most_steps: int = 50) -> Array:
    """W with the intercept that minimises F for the other weights as they are; -inf for a class that no row has.

    Damped Newton in m variables on kept margins. It need not converge: the bound is made exact afterwards.
    """
    (counts,) = problem.home.reduce(on_fields.totals)
    present = counts > 0
    Z = problem.scores(np.vstack([W[:-1], np.zeros((1, problem.m))]))
    starts = (W[-1], np.log(np.where(present, counts, 1.0)))  # the one given may be far off
    tried = [
        (b, problem.home.reduce(dual.intercept_newton, b, fields=(Z,))) for b in np.where(present, starts, -np.inf)
    ]
    b, (f, g, H) = min(tried, key=lambda found: found[1][0] if math.isfinite(found[1][0]) else math.inf)
    for _ in range(most_steps if math.isfinite(f) else 0):
        slope, H = g[present], H[np.ix_(present, present)]
        if np.abs(slope).max() <= 1e-13 * counts.sum():
            break
        step = -np.linalg.lstsq(H + counts.sum() / slope.size, slope, rcond=None)[0]  # H has the null vector 1
        for length in (1.0, 0.5, 0.25, 0.0):
            trial = b.copy()
            if length > 0.0:
                trial[present] += length * step
            else:  # far away, where Newton's steps are wild: the minimiser of a majoriser, which always descends
                trial[present] += _towards(counts[present], slope)
            new = problem.home.reduce(dual.intercept_newton, trial, fields=(Z,))
            if new[0] < f and new[0] <= f + 1e-4 * length * float(slope @ step):
                break
        if not new[0] < f:  # at the rounding level
            break
        b, (f, g, H) = trial, new
    for _ in range(most_steps if math.isfinite(f) else 0):  # a rare class must be right beside its own small weight
        wrong = _towards(counts[present], g[present])
        if not np.abs(wrong).max() > 1e-13:
            break
        b[present] += wrong
        f, g, H = problem.home.reduce(dual.intercept_newton, b, fields=(Z,))
    return np.vstack([W[:-1], b])


def _towards(counts: Array, slope: Array) -> Array:
    """Step of the intercept to the minimiser of PIANO's majoriser: log of the classes' weights over their sums of P."""
    return np.asarray(np.clip(np.log(counts / np.maximum(slope + counts, 1e-300)), -30.0, 30.0))
