"""NumPy's npz: arrays ``X``, or the parts of a CSR matrix as `scipy.sparse.save_npz` names them, and labels ``y``.

Nothing is unpickled: arrays of Python objects are refused.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.packed import FREE, RATIO
from pianobench.datasets.readers.parsed import Parsed, Unreadable, stacked

_CSR_PARTS = ("data", "indices", "indptr", "shape")
_HOW_DENSE = 'np.savez("my.npz", X=X, y=y)'
_HOW_CSR = 'np.savez("my.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)'
_DAMAGED = (zipfile.BadZipFile, AttributeError, EOFError, OSError, TypeError, KeyError, NotImplementedError)


def read(
    paths: Sequence[Path],
    *,
    target: str = "y",
    features: str = "X",
    scale: str | None = None,
    parts: Sequence[tuple[str, str]] = (),
) -> Parsed:
    """Arrays of npz files.

    Parameters
    ----------
    paths : sequence of Path
    target, features : str
        Names of the labels (n,) and of the dense features (n, d).
    scale : str, optional
        Name of a number by which the features are multiplied: integers that stand for decimals.
    parts : sequence of (features, target), optional
        Instead of the two names, those of each part that a file holds.

    Raises
    ------
    Unreadable
    """
    matrices, labels = [], []
    for path in paths:
        arrays = _content(path)
        for name, label in parts or [(features, target)]:
            X, y = _one(path, arrays, name, label)
            if scale is not None:
                X = _scaled(path, X, arrays, scale)
            matrices.append(X)
            labels.append(y)
    return stacked(matrices, labels)


def _content(path: Path) -> dict[str, NDArray[Any]]:
    try:
        _check_sizes(path)
        with np.load(path, allow_pickle=False) as content:
            return {name: _array(path, content, name) for name in content.files}
    except Unreadable:
        raise
    except MemoryError as error:
        raise Unreadable(f"its arrays do not fit into memory: {error}", path=path) from error
    except (*_DAMAGED, ValueError) as error:
        raise Unreadable(
            f"it is not an npz file, or damaged ({error}): write it with {_HOW_DENSE}", path=path
        ) from error


def _check_sizes(path: Path) -> None:
    """NumPy asks for the memory that a header names before it reads: hold headers against the bytes."""
    most = max(FREE, RATIO * path.stat().st_size)
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > most:
            raise Unreadable(
                f"it unpacks to {unpacked >> 20} MiB, over {RATIO} times its size, as no data does: "
                "if you trust it, save it anew with np.savez",
                path=path,
            )
        for member in archive.infolist():
            with archive.open(member) as stream:
                version = np.lib.format.read_magic(stream)
                header = np.lib.format.read_array_header_1_0 if version == (1, 0) else None
                shape, _, dtype = (header or np.lib.format.read_array_header_2_0)(stream)
            cells = 1
            for size in shape:
                cells *= int(size)
            if min(shape, default=0) < 0 or (not dtype.hasobject and cells * dtype.itemsize > member.file_size):
                raise Unreadable(
                    f"{member.filename} says that it has shape {shape}, and has not the bytes for it: "
                    "the file is cut off or damaged; save it again",
                    path=path,
                )


def _array(path: Path, content: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(content[name])
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise Unreadable(
            f"{name} is an array of Python objects, which only a pickle could hold, and pickles can run code: "
            f"give it a plain type before saving, for example {name}.astype({'float' if name != 'y' else 'str'})",
            path=path,
        ) from error


def _one(path: Path, arrays: dict[str, NDArray[Any]], name: str, label: str) -> tuple[Any, NDArray[Any]]:
    listed = ", ".join(other for other in arrays if other != "format") or "nothing"
    if label not in arrays:
        raise Unreadable(f"it has no labels {label!r}, it holds {listed}: write it with {_HOW_DENSE}", path=path)
    if name in arrays:
        return arrays[name], arrays[label]
    if any(part not in arrays for part in _CSR_PARTS):
        raise Unreadable(
            f"it has neither {name} nor the parts of a CSR matrix, it holds {listed}: write it with {_HOW_DENSE}, "
            f"or {_HOW_CSR}",
            path=path,
        )
    if "csr" not in str(arrays.get("format", "csr")):
        raise Unreadable(f"it holds a sparse matrix that is not CSR: take X.tocsr(), then {_HOW_CSR}", path=path)
    return _csr(path, *(arrays[part] for part in _CSR_PARTS)), arrays[label]


def _csr(path: Path, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    from scipy.sparse import csr_array

    try:
        n, d = (int(size) for size in shape)
        X = csr_array((data, indices, indptr), shape=(n, d))
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise Unreadable(f"the parts are no CSR matrix ({error}): write it with {_HOW_CSR}", path=path) from error
    X.sum_duplicates()
    return X


def _scaled(path: Path, X: Any, arrays: dict[str, NDArray[Any]], scale: str) -> Any:
    if scale not in arrays or arrays[scale].ndim or arrays[scale].dtype.kind not in "iuf":
        raise Unreadable(f"it has no number {scale!r} to multiply with: leave the option scale out", path=path)
    return X * float(arrays[scale])
