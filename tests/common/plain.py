"""The objective written out plainly, and minimised by other means: what the package's numbers are held against."""

from __future__ import annotations

import numpy as np
import scipy.optimize
import scipy.sparse as sp

from pianobench.problems import Penalty


def loss(X, y, a, W) -> np.longdouble:  # type: ignore[no-untyped-def]
    """``sum_j a_j (lse(x_j W) - x_j w_{y_j})`` in long double; W (d, m) or, with an intercept, (d + 1, m)."""
    Z = _scores(X, W)
    top = Z.max(axis=1, keepdims=True)
    own = Z[np.arange(len(y)), y]
    others = np.exp(Z - top)
    others[np.arange(len(y)), Z.argmax(axis=1)] = 0
    each = (top[:, 0] - own) + np.log1p(others.sum(axis=1))
    return np.sum((np.asarray(a, np.longdouble) * each)[np.asarray(a) > 0])


def gradient(X, y, a, W):  # type: ignore[no-untyped-def]
    """Gradient of `loss` (p, m), in long double."""
    P = probabilities(X, W)
    P[np.arange(len(y)), y] = 0
    P[np.arange(len(y)), y] = -P.sum(axis=1)  # P - 1 without its cancellation
    R = np.asarray(a, np.longdouble)[:, None] * P
    return matrix(X, W).T @ R


def probabilities(X, W):  # type: ignore[no-untyped-def]
    """Softmax of X W (n, m), in long double."""
    Z = _scores(X, W)
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


def objective(X, y, a, coef, b, penalty: Penalty | None) -> float:  # type: ignore[no-untyped-def]
    """F in the user's units: coef (m, d), b (m,)."""
    V = np.asarray(coef, np.longdouble)
    pen = penalty or Penalty()
    R = pen.l1 * np.abs(V).sum() + 0.5 * pen.l2 * (V * V).sum() + pen.l0 * np.count_nonzero(V)
    return float(loss(X, y, a, np.vstack([V.T, np.asarray(b, np.longdouble)])) + R)


def minimum(X, y, a, m, l1=0.0, l2=0.0, intercept=False) -> tuple[float, np.ndarray]:  # type: ignore[no-untyped-def]
    """F* and its W for a small problem: L-BFGS-B with the l1 weights split in two, then Newton on the support.

    Columns are centred (with an intercept) and scaled here.
    """
    X, a = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64), np.asarray(a, np.float64)
    centre = X[a > 0].mean(axis=0) if intercept else np.zeros(X.shape[1])
    size = np.abs(X - centre)[a > 0].max(axis=0)
    dead = size <= 1e-14 * np.abs(X).max(axis=0)
    size[dead] = 1.0
    A = np.where(dead, 0.0, (X - centre) / size)
    A = np.hstack([A, np.ones((len(y), 1))]) if intercept else A
    p, Y = A.shape[1], np.eye(m)[y]
    unit = np.append(size, np.inf)[:p, None]
    l1, l2 = l1 / unit * np.ones((p, m)), l2 / unit**2 * np.ones((p, m))

    def smooth(W: np.ndarray) -> tuple[float, np.ndarray]:
        Z = A @ W
        lse = np.logaddexp.reduce(Z, axis=1)
        G = A.T @ (a[:, None] * (np.exp(Z - lse[:, None]) - Y)) + l2 * W
        return float(a @ (lse - (Z * Y).sum(axis=1)) + 0.5 * (l2 * W * W).sum()), G

    def split(v: np.ndarray) -> tuple[float, np.ndarray]:
        plus, minus = v.reshape(2, p, m)
        f, G = smooth(plus - minus)
        return f + float((l1 * (plus + minus)).sum()), np.concatenate([(G + l1).ravel(), (l1 - G).ravel()])

    options = {"maxiter": 400, "maxfun": 800, "ftol": 0.0, "gtol": 1e-10, "maxcor": 30}
    never = l1 >= (a[:, None] * np.abs(A)).sum(axis=0)[:, None]  # no gradient is that large: these stay at 0
    bounds = [(0.0, 0.0 if held else None) for held in np.tile(never.ravel(), 2)]
    found = scipy.optimize.minimize(split, np.zeros(2 * p * m), jac=True, bounds=bounds, options=options)
    found = scipy.optimize.minimize(split, found.x, jac=True, bounds=bounds, options=options)
    plus, minus = found.x.reshape(2, p, m)
    W = plus - minus
    W[(np.abs(smooth(W)[1]) < l1 * (1 - 1e-5)) & (np.abs(W) < 1e-5)] = 0.0

    def F(W: np.ndarray) -> float:
        return smooth(W)[0] + float((l1 * np.abs(W)).sum())

    free = np.flatnonzero(((W != 0) | (l1 == 0)).ravel())
    for _ in range(20):
        Z = A @ W
        P = np.exp(Z - np.logaddexp.reduce(Z, axis=1)[:, None])
        H = np.einsum("jl,jk,j,ji,jiq->liqk", A, A, a, P, np.eye(m)[None] - P[:, None, :])
        H = H.transpose(0, 1, 3, 2).reshape(p * m, p * m) + np.diag(l2.ravel())
        g = (smooth(W)[1] + l1 * np.sign(W)).ravel()
        step = np.zeros(p * m)
        step[free] = -np.linalg.lstsq(H[np.ix_(free, free)], g[free], rcond=None)[0]
        new = W + step.reshape(p, m)
        if not F(new) <= F(W) * (1 + 1e-15):
            break
        W = new
    best, W = F(W), W / np.where(np.isinf(unit), 1.0, unit)
    if intercept:
        W[-1] -= centre @ W[:-1]
    return best, W


def matrix(X, W):  # type: ignore[no-untyped-def]
    """X (n, p) in long double, with a column of ones where W has a row more."""
    V = np.asarray(X.toarray() if sp.issparse(X) else X, np.longdouble)
    return np.hstack([V, np.ones((V.shape[0], 1), np.longdouble)]) if W.shape[0] > V.shape[1] else V


def _scores(X, W):  # type: ignore[no-untyped-def]
    return matrix(X, W) @ np.asarray(W, np.longdouble)
