"""What samples do: parallel draws of an ordinary, a turned or a flipped batch, and what old rows in them are for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pianobench.algorithms.stream import Learner, Log, Score, StreamState, draw, make_stream
from pianobench.algorithms.stream.samples import ByRise
from pianobench.experiments.streams.drift import SAMPLE, area
from pianobench.experiments.streams.rows import Stream
from pianobench.problems import L2, Problem
from pianobench.problems.penalties import Array

BEFORE = 8  # batches before the one in question
LEARNER = "sa-lbfgs-repaired"
MUS = (1.0, 2.0, 5.0, 10.0)
NEWEST = ("ordinary", "turned", "flipped")


def spread(
    rates: tuple[float, ...], seeds: Iterable[int], draws: int = 3, newest: tuple[str, ...] = NEWEST
) -> Iterator[dict[str, Any]]:
    """A line for each draw: its area on rows of the law before the batch, and what all draws of the batch say.

    ``ratio`` is the difference between models of unlike shares over that between models of like shares; ``flagged``
    says that it is too large. ``area_spread`` is the standard deviation of the areas of all draws of the batch.
    """
    for rate in rates:
        for seed in seeds:
            calm = Stream("none", rate, 0.0, seed)
            turned = Stream("sudden", rate, 1.0, seed, change=BEFORE)
            X, y = calm.batch(BEFORE)
            batches = {"ordinary": (X, y), "turned": turned.batch(BEFORE), "flipped": (X, 1 - y)}
            for name in newest:
                learner, log, state = _trained(calm)
                log.add(*batches[name])
                found = draw(learner, log, state, draws=draws)
                held_out = _held_out(calm, 0)
                areas = np.array([[area(held_out, W) for W in models] for models in found.W])
                told = {"ratio": found.ratio, "flagged": int(not found.consistent), "area_spread": float(areas.std())}
                for share, of_share in zip(found.shares, areas, strict=True):
                    for number, one in enumerate(of_share):
                        line = {"rate": rate, "seed": seed, "newest": name, "share": share, "draw": number}
                        yield {**line, "area": float(one), **told}


def anchor(
    rates: tuple[float, ...], seeds: Iterable[int], mus: tuple[float, ...] = MUS, size: float = 1.0
) -> Iterator[dict[str, Any]]:
    """Log losses on old rows and on new ones after an update by a turned batch, by mu; infinity takes no old row."""
    for rate in rates:
        for seed in seeds:
            stream = Stream("sudden", rate, size, seed, change=BEFORE)
            learner, log, state = _trained(stream)
            log.add(*stream.batch(BEFORE))
            old, new = _held_out(stream, 0), _held_out(stream, BEFORE)
            for mu in (*mus, np.inf):
                chosen = NewAlone(SAMPLE) if np.isinf(mu) else learner.sampling
                trained, _, sizes = replace(learner, sampling=chosen).trained(log, state, mu)
                line = {"rate": rate, "seed": seed, "mu": mu, "new_rows": sizes[0], "old_rows": sizes[1]}
                losses = [Score.of(rows[0], trained.W).log_loss for rows in (old, new)]
                areas = [area(rows, trained.W) for rows in (old, new)]
                before = [Score.of(rows[0], state.W).log_loss for rows in (old, new)]
                yield {
                    **line,
                    **{"log_loss_old": losses[0], "log_loss_new": losses[1], "area_old": areas[0]},
                    **{"area_new": areas[1], "before_old": before[0], "before_new": before[1]},
                }


class NewAlone(ByRise):
    """No old row at all, the weights scaled to those of all rows as with them."""

    def choose(self, log: Log, mu: float, rng: np.random.Generator) -> tuple[Problem, int, int]:
        assert log.newest is not None
        new = min(self.rows, log.newest.n)
        return log.sample(new, 0, rng), new, 0


def _trained(stream: Stream) -> tuple[Learner, Log, StreamState]:
    """The learner after the batches before the one in question."""
    learner, log = make_stream(LEARNER, rows=SAMPLE), Log([0, 1], L2(1.0))
    log.add(*stream.batch(0))
    state = learner.init(log, stream.seed)
    for t in range(1, BEFORE):
        log.add(*stream.batch(t))
        state = learner.step(log, state)
    return learner, log, state


def _held_out(stream: Stream, t: int) -> tuple[Problem, Array, Array]:
    X, y = stream.batch(t, 10_000, part=2)
    return Problem(X, y, classes=[0, 1]), X, y
