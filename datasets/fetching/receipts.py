"""What has been fetched: a receipt in the folder of each set, written last."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pianobench.datasets.fetching.download import digest
from pianobench.datasets.fetching.wanted import FetchError
from pianobench.datasets.places import fetched_folder

SOURCES = ("kaggle", "libsvm", "openml", "sklearn")
RECEIPT = "receipt.json"
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.,()+-]{0,199}")


@dataclass(frozen=True)
class Got:
    """One file that is there.

    Parameters
    ----------
    name, url : str
        The address is empty where the user or a library brought it.
    bytes : int
    sha256 : str
    """

    name: str
    url: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Receipt:
    """What has been fetched under one name.

    Parameters
    ----------
    name : str
        ``source/key``.
    date : str
        When, in UTC.
    files : tuple of Got
        In the order of the parts.
    facts : mapping
        As `Wanted` has them.
    n, d, m : int or None
        Samples, columns and classes as they were read; None where they have not been.
    nnz : int or None
        Stored values, if it is sparse.
    checksum : str or None
        Of the arrays that were read.
    """

    name: str
    date: str
    files: tuple[Got, ...]
    facts: Mapping[str, Any]
    n: int | None = None
    d: int | None = None
    m: int | None = None
    nnz: int | None = None
    checksum: str | None = None


def split(name: str) -> tuple[str, str]:
    """Source and key of a name.

    Raises
    ------
    FetchError
        It is not ``source/key``.
    """
    source, _, key = name.partition("/")
    if source not in SOURCES or not _KEY.fullmatch(key):
        raise FetchError(
            f"{name!r}: SOURCE/NAME is expected, with a source of {', '.join(SOURCES)}: for example libsvm/letter"
        )
    return source, key


def folder(name: str) -> Path:
    """Where the files of a name are, or would be."""
    return fetched_folder().joinpath(*split(name))


def save(receipt: Receipt) -> None:
    """Write it beside the files, whole or not at all."""
    path = folder(receipt.name) / RECEIPT
    part = path.with_name(f"{RECEIPT}.{os.getpid()}.part")
    part.write_text(json.dumps(asdict(receipt), indent=1), "utf-8")
    os.replace(part, path)


def load(name: str) -> Receipt | None:
    """The receipt of a name; None if there is none, or a damaged one."""
    try:
        facts = json.loads((folder(name) / RECEIPT).read_text("utf-8"))
        found = Receipt(**{**facts, "files": tuple(Got(**one) for one in facts["files"])})
        plain = all(isinstance(one["bytes"], int) and Path(one["name"]).name == one["name"] for one in facts["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return replace(found, name=name) if plain and found.files and isinstance(found.facts, dict) else None


def every() -> Iterator[Receipt]:
    """All receipts, by name."""
    for path in sorted(fetched_folder().glob(f"*/*/{RECEIPT}")):
        name = f"{path.parent.parent.name}/{path.parent.name}"
        try:
            found = load(name)
        except FetchError:  # a folder that somebody else made
            continue
        if found is not None:
            yield found


def changed(receipt: Receipt) -> str | None:
    """Name of the first file that is missing or has other bytes than those fetched; None if all are as they came."""
    place = folder(receipt.name)
    for got in receipt.files:
        path = place / got.name
        if not path.is_file() or path.stat().st_size != got.bytes or digest(path) != got.sha256:
            return got.name
    return None
