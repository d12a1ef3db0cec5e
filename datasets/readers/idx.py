"""IDX, the form of MNIST's files: big-endian arrays, images in one file and their labels in another.

The header is two zero bytes, a byte for the type of the elements, a byte for the number of dimensions, and their sizes
in four bytes each: http://yann.lecun.com/exdb/mnist/.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.packed import opened
from pianobench.datasets.readers.parsed import Parsed, Unreadable

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_CHUNK = 1 << 20  # bytes
_LARGEST = sys.float_info.max
_PAIRS = "give images and labels of each part in turn, as train-images-idx3-ubyte and train-labels-idx1-ubyte"


def read(paths: Sequence[Path], *, scale: float = 1.0) -> Parsed:
    """Images and labels of IDX files.

    Parameters
    ----------
    paths : sequence of Path
        Two files for each part: an array of two dimensions or more, a sample for each index of the first, and one of
        the labels, in either order.
    scale : float
        By which features are divided: 255 brings grey levels to [0, 1].

    Returns
    -------
    Parsed
        X is float64, (n, d), which holds all types of IDX exactly; d is the number of elements of a sample, in the
        order of the file. y is int64.

    Raises
    ------
    Unreadable
    """
    if type(scale) not in (int, float) or not 0 < scale <= _LARGEST:
        raise Unreadable(f"scale={scale!r}: a positive number is expected, by which features are divided")
    if not paths or len(paths) % 2:
        raise Unreadable(f"IDX keeps images and labels in two files, and {len(paths)} in all were given: {_PAIRS}")
    arrays: list[NDArray[Any]] = []
    labels: list[NDArray[np.int64]] = []
    for pair in zip(paths[::2], paths[1::2], strict=True):
        images, y = _pair(*pair)
        if arrays and images.shape[1] != arrays[0].shape[1]:
            raise Unreadable(
                f"a sample has {images.shape[1]} elements, those of {paths[0].name} and {paths[1].name} have "
                f"{arrays[0].shape[1]}: give parts of one data set",
                path=pair[0],
            )
        arrays.append(images)
        labels.append(y)
    sizes = tuple(len(y) for y in labels)
    X, start = np.empty((sum(sizes), arrays[0].shape[1])), 0
    for images in arrays:
        np.divide(images, scale, out=X[start : start + len(images)], dtype=np.float64)
        start += len(images)
    notes = () if scale == 1 else (f"divided by {scale:g}",)
    return Parsed(X, np.concatenate(labels), sizes, notes=notes)


def _pair(one: Path, other: Path) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Samples (n, d) and labels (n,) of two files."""
    found = {path: _array(path) for path in (one, other)}
    images, labels = sorted(found, key=lambda path: -found[path].ndim)
    if found[labels].ndim != 1 or found[images].ndim < 2:
        dimensions = " and ".join(f"{array.ndim} ({path.name})" for path, array in found.items())
        raise Unreadable(
            f"the two files of a part have dimensions {dimensions}; labels have one, images more: {_PAIRS}", path=one
        )
    X, y = found[images], found[labels]
    if len(X) != len(y):
        raise Unreadable(
            f"it has {len(y)} labels for the {len(X)} images of {images.name}: give the two files of one part",
            path=labels,
        )
    if not ((y == np.rint(y)) & (np.abs(y.astype(np.float64)) < 2**53)).all():
        raise Unreadable("its labels are not whole numbers: give classes, no real-valued targets", path=labels)
    return X.reshape(len(X), math.prod(X.shape[1:])), y.astype(np.int64)


def _array(path: Path) -> NDArray[Any]:
    """What a file holds, after its header has been held against its bytes."""
    with opened(path) as stream:
        zeros, code, ndim = struct.unpack(">HBB", stream.read(4).ljust(4, b"\0"))
        if zeros or code not in _TYPES or not ndim:
            raise Unreadable(
                "it is not IDX: the first four bytes are 0, 0, a type (8, 9, 11 to 14) and the number of dimensions; "
                f"{_PAIRS}",
                path=path,
            )
        sizes = stream.read(4 * ndim)
        if len(sizes) < 4 * ndim:
            raise Unreadable(f"its header of {ndim} dimensions is cut off: copy or fetch it again", path=path)
        shape = struct.unpack(f">{ndim}I", sizes)
        dtype = np.dtype(_TYPES[code])
        expected = math.prod(shape) * dtype.itemsize
        data = bytearray()
        while len(data) <= expected and (chunk := stream.read(_CHUNK)):
            data += chunk
    if len(data) != expected:
        what = "it is cut off" if len(data) < expected else "bytes are left over"
        raise Unreadable(
            f"its header says {' x '.join(map(str, shape))} elements of {dtype.itemsize} bytes, and {what}: "
            "copy or fetch it again",
            path=path,
        )
    if not expected:
        raise Unreadable(f"its header says {' x '.join(map(str, shape))} elements: it is empty", path=path)
    return np.frombuffer(data, dtype).reshape(shape)
