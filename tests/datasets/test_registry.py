"""Data sets: what a reader promises, checksums that hold on every machine, and arrays that survive the way to disk."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from pianobench import datasets
from pianobench.datasets import handover, registry
from pianobench.datasets.dataset import Dataset, UnknownPart, checksum

OURS = ("scikit-learn", "bundled", "generated")
KNOWN = datasets.entries()
HERE = [name for name, entry in KNOWN.items() if entry.source in OURS]


def test_a_fresh_clone_has_real_sets_of_many_kinds() -> None:
    real = {KNOWN[name].field for name in HERE if KNOWN[name].source != "generated"}
    assert len([name for name in HERE if KNOWN[name].source != "generated"]) >= 10
    assert real >= {"images", "biomedicine", "survey", "text", "chemistry"}


# A computed set has no sum here: its last bits depend on the order in which a machine adds.
@pytest.mark.parametrize("name", HERE)
def test_reader_keeps_its_promises(name: str) -> None:
    data, entry = datasets.load(name), KNOWN[name]
    size = registry.size(name)
    assert (data.n, data.d, data.m) == (entry.n, entry.d, entry.m) == (size.n, size.d, size.m)
    assert (entry.nnz is None) == isinstance(data.X, np.ndarray) or entry.source == "generated"
    assert entry.nnz in (None, getattr(data.X, "nnz", None))
    assert data.checksum == (entry.checksum or data.checksum), (
        "data changed: every stored result of this set is out of date"
    )
    values = data.X if isinstance(data.X, np.ndarray) else data.X.data
    assert data.X.dtype in (np.float32, np.float64)
    assert np.isfinite(values).all()
    assert data.y.dtype == np.int64
    assert 0 <= data.y.min() <= data.y.max() < data.m
    assert len(data.features) in (0, data.d)
    assert all((data.description, data.field, data.origin, data.licence, data.preprocessing))
    assert data.name == name


def test_a_part_and_a_generated_set_by_their_names() -> None:
    train = datasets.load("khan_srbct:train")
    assert (train.name, train.n, train.m, train.parts) == ("khan_srbct:train", 63, 4, ())
    assert registry.size("khan_srbct:train") == registry.Size(63, 2308, 4, 63 * 2308 * 8)
    assert registry.size("dense:n=1e6,m=7") == registry.Size(1_000_000, 50, 7, 400_000_000)
    assert datasets.load("dense:n=70,seed=3").n == 70


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("khan_srbct:trian", datasets.UnknownPart, "khan_srbct has no part 'trian': it has train, test"),
        ("iris:", datasets.UnknownDataset, "'iris:' ends in a colon: the name of a part"),
        ("iris:train", datasets.UnknownPart, "iris has no part 'train': its origin does not split it"),
        ("libsvm/no-such", datasets.UnknownDataset, "'libsvm/no-such'"),
        ("libsvm/poker", datasets.MissingData, "not on this machine: `pianobench fetch libsvm/poker` brings it"),
        ("openml/61", datasets.MissingData, "`pianobench fetch openml/61` brings it"),
        ("dense:k=3", ValueError, "dense has no parameter 'k'"),
    ],
)
def test_what_cannot_be_loaded_says_why(
    name: str, error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIANOBENCH_CACHE", str(tmp_path))
    with pytest.raises(error, match=message):
        datasets.load(name)


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
    whole = (folder / "y.npy").read_bytes()
    np.save(folder / "y.npy", small.y[::-1].copy())
    with pytest.raises(handover.CorruptData, match="delete that folder"):
        handover.read(folder, small.checksum)
    for rest in (whole[:-8], whole[:20], b""):
        (folder / "y.npy").write_bytes(rest)
        with pytest.raises(handover.CorruptData, match="delete that folder"):
            handover.read(folder, small.checksum)
    (folder / "y.npy").unlink()
    with pytest.raises(handover.CorruptData, match="delete that folder"):
        handover.read(folder, small.checksum)


def test_a_data_set_is_frozen(small: Dataset) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        small.name = "other"  # type: ignore[misc]


def test_standardised_columns() -> None:
    X = np.array([[1.0, 3.0, 0.1], [3.0, 5.0, 0.1], [5.0, 7.0, 0.1]])
    plain = dataclasses.replace(registry.load("wine"), X=X, y=np.array([0, 1, 1]), preprocessing="none")
    found = plain.part("standardised")
    np.testing.assert_allclose(found.X.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(found.X.std(axis=0), [1.0, 1.0, 0.0], rtol=1e-15)
    assert (found.name, found.preprocessing) == ("wine:standardised", "columns of mean 0 and variance 1")
    known = registry.load("wine_standardised").X
    np.testing.assert_allclose(registry.load("wine:standardised").X, known, rtol=1e-12, atol=1e-14)
    with pytest.raises(UnknownPart, match="is sparse"):
        dataclasses.replace(plain, X=csr_array(X)).part("standardised")
