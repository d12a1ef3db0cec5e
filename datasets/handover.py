"""Arrays on disk for the processes that measure: a cell reads two .npy files and imports no reader."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.dataset import Dataset, checksum

_CSR_PARTS = ("data", "indices", "indptr", "shape")


class CorruptData(RuntimeError):
    """The arrays on disk, in `folder`, are not those that were written."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"the arrays in {folder.name} have changed since they were written: delete that folder")
        self.folder = folder


def folder(root: Path, checksum: str) -> Path:
    """Where `write` puts the arrays with this checksum."""
    return root / checksum[:16]


def write(dataset: Dataset, root: Path) -> Path:
    """Write X and y below `root`, once; return their folder, which is named by the checksum."""
    place = folder(root, dataset.checksum)
    if place.is_dir():
        return place
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=".writing-") as scratch:
        part = Path(scratch) / "arrays"
        part.mkdir()
        np.save(part / "y.npy", dataset.y)
        if isinstance(dataset.X, np.ndarray):
            np.save(part / "X.npy", dataset.X)
        else:
            for name in _CSR_PARTS:
                np.save(part / f"X_{name}.npy", np.asarray(getattr(dataset.X, name)))
        try:
            os.rename(part, place)
        except OSError:  # another suite was faster; its arrays have the same checksum
            if not place.is_dir():
                raise
    return place


def read(folder: Path, expected: str) -> tuple[Any, NDArray[np.int64]]:
    """Read what `write` wrote and compare its checksum with `expected`.

    The arrays are read, not mapped: a read-only array would make Numba compile a second version of each
    kernel, on the clock.

    Raises
    ------
    CorruptData
        If the bytes are not those of the data set, or are gone.
    """
    try:
        X, y = _arrays(folder)
    except (OSError, ValueError, EOFError) as error:
        raise CorruptData(folder) from error
    if checksum(X, y) != expected:
        raise CorruptData(folder)
    return X, y


def _arrays(folder: Path) -> tuple[Any, NDArray[np.int64]]:
    y = np.load(folder / "y.npy")
    if (folder / "X.npy").is_file():
        return np.load(folder / "X.npy"), y
    from scipy.sparse import csr_array

    data, indices, indptr, shape = (np.load(folder / f"X_{name}.npy") for name in _CSR_PARTS)
    return csr_array((data, indices, indptr), shape=(int(shape[0]), int(shape[1]))), y
