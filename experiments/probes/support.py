"""Planted features found again, by l1, by l0 and by the rivals of l0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pianobench.algorithms.contract import Breakdown
from pianobench.algorithms.irls import Irls
from pianobench.algorithms.l0_exhaustive import MOST_WEIGHTS, exhaustive
from pianobench.algorithms.l0_path import STARTS, start
from pianobench.algorithms.l1_reweighted import L1Reweighted
from pianobench.algorithms.loop import iterate, solve
from pianobench.algorithms.path import path
from pianobench.algorithms.piano import Piano
from pianobench.algorithms.prox_newton_active import ProxNewtonActive
from pianobench.datasets.generated import generator
from pianobench.datasets.generators.softmax import SoftmaxGenerator
from pianobench.experiments.probes.setting import Number, OutOfTime, Setting, Unmeasured, check_arrived
from pianobench.problems import L0, L1, Problem
from pianobench.problems.penalties import Array

GAP = 1e-6
STANDS = 50  # steps of PIANO under l0 for which a support must stay
NEWTON_STEPS = 30
FACTORS = np.geomspace(0.99, 0.01, 60)  # of lambda_max: the l1 path from which as many weights as l0's are taken


def support(setting: Setting) -> Iterator[Number]:
    """`F1 of the support`, feature by feature: of l1, of l0 at the same strength, of l1 with as many weights as l0 has,
    and of reweighted l1; where every support can be tried, of the best under l0 too.

    l0 is the lowest of PIANO's points from three starts. A refit on a support does not change the support.
    """
    problem, planted = setting.problem, planted_features(setting.dataset, setting.problem.d)
    if setting.lam is None:
        raise Unmeasured("the problem has no strength")

    def number(arm: str, W: Array) -> Number:
        found = np.flatnonzero((W[: problem.d] != 0).any(axis=1))
        return Number("F1 of the support", arm, f1(found, planted))

    l1 = solve(ProxNewtonActive(), problem.with_penalty(L1(setting.lam)), tol=GAP, max_seconds=setting.left(0.2))
    check_arrived(l1, "no l1 solution")
    yield number("l1", l1.W)
    counting = problem.with_penalty(L0(setting.lam))
    l0 = lowest(counting, setting)
    yield number("l0", l0)
    yield number("l1-refitted", as_many(problem, int(np.count_nonzero(l0[: problem.d]))))
    reweighted = solve(L1Reweighted(), counting, tol=GAP, max_seconds=setting.left(0.9))
    yield number("l1-reweighted", reweighted.W)
    if problem.d * problem.m <= MOST_WEIGHTS:
        _, y = np.unique(setting.y, return_inverse=True)
        yield number("l0-exhaustive", exhaustive(setting.X, y, setting.lam, fit_intercept=problem.fit_intercept).W)


def planted_features(dataset: str, d: int) -> NDArray[np.intp]:
    """Features that the generator has drawn to have an effect; where the signal is 0, those that would have had one."""
    family, _, text = dataset.partition(":")
    made = generator(family, text)
    if not isinstance(made, SoftmaxGenerator) or made.d != d:
        raise Unmeasured(f"{dataset} tells no true weights of {d} features")
    return np.asarray(replace(made, signal=made.signal or 1.0).truth().support)


def f1(found: NDArray[np.intp], planted: NDArray[np.intp]) -> float:
    """Harmonic mean of precision and recall; 0 where nothing is found."""
    common = np.intersect1d(found, planted).size
    return 2.0 * common / (found.size + planted.size) if found.size + planted.size else 0.0


def lowest(problem: Problem, setting: Setting) -> Array:
    """Of PIANO's points from the three starts the one of least F."""
    points = [settled(problem, start(problem, name), setting) for name in STARTS]
    return min(points, key=problem.off_the_clock().value)


def settled(problem: Problem, W: Array, setting: Setting) -> Array:
    """Where PIANO stays from W on: a support that it keeps, with the best weights on it.

    The last of its way is slow. Where the support has stood for some steps Newton's method goes to the minimiser on it;
    if PIANO leaves the support of that point as it is, that is where it would have come to rest.
    """
    newton_done = False
    while True:
        kept = W != 0
        states = iterate(Piano(), problem, W)
        for _ in range(STANDS + 1):
            W = next(states).W
            if ((W != 0) != kept).any():
                break
        else:
            if newton_done or not kept.any():
                return W
        if not setting.left(0.7):
            raise OutOfTime("the time is over before l0 has a support that stands")
        newton_done = bool(((W != 0) == kept).all())
        if newton_done:
            W = on_support(problem, kept)


def on_support(problem: Problem, kept: NDArray[np.bool_]) -> Array:
    """The minimiser of the loss on some weights (p, m); far out where the classes are separable on them."""
    inside = problem.restrict(kept).with_penalty(None)
    states = iterate(Irls(), inside)
    state = next(states)
    for _ in range(NEWTON_STEPS):
        try:
            new = next(states)
        except Breakdown:  # the probabilities are 0 and 1
            break
        if new.rejected:
            break
        state = new
    return inside.lift(state.W)


def as_many(problem: Problem, count: int) -> Array:
    """Of the solutions along an l1 path the one with nearest to `count` weights; of equals the sparsest."""
    base = problem.with_penalty(L1(1.0))
    points = path(base, [float(factor) * base.lambda_max for factor in FACTORS], tol=1e-4)
    return min((point.W for point in points), key=lambda W: abs(np.count_nonzero(W[: problem.d]) - count))
