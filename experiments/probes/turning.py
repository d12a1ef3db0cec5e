"""SA L-BFGS along streams whose law turns: what it saves, when it trains, what its old rows and its draws are for.

The measuring is that of `pianobench.experiments.streams`; here its lines become numbers. The data of a cell say which
stream is meant: its rate, its drift, its seed.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from pianobench.datasets.turning import Stream, Turning, wanted
from pianobench.experiments.probes.setting import Number, Setting, Unmeasured
from pianobench.experiments.streams import draws
from pianobench.experiments.streams import drift as streams

LEARNER, FULL = "sa-lbfgs", "full-cold"
STREAMS = 8  # of each kind, that shares are taken of
LEAST_MU = 1.0  # the rise over its spread at which the rule as written trains
ELSEWHERE = 1000  # what is added to a seed for another batch, equally ordinary


def drift(setting: Setting) -> Iterator[Number]:
    """`speed-up over full retraining`: processor seconds of all batches from the middle on, rule as written.

    Along the drift, and where the name of the data has none along the seed, which is a label then.
    """
    import pandas as pd

    one = turning(setting)
    found = streams.after(pd.DataFrame(streams.run(one.stream, (LEARNER, FULL)))).set_index("learner")
    x = one.drift if "drift=" in setting.dataset else float(one.seed)
    yield Number("speed-up over full retraining", LEARNER, float(found.loc[LEARNER, "speed_up"]), "drift", x)


def updates(setting: Setting) -> Iterator[Number]:
    """`share of batches with an update` by the rule as written, and `log loss on old rows` after one.

    Without drift of all batches after the first; with a sudden one of those at which the law turns. Old rows are in a
    sample as the rule has them, by its rise over the spread at that batch, and by the least at which it trains if that
    is less.
    """
    one = turning(setting)
    seeds = range(STREAMS * one.seed, STREAMS * (one.seed + 1))
    calm = [line for seed in seeds for line in _along(Stream("none", one.rate, 0.0, seed))[1:]]
    yield Number("share of batches with an update", "no drift", _share(calm))
    turned = [_along(Stream("sudden", one.rate, one.drift, seed))[Stream.change] for seed in seeds]
    yield Number("share of batches with an update", "sudden drift", _share(turned))
    losses: dict[str, list[float]] = {"with old sample": [], "without old sample": []}
    for seed in seeds:
        at = _along(Stream("sudden", one.rate, one.drift, seed, change=draws.BEFORE))[draws.BEFORE]
        lines = list(draws.anchor((one.rate,), (seed,), (mu(at),), one.drift))
        for arm, line in zip(losses, lines, strict=True):
            losses[arm].append(line["log_loss_old"])
    for arm, values in losses.items():
        yield Number("log loss on old rows", arm, statistics.fmean(values))


def mu(line: dict[str, Any]) -> float:
    """The rise over its spread at a batch, at least that at which the rule trains."""
    return max(LEAST_MU, line["rise"] / line["spread"]) if line["spread"] > 0 else LEAST_MU


def _along(stream: Stream) -> list[dict[str, Any]]:
    return list(streams.run(stream, (LEARNER,)))


def _share(lines: Sequence[dict[str, Any]]) -> float:
    return statistics.fmean(line["updated"] for line in lines)


def spread(setting: Setting) -> Iterator[Number]:
    """`spread over draws, with the batch over without`: standard deviations of the areas of all draws.

    The batch is flipped, or ordinary where the data have no flipped one.
    """
    one = turning(setting)
    batch, seed = ("flipped", one.seed) if one.flipped else ("ordinary", one.seed + ELSEWHERE)
    found = [_spread(one.rate, seed, batch), _spread(one.rate, one.seed, "ordinary")]
    yield Number("spread over draws, with the batch over without", "flipped batch", found[0] / found[1])


def _spread(rate: float, seed: int, batch: str) -> float:
    return float(next(draws.spread((rate,), (seed,), newest=(batch,)))["area_spread"])


def turning(setting: Setting) -> Turning:
    """The data of a cell.

    Raises
    ------
    Unmeasured
        They are of another kind.
    """
    family, _, text = setting.dataset.partition(":")
    if family != Turning.family:
        raise Unmeasured(f"{setting.dataset}: rows of {Turning.family} are expected")
    return wanted(text)
