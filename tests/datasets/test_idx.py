"""IDX: every type and number of dimensions of the form, and files that are not what their headers say."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pianobench.datasets import reading
from pianobench.datasets.readers import idx
from pianobench.datasets.readers.parsed import Unreadable

CODES = {"u1": 0x08, "i1": 0x09, ">i2": 0x0B, ">i4": 0x0C, ">f4": 0x0D, ">f8": 0x0E}
IMAGES = np.arange(24).reshape(4, 2, 3)
LABELS = np.array([7, 0, 7, 1])


def written(path: Path, array: np.ndarray, kind: str = "u1", more: bytes = b"", cut: int | None = None) -> Path:
    head = struct.pack(f">HBB{array.ndim}I", 0, CODES[kind], array.ndim, *array.shape)
    data = (head + array.astype(kind).tobytes())[:cut] + more
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def pair(tmp_path: Path) -> list[Path]:
    return [written(tmp_path / "images", IMAGES), written(tmp_path / "labels", LABELS)]


@pytest.mark.parametrize("kind", CODES)
def test_every_type_of_element(tmp_path: Path, kind: str) -> None:
    most = np.finfo(kind) if kind[1] == "f" else np.iinfo(kind)
    images = np.array([[most.min, most.max], [0, 1]], dtype=kind)
    found = idx.read([written(tmp_path / "x", images, kind), written(tmp_path / "y", np.array([3, 5]), kind)])
    np.testing.assert_array_equal(found.X, images.astype(np.float64))
    assert (found.X.dtype, found.y.tolist(), found.y.dtype) == (np.float64, [3, 5], np.int64)
    assert found.notes == ()


def test_images_are_rows_in_the_order_of_the_file(pair: list[Path]) -> None:
    for files in (pair, pair[::-1]):
        found = idx.read(files)
        np.testing.assert_array_equal(found.X, IMAGES.reshape(4, 6))
        np.testing.assert_array_equal(found.y, LABELS)
        assert found.sizes == (4,)


def test_parts_are_read_together_and_scaled(tmp_path: Path, pair: list[Path]) -> None:
    test = [written(tmp_path / "t.idx3-ubyte.gz", IMAGES[:2] + 100), written(tmp_path / "t.idx1-ubyte.gz", LABELS[:2])]
    data = reading.read([*pair, *test], form="idx", scale=255)
    np.testing.assert_array_equal(data.X, np.concatenate([IMAGES, IMAGES[:2] + 100]).reshape(6, 6) / 255)
    assert data.parts == (("train", 4), ("test", 2))
    assert (data.classes, data.preprocessing) == (("0", "1", "7"), "divided by 255")
    assert reading.read(test).n == 2, "the ending tells"


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        ({"cut": 3}, {}, "images: it is not IDX: the first four bytes are 0, 0, a type"),
        ({"cut": 0}, {}, "images: it is not IDX"),
        ({"cut": 15}, {}, "images: its header of 3 dimensions is cut off"),
        ({"cut": 39}, {}, "images: its header says 4 x 2 x 3 elements of 1 bytes, and it is cut off: copy"),
        ({"more": b"\0"}, {}, "images: its header says 4 x 2 x 3 elements of 1 bytes, and bytes are left over"),
        ({"kind": ">f8", "more": b"\0"}, {}, "images: its header says 4 x 2 x 3 elements of 8 bytes, and bytes"),
        ({"array": IMAGES[:3]}, {}, "labels: it has 4 labels for the 3 images of images: give the two"),
        ({"array": IMAGES[:0]}, {}, "images: its header says 0 x 2 x 3 elements: it is empty"),
        ({"array": LABELS}, {}, r"images: the two files of a part have dimensions 1 \(images\) and 1 \(labels\)"),
        ({}, {"array": IMAGES}, r"images: .* have dimensions 3 \(images\) and 3 \(labels\); labels have one"),
        ({}, {"array": LABELS + 0.5, "kind": ">f4"}, "labels: its labels are not whole numbers"),
        ({}, {"array": LABELS * np.nan, "kind": ">f8"}, "labels: its labels are not whole numbers"),
        ({}, {"array": LABELS + 2.0**53, "kind": ">f8"}, "labels: its labels are not whole numbers"),
        ({"array": IMAGES * np.nan, "kind": ">f8"}, {}, "images: X has values that are not finite"),
    ],
)
def test_wrong_files_are_named_with_what_is_wrong(
    tmp_path: Path, images: dict[str, Any], labels: dict[str, Any], message: str
) -> None:
    files = [
        written(tmp_path / "images", **{"array": IMAGES, **images}),
        written(tmp_path / "labels", **{"array": LABELS, **labels}),
    ]
    with pytest.raises(reading.UnusableFile, match=rf"^{message}") as caught:
        reading.read(files, form="idx")
    assert "\n" not in str(caught.value)


def test_other_types_dimensions_and_numbers_of_files_are_refused(pair: list[Path]) -> None:
    for head in (b"\0\0\x0a\x01", b"\0\0\x08\0", b"\0\1\x08\x01", b"PK\3\4"):
        pair[0].write_bytes(head + b"\0\0\0\1\7")
        with pytest.raises(Unreadable, match="it is not IDX"):
            idx.read(pair)
    for files in ([], pair[:1], [*pair, pair[0]]):
        with pytest.raises(Unreadable, match=f"in two files, and {len(files)} in all were given: give images and"):
            idx.read(files)
    for scale in (0, -1, float("nan"), float("inf"), True, "255"):
        with pytest.raises(Unreadable, match=r"scale=.*: a positive number is expected"):
            idx.read(pair, scale=scale)  # type: ignore[arg-type]


def test_parts_must_have_as_many_columns(tmp_path: Path, pair: list[Path]) -> None:
    other = [written(tmp_path / "wide", np.ones((2, 9))), written(tmp_path / "few", LABELS[:2])]
    with pytest.raises(Unreadable, match="a sample has 9 elements, those of images and labels have 6: give parts"):
        idx.read([*pair, *other])


def test_memory_is_neither_that_of_a_false_header_nor_that_of_bytes_left_over(pair: list[Path]) -> None:
    for size, more, message in ((2**32 - 1, 1000, "it is cut off"), (1, 1 << 24, "bytes are left over")):
        pair[0].write_bytes(struct.pack(">HBB4I", 0, 0x0E, 4, *(size,) * 4) + b"\0" * more)
        tracemalloc.start()
        with pytest.raises(Unreadable, match=f"and {message}"):
            idx.read(pair)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1 << 23


def test_fashion_mnist(shared_data: Path) -> None:
    folder = shared_data / "fashion_mnist_t10k"
    files = [folder / "t10k-images-idx3-ubyte.gz", folder / "t10k-labels-idx1-ubyte.gz"]
    data = reading.read(files, form="idx", cache=False)
    assert (data.n, data.d, data.m) == (10000, 784, 10)
    assert np.bincount(data.y).tolist() == [1000] * 10
    assert (data.X.min(), data.X.max(), np.count_nonzero(data.X)) == (0, 255, 3920817)
