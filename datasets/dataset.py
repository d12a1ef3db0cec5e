"""One set of labelled data, with where it comes from and a checksum of its bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

STANDARDISED = "standardised"  # a part that every dense set has


class UnknownPart(ValueError):
    """The data set is not split so; the message says how it is."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples and labels as the problems take them, and what a reader must know about their origin.

    Parameters
    ----------
    name : str
        Key in the registry.
    X : ndarray or scipy.sparse.csr_array, shape (n, d)
        Features, after the preprocessing that `preprocessing` describes.
    y : ndarray of int64, shape (n,)
        Class codes 0 … m−1.
    classes : tuple of str, length m
        Names of the classes, in the order of their codes.
    features : tuple of str, length d or 0
        Names of the columns; empty where the origin names none.
    description, field, origin, licence, preprocessing : str
        One line each: what it is, field of application, who published it, under which licence, what was done
        to it.
    parts : tuple of (str, int)
        Name and number of rows of each part where the origin splits the data, in the order of the rows: usually
        ``train`` and ``test``. Empty where it does not.
    files : tuple of (str, str)
        Name and SHA-256 of each file that it was read from; empty where there was none.
    """

    name: str
    X: Any
    y: NDArray[np.int64]
    classes: tuple[str, ...]
    features: tuple[str, ...]
    description: str
    field: str
    origin: str
    licence: str
    preprocessing: str = "none"
    parts: tuple[tuple[str, int], ...] = ()
    files: tuple[tuple[str, str], ...] = ()

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def m(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def part(self, name: str) -> Dataset:
        """Rows of one part, with the classes of the whole: one that has no row there keeps its code.

        Raises
        ------
        UnknownPart
        """
        if name == STANDARDISED:
            return self.standardised()
        start = 0
        for known, size in self.parts:
            if known == name:
                rows = slice(start, start + size)
                return replace(self, name=f"{self.name}:{name}", X=self.X[rows], y=self.y[rows], parts=())
            start += size
        has = f"it has {', '.join(known for known, _ in self.parts)}" if self.parts else "its origin does not split it"
        raise UnknownPart(f"{self.name} has no part {name!r}: {has}")

    def standardised(self) -> Dataset:
        """The same rows with columns of mean 0 and variance 1 in float64; constant columns become 0.

        Raises
        ------
        UnknownPart
            X is sparse: it would fill up.
        """
        if not isinstance(self.X, np.ndarray):
            raise UnknownPart(f"{self.name} is sparse: its columns are not centred, which would fill it")
        X = self.X.astype(np.float64)
        X -= X.mean(axis=0)
        spread = X.std(axis=0)
        flat = spread <= 1e-12 * np.abs(self.X).max(axis=0, initial=0.0)  # what rounding leaves of a constant
        X = np.where(flat, 0.0, X / np.where(flat, 1.0, spread))
        how = "columns of mean 0 and variance 1"
        what = how if self.preprocessing == "none" else f"{self.preprocessing}; {how}"
        return replace(self, name=f"{self.name}:{STANDARDISED}", X=X, preprocessing=what)

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of X and y, equal on every machine; see `checksum`."""
        return checksum(self.X, self.y)


def checksum(X: Any, y: NDArray[Any]) -> str:
    """SHA-256 over dtype, shape, order and bytes of X (dense or CSR) and y.

    The bytes are hashed in little-endian C order, and CSR indices as 64-bit integers, so that neither the
    byte order of a machine nor the index width that SciPy happened to choose can change the sum.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    if isinstance(X, np.ndarray):
        parts = [("dense C", X), ("labels", y)]
    else:
        indices, pointers = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        digest.update(f"csr {tuple(X.shape)};".encode())
        parts = [("data", X.data), ("indices", indices), ("pointers", pointers), ("labels", y)]
    for title, array in parts:
        portable = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        digest.update(f"{title} {portable.dtype.str} {portable.shape};".encode())
        digest.update(portable.tobytes())
    return digest.hexdigest()
