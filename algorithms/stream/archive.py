"""A stream's state in a file: arrays as npz, all else as JSON within; nothing is pickled, nothing executed.

Arrays of one value are kept as that value, and whole numbers in as few bytes as they need; the same bits come back.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

HEAD = "head.json"
_NARROW = (np.uint8, np.uint16, np.uint32)
_DAMAGE = (
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    EOFError,
    OSError,
    OverflowError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    zipfile.BadZipFile,
    zlib.error,
)


class UnusableArchive(ValueError):
    """The file is no such archive, of a later version, or damaged."""


def write(path: Path, form: str, version: int, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an archive: `path` is the old one or the new one, never half, even if the machine stops.

    Parameters
    ----------
    path : Path
    form : str
        What it is, as ``pianobench stream``.
    version : int
        Of the form.
    facts : mapping
        Of what JSON holds.
    arrays : mapping of str to array
        Of numbers.
    """
    packed, kept = {}, {}
    for name, values in arrays.items():
        packed[name], kept[name] = _packed(np.ascontiguousarray(values).reshape(np.shape(values)))
    head = {"format": form, "version": version, "facts": dict(facts), "arrays": kept}
    text = np.frombuffer(json.dumps(head, allow_nan=False).encode(), np.uint8)
    part = _part(path)
    try:
        with open(part, "wb") as stream:
            np.savez(stream, **{HEAD: text, **packed})  # type: ignore[arg-type]
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, path)
        _settle(path.parent)
    except BaseException:
        part.unlink(missing_ok=True)  # on a full disk each byte counts
        raise


def read(path: Path, form: str, version: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Facts and arrays of an archive.

    Raises
    ------
    FileNotFoundError
    UnusableArchive
        The message has no remedy: the caller knows it.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files}
        head = json.loads(arrays.pop(HEAD).tobytes())
        found, number = head["format"], head["version"]
        if found != form or not isinstance(number, int):
            raise KeyError(f"its format is {found!r}, version {number!r}")
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        raise UnusableArchive(f"{path} is no {form} file, or damaged ({_short(error)})") from None
    if number > version:
        raise UnusableArchive(
            f"{path} has format {number}, and this pianobench reads up to {version}: install a newer one"
        )
    try:
        return head["facts"], {name: _unpacked(arrays[name], kept) for name, kept in head["arrays"].items()}
    except _DAMAGE as error:
        raise UnusableArchive(f"{path} is damaged ({_short(error)})") from None


def check_room(path: Path) -> None:
    """Find out whether an archive could be written, before there is anything to lose.

    Raises
    ------
    OSError
    """
    part = _part(path)
    part.touch()
    part.unlink()


def clear(path: Path) -> None:
    """Remove what writers of this archive left that were killed."""
    for part in path.parent.glob(f".{path.name}.*.part"):
        number = part.name.removesuffix(".part").rpartition(".")[2]
        if number.isdigit() and not psutil.pid_exists(int(number)):
            part.unlink(missing_ok=True)


def part(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Those arrays whose names begin so, without the beginning."""
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}


def _part(path: Path) -> Path:
    """Where it is written before it takes its place: a process has its own."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _packed(values: NDArray[Any]) -> tuple[NDArray[Any], dict[str, Any]]:
    """An array that holds the same in fewer bytes, and how to get it back."""
    kept = {"type": values.dtype.str, "shape": list(values.shape)}
    bits = values.reshape(-1).view(f"u{values.itemsize}") if values.dtype.kind in "iuf" else None
    if bits is not None and bits.size > 1 and (bits == bits[0]).all():
        return values.reshape(-1)[:1], kept
    if values.dtype.kind in "iu" and values.size and values.min() >= 0:
        most = values.max()
        for kind in _NARROW:
            if most <= np.iinfo(kind).max and np.dtype(kind).itemsize < values.itemsize:
                return values.astype(kind), kept
    return values, kept


def _unpacked(values: NDArray[Any], kept: dict[str, Any]) -> NDArray[Any]:
    shape = tuple(kept["shape"])
    values = values.astype(np.dtype(kept["type"]), copy=False)
    if values.shape == (1,) and shape != (1,):
        return np.full(shape, values[0])
    if values.shape != shape:
        raise ValueError(f"an array has shape {values.shape} where {shape} is written")
    return values


def _settle(folder: Path) -> None:
    """Make the new name outlast a power cut, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 120 else f"{text[:120]} ..."
