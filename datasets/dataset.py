"""One set of labelled data, with where it comes from and a checksum of its bytes."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
