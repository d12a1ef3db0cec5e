"""Data sets: what a reader promises, checksums that hold on every machine, and arrays that survive the way to disk."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from pianobench import datasets
from pianobench.datasets import handover
from pianobench.datasets.dataset import Dataset, checksum

SIZES = {
    "breast_cancer": (569, 30, 2),
    "digits": (1797, 64, 10),
    "iris": (150, 4, 3),
    "wine": (178, 13, 3),
    "wine_standardised": (178, 13, 3),
}
SUMS = {
    "breast_cancer": "7d01976c6ab94cf39b9a2bbded57a80151b58d9a47e2150fff8f56bdaf1974a8",
    "digits": "5a6a9e8f40d05f639c9152e81a02c572d008966d484892f7c58b9524dd5fdf2b",
    "iris": "91cc8315ab939f2ef358e8100fb7f6c375015d69ebffc272d42e7d1b3d5d0044",
    "wine": "7ebf0ce26226bee26235d77f8111e6b8602c328f44595013bf62bfb0fa4db883",
}


def test_names_are_those_with_a_size_here() -> None:
    assert datasets.names() == tuple(SIZES)


# A computed set has no sum here: its last bits depend on the order in which a machine adds.
@pytest.mark.parametrize("name", SIZES)
def test_reader_keeps_its_promises(name: str) -> None:
    data = datasets.load(name)
    assert (data.n, data.d, data.m) == SIZES[name]
    assert data.checksum == SUMS.get(name, data.checksum), (
        "data changed: every stored result of this set is out of date"
    )
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert np.isfinite(data.X).all()
    assert set(np.unique(data.y)) == set(range(data.m))
    assert len(data.features) in (0, data.d)
    assert all((data.description, data.field, data.origin, data.licence, data.preprocessing))


def test_digits_are_divided_by_sixteen() -> None:
    X = datasets.load("digits").X
    assert X.min() == 0
    assert X.max() == 1
    np.testing.assert_array_equal(X * 16, np.round(X * 16))


def test_standardised_columns_have_mean_zero_and_variance_one() -> None:
    X = datasets.load("wine_standardised").X
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(X.std(axis=0), 1, rtol=1e-14)


def test_unknown_name_gives_near_ones_and_the_remedy() -> None:
    with pytest.raises(datasets.UnknownDataset, match=r"'digit'.*did you mean digits.*pianobench datasets"):
        datasets.load("digit")
    with pytest.raises(ValueError, match=r"pianobench datasets"):
        datasets.load("no such thing at all")


def test_checksum_ignores_memory_layout_and_byte_order(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(7, 3)), np.arange(7) % 2
    expected = checksum(X, y)
    assert checksum(np.asfortranarray(X), y) == expected
    assert checksum(X.astype(">f8"), y.astype(">i8")) == expected
    sparse = csr_array(X)
    wide = csr_array((sparse.data, sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)), shape=X.shape)
    assert checksum(wide, y) == checksum(sparse, y)


def test_checksum_sees_values_labels_shape_and_type(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(6, 4)), np.arange(6) % 2
    changed = X.copy()
    changed[3, 2] = np.nextafter(changed[3, 2], 9)
    variants = [(X, y), (changed, y), (X, 1 - y), (X.reshape(4, 6), y), (X.astype(np.float32), y), (csr_array(X), y)]
    assert len({checksum(a, b) for a, b in variants}) == len(variants)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture(params=["dense", "csr"])
def small(request: pytest.FixtureRequest, rng: np.random.Generator) -> Dataset:
    X = rng.normal(size=(9, 4)) * (rng.random((9, 4)) < 0.5)
    return Dataset(
        name="small",
        X=X if request.param == "dense" else csr_array(X),
        y=np.arange(9) % 3,
        classes=("a", "b", "c"),
        features=(),
        description="test",
        field="test",
        origin="test",
        licence="test",
    )


def test_arrays_come_back_as_they_went(small: Dataset, tmp_path: Path) -> None:
    folder = handover.write(small, tmp_path)
    assert handover.write(small, tmp_path) == folder
    X, y = handover.read(folder, small.checksum)
    dense = [a if isinstance(a, np.ndarray) else a.toarray() for a in (X, small.X)]
    np.testing.assert_array_equal(*dense)
    np.testing.assert_array_equal(y, small.y)
    arrays = [X, y] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr, y]
    assert all(a.flags.writeable for a in arrays), "a read-only array is another type to Numba"


def test_changed_arrays_are_noticed(small: Dataset, tmp_path: Path) -> None:
    folder = handover.write(small, tmp_path)
    np.save(folder / "y.npy", small.y[::-1].copy())
    with pytest.raises(handover.CorruptData, match="delete that folder"):
        handover.read(folder, small.checksum)


def test_a_data_set_is_frozen(small: Dataset) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        small.name = "other"  # type: ignore[misc]
