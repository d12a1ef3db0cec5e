"""The sets that are part of the package: described, readable, with their terms, and equal to other copies."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from pianobench.datasets import bundled, catalogue, reading
from pianobench.datasets.bundled.make import SOURCES
from pianobench.datasets.dataset import Dataset
from pianobench.datasets.entry import MissingData

FACTS = catalogue.tables("bundled")
ENTRIES = {entry.name: entry for entry in bundled.entries()}
LICENSES = bundled.FOLDER / "LICENSES"
OTHER = {"__init__.py", "make.py", "README.md"}


@pytest.fixture(scope="module")
def loaded() -> dict[str, Dataset]:
    return {}


def get(name: str, loaded: dict[str, Dataset]) -> Dataset:
    if name not in loaded:
        loaded[name] = ENTRIES[name].load()
    return loaded[name]


def test_folder_holds_what_the_catalogue_lists() -> None:
    listed = [file for facts in FACTS.values() for file in facts["files"]]
    held = {path.name for path in bundled.FOLDER.iterdir() if path.is_file()}
    assert sorted(listed) == sorted(held - OTHER)
    assert {path.name for path in LICENSES.iterdir()} == {facts["terms"] for facts in FACTS.values()}


def test_folder_is_small() -> None:
    assert sum(path.stat().st_size for path in bundled.FOLDER.rglob("*") if path.suffix != ".pyc") <= 3_000_000


@pytest.mark.parametrize("name", FACTS)
def test_files_are_those_described(name: str) -> None:
    for file, expected in FACTS[name]["files"].items():
        assert reading.digest(bundled.FOLDER / file) == expected


@pytest.mark.parametrize("name", FACTS)
def test_reads_as_described(name: str, loaded: dict[str, Dataset]) -> None:
    entry, found = ENTRIES[name], get(name, loaded)
    assert entry.missing is None
    assert entry.source == "bundled"
    assert (found.n, found.d, found.m) == (entry.n, entry.d, entry.m)
    assert found.checksum == entry.checksum
    assert np.bincount(found.y, minlength=found.m).min() > 0
    assert found.preprocessing.startswith(FACTS[name]["preprocessing"])


@pytest.mark.parametrize("name", FACTS)
def test_terms_name_the_set(name: str) -> None:
    head, _, text = (LICENSES / FACTS[name]["terms"]).read_text("utf-8").partition("\n" + "-" * 100 + "\n")
    data, changes = head.split("\nChanges:\n")
    assert f"\n  {name}: " in data
    assert f"  {name}: " in changes
    assert re.search("permi|waive", text)


def test_terms_and_make_agree_on_the_sources() -> None:
    texts = [path.read_text("utf-8") for path in LICENSES.iterdir()]
    stated = [line for text in texts for line in re.findall(r"^  ([0-9a-f]{64})  (.*)", text, re.M)]
    assert sorted(stated) == sorted((digest, source.partition("/")[2]) for source, digest in SOURCES.items())


def test_table_of_the_readme() -> None:
    text = (bundled.FOLDER / "README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| (\w+) \| (\d+ \| \d+ \| \d+) \|", text, re.M))
    assert rows == {name: f"{entry.n} | {entry.d} | {entry.m}" for name, entry in ENTRIES.items()}


def test_without_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "FOLDER", tmp_path)
    entry = next(bundled.entries())
    with pytest.raises(MissingData, match="install it again"):
        entry.load()


def test_khan_srbct_is_that_of_another_copy(loaded: dict[str, Dataset], shared_data: Path) -> None:
    ours = get("khan_srbct", loaded)
    with np.load(shared_data / "khan_srbct" / "khan.npz") as other:
        assert np.array_equal(ours.X, np.concatenate([other["X_train"], other["X_test"]]))
        assert np.array_equal(ours.y, np.concatenate([other["y_train"], other["y_test"]]) - 1)
        assert ours.classes == tuple(other["class_names"])
        assert dict(ours.parts) == {"train": len(other["y_train"]), "test": len(other["y_test"])}


def test_nci60_is_that_of_another_copy(loaded: dict[str, Dataset], shared_data: Path) -> None:
    ours = get("nci60", loaded)
    with np.load(shared_data / "nci60" / "nci60.npz") as other:  # rounded to float32
        assert np.array_equal(ours.X.astype(np.float32), other["X"])
        assert np.array_equal(np.array(ours.classes)[ours.y], other["y"])


def test_image_segments_are_those_of_another_copy(loaded: dict[str, Dataset], shared_data: Path) -> None:
    ours = get("image_segments", loaded)
    rows = [
        line.split(", ")
        for line in gzip.decompress((shared_data / "segment" / "segment.dat.gz").read_bytes()).decode().splitlines()
        if line and not line.startswith("@")
    ]
    table = np.array(rows, dtype=np.float64)  # another order of the rows, float32's decimals, numbers for classes
    X, labels = np.delete(table[:, :-1], 2, axis=1), table[:, -1]
    theirs, mine = (np.lexsort(np.round(one, 3).T) for one in (X, ours.X))
    np.testing.assert_allclose(ours.X[mine], X[theirs], rtol=1e-7, atol=1e-7)
    pairs = set(zip(labels[theirs].tolist(), ours.y[mine].tolist(), strict=True))
    assert len(pairs) == ours.m


def test_fashion_mnist_small_is_the_beginning_of_each_class(loaded: dict[str, Dataset], shared_data: Path) -> None:
    ours = get("fashion_mnist_small", loaded).part("test")
    folder = shared_data / "fashion_mnist_t10k"
    images, labels = (
        np.frombuffer(gzip.decompress((folder / f"t10k-{name}-ubyte.gz").read_bytes()), np.uint8)
        for name in ("images-idx3", "labels-idx1")
    )
    images, labels = images[16:].reshape(-1, 784), labels[8:]
    for code in range(10):
        assert np.array_equal(ours.X[ours.y == code] * 255, images[labels == code][:100])
