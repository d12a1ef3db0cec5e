"""Random words by key, and the numbers made of them, equal on every machine.

Only the raw words of Philox (Salmon et al. 2011) are asked of NumPy. Words become numbers by shifts and masks of whole
words, so that the byte order of a machine does not matter.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

_SIXTEEN, _THIRTY_TWO, _ELEVEN = np.uint64(16), np.uint64(32), np.uint64(11)
_EVERY_OTHER = np.uint64(0x0000_FFFF_0000_FFFF)
_LOW = np.uint64(0xFFFF_FFFF)
_MEAN_OF_SUM = 12 * 65535 // 2
_BATCH = 4096  # its words stay in the cache; another size would give other values


def stream(*key: str | int) -> Philox:
    """The random words of a key, independent of those of any other.

    Parameters
    ----------
    *key : str or int
        Family, version, seed, use and, for rows, number of the chunk.
    """
    digest = hashlib.sha256(" ".join(map(str, key)).encode()).digest()
    return Philox(key=int.from_bytes(digest[:16], "little"))


def uniform(words: Philox, count: int) -> NDArray[np.float64]:
    """Uniform on [0, 1), multiples of 2^-53; shape (count,)."""
    return (words.random_raw(count) >> _ELEVEN).astype(np.float64) * 2.0**-53


def near_normal(words: Philox, count: int) -> NDArray[np.float64]:
    """Irwin–Hall values: near-normal, with mean 0 and variance 1 − 2^-32; shape (count,).

    Each is the sum of twelve 16-bit integers of three words, centred and divided by 2^16. It differs from a normal
    value by an excess kurtosis of −0.1 and by its bounds, ±6; it is a multiple of 2^-16, so that sums of many, and
    their products with small integers, are exact in float64.
    """
    values = np.empty(count)
    for start in range(0, count, _BATCH):
        part = values[start : start + _BATCH]
        part[:] = _sums_of_twelve(words, len(part))
        part -= _MEAN_OF_SUM
        part *= 2.0**-16
    return values


def _sums_of_twelve(words: Philox, count: int) -> NDArray[np.int64]:
    pairs = words.random_raw(3 * count).reshape(3, count)
    odd = pairs >> _SIXTEEN
    odd &= _EVERY_OTHER
    pairs &= _EVERY_OTHER
    pairs += odd
    # Each word now holds two sums of two, 32 bits apart, with room for those of the two other words.
    total = pairs[0]
    total += pairs[1]
    total += pairs[2]
    high = total >> _THIRTY_TWO
    total &= _LOW
    total += high
    sums: NDArray[np.int64] = total.view(np.int64)
    return sums


def shuffled(words: Philox, count: int) -> NDArray[np.int64]:
    """The numbers 0 … count−1 in random order; shape (count,)."""
    return np.argsort(words.random_raw(count), kind="stable").astype(np.int64)
