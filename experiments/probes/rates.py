"""Contraction near the optimum, measured and as the surrogate predicts it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import eigh

from pianobench.algorithms.bohning import Bohning
from pianobench.algorithms.irls import Irls
from pianobench.algorithms.loop import iterate
from pianobench.algorithms.piano import Piano
from pianobench.experiments.probes.setting import Number, OutOfTime, Setting, Unmeasured
from pianobench.experiments.probes.surrogate import Surrogate
from pianobench.problems import Problem
from pianobench.problems.penalties import Array

NEWTON_STEPS = 100
NEAR = 1e-8  # (F - F*) / F where a block starts: there F is its quadratic model, to 1e-4
FAR_BELOW = 1e-6  # of it, where a block ends
STEPS, BLOCKS = 20, 10_000  # steps of a block, and blocks, at most
LEAST_BLOCKS = 30  # so that a slow direction that was hardly there at first has come up
SETTLED, NEARLY = 1e-3, 0.1  # change of the contraction while the steps have doubled, over its distance from 1


def rates(setting: Setting) -> Iterator[Number]:
    """`rate over the surrogate's`: 1 - the contraction of F - F* per step, measured over predicted by the surrogate.

    Contractions themselves would all be near 1, and their ratio too, whatever the surrogate says.

    With S the surrogate's curvature at the optimum and H the Hessian, W - W* is multiplied by I - S^-1 H in a step, and
    F - F* in the end by (1 - e)^2, e the smallest eigenvalue of S^-1 H; of Böhning's method on weights whose rows add
    up to 0, which it does not leave.
    """
    problem = setting.problem.off_the_clock()
    if problem.pen.kind != "l2":
        raise Unmeasured(f"the penalty is {problem.pen.kind}: l2, with a minimiser for sure, is expected")
    W = minimiser(problem)
    H = problem.curvature(W).dense()
    for arm, share in (("piano", 0.5), ("bohning", 0.95)):
        e = smallest(arm, problem, W, H)
        predicted = e * (2.0 - e)  # 1 - (1 - e)^2 without cancellation
        solver: Any = Piano() if arm == "piano" else Bohning()
        measured = 1.0 - contraction(solver, problem, W, setting, share)
        yield Number("rate over the surrogate's", arm, measured / predicted)


def minimiser(problem: Problem) -> Array:
    """W* to rounding: Newton's steps until F falls no more."""
    states = iterate(Irls(), problem, np.zeros((problem.p, problem.m)))
    state = next(states)
    for _ in range(NEWTON_STEPS):
        new = next(states)
        before, state = state.f, new
        if not state.f < before:
            break
    return np.asarray(state.W)


def smallest(arm: str, problem: Problem, W: Array, H: Array) -> float:
    """Smallest eigenvalue of S^-1 H, H (m p, m p) with the class outer."""
    if arm == "piano":
        A, B, _, reach = Surrogate(problem, W).moments
        S = np.diag((reach * (A + B) + problem.pen.l2).T.ravel())
    else:
        within = np.linalg.svd(np.ones((1, problem.m)))[2][1:].T  # (m, m - 1) orthonormal, columns that add up to 0
        K = 0.5 * problem.gram(problem.weights()) + np.diag(np.ravel(problem.pen.l2))
        basis = np.kron(within, np.eye(problem.p))
        S, H = np.kron(np.eye(problem.m - 1), K), basis.T @ H @ basis
    return float(eigh(H, S, eigvals_only=True, subset_by_index=[0, 0])[0])


def contraction(solver: Any, problem: Problem, W: Array, setting: Setting, share: float) -> float:
    """Of F - F* per step near W*, in the end: blocks of steps, each from the last one's direction as near as the first.

    By the quadratic model at W*, as F has no digits for that; its error there is 1e-4. The direction turns to the
    slowest one by itself, whatever it was.
    """
    curvature, F = problem.curvature(W), problem.value(W)

    def above(E: Array) -> float:
        return 0.5 * float(np.sum(E * (curvature @ E)))

    E, found = setting.rng().normal(size=W.shape), list[float]()
    for _ in range(BLOCKS):
        if isinstance(solver, Bohning):  # rounding leads out of where it stays
            E -= E.mean(axis=1, keepdims=True)
        E *= np.sqrt(NEAR * F / above(E))
        start, steps = above(E), 0
        states = iterate(solver, problem, W + E)
        next(states)
        while steps < STEPS and above(E) > FAR_BELOW * start:
            E = next(states).W - W
            steps += 1
        found.append((above(E) / start) ** (1.0 / steps))
        change = abs(found[-1] - found[len(found) // 2 - 1]) if len(found) >= LEAST_BLOCKS else np.inf
        is_over = not setting.left(share)
        below = 1.0 - found[-1]
        if change <= (NEARLY if is_over else SETTLED) * below:
            return found[-1]
        if is_over:
            break
    raise OutOfTime(f"{solver.step_is}: the contraction has not settled in the time there is, {found[-1]:.6g} so far")
