"""Whole numbers to lines of text, a block at a time.

Digits are looked up four at a time. A field takes as many groups of four bytes as its largest number needs; leading
zeros and what a shorter number leaves over are NUL bytes, which are dropped at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_TEN_THOUSAND, _THOUSAND = np.uint64(10_000), np.uint64(1_000)


def lines(fields: Sequence[NDArray[np.uint64]], separators: bytes) -> bytes:
    """Decimal text of each row.

    Parameters
    ----------
    fields : sequence of ndarray of uint64, shape (n,)
    separators : bytes
        One after each field; the last one is the end of the line.
    """
    pieces = [piece for values, end in zip(fields, separators, strict=True) for piece in _field(values, end)]
    return _text(np.stack(pieces, axis=1))


def lists(key: NDArray[np.uint64], items: Sequence[NDArray[np.uint64]], lengths: NDArray[np.int64]) -> bytes:
    """Lines ``key TAB item|item|item``, as the files of tokens have them.

    Parameters
    ----------
    key : ndarray of uint64, shape (n,)
    items : sequence of ndarray of uint64, shape (n,)
    lengths : ndarray of int64, shape (n,)
        How many of the items each line has: 1 at least.
    """
    pieces = _field(key, ord("\t"))
    for place, values in enumerate(items):
        last, more = _field(values, ord("\n")), _field(values, ord("|"))
        for at_end, before_end in zip(last, more, strict=True):
            piece = np.where(lengths == place + 1, at_end, before_end)
            pieces.append(np.where(lengths > place, piece, np.uint32(0)))
    return _text(np.stack(pieces, axis=1))


def _text(groups: NDArray[np.uint32]) -> bytes:
    characters = groups.reshape(-1).view(np.uint8)
    text: bytes = characters[characters != 0].tobytes()
    return text


def _field(values: NDArray[np.uint64], separator: int) -> list[NDArray[np.uint32]]:
    """Groups of four bytes, the highest digits first: digits alone, and three digits and the separator at last."""
    rest, low = np.divmod(values, _THOUSAND)
    end = _ENDS | np.frombuffer(bytes([0, 0, 0, separator]), np.uint32)
    groups = [end[low + _THOUSAND * (rest == 0)]]
    while rest.any():
        rest, low = np.divmod(rest, _TEN_THOUSAND)
        groups.append(_GROUPS[low + _TEN_THOUSAND * (rest == 0)])
    return groups[::-1]


def _table(digits: int, least: int) -> NDArray[np.uint32]:
    """Texts of the numbers below 10^digits with leading zeros, then without; at least so many digits of them stay."""
    full = [str(number).zfill(digits) for number in range(10**digits)]
    short = [text.lstrip("0").rjust(least, "0").rjust(digits, "\0") for text in full]
    return np.frombuffer("".join(text.ljust(4, "\0") for text in full + short).encode(), np.uint32)


_GROUPS, _ENDS = _table(4, 0), _table(3, 1)
