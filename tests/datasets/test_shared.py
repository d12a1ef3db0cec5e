"""The larger real sets, where their folder is: each by its name, as the catalogue describes it."""

import re
from pathlib import Path

import pytest

from pianobench import datasets
from pianobench.datasets import catalogue, shared

# What the folder's own table counts otherwise: the label among the columns of the fixture, fields instead of hashed
# columns, numbers beside categories; nothing of d is said where it is None.
OTHERWISE = {"kdd12_raw_fixture": 12, "criteo_tiny": 13079, "criteo_ffm": 39, "avazu_sample": 22}


@pytest.fixture(autouse=True)
def _here(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIANOBENCH_SHARED_DATA", str(shared_data))


def test_every_folder_is_in_the_catalogue(shared_data: Path) -> None:
    folders = {path.name for path in shared_data.iterdir() if path.is_dir()}
    assert folders == set(catalogue.tables("shared"))
    assert len(folders) == 36


@pytest.mark.parametrize("name", catalogue.tables("shared"))
def test_a_set_has_the_sizes_and_the_bytes_of_the_catalogue(name: str, shared_data: Path) -> None:
    (entry,) = [one for one in shared.entries() if one.name == name]
    data = entry.load()
    assert (data.n, data.d, data.m) == (entry.n, entry.d, entry.m)
    assert data.checksum == entry.checksum
    assert getattr(data.X, "nnz", None) == entry.nnz
    assert [size for _, size in data.parts] == [] or sum(size for _, size in data.parts) == data.n
    loaded = datasets.load(name)  # the package's own copy of two of them
    assert (loaded.n, loaded.d, loaded.m) == (data.n, data.d, data.m)
    row = re.search(rf"^\| {name} \|(.*)$", (shared_data / "README.md").read_text("utf-8"), re.MULTILINE)
    assert row is not None
    n, d, m = (row[1].split("|")[i] for i in (1, 2, 3))
    assert sum(map(int, re.sub(r"\(.*\)", "", n).split("+"))) == data.n
    numbers = re.findall(r"\d+", d)
    assert str(OTHERWISE.get(name, data.d)) in numbers
    assert int(m) == data.m


def test_another_file_by_the_same_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIANOBENCH_SHARED_DATA", str(tmp_path))
    with pytest.raises(datasets.MissingData, match="glass is not on this machine: PIANOBENCH_SHARED_DATA names"):
        datasets.load("glass")
    (tmp_path / "glass").mkdir()
    (tmp_path / "glass" / "glass.csv.gz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"glass\.csv\.gz of glass is another file than the one described"):
        datasets.load("glass")
