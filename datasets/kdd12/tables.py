"""Sums by identifier, for more identifiers than a chunk of rows holds."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

_PENDING = 1 << 20  # keys that wait to be merged, at least


class Table:
    """Sums of whole numbers by key; they are exact, so that neither chunks nor their order change them.

    Parameters
    ----------
    width : int
        Sums of each key.
    """

    def __init__(self, width: int) -> None:
        self._keys = np.empty(0, np.uint64)
        self._sums = np.empty((0, width), np.int64)
        self._waiting: list[tuple[NDArray[np.uint64], NDArray[np.int64]]] = []

    def add(self, keys: NDArray[np.uint64], slots: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        """Add ``numbers[:, i]`` to the sums ``slots[i], slots[i] + 1, ...`` of ``keys[i]``.

        Parameters
        ----------
        keys : ndarray of uint64, shape (n,)
        slots : ndarray of int64, shape (n,)
            Multiples of k.
        numbers : ndarray of int64, shape (k, n)
            Their sums of n rows are below 2^53.
        """
        known, place = np.unique(keys, return_inverse=True)
        width = self._sums.shape[1]
        sums = np.zeros((len(known), width), np.int64)
        cell, size = place * width + slots, sums.size
        for shift, values in enumerate(numbers):
            sums += np.bincount(cell + shift, values, size).astype(np.int64).reshape(sums.shape)
        self._waiting.append((known, sums))
        if sum(len(one) for one, _ in self._waiting) > max(_PENDING, len(self._keys)):
            self._merge()

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Sums of each key, zeros for unknown ones; shape (n, width)."""
        self._merge()
        sought, place = np.unique(keys, return_inverse=True)  # neighbours in the table are found in the cache
        found = np.zeros((len(sought), self._sums.shape[1]), np.int64)
        if len(self._keys):
            at = np.minimum(np.searchsorted(self._keys, sought), len(self._keys) - 1)
            known = self._keys[at] == sought
            found[known] = self._sums[at[known]]
        return found[place]

    def __len__(self) -> int:
        self._merge()
        return len(self._keys)

    def export(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Keys (k,), ascending, and their sums (k, width)."""
        self._merge()
        return self._keys, self._sums

    @classmethod
    def load(cls, keys: NDArray[np.uint64], sums: NDArray[np.int64]) -> Self:
        """The table that `export` gave.

        Raises
        ------
        ValueError
            The arrays are not those of a table.
        """
        if keys.dtype != np.uint64 or sums.dtype != np.int64 or sums.ndim != 2 or keys.shape != sums.shape[:1]:
            raise ValueError(f"keys are {keys.dtype} {keys.shape} and sums {sums.dtype} {sums.shape}")
        if not (keys[1:] > keys[:-1]).all():
            raise ValueError("keys do not ascend")
        table = cls(sums.shape[1])
        table._keys, table._sums = keys, sums
        return table

    def _merge(self) -> None:
        if not self._waiting:
            return
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._waiting)])
        sums = np.concatenate([self._sums, *(sums for _, sums in self._waiting)])
        self._waiting = []
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        self._keys, self._sums = keys[first], np.add.reduceat(sums[order], first, axis=0)
