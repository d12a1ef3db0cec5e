"""Latent effects without a table: an identifier's effect is computed from it, so that any number of them fits."""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Reals = NDArray[np.float64]

_FIRST, _SECOND, GOLDEN = (np.uint64(word) for word in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15))
_SIXTEEN = np.uint64(0xFFFF)


def salt(*key: str | int) -> np.uint64:
    """A word for a use: effects of different uses are independent."""
    return np.uint64(int.from_bytes(hashlib.sha256(" ".join(map(str, key)).encode()).digest()[:8], "little"))


def mixed(words: Words, salted: np.uint64) -> Words:
    """Each word to a random-looking one, and different words to different ones: the last steps of SplitMix64."""
    z = words + salted
    z ^= z >> np.uint64(30)
    z *= _FIRST
    z ^= z >> np.uint64(27)
    z *= _SECOND
    z ^= z >> np.uint64(31)
    return z


def pair(first: Words, second: Words) -> Words:
    """One word for two: a hash, which merges two pairs of n with a probability of n^2 / 2^65."""
    return mixed(mixed(first, GOLDEN) ^ second, _SECOND)


def unit(words: Words) -> Reals:
    """Uniform on [0, 1)."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def effect(words: Words, salted: np.uint64) -> Reals:
    """Near-normal with mean 0 and variance 1, excess kurtosis −0.3: sums of four 16-bit integers of a mixed word."""
    z = mixed(words, salted)
    total = z & _SIXTEEN
    for shift in (16, 32):
        total += (z >> np.uint64(shift)) & _SIXTEEN
    total += z >> np.uint64(48)
    return (total.astype(np.float64) - 131070.0) * (math.sqrt(3.0) / 65536.0)


def long_tailed(words: Words, count: int, power: int) -> Words:
    """Ranks 0 … count−1, the first ones the most frequent: P(rank < r) = (r / count)^(1 / power)."""
    u = unit(words)
    skewed = u.copy()
    for _ in range(power - 1):  # products alone, whose rounding is the same on every machine
        skewed *= u
    skewed *= count
    return skewed.astype(np.uint64)
