"""The user's own files: what is read, as which types, and what is refused with which remedy."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from pianobench.datasets import reading

X = np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 0.0], [4.0, -1.0]])
Y = np.array([3, 1, 3, 7])


def csr(matrix: Any = None) -> dict[str, Any]:
    matrix = sp.csr_array(X) if matrix is None else matrix
    return {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}


def saved(tmp_path: Path, **arrays: Any) -> Path:
    path = tmp_path / "my.npz"
    np.savez(path, **arrays)
    return path


def test_dense_arrays_come_as_they_are(tmp_path: Path) -> None:
    data = reading.read(saved(tmp_path, X=X, y=Y))
    np.testing.assert_array_equal(data.X, X)
    assert (data.name, data.n, data.d, data.m, data.classes) == ("my.npz", 4, 2, 3, ("1", "3", "7"))
    np.testing.assert_array_equal(data.y, [1, 0, 1, 2])
    assert data.y.dtype == np.int64
    assert str(tmp_path) not in repr(vars(data)), "a row must not name the user's folders"


def test_the_parts_of_a_csr_matrix_are_a_csr_matrix(tmp_path: Path) -> None:
    data = reading.read(saved(tmp_path, y=Y, **csr()))
    np.testing.assert_array_equal(data.X.toarray(), X)
    assert sp.issparse(data.X)
    assert data.X.format == "csr"
    # what scipy itself writes, with labels put beside
    sp.save_npz(tmp_path / "theirs.npz", sp.csr_array(X))
    with np.load(tmp_path / "theirs.npz") as theirs:
        again = reading.read(saved(tmp_path, y=Y, **theirs))
    assert again.checksum == data.checksum


def test_entries_stored_twice_are_added(tmp_path: Path) -> None:
    parts = {"data": [1.0, 2.0, 5.0], "indices": [1, 1, 0], "indptr": [0, 2, 3], "shape": (2, 2)}
    data = reading.read(saved(tmp_path, y=[0, 1], **parts))
    assert data.X.nnz == 2
    np.testing.assert_array_equal(data.X.toarray(), [[0, 3], [5, 0]])


@pytest.mark.parametrize(("given", "got"), [("f4", "f4"), ("f8", "f8"), (">f8", "=f8"), ("i2", "f8"), ("?", "f8")])
def test_features_are_float32_or_float64_of_this_machine(tmp_path: Path, given: str, got: str) -> None:
    data = reading.read(saved(tmp_path, X=np.asfortranarray(X.astype(given)), y=Y))
    assert data.X.dtype == np.dtype(got)
    assert data.X.dtype.isnative
    assert data.X.flags.c_contiguous


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array(["b", "a", "b", "c"]), ("a", "b", "c")),
        (np.array([b"b", b"a", b"b", b"c"]), ("a", "b", "c")),
        (np.array([1.0, 0.0, 1.0, -1.0]), ("-1", "0", "1")),
        (np.array([True, False, True, True]), ("False", "True")),
    ],
)
def test_labels_of_any_plain_kind(tmp_path: Path, labels: np.ndarray, classes: tuple[str, ...]) -> None:
    data = reading.read(saved(tmp_path, X=X, y=labels))
    assert data.classes == classes
    assert [data.classes[code] for code in data.y] == [
        v.decode() if isinstance(v, bytes) else str(int(v)) if labels.dtype.kind == "f" else str(v) for v in labels
    ]


def test_labels_under_another_name(tmp_path: Path) -> None:
    assert reading.read(saved(tmp_path, X=X, species=Y), target="species").m == 3


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X}, r"no labels 'y', it holds X: write it with np.savez"),
        ({"y": Y}, r"neither X nor the parts .* it holds y: .*X=X, y=y.* or .*indptr=X.indptr"),
        ({"X": X.astype(object), "y": Y}, r"X is an array of Python objects.*X.astype\(float\)"),
        ({"X": X, "y": Y.astype(object)}, r"y is an array of Python objects.*y.astype\(str\)"),
        ({"X": X[0], "y": Y}, r"X has shape \(2,\); \(n, d\)"),
        ({"X": X[:0], "y": Y[:0]}, r"X has shape \(0, 2\)"),
        ({"X": X + 1j, "y": Y}, "X has type complex128; numbers"),
        ({"X": X.astype(str), "y": Y}, "X has type <U32; numbers"),
        ({"X": np.where(X == 4, np.nan, X), "y": Y}, "not finite, first in row 3, column 0"),
        ({"X": X, "y": Y[:3]}, r"y has shape \(3,\); .*\(4,\)"),
        ({"X": X, "y": Y + 0.5}, "y has values that are not whole"),
        ({"X": X, "y": Y * np.nan}, "y has values that are not whole"),
        ({"X": X, "y": Y * 0}, "y holds one class only, 0; two"),
        ({"X": X, "y": Y.astype("M8[D]")}, r"y has type .*: y.astype\(str\)"),
        ({"y": Y, **csr(), "format": b"csc"}, r"that is not CSR: take X.tocsr\(\)"),
        ({"y": Y, **csr(), "indices": np.array([0, 9, 0, 1])}, "the parts are no CSR matrix"),
        ({"y": Y, **csr(), "indptr": np.array([0, 1])}, "the parts are no CSR matrix"),
        ({"y": Y, **csr(), "shape": np.array([4])}, "the parts are no CSR matrix"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_remedy(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(reading.UnusableFile, match=message) as caught:
        reading.read(saved(tmp_path, **arrays))
    assert str(caught.value).startswith("my.npz")
    assert "\n" not in str(caught.value)


class Touch:
    """Unpickling it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("form", ["pickle", "array", "text", "npy", "empty"])
def test_nothing_is_unpickled(tmp_path: Path, form: str) -> None:
    trap, path = tmp_path / "ran", tmp_path / "my.npz"
    if form == "pickle":
        path.write_bytes(pickle.dumps(Touch(trap)))
    elif form == "array":
        np.savez(path, X=X, y=np.array([Touch(trap)] * 4, dtype=object))
    elif form == "npy":
        with open(path, "wb") as stream:
            np.save(stream, X)
    else:
        path.write_text("a,b\n1,2\n" if form == "text" else "")
    with pytest.raises(reading.UnusableFile, match=r"my\.npz"):
        reading.read(path)
    assert not trap.exists()


def test_files_that_are_not_there_or_of_no_known_form(tmp_path: Path) -> None:
    with pytest.raises(reading.UnusableFile, match=r"there is no file .*elsewhere.my\.npz$"):
        reading.read(tmp_path / "elsewhere" / "my.npz")
    (tmp_path / "my.docx").touch()
    with pytest.raises(reading.UnusableFile, match=r"my\.docx: the ending tells the form, and \.npz"):
        reading.read(tmp_path / "my.docx")
    with pytest.raises(reading.UnusableFile, match="no file is given"):
        reading.read([])
    with pytest.raises(reading.UnusableFile, match=r"is a folder"):
        reading.read(tmp_path)


def test_text_with_most_entries_stored_becomes_dense_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("0 1:1 2:2\n1 1:3 2:4\n")
    (tmp_path / "b.svm").write_text("0 1:1 3:2\n1 1:3 2:4\n")
    dense, sparse = reading.read(tmp_path / "a.svm"), reading.read(tmp_path / "b.svm")
    np.testing.assert_array_equal(dense.X, [[1, 2], [3, 4]])
    assert dense.preprocessing.endswith("made dense, with 100 % of its entries stored")
    assert sp.issparse(sparse.X), "two thirds are not more than two thirds"
    assert sp.issparse(reading.read(tmp_path / "a.svm", dense=False).X)
    assert isinstance(reading.read(tmp_path / "b.svm", dense=True).X, np.ndarray)
    with pytest.raises(reading.UnusableFile, match="dense is 'yes': true or false"):
        reading.read(tmp_path / "a.svm", dense="yes")  # type: ignore[arg-type]
    full = csr(sp.csr_array(X + 5))
    assert sp.issparse(reading.read(saved(tmp_path, y=Y, **full)).X), "an npz keeps its layout"
