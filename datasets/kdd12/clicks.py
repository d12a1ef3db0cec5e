"""Generated clicks in the layout of KDD Cup 2012, track 2, of any size and with a known cause for each click.

A query of a long-tailed law has a topic, and brings one of five advertisements out of the topic's 24; each of these
has an advertiser, and a keyword, title, description and address out of a few. A view is clicked with probability
sigmoid(z),

    z = b + place(depth, position) + sum over identifiers of strength · effect(identifier)
          + interaction · effect(query, advertisement),

all effects near-normal with variance 1, computed from the identifiers. With drift the effects of advertisements and
queries turn into others as time goes on, at the same variance. b makes the click rate of the beginning about `rate`.

Numbers of identifiers and the shares of places and of unknown users are about those of the real data; see
`pianobench.datasets.generators` for what keeps the bytes the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.generators.parameters import check, parameter, written
from pianobench.datasets.generators.streams import stream
from pianobench.datasets.kdd12 import effects
from pianobench.datasets.kdd12.effects import Reals, Words
from pianobench.datasets.kdd12.layout import COLUMNS, Log, joined

CHUNK = 1 << 14  # rows that have a stream of random words of their own; another size would give other rows
COUNTS = {
    "display_url": 26_273,
    "ad": 641_712,
    "advertiser": 14_847,
    "query": 24_122_076,
    "keyword": 1_188_089,
    "title": 3_735_796,
    "description": 2_934_101,
    "user": 22_023_547,
}
"""How many identifiers there are of each kind."""

STRENGTHS = {
    "ad": 0.75,
    "advertiser": 0.5,
    "query": 0.5,
    "keyword": 0.25,
    "title": 0.25,
    "description": 0.2,
    "user": 0.35,
}
"""Standard deviations of what an identifier adds to z."""

_ADS_OF_TOPIC, _ADS_OF_QUERY, _MOST_VIEWS = 24, 5, 10_000
# Depth, position, rows of 65536 that have them, and what they add to z.
_PLACES = (
    (1, 1, 19_660, 0.45),
    (2, 1, 17_040, 0.35),
    (2, 2, 13_108, -0.35),
    (3, 1, 6_554, 0.25),
    (3, 2, 5_244, -0.45),
    (3, 3, 3_930, -0.95),
)
_UNKNOWN = 15_729  # of 65536 rows: the user is not known
_CALIBRATED = 4  # chunks that b is found on
_ONE = np.uint64(1)


@dataclass(frozen=True)
class Clicks:
    """A generated log: training rows, then test rows of the same law.

    Parameters
    ----------
    rows : int
        Training rows. Without drift and flipped clicks fewer rows are the beginning of more.
    test : float
        Test rows for each training row; they come after the last training row.
    seed : int
        Equal parameters and seeds make equal rows, in blocks of any size, on every machine.
    rate : float
        Share of the views that are clicked, about; the real one is near 0.035.
    interaction : float
        Strength of the effect of query and advertisement together; 0 for none.
    drift : float
        How far the effects of advertisements and queries turn between the first and the last training row: their
        correlation is then 1 / sqrt(1 + drift^2). 0 for none; test rows are of the end.
    flipped : int
        1: in the tenth of the training rows that begins at their middle, clicks are views and views clicks.

    Raises
    ------
    UnusableParameter
        A value is out of its range.
    """

    rows: int = parameter(20_000, 1, 10**12)
    test: float = parameter(1.0, 0.0, 1e3)
    seed: int = parameter(0, 0, 2**63 - 1)
    rate: float = parameter(0.04, 1e-3, 0.9)
    interaction: float = parameter(0.0, 0.0, 10.0)
    drift: float = parameter(0.0, 0.0, 100.0)
    flipped: int = parameter(0, 0, 1)

    family: ClassVar[str] = "kdd12"
    version: ClassVar[int] = 1  # grows whenever the same parameters give other rows

    def __post_init__(self) -> None:
        check(self)

    @property
    def test_rows(self) -> int:
        """Rows after the training rows."""
        return round(self.rows * self.test)

    @property
    def total(self) -> int:
        """All rows."""
        return self.rows + self.test_rows

    @property
    def name(self) -> str:
        """Family, and the parameters that differ from its defaults."""
        text = written(self)
        return f"{self.family}:{text}" if text else self.family

    def identity(self) -> str:
        """All parameters and the version."""
        told = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(Clicks))
        return f"generated {self.family} {','.join(told)} version {self.version}"

    def remarks(self) -> str:
        """Nothing is left out."""
        return ""

    def blocks(self, rows: int = CHUNK, start: int = 0) -> Iterator[Log]:
        """The rows from `start` on in blocks of so many, the last one of what is left, in bounded memory."""
        pieces: list[Log] = []
        held = 0
        for number in range(start // CHUNK, -(-self.total // CHUNK)):
            log = self._chunk(number)
            first = number * CHUNK
            done, end = max(0, start - first), min(CHUNK, self.total - first)
            while done < end:
                take = slice(done, min(end, done + rows - held))
                pieces.append(log.rows(take))
                held, done = held + take.stop - done, take.stop
                if held == rows:
                    yield joined(pieces)
                    pieces, held = [], 0
        if pieces:
            yield joined(pieces)

    def logits(self, log: Log, first: int = 0) -> Reals:
        """z of each row: what the clicks were drawn from.

        Parameters
        ----------
        log : Log
            Rows of this generator.
        first : int
            Number of the first of them, which tells its time.

        Returns
        -------
        ndarray (n,)
        """
        return self._effects(log, self._time(first, len(log))) + self._base

    def _time(self, first: int, n: int) -> Reals:
        """0 at the first training row, 1 at the end of the training rows and after."""
        numbers: Reals = np.minimum(np.arange(first, first + n, dtype=np.float64) / self.rows, 1.0)
        return numbers

    def _salt(self, *use: str | int) -> np.uint64:
        return effects.salt(self.family, self.version, self.seed, *use)

    def _chunk(self, number: int) -> Log:
        log, word = self._shown(number)
        first = number * CHUNK
        p = 1.0 / (1.0 + np.exp(-self.logits(log, first)))
        clicks = _drawn(word, log.views, p)
        if self.flipped:
            begin = self.rows // 2 - first
            wrong = slice(max(0, begin), max(0, begin + self.rows // 10))
            clicks[wrong] = log.views[wrong] - clicks[wrong]
        log.values[COLUMNS.index("click")] = clicks
        return log

    def _shown(self, number: int) -> tuple[Log, Words]:
        """What a chunk shows to whom, without clicks, and a random word for each row."""
        words = stream(self.family, self.version, self.seed, "rows", number).random_raw(5 * CHUNK).reshape(5, CHUNK)
        query = effects.long_tailed(words[0], COUNTS["query"], 8)
        # Sixteen queries of about the same frequency share a topic: no advertisement belongs to one query alone, whose
        # own effect would else be that of the two together.
        topics = effects.mixed(query >> np.uint64(4), self._salt("topic"))
        topic = topics % np.uint64(COUNTS["ad"] // _ADS_OF_TOPIC)
        chosen = effects.pair(query, effects.long_tailed(words[1], _ADS_OF_QUERY, 2))
        ad = topic * np.uint64(_ADS_OF_TOPIC) + chosen % np.uint64(_ADS_OF_TOPIC)
        of_ad = effects.mixed(ad, self._salt("of an ad"))
        advertiser = effects.long_tailed(of_ad, COUNTS["advertiser"], 3)
        bits = words[2]
        text = (ad << np.uint64(3)) | ((bits >> np.uint64(32)) & (bits >> np.uint64(35)) & np.uint64(7))
        user = effects.long_tailed(words[3], COUNTS["user"] - 1, 3) + _ONE
        user[(bits & np.uint64(0xFFFF)) < _UNKNOWN] = 0
        cell = np.searchsorted(_ENDS, (bits >> np.uint64(16)) & np.uint64(0xFFFF), side="right")
        per_advertiser = advertiser * np.uint64(2) + (of_ad & _ONE)
        # A pair of power 2: the number of views is at least k with probability 1 / k^2, 1.64 in the mean.
        views = np.minimum(np.floor(1.0 / np.sqrt(1.0 - effects.unit(words[4]))), _MOST_VIEWS)
        values = np.zeros((len(COLUMNS), CHUNK), np.uint64)
        for column, found in {
            "impression": views,
            "display_url": effects.mixed(per_advertiser % np.uint64(COUNTS["display_url"]), self._salt("url")),
            "ad": ad,
            "advertiser": advertiser,
            "depth": _DEPTHS[cell],
            "position": _POSITIONS[cell],
            "query": query,
            "keyword": self._one_of("keyword", effects.pair(ad, query & np.uint64(3))),
            "title": self._one_of("title", text),
            "description": self._one_of("description", text >> _ONE),
            "user": user,
        }.items():
            values[COLUMNS.index(column)] = found
        return Log(values), words[4]

    def _one_of(self, kind: str, words: Words) -> Words:
        return effects.long_tailed(effects.mixed(words, self._salt(kind, "of")), COUNTS[kind], 2)

    def _effects(self, log: Log, time: Reals) -> Reals:
        z: Reals = _EFFECTS[3 * log["depth"] + log["position"]]
        for kind, strength in STRENGTHS.items():
            part = effects.effect(log[kind], self._salt(kind))
            if self.drift and kind in ("ad", "query"):
                turned = self.drift * time
                part = (part + turned * effects.effect(log[kind], self._salt(kind, "later"))) / np.sqrt(1 + turned**2)
            z = z + strength * part
        if self.interaction:
            z = z + self.interaction * effects.effect(effects.pair(log["query"], log["ad"]), self._salt("interaction"))
        return z

    @cached_property
    def _base(self) -> float:
        """b, found by halving on the first chunks, at time 0."""
        shown = [self._shown(number)[0] for number in range(_CALIBRATED)]
        z = np.concatenate([self._effects(log, np.zeros(len(log))) for log in shown])
        views = np.concatenate([log.views for log in shown])
        low, high = -20.0, 20.0
        for _ in range(40):
            middle = (low + high) / 2
            reached = float((views / (1.0 + np.exp(-(z + middle)))).sum() / views.sum())
            low, high = (middle, high) if reached < self.rate else (low, middle)
        return (low + high) / 2


def _drawn(words: Words, views: NDArray[np.int64], p: Reals) -> NDArray[np.int64]:
    """How many of the views are clicked, each on its own with probability p."""
    start = np.cumsum(views) - views
    row = np.repeat(np.arange(len(views)), views)
    number = (np.arange(len(row)) - start[row]).astype(np.uint64)
    clicked = effects.unit(effects.mixed(words[row], _ONE) + number * effects.GOLDEN) < p[row]
    return np.add.reduceat(clicked, start, dtype=np.int64)


_ENDS = np.cumsum([share for _, _, share, _ in _PLACES])
_DEPTHS = np.array([depth for depth, *_ in _PLACES], np.uint64)
_POSITIONS = np.array([position for _, position, *_ in _PLACES], np.uint64)
_EFFECTS = np.zeros(3 * 3 + 3 + 1)
for _depth, _position, _, _effect in _PLACES:
    _EFFECTS[3 * _depth + _position] = _effect
