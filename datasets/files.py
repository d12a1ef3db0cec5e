"""Data sets from the user's own files. A new form is one function that returns features and labels, and one line."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets import text_files
from pianobench.datasets.dataset import Dataset

_CSR_PARTS = ("data", "indices", "indptr", "shape")
_HOW_DENSE = 'np.savez("my.npz", X=X, y=y)'
_HOW_CSR = 'np.savez("my.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)'


class UnusableFile(ValueError):
    """The file cannot be read as data; the message names it, what is wrong, and the remedy."""


def read(path: Path, target: str | None = None) -> Dataset:
    """Features and labels of a file, its form told by its ending.

    Parameters
    ----------
    path : Path
        An ``.npz`` with X (n, d), or the parts of a CSR matrix under the names of `scipy.sparse.save_npz`, and y,
        never unpickled; an ``.svm``, ``.svmlight`` or ``.libsvm``; a ``.csv``, ``.tsv`` or ``.txt``, these also packed.
    target : str, optional
        Name of the labels in the file: ``y`` of an npz, the last column of a table by default.

    Returns
    -------
    Dataset
        Named as the file, without its folder. X is float32 or float64 and finite; classes are the labels' own
        values, sorted.

    Raises
    ------
    UnusableFile
    """
    path = Path(path)
    if not path.is_file():
        raise UnusableFile(f"there is no file {path.name}" + (" (it is a folder)" if path.is_dir() else ""))
    reader = FORMS.get(text_files.suffix(path))
    if reader is None:
        raise UnusableFile(f"{path.name}: the ending tells the form, and {', '.join(FORMS)} can be read")
    try:
        X, y = reader(path, target)
    except text_files.UnreadableText as error:
        raise UnusableFile(f"{path.name}: {error}") from error
    return _dataset(path.name, X, y)


def _npz(path: Path, target: str | None) -> tuple[Any, NDArray[Any]]:
    label = target or "y"
    try:
        with np.load(path, allow_pickle=False) as content:
            arrays = {name: _array(path.name, content, name) for name in content.files if name != "format"}
            form = str(content["format"].item()) if "format" in content.files else "'csr'"
    except (zipfile.BadZipFile, AttributeError, EOFError, OSError, TypeError) as error:
        raise UnusableFile(f"{path.name} is not an npz file ({error}): write it with {_HOW_DENSE}") from error
    except ValueError as error:
        if isinstance(error, UnusableFile):
            raise
        raise UnusableFile(f"{path.name} is not an npz file: write it with {_HOW_DENSE}") from error
    listed = ", ".join(arrays) or "nothing"
    if label not in arrays:
        raise UnusableFile(f"{path.name} has no labels {label!r}, it holds {listed}: write it with {_HOW_DENSE}")
    if "X" in arrays:
        return arrays["X"], arrays[label]
    if any(part not in arrays for part in _CSR_PARTS):
        raise UnusableFile(
            f"{path.name} has neither X nor the parts of a CSR matrix, it holds {listed}: write it with {_HOW_DENSE}, "
            f"or {_HOW_CSR}"
        )
    if "csr" not in form:
        raise UnusableFile(f"{path.name} holds a sparse matrix that is not CSR: take X.tocsr(), then {_HOW_CSR}")
    return _csr(path.name, *(arrays[part] for part in _CSR_PARTS)), arrays[label]


def _array(file: str, content: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(content[name])
    except ValueError as error:
        raise UnusableFile(
            f"{file}: {name} is an array of Python objects, which only a pickle could hold, and pickles can run code: "
            f"give it a plain type before saving, for example {name}.astype({'float' if name != 'y' else 'str'})"
        ) from error


def _csr(file: str, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    from scipy.sparse import csr_array

    try:
        n, d = (int(size) for size in shape)
        X = csr_array((data, indices, indptr), shape=(n, d))
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise UnusableFile(f"{file}: the parts are no CSR matrix ({error}): write it with {_HOW_CSR}") from error
    X.sum_duplicates()
    return X


def _dataset(name: str, X: Any, y: NDArray[Any]) -> Dataset:
    """Checked and brought to the types of a `Dataset`."""
    sparse = not isinstance(X, np.ndarray)
    if X.ndim != 2 or 0 in X.shape:
        raise UnusableFile(f"{name}: X has shape {X.shape}; (n, d) with a row for each sample is expected")
    if X.dtype.kind not in "biuf" or X.dtype.itemsize > 8:
        raise UnusableFile(f"{name}: X has type {X.dtype}; numbers are expected: float32 or float64")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    values = X.data if sparse else X
    if not np.isfinite(values).all():
        where = "" if sparse else " first in row {}, column {}".format(*np.argwhere(~np.isfinite(X))[0])
        raise UnusableFile(f"{name}: X has values that are not finite,{where}: fill them in or drop their rows")
    classes, codes = _codes(name, y, X.shape[0])
    return Dataset(
        name=name,
        X=X if sparse else np.ascontiguousarray(X.astype(X.dtype.newbyteorder("="))),
        y=codes,
        classes=classes,
        features=(),
        description=f"the user's file {name}",
        field="own data",
        origin=f"file {name}",
        licence="not stated",
    )


def _codes(name: str, y: NDArray[Any], n: int) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    if y.shape != (n,):
        raise UnusableFile(f"{name}: y has shape {y.shape}; a label for each of the {n} rows of X is expected, ({n},)")
    if y.dtype.kind == "f" and not (np.isfinite(y) & (y == np.round(y))).all():
        raise UnusableFile(f"{name}: y has values that are not whole numbers; class labels are expected")
    if y.dtype.kind not in "biufSU":
        raise UnusableFile(f"{name}: y has type {y.dtype}; numbers or text are expected: y.astype(str)")
    values, codes = np.unique(y, return_inverse=True)
    if len(values) < 2:
        raise UnusableFile(f"{name}: y holds one class only, {values[0]}; two at least are expected")
    names = values.astype(np.int64) if values.dtype.kind == "f" else values
    texts = (v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in names.tolist())
    return tuple(texts), np.ascontiguousarray(codes, dtype=np.int64)


FORMS: dict[str, Callable[[Path, str | None], tuple[Any, NDArray[Any]]]] = {
    ".npz": _npz,
    ".svm": text_files.svmlight,
    ".svmlight": text_files.svmlight,
    ".libsvm": text_files.svmlight,
    ".csv": text_files.csv,
    ".tsv": text_files.csv,
    ".txt": text_files.csv,
}
