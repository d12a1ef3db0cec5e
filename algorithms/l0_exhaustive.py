"""The global minimum of a small l0 problem, by a convex solve for every support. It shares no code with the solvers.

Adding one vector to the weights of a feature over all classes leaves the loss alone, so a feature with all m classes in
the support can have one of them at 0 for less: such supports are left out. For m = 2 one weight a feature is then
enough, and as either will do the second class is left out too.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pianobench.problems.penalties import Array

MOST_WEIGHTS = 16  # d * m
BLOCK = 4096  # supports that are solved side by side
STEPS = 100  # of Newton, at most


@dataclass(frozen=True)
class Exhaustive:
    """The best of all supports.

    Attributes
    ----------
    objective : float
        ``min F``, to 1e-9 of the loss at 0.
    support : array (d, m) of bool
        One that attains it; there may be others.
    W : array (d, m), or (d + 1, m) with the intercept as last row
    supports : int
        How many were solved.
    """

    objective: float
    support: NDArray[np.bool_]
    W: Array
    supports: int


def exhaustive(X: ArrayLike, y: ArrayLike, lam: float, *, fit_intercept: bool = True) -> Exhaustive:
    """Minimise ``loss + lam |W|_0`` over all supports by damped Newton.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,) of int
        Codes 0 .. m-1.
    lam : float
        Strength, above 0.
    fit_intercept : bool
        Whether an intercept, which is not penalised, is fitted.

    Raises
    ------
    ValueError
        d * m is above 16, or lam is not above 0.

    Notes
    -----
    On a support on which the classes are separable there is no minimiser; its weights then end where the loss is below
    1e-9 of that at 0, or after 100 steps, and the objective given is that of this point.
    """
    A, codes = np.asarray(X, np.float64), np.asarray(y, np.intp)
    d, m = A.shape[1], int(codes.max()) + 1
    if d * m > MOST_WEIGHTS:
        raise ValueError(f"d * m = {d * m}: at most {MOST_WEIGHTS} can be searched; take fewer columns or classes")
    if not 0.0 < lam < np.inf:
        raise ValueError(f"lam = {lam}: a finite strength above 0 is expected")
    if fit_intercept:
        A = np.column_stack([A, np.ones(len(A))])
    row = [w for w in itertools.product((False, True), repeat=m) if not all(w) and not (m == 2 and w[1])]
    supports = np.array([np.ravel(s) for s in itertools.product(row, repeat=d)])
    free = np.zeros(m, bool)
    free[: m - 1] = True  # of the intercepts one stays at 0, which fixes the shift
    lowest, W = np.inf, np.zeros((A.shape[1], m))
    for first in range(0, len(supports), BLOCK):
        masks = supports[first : first + BLOCK]
        whole = np.hstack([masks, np.tile(free, (len(masks), 1))]) if fit_intercept else masks
        losses, found = _minimised(A, codes, m, whole)
        F = losses + lam * masks.sum(axis=1)
        at = int(F.argmin())
        if F[at] < lowest:
            lowest, W = float(F[at]), found[at].reshape(-1, m)
    return Exhaustive(lowest, W[:d] != 0, W, len(supports))


def _minimised(A: Array, codes: NDArray[np.intp], m: int, masks: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Losses (k,) and weights (k, p m) of the loss's minimum on each of k supports."""
    p = A.shape[1]
    W = np.zeros((len(masks), p * m))
    loss, P = _loss(A, codes, W, m)
    going, at_zero = np.ones(len(masks), bool), loss.copy()
    Y = np.eye(m)[codes]
    for _ in range(STEPS):
        (k,) = np.nonzero(going)
        if not k.size:
            break
        mask, Pk = masks[k], P[k]
        G = np.einsum("nl,kni->kli", A, Pk - Y).reshape(len(k), -1) * mask
        H = np.zeros((len(k), p, m, p, m))
        for i, j in itertools.product(range(m), repeat=2):
            weight = Pk[:, :, i] * ((i == j) - Pk[:, :, j])
            H[:, :, i, :, j] = np.einsum("kn,nl,nq->klq", weight, A, A, optimize=True)
        H = H.reshape(len(k), p * m, p * m) * (mask[:, :, None] & mask[:, None, :])
        diagonal = np.arange(p * m)
        # off the support 1, so that the step there is 0; on it a trace, or separable supports would be singular
        H[:, diagonal, diagonal] += ~mask + 1e-10 * (1.0 + np.trace(H, axis1=1, axis2=2))[:, None]
        step = -np.linalg.solve(H, G[:, :, None])[:, :, 0]
        slope, t = (G * step).sum(axis=1), np.ones(len(k))
        for _ in range(30):
            trial, P_trial = _loss(A, codes, W[k] + t[:, None] * step, m)
            short = ~(trial <= loss[k] + 1e-4 * t * slope + 1e-13 * at_zero[k])
            if not short.any():
                break
            t[short] *= 0.5
        t[short] = 0.0
        W[k] += t[:, None] * step
        lower = ~short
        loss[k[lower]], P[k[lower]] = trial[lower], P_trial[lower]
        # half of -slope is what the quadratic model promises
        going[k] = (0.5 * -slope > 1e-10 * at_zero[k]) & lower & (loss[k] > 1e-9 * at_zero[k])
    return loss, W


def _loss(A: Array, codes: NDArray[np.intp], W: Array, m: int) -> tuple[Array, Array]:
    """Losses (k,) and probabilities (k, n, m) of weights (k, p m)."""
    Z = np.einsum("nl,kli->kni", A, W.reshape(len(W), -1, m))
    Z -= Z.max(axis=2, keepdims=True)
    E = np.exp(Z)
    total = E.sum(axis=2)
    chosen = np.take_along_axis(Z, np.broadcast_to(codes[None, :, None], (len(W), len(codes), 1)), axis=2)[:, :, 0]
    return (np.log(total) - chosen).sum(axis=1), E / total[:, :, None]
