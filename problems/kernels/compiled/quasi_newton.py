"""The two loops of L-BFGS over pairs that lie in a ring: one look at each pair a loop, wherever it is in memory."""

from __future__ import annotations

from typing import Any

from pianobench.problems.kernels.compiled.jit import compiled

LANES = 8  # sums side by side, which a vector can take without their order changing


@compiled
def inner(u: Any, v: Any) -> float:
    """Inner product of two arrays (k,), in float64 whatever they are in."""
    a = b = c = d = e = f = g = h = 0.0
    whole = u.size - u.size % LANES
    for i in range(0, whole, LANES):
        a += u[i] * v[i]
        b += u[i + 1] * v[i + 1]
        c += u[i + 2] * v[i + 2]
        d += u[i + 3] * v[i + 3]
        e += u[i + 4] * v[i + 4]
        f += u[i + 5] * v[i + 5]
        g += u[i + 6] * v[i + 6]
        h += u[i + 7] * v[i + 7]
    for i in range(whole, u.size):
        a += u[i] * v[i]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@compiled
def first_loop(q: Any, S: Any, Y: Any, newest: int, count: int, rho: Any, alpha: Any) -> None:
    """From the newest pair to the oldest: ``alpha = rho s.q``, ``q -= alpha y``.

    Parameters
    ----------
    q : array (k,)
        Written over.
    S, Y : arrays (slots, k)
        Pairs, the newest in slot `newest`, the one before it in the slot before, around the ring.
    count : int
        Pairs there are.
    rho, alpha : arrays (slots,) of float64
        ``1 / s.y`` of each slot; what the second loop needs.
    """
    slots = S.shape[0]
    for back in range(count):
        slot = (newest - back) % slots
        alpha[slot] = rho[slot] * inner(S[slot], q)
        step, y = q.dtype.type(alpha[slot]), Y[slot]
        for i in range(q.size):
            q[i] -= step * y[i]


@compiled
def second_loop(q: Any, S: Any, Y: Any, newest: int, count: int, rho: Any, alpha: Any) -> None:
    """From the oldest pair to the newest: ``q += (alpha - rho y.q) s``; parameters as above."""
    slots = S.shape[0]
    for back in range(count - 1, -1, -1):
        slot = (newest - back) % slots
        step, s = q.dtype.type(alpha[slot] - rho[slot] * inner(Y[slot], q)), S[slot]
        for i in range(q.size):
            q[i] += step * s[i]
