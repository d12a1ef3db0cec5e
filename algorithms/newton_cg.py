"""Truncated Newton, or line search Newton-CG [NW06, algorithm 7.1].

Minimises a smooth F(W): no penalty or l2. Monotone; superlinear rate. The Hessian is multiplied by and never formed:

(1) H D = -G by conjugate gradients from 0, until |H D + G| <= eta |G|
(2) eta = min(forcing, sqrt(|G| / |G_0|))
(3) W <- W + t D,  t = 1 halved until F falls by c t G.D

H is singular along shifts of all classes in the rows that no penalty touches. G has no part along them, nor have the
conjugate gradients; what rounding adds is taken off, or W would drift where F does not see it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pianobench.algorithms.centring import without_free_shift
from pianobench.algorithms.contract import State
from pianobench.algorithms.lbfgs import dot, norm
from pianobench.algorithms.line_search import armijo
from pianobench.problems import Problem
from pianobench.problems.oracles import Curvature
from pianobench.problems.penalties import Array


@dataclass(kw_only=True)
class NewtonCgState(State):
    """State of truncated Newton."""

    f: float  # F at W
    G: Array  # (p, m) its gradient
    size: float  # |G_0|
    products: int = 0  # Hessian products so far


@dataclass(frozen=True)
class NewtonCg:
    """Newton-CG.

    Parameters
    ----------
    forcing : float
        Largest eta.
    inner_steps : int
        Conjugate gradient steps at most.
    sufficient : float
        c: share of the decrease promised by the slope that a step must bring.
    """

    forcing: float = 0.5
    inner_steps: int = 250
    sufficient: float = 1e-4

    penalties: ClassVar[frozenset[str]] = frozenset({"none", "l2"})
    needs: ClassVar[frozenset[str]] = frozenset({"curvature", "line"})
    monotone: ClassVar[bool] = True
    step_is: ClassVar[str] = "one Newton step by conjugate gradients with its line search"

    def memory(self, n: int, p: int, m: int, nnz: int, itemsize: int) -> int:
        return (3 * n * m + 8 * p * m) * itemsize

    def init(self, problem: Problem, W0: Array, rng: np.random.Generator) -> NewtonCgState:
        f, G = problem.smooth(W0)
        return NewtonCgState(W=W0.copy(), f=f, G=G, size=0.0)

    def step(self, problem: Problem, state: NewtonCgState) -> NewtonCgState:
        W, f, G = state.W, state.f, state.G
        H, R = problem.curvature(W), without_free_shift(problem, G)
        inverse = self.inverse(problem, H)
        length = math.sqrt(max(dot(R, R if inverse is None else inverse(R)), 0.0))
        size = state.size or length
        # departs: the book has sqrt(|G|), which depends on the units of F
        eta = min(self.forcing, math.sqrt(length / (size or 1.0)))  # (2)
        D, products = conjugate_gradients(H, R, eta, self.inner_steps, inverse)  # (1)
        D = without_free_shift(problem, D)
        line, slope = problem.line(W, D), dot(G, D)
        noise = 4.0 * float(np.finfo(W.dtype).eps) * abs(f)
        t = armijo(line, f, slope, 1.0, sufficient=self.sufficient, noise=noise) if slope < 0.0 else None
        products += state.products
        if t is None:  # F has no digits left to fall by
            return replace(state, rejected=state.rejected + 1, products=products, size=size)
        f, G = line.smooth(t)
        return replace(state, W=line.take(t), f=f, G=G, products=products, size=size)  # (3)

    def inverse(self, problem: Problem, H: Curvature) -> Callable[[Array], Array] | None:
        """Multiplies by a matrix near the inverse of H; None for the identity."""
        return None


def conjugate_gradients(
    H: Curvature, G: Array, eta: float, most: int, inverse: Callable[[Array], Array] | None = None
) -> tuple[Array, int]:
    """D (p, m) with ``|H D + G| <= eta |G|``, or after `most` products, and their number [NW06, algorithm 5.3].

    Parameters
    ----------
    inverse : callable, optional
        Multiplies by a positive definite matrix near the inverse of H; lengths are then those in its metric.
    """
    size = G.dtype.type(norm(G))
    if size == 0.0:
        return np.zeros_like(G), 0
    D, R = np.zeros_like(G), G / size  # or products of gradients overflow where the steps do not
    Z = R if inverse is None else inverse(R)
    V, rz, steepest, eps = -Z, dot(R, Z), 0.0, float(np.finfo(G.dtype).eps)
    enough = eta * eta * rz
    for products in range(most):
        if rz <= enough:
            return size * D, products
        HV = H @ V
        bent, vv = dot(V, HV), dot(V, V)
        if not 8.0 * eps * steepest * vv < bent < math.inf:  # flat to rounding: what there is so far descends
            return size * D, products + 1
        if inverse is None:
            steepest = max(steepest, bent / vv)
        alpha = rz / bent
        D = D + G.dtype.type(alpha) * V
        R = R + G.dtype.type(alpha) * HV
        Z = R if inverse is None else inverse(R)
        rz, before = dot(R, Z), rz
        V = G.dtype.type(rz / before) * V - Z
    return size * D, most
