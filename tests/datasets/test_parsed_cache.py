"""Large files are parsed once: what is kept comes back as it was, and what could not be trusted is parsed anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pianobench.datasets import parsed_cache, reading
from pianobench.datasets.readers import svmlight


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PIANOBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(parsed_cache, "WORTH", 10)
    return tmp_path / "cache" / "parsed"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A line for each time that the reader has worked."""
    calls: list[Any] = []
    real = svmlight.read

    def counted(paths: Any, *, base: int | None = None, n_features: int | None = None, fields: bool = False) -> Any:
        calls.append(paths)
        return real(paths, base=base, n_features=n_features, fields=fields)

    monkeypatch.setattr(svmlight, "read", counted)
    return calls


def file(tmp_path: Path, text: str = "0 1:1.5 4:2\n1 2:3\n", name: str = "a.svm") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def same(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())
    np.testing.assert_array_equal(one.y, other.y)
    for name in ("name", "classes", "features", "preprocessing", "parts", "files", "checksum"):
        assert getattr(one, name) == getattr(other, name)


def test_the_second_time_nothing_is_parsed(tmp_path: Path, cache: Path, parsed: list[Any]) -> None:
    paths = [file(tmp_path), file(tmp_path, "1 1:1\n", "b.svm")]
    first, second = (reading.read(paths, parts=("train", "test")) for _ in range(2))
    same(first, second)
    assert second.parts == (("train", 2), ("test", 1))
    assert len(parsed) == 1
    assert len(list(cache.glob("*.json"))) == 1


def test_other_bytes_options_parts_or_readers_are_other_entries(
    tmp_path: Path, parsed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(tmp_path)
    reading.read(path)
    for number, options in enumerate(({"base": 1}, {"n_features": 9}, {"dense": True}, {"parts": ("train",)})):
        reading.read(path, **options)  # type: ignore[arg-type]
        assert len(parsed) == number + 2
    file(tmp_path, "0 1:1.5 4:2\n1 2:4\n")
    assert reading.read(path).X.toarray()[1, 1] == 4
    assert len(parsed) == 6
    monkeypatch.setattr(parsed_cache, "_readers", lambda: ["another version"])
    reading.read(path)
    assert len(parsed) == 7
    reading.read(path, cache=False)
    assert len(parsed) == 8


@pytest.mark.parametrize("damage", ["text", "facts", "array", "cut", "gone"])
def test_what_is_damaged_is_parsed_and_kept_anew(tmp_path: Path, cache: Path, parsed: list[Any], damage: str) -> None:
    path = file(tmp_path)
    first = reading.read(path)
    (facts,) = cache.glob("*.json")
    (data,) = cache.glob("*/X_data.npy")
    if damage == "text":
        facts.write_text("{")
    elif damage == "facts":
        facts.write_text(facts.read_text().replace('"classes"', '"clases"'))
    elif damage == "array":
        np.save(data, np.load(data) + 1)
    elif damage == "cut":
        data.write_bytes(data.read_bytes()[:-8])
    else:
        data.unlink()
    same(first, reading.read(path))
    assert len(parsed) == 2
    same(first, reading.read(path))
    assert len(parsed) == 2


def test_a_folder_that_cannot_be_written_changes_nothing(tmp_path: Path, cache: Path, parsed: list[Any]) -> None:
    cache.parent.write_text("a file where the folder should be")
    path = file(tmp_path)
    same(reading.read(path), reading.read(path))
    assert len(parsed) == 2


def test_small_files_are_not_kept(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_cache, "WORTH", 10**6)
    reading.read(file(tmp_path))
    assert not cache.exists()
