"""NumPy's npz: arrays ``X``, or the parts of a CSR matrix as `scipy.sparse.save_npz` names them, and labels ``y``.

Nothing is unpickled: arrays of Python objects are refused.
"""

from __future__ import annotations

import warnings
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


def read(
    paths: Sequence[Path],
    *,
    target: str = "y",
    features: str = "X",
    arrays: Sequence[Sequence[str]] = (),
    scale: str | None = None,
    class_names: str | None = None,
    feature_names: str | None = None,
    parts_by: str | None = None,
) -> Parsed:
    """Arrays of npz files.

    Parameters
    ----------
    paths : sequence of Path
    target, features : str
        Names of the labels (n,) and of the dense features (n, d).
    arrays : sequence of (features, target), optional
        Instead of these two: the names of each part, where one file holds the parts of a split.
    scale : str, optional
        Name of a number that the features are to be multiplied by: whole numbers that stand for decimals.
    class_names : str, optional
        Name of texts (m,) for the labels, in the order of their values.
    feature_names : str, optional
        Name of texts (d,) for the columns.
    parts_by : str, optional
        Name of texts (n,) that begin with the name of the sample's part and a dot; rows come part by part.

    Raises
    ------
    Unreadable
    """
    matrices, labels, names = [], [], ()
    for path in paths:
        content = _content(path)
        for name, label in arrays or [(features, target)]:
            X, y = _one(path, content, name, label)
            if X.ndim != 2:
                what = f"{name} has shape {X.shape}; (n, d) with a row for each sample is expected"
                raise Unreadable(what, path=path)
            if scale is not None:
                X = _scaled(X, _texts(path, content, scale, "scale", 1))
            if class_names is not None:
                y = _named(path, y, _texts(path, content, class_names, "class_names"))
            if feature_names is not None:
                names = tuple(_texts(path, content, feature_names, "feature_names", X.shape[1]).tolist())
            matrices.append(X)
            labels.append(y)
    if parts_by is None:
        return stacked(matrices, labels, features=names)
    if len(matrices) > 1:
        raise Unreadable("parts_by is for one file with one pair of arrays: leave it out")
    return _by_part(matrices[0], labels[0], _texts(paths[0], content, parts_by, "parts_by", len(labels[0])), names)


def _content(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, of headers that Python 2 wrote
            _check_sizes(path)
            with np.load(path, allow_pickle=False) as content:
                return {name: _array(path, content, name) for name in content.files}
    except Unreadable:
        raise
    except MemoryError as error:
        raise Unreadable(f"its arrays do not fit into memory: {error}", path=path) from error
    except Exception as error:  # what zipfile and NumPy raise for damage is of many kinds
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
            if min(shape, default=0) < 0 or (not dtype.hasobject and cells * max(1, dtype.itemsize) > member.file_size):
                raise Unreadable(
                    f"{member.filename} says that it has shape {shape}, and has not the bytes for it: "
                    "the file is cut off or damaged; save it again",
                    path=path,
                )


def _array(path: Path, content: Any, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(content[name])
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise Unreadable(
            f"{name} is an array of Python objects, which only a pickle could hold, and pickles can run code: "
            f"give it a plain type before saving, for example {name}.astype({'float' if name != 'y' else 'str'})",
            path=path,
        ) from error
    if array.dtype.kind == "U" and not _is_unicode(array):
        raise Unreadable(f"{name} holds texts that are no Unicode: the file is damaged; save it again", path=path)
    return array


def _is_unicode(array: NDArray[np.str_]) -> bool:
    """Whether all characters are such: Python fails at texts with others."""
    characters = np.ascontiguousarray(array).ravel().view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    return not ((characters > 0x10FFFF) | ((characters >= 0xD800) & (characters < 0xE000))).any()


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
        X.sum_duplicates()
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise Unreadable(f"the parts are no CSR matrix ({error}): write it with {_HOW_CSR}", path=path) from error
    return X


def _texts(path: Path, arrays: dict[str, NDArray[Any]], name: str, option: str, size: int | None = None) -> Any:
    """An array that an option names, as texts."""
    if name not in arrays:
        raise Unreadable(f"it has no array {name!r}, which {option} asks for: leave {option} out", path=path)
    found = np.atleast_1d(arrays[name]).astype(str)
    if found.ndim != 1 or (size is not None and found.size != size):
        raise Unreadable(f"{name} has shape {arrays[name].shape}: {size} values are expected as {option}", path=path)
    return found


def _scaled(X: Any, scale: NDArray[np.str_]) -> Any:
    """Times a decimal such as 0.001, as correctly rounded as if the decimals had been written down."""
    try:
        factor = float(scale[0])
    except ValueError:
        raise Unreadable(f"its scale is {scale[0]!r}: a number is expected") from None
    inverse = round(1 / factor) if factor else 0
    return X / inverse if inverse * factor == 1 else X * factor


def _named(path: Path, y: NDArray[Any], names: NDArray[np.str_]) -> NDArray[np.str_]:
    values, codes = np.unique(y, return_inverse=True)
    if len(values) != len(names):
        raise Unreadable(
            f"it has {len(values)} classes and {len(names)} names of classes: as many are expected", path=path
        )
    return names[codes]


def _by_part(X: Any, y: NDArray[Any], marks: NDArray[np.str_], features: tuple[str, ...]) -> Parsed:
    of_row = np.char.partition(marks, ".")[:, 0]
    parts = tuple(dict.fromkeys(of_row.tolist()))
    order = np.concatenate([np.flatnonzero(of_row == part) for part in parts])
    sizes = tuple(int(np.sum(of_row == part)) for part in parts)
    return Parsed(X[order], y[order], sizes, features, ("rows put in the order of the parts",), parts)
