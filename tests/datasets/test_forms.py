"""One matrix in every form that holds numbers: what is read has the same bits whichever way it was written."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import sparse

from pianobench.datasets import reading

Matrix = NDArray[np.float64]
Files = dict[str, bytes]


def _lines(X: Matrix, y: NDArray[np.int64], row: Callable[[list[float], int], str], head: str = "") -> bytes:
    return (head + "".join(row(x, label) + "\n" for x, label in zip(X.tolist(), y.tolist(), strict=True))).encode()


def _table(X: Matrix, y: NDArray[np.int64]) -> Files:
    head = ",".join(f"x{j}" for j in range(X.shape[1])) + ",y\n"
    return {"f.csv": _lines(X, y, lambda x, label: ",".join(map(repr, x)) + f",{label}", head)}


def _svmlight(X: Matrix, y: NDArray[np.int64]) -> Files:
    return {"f.svm": _lines(X, y, lambda x, label: f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x)))}


def _head(d: int) -> str:
    return "".join(f"@attribute x{j} real\n" for j in range(d)) + "@attribute y integer\n@data\n"


def _arff(X: Matrix, y: NDArray[np.int64]) -> Files:
    return {"f.arff": _lines(X, y, lambda x, label: ",".join(map(repr, x)) + f",{label}", _head(X.shape[1]))}


def _sparse_arff(X: Matrix, y: NDArray[np.int64]) -> Files:
    def row(x: list[float], label: int) -> str:
        return "{" + ", ".join(f"{j} {v!r}" for j, v in enumerate([*x, label]) if v) + "}"

    return {"f.arff": _lines(X, y, row, _head(X.shape[1]))}


def _keel(X: Matrix, y: NDArray[np.int64]) -> Files:
    return {"f.dat": _lines(X, y, lambda x, label: ", ".join(map(repr, x)) + f", {label}")}


def _idx(X: Matrix, y: NDArray[np.int64]) -> Files:
    images = struct.pack(">HBB2I", 0, 14, 2, *X.shape) + X.astype(">f8").tobytes()
    return {"f.idx3-ubyte": images, "g.idx1-ubyte": struct.pack(">HBBI", 0, 12, 1, len(y)) + y.astype(">i4").tobytes()}


@st.composite
def labelled(draw: st.DrawFn) -> tuple[Matrix, NDArray[np.int64]]:
    n, d = draw(st.integers(2, 6)), draw(st.integers(1, 5))
    value = st.sampled_from([0.0, 1.0]) | st.floats(allow_nan=False, allow_infinity=False)
    X = draw(arrays(np.float64, (n, d), elements=value))
    y = draw(arrays(np.int64, n, elements=st.integers(-3, 12)))
    y[:2] = -1, 10
    return X, y


@pytest.mark.parametrize(
    ("write", "options"),
    [(_table, {}), (_svmlight, {"base": 1}), (_arff, {}), (_sparse_arff, {}), (_keel, {}), (_idx, {})],
    ids=["table", "svmlight", "arff", "sparse arff", "keel", "idx"],
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=labelled())
def test_one_matrix_in_every_form(
    tmp_path: Path, write: Callable[..., Files], options: dict[str, Any], data: tuple[Matrix, NDArray[np.int64]]
) -> None:
    X, y = data
    files = write(X, y)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    read = reading.read([tmp_path / name for name in files], cache=False, **options)
    found = read.X.toarray() if sparse.issparse(read.X) else read.X
    np.testing.assert_array_equal(found, X)
    assert [read.classes[code] for code in read.y] == [str(label) for label in y]
