"""Sets that scikit-learn fetches, against its own checksums: it resumes nothing, and an interruption starts anew.

What it leaves is rewritten as npz: its own cache is of pickles, which are not read again.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from urllib.error import URLError

from pianobench.datasets.fetching.connection import Unreachable
from pianobench.datasets.fetching.described import described
from pianobench.datasets.fetching.wanted import FetchError, File, Wanted


def wanted(key: str, place: Path, anew: bool) -> Wanted:
    """The files that `produce` will write.

    Raises
    ------
    FetchError
        The catalogue does not have it.
    """
    del place, anew
    facts = described("sklearn", key)
    note = "scikit-learn has fetched it and compared its own checksums; it resumes nothing"
    return Wanted(tuple(File(name) for name in facts["files"]), facts, (note,), produce=_producer(key))


def _producer(key: str) -> Callable[[Path], None]:
    def produce(folder: Path) -> None:
        with tempfile.TemporaryDirectory(dir=folder, prefix="scikit-learn-") as home:
            try:
                with warnings.catch_warnings(action="ignore"), redirect_stdout(sys.stderr):  # its tale of each try
                    _WRITERS[key](home, folder)
            except URLError as error:
                raise Unreachable(f"scikit-learn cannot reach the data: {error.reason}") from error
            except OSError as error:
                if error.errno is not None:
                    raise
                raise FetchError(f"scikit-learn refuses what it has fetched: {error}") from error

    return produce


def _covtype(home: str, folder: Path) -> None:
    from sklearn.datasets import fetch_covtype

    bunch = fetch_covtype(data_home=home)
    _write(folder / "data.npz", bunch.data, bunch.target)


def _olivetti_faces(home: str, folder: Path) -> None:
    from sklearn.datasets import fetch_olivetti_faces

    bunch = fetch_olivetti_faces(data_home=home)
    _write(folder / "data.npz", bunch.data, bunch.target)


def _newsgroups(home: str, folder: Path) -> None:
    import numpy as np
    from sklearn.datasets import fetch_20newsgroups_vectorized

    for part in ("train", "test"):
        bunch = fetch_20newsgroups_vectorized(data_home=home, subset=part)
        _write(folder / f"{part}.npz", bunch.data, np.asarray(bunch.target_names)[bunch.target])


def _rcv1(home: str, folder: Path) -> None:
    """Texts of exactly one of the four uppermost topics: most have several of the 103."""
    import numpy as np
    from sklearn.datasets import fetch_rcv1

    for part in ("train", "test"):
        bunch = fetch_rcv1(data_home=home, subset=part)
        names = np.asarray(bunch.target_names, dtype=str)
        upper = np.flatnonzero(np.isin(names, ("CCAT", "ECAT", "GCAT", "MCAT")))
        marks = bunch.target.tocsc()[:, upper].toarray().astype(bool)
        rows = np.flatnonzero(marks.sum(axis=1) == 1)
        _write(folder / f"{part}.npz", bunch.data[rows], names[upper][marks[rows].argmax(axis=1)])


def _write(path: Path, X: Any, y: Any) -> None:
    import numpy as np

    if isinstance(X, np.ndarray):
        np.savez_compressed(path, X=X, y=y)
    else:
        X = X.tocsr()
        np.savez_compressed(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)


_WRITERS: dict[str, Callable[[str, Path], None]] = {
    "20newsgroups_vectorized": _newsgroups,
    "covtype": _covtype,
    "olivetti_faces": _olivetti_faces,
    "rcv1": _rcv1,
}
