"""The row step of ADMM for multinomial logistic regression: each sample's own small problem."""

from __future__ import annotations

import numpy as np

from pianobench.problems.engines.memory import Part
from pianobench.problems.kernels.softmax import losses, softmax
from pianobench.problems.penalties import Array


def split_step(
    part: Part, W: Array, rho: float, rescale: float, accuracy: float, most: int, Z: Array, U: Array, T: Array
) -> tuple[float, float, float, float]:
    """Rescale U, take the z-step and the u-step, and leave ``T = Z - U`` for the next w-step.

    z_j minimises ``a_j (lse(z) - z_{y_j}) + rho/2 |z - v_j|^2``, ``v = x_j . W + u_j``; then ``u_j = v_j - z_j``.

    Parameters
    ----------
    W : array (p, m)
    rho : float
    rescale : float
        rho_old / rho_new: U is a dual variable over rho.
    accuracy : float
        Newton stops at a gradient below ``accuracy * rho`` in every element.
    most : int
        Newton steps at most.
    Z, U, T : fields (n, m)

    Returns
    -------
    primal, dual, size_primal, size_dual : float
        Squared norms of ``X W - Z``, ``Z - Z_old``, Z and U.
    """
    primal = dual = size_z = size_u = 0.0
    for rows, block in part.blocks():
        XW = block.design.dot(W)
        V = XW + U[rows] * U.dtype.type(rescale)
        new = prox_loss(block, V, Z[rows], rho, accuracy, most)
        primal += _square(XW - new)
        dual += _square(new - Z[rows])
        Z[rows] = new
        U[rows] = V - new
        T[rows] = new - U[rows]
        size_z += _square(new)
        size_u += _square(U[rows])
    return primal, dual, size_z, size_u


split_step.flops = 200.0  # type: ignore[attr-defined]  # about six damped Newton steps of 30 flops an entry


def prox_loss(part: Part, V: Array, start: Array, rho: float, accuracy: float, most: int) -> Array:
    """(n, m) minimisers z of ``a (lse(z) - z_y) + rho/2 |z - v|^2``, every row alone, by damped Newton from `start`.

    The Hessian is diagonal minus rank one, ``diag(a p + rho) - a p p.T``: Sherman and Morrison's formula inverts it.
    """
    Z = start.astype(V.dtype)
    a = part.weights.astype(V.dtype)[:, None]
    weight = V.dtype.type(rho)  # in V's type, so that float32 stays float32

    def objective(part: Part, a: Array, Z: Array, V: Array) -> tuple[Array, Array]:
        S = softmax(Z)
        return a[:, 0] * losses(part, Z, S) + 0.5 * weight * np.square(Z - V).sum(axis=1), S.P

    active = np.arange(part.n)
    for _ in range(most):
        rows, a_r, Z_r, V_r = part.slice(active), a[active], Z[active], V[active]
        h, P = objective(rows, a_r, Z_r, V_r)
        g = a_r * (P - rows.one_hot(P.dtype)) + weight * (Z_r - V_r)
        far = np.abs(g).max(axis=1) > accuracy * rho
        if not far.any():
            break
        active = active[far]
        a_r, Z_r, V_r, h, P, g = a_r[far], Z_r[far], V_r[far], h[far], P[far], g[far]
        inverse = 1.0 / (a_r * P + weight)
        ig, ip = inverse * g, inverse * P
        step = ig + ip * (a_r * (P * ig).sum(axis=1, keepdims=True) / (1.0 - a_r * (P * ip).sum(axis=1, keepdims=True)))
        slope = (g * step).sum(axis=1)
        rows, t = part.slice(active), np.ones((active.size, 1), V.dtype)
        noise = 8.0 * np.finfo(V.dtype).eps * np.abs(h)
        for _ in range(30):  # Armijo, row by row
            trial = Z_r - t * step
            too_high = ~(objective(rows, a_r, trial, V_r)[0] <= h - 1e-4 * t[:, 0] * slope + noise)
            if not too_high.any():
                break
            t[too_high] *= 0.5
        Z[active] = trial
    return np.asarray(Z)


def _square(V: Array) -> float:
    return float(np.vdot(V.astype(np.float64, copy=False), V.astype(np.float64, copy=False)))
