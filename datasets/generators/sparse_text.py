"""Documents as bags of words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

from pianobench.datasets.generators.generator import Generator, Rows, Truth
from pianobench.datasets.generators.parameters import parameter
from pianobench.datasets.generators.softmax import log_sizes
from pianobench.datasets.generators.streams import near_normal, shuffled, uniform

_CHUNK_WORDS = 2**16
_FUNCTION_WORDS = 50  # one word in so many, the most frequent ones, belongs to no topic


@dataclass(frozen=True)
class SparseText(Generator):
    """Word counts in CSR form: Zipf's law for words, skewed lengths of documents, one topic for each class.

    The word of rank r has the weight 1/r. Each word but the most frequent ones belongs to one class, and is 1 + signal
    times as frequent in its documents. Labels come first, words from the label: by Bayes' rule the labels given the
    counts then follow a softmax whose weights are the logarithms of the classes' word frequencies, which `truth` has.
    The columns are in random order, as those of a vocabulary are.

    Parameters
    ----------
    signal : float
        0 makes labels independent of X.
    imbalance : float
        The size of class k is proportional to (k + 1)^−imbalance.
    length : int
        Mean number of words of a document; the lengths are about exponentially distributed, 1 at least.
    """

    d: int = parameter(5000, 1, 10**7)
    signal: float = parameter(2.0, 0.0, 1e3)
    imbalance: float = parameter(0.0, 0.0, 10.0)
    length: int = parameter(60, 1, 10**5)

    family: ClassVar[str] = "sparse_text"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "word counts by Zipf's law, a topic for each class, sparse"

    @property
    def _chunk_rows(self) -> int:
        return max(1, min(1024, _CHUNK_WORDS // self.length))

    @property
    def row_bytes(self) -> int:
        return 12 * min(self.d, self.length)

    def truth(self) -> Truth:
        """The true model of the counts."""
        words = self._vocabulary
        W = np.empty((self.d, self.m))
        W[:] = -np.log1p(self.signal * words.mass / words.total)
        has_topic = words.topic >= 0
        W[words.column[has_topic], words.topic[has_topic]] += np.log1p(self.signal)
        return Truth(W, log_sizes(self.m, self.imbalance))

    @cached_property
    def _vocabulary(self) -> _Vocabulary:
        return _vocabulary(self._stream("truth"), self.d, self.m)

    def _chunk(self, number: int) -> Rows:
        rows = self._chunk_rows
        sizes = np.cumsum(np.exp(log_sizes(self.m, self.imbalance)))
        at = uniform(self._stream("labels", number), rows) * sizes[-1]
        y = np.searchsorted(sizes[:-1], at, side="right").astype(np.int64)
        words = self._stream("features", number)
        first, second = near_normal(words, 2 * rows).reshape(2, rows)
        # Half the sum of two squared normal values is exponential.
        lengths = 1 + np.rint((self.length - 1) * ((first * first + second * second) * 0.5)).astype(np.int64)
        return _counted(self._words(words, y, lengths), lengths, self.d), y

    def _whole(self) -> Rows:
        from scipy.sparse import csr_array

        blocks, labels = zip(*self._chunks(0), strict=True)
        pointers = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(X.indptr) for X in blocks]), dtype=np.int64)])
        data, indices = (np.concatenate([getattr(X, part) for X in blocks]) for part in ("data", "indices"))
        if pointers[-1] < 2**31:
            pointers = pointers.astype(np.int32)
        return csr_array((data, indices, pointers), shape=(self.n, self.d)), np.concatenate(labels)

    def _words(self, words: Philox, y: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Columns of the words of all documents, one after another.

        A word comes from the whole vocabulary with the probability total / (total + signal · mass of the topic), else
        from the topic alone.
        """
        known, topic = self._vocabulary, np.repeat(y, lengths)
        at = uniform(words, len(topic)) * (known.total + self.signal * known.mass)[topic]
        beyond = at - known.total
        of_topic = known.start[topic] + (beyond / self.signal if self.signal else 0.0)
        position = np.searchsorted(known.cumulative, np.where(beyond < 0, at, of_topic), side="right")
        return known.column[np.minimum(position, self.d - 1)]


@dataclass(frozen=True, eq=False)
class _Vocabulary:
    """Words grouped by topic, those without one first; arrays (d,) in this order, and (m,)."""

    column: NDArray[np.int64]  # (d,)
    topic: NDArray[np.int64]  # (d,) class or −1
    cumulative: NDArray[np.float64]  # (d,) sum of the weights up to and with each word
    start: NDArray[np.float64]  # (m,) sum of the weights before the class's first word
    mass: NDArray[np.float64]  # (m,) sum of the weights of the class's words

    @property
    def total(self) -> float:
        return float(self.cumulative[-1])


def _vocabulary(words: Philox, d: int, m: int) -> _Vocabulary:
    rank = np.arange(d)
    without = d // _FUNCTION_WORDS
    topic = np.where(rank < without, -1, (rank - without) % m)
    order = np.argsort(topic, kind="stable")
    # cumsum adds one by one in order, where sum would add in an order of the machine's own.
    cumulative = np.cumsum(1.0 / (order + 1.0))
    bounds = np.searchsorted(topic[order], np.arange(m + 1))
    before = np.concatenate([[0.0], cumulative])[bounds]
    return _Vocabulary(shuffled(words, d)[order], topic[order], cumulative, before[:-1], np.diff(before))


def _counted(words: NDArray[np.int64], lengths: NDArray[np.int64], d: int) -> Any:
    """Counts of the words of each document, rows sorted and without repetition."""
    from scipy.sparse import csr_array

    rows = len(lengths)
    cells, counts = np.unique(np.repeat(np.arange(rows) * d, lengths) + words, return_counts=True)
    pointers = np.searchsorted(cells, np.arange(rows + 1) * d)
    parts = counts.astype(np.float64), (cells % d).astype(np.int32), pointers.astype(np.int32)
    return csr_array(parts, shape=(rows, d))
