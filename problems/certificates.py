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
from pianobench.problems.kernels import softmax as on_softmax
from pianobench.problems.penalties import Array
from pianobench.problems.problem import Problem
from pianobench.problems.rows import Field
from pianobench.problems.unpenalised import NEWTON_STEPS, bound_without_penalty

INTERCEPT_STEPS = 50  # of Newton at most
FAR = 0.1  # share of the weight that an intercept may put into wrong classes and still be near its best


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
        C = _class_sums(problem)
        F, residual = problem.value(W), _residual(problem, W, problem.smooth(W)[1], C)
        nnz = int(np.count_nonzero(W[: problem.d] if problem.fit_intercept else W))
        plain = Certificate(F, 0.0, "zero", residual, nnz)
        if not math.isfinite(F):
            return plain
        if problem.pen.kind == "l0":
            return replace(plain, kind="stationary")
        if problem.pen.kind == "none":
            bound = bound_without_penalty(problem, W, NEWTON_STEPS if walk else 0)
        else:
            bound = _bound_with_penalty(problem, W, C)
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
        return _residual(problem, W, G, _class_sums(problem))


def _class_sums(problem: Problem) -> Array:
    """``C = X.T (a Y)`` (p, m) in float64, also where the problem's own are float32."""
    (C,) = problem.home.reduce(on_softmax.class_sums, np.zeros((problem.p, problem.m)))
    return np.asarray(C)


def _residual(problem: Problem, W: Array, G: Array, C: Array) -> float:
    """`kkt_residual` of f's gradient G and the class sums C (p, m)."""
    at_zero = np.abs(problem.only_active(C - C.mean(axis=1, keepdims=True)))  # there P = 1/m
    l1 = problem.pen.l1
    slope = np.where(W == 0, np.maximum(np.abs(G) - l1, 0.0), np.abs(G + l1 * np.sign(W)))
    if problem.pen.kind == "l0":
        slope = np.where((W == 0) & (np.asarray(problem.pen.l0) > 0), 0.0, slope)
    return float(slope.max(initial=0.0)) / (float(at_zero.max(initial=0.0)) or 1.0)


def _bound_with_penalty(problem: Problem, W: Array, C: Array) -> float:
    """D at the best of ``Q(c) = (1 - c) Y + c Q1``, Q1 = P made feasible for the intercept, 0 < c <= c_max.

    With the class sums ``C = X.T (a Y)``, ``Q1 = (1 - t) P + 1 u.T`` has ``V1 = t C - (1 - t) G - C 1 u.T``, G the
    loss's gradient. V is c times V1, and R* finite while ``|V| <= l1`` where only l1 acts; so
    ``c_max = min(1, min l1/|V1|)``. D is concave in c. Near the optimum c_max is best: the search is made only where a
    smaller c is better.
    """
    t = 0.0
    u: Array = np.zeros(problem.m)
    b: Array = np.zeros(problem.m)
    if problem.fit_intercept:
        Z, b = _margins_and_intercept(problem, W)
        W = np.vstack([W[:-1], b])
    else:
        Z = problem.scores(W)
    _, G = problem.home.reduce(on_softmax.loss_gradient, W)
    V: Array = -G
    if problem.fit_intercept:
        (counts,) = problem.home.reduce(on_fields.totals)
        present, total = counts > 0, counts.sum()
        sums = np.where(present, counts + G[-1], 0.0)  # of P
        shares = np.divide(counts, sums, out=np.ones_like(counts), where=sums > 0)
        t = max(0.0, 1.0 - float(shares.min()))  # the intercept's constraint: Q has the class sums of Y
        u = np.maximum(counts - (1.0 - t) * sums, 0.0) / total
        V = (1.0 - t) * V + t * C - C.sum(axis=1, keepdims=True) * u
        V[-1] = 0.0  # by the choice of Q, but for rounding
    V = problem.only_active(V)
    l1, l2 = (np.broadcast_to(s, V.shape) for s in (problem.pen.l1, problem.pen.l2))
    hard = (l2 == 0) & (np.abs(V) > l1)
    c_max = min(1.0, float((l1[hard] / np.abs(V[hard])).min())) if hard.any() else 1.0

    def bound(c: float) -> float:
        (H,) = problem.home.reduce(dual.mixed_entropy, b, t, u, c, fields=(Z,))
        over = np.maximum(np.abs(c * V) - l1, 0.0)
        return float(H) - float(np.sum(np.divide(np.square(over), 2.0 * l2, out=np.zeros_like(V), where=l2 > 0)))

    at_end, before = bound(c_max), bound(0.9 * c_max)
    if at_end >= before:
        return at_end
    from scipy.optimize import minimize_scalar  # half a second to import, which most cells do without

    near = 1e-9 if np.any(l1) else 1e-4  # without l1 D is smooth, and what is lost is of second order
    best = minimize_scalar(lambda c: -bound(c), bounds=(0.0, c_max), method="bounded", options={"xatol": near * c_max})
    return max(at_end, before, -float(best.fun))


def with_best_intercept(problem: Problem, W: Array) -> Array:
    """W with the intercept that minimises F for the other weights as they are; -inf for a class that no row has."""
    return np.vstack([W[:-1], _margins_and_intercept(problem, W)[1]])


def _margins_and_intercept(problem: Problem, W: Array) -> tuple[Field, Array]:
    """Margins (n, m) of W without its intercept, and the best intercept (m,) beside them.

    Damped Newton in m variables on kept margins. It need not converge: the bound is made exact afterwards.
    """
    (counts,) = problem.home.reduce(on_fields.totals)
    present = counts > 0
    Z = problem.scores(np.vstack([W[:-1], np.zeros((1, problem.m))]))

    def at(b: Array) -> tuple[float, Array, Array]:
        f, g, H = problem.home.reduce(dual.intercept_newton, b, fields=(Z,))
        return f, g[present], H[np.ix_(present, present)]

    b = np.where(present, W[-1], -np.inf)
    f, slope, H = at(b)
    if not np.abs(slope).sum() <= FAR * counts.sum():  # the one given is far off
        other = np.where(present, np.log(np.where(present, counts, 1.0)), -np.inf)
        found = at(other)
        if not f <= found[0]:
            b, (f, slope, H) = other, found
    own = counts[present]
    r = np.sqrt(own)  # in units of which a rare class is as any other
    for _ in range(INTERCEPT_STEPS if math.isfinite(f) else 0):
        wrong, noise = np.abs(slope / own).max(), 16.0 * float(np.finfo(np.float64).eps) * abs(f)
        if wrong <= 1e-13:
            break
        scaled = H / r / r[:, None] + np.outer(r, r) / own.sum()  # H has the null vector 1
        step = -np.linalg.lstsq(scaled, slope / r, rcond=None)[0] / r
        for length in (1.0, 0.5, 0.25, 0.0):
            trial = b.copy()
            # 0: far away, where Newton's steps are wild: the minimiser of a majoriser, which always descends
            trial[present] += length * step if length > 0.0 else _towards(own, slope)
            new = at(trial)
            falls = new[0] < f and new[0] <= f + 1e-4 * length * float(slope @ step)
            flat = abs(new[0] - f) <= noise and np.abs(new[1] / own).max() < wrong
            if falls or flat:
                break
        else:  # at the rounding level
            break
        b, (f, slope, H) = trial, new
    return Z, b


def _towards(counts: Array, slope: Array) -> Array:
    """Step of the intercept to the minimiser of PIANO's majoriser: log of the classes' weights over their sums of P."""
    return np.asarray(np.clip(np.log(counts / np.maximum(slope + counts, 1e-300)), -30.0, 30.0))
