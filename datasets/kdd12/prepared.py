"""Encoded train and test rows, kept on disk under a hash of all that decides them.

Rows are encoded a block at a time and written at once: 34 bytes a row of model 1 and 8 for the counts, mapped into
memory when they are read. Only the tables of rates grow, with the number of different identifiers.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.kdd12.encoded import Encoded
from pianobench.datasets.kdd12.features import Features, Recipe
from pianobench.datasets.kdd12.layout import Source
from pianobench.datasets.places import cache_folder
from pianobench.datasets.reading import UnusableFile, digest

Progress = Callable[[str, int], None]
"""Is told what is being encoded, and the rows so far."""

_FACTS, _COUNTS = "facts.json", ("clicks", "views")


@dataclass(frozen=True, eq=False)
class Prepared:
    """A log ready for training.

    Parameters
    ----------
    recipe : Recipe
    parts : mapping of str to Encoded
        ``train`` and those that were encoded by its rates.
    key : str
        Hash of rows, recipe and the source of this package.
    remarks : str
        Lines of files that were left out, and why; empty where none was.
    """

    recipe: Recipe
    parts: Mapping[str, Encoded]
    key: str
    remarks: str = ""

    @property
    def train(self) -> Encoded:
        """The rows that rates and bins were learned on."""
        return self.parts["train"]

    @property
    def test(self) -> Encoded:
        """Rows that nothing was learned on."""
        return self.parts["test"]


def folder() -> Path:
    """Where encoded rows are kept."""
    return cache_folder() / "kdd12"


def key(train: Source, others: Mapping[str, Source], recipe: Recipe) -> str:
    """Name of the entry in the cache."""
    facts = [
        train.identity(),
        [(name, source.identity()) for name, source in others.items()],
        recipe.identity(),
        _own(),
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def prepare(
    train: Source,
    others: Mapping[str, Source],
    recipe: Recipe,
    *,
    root: Path | None = None,
    progress: Progress | None = None,
) -> Prepared:
    """Rates and bins of the training rows, and all rows encoded by them, unless it has been done.

    Parameters
    ----------
    train : Source
        Training rows.
    others : mapping of str to Source
        Parts that nothing is learned on: ``{"test": ...}``.
    recipe : Recipe
    root : Path, optional
        Folder of the cache; by default that of this machine.
    progress : callable, optional
        Is told the part that is being encoded, and its rows so far.

    Raises
    ------
    UnusableFile
        There is no training row, no click, or nothing but clicks; or a part is without rows.
    """
    name = key(train, others, recipe)
    place = (folder() if root is None else root) / name
    kept = _load(place, recipe, name)
    if kept is not None:
        return kept
    shutil.rmtree(place, ignore_errors=True)  # a damaged one
    place.parent.mkdir(parents=True, exist_ok=True)
    features = Features(train, recipe)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".writing-") as scratch:
        part = Path(scratch) / name
        part.mkdir()
        sizes = {"train": _encode(train, "train", features, part, 0, progress)}
        for title, source in others.items():
            sizes[title] = _encode(source, title, features, part, None, progress)
        told = dict.fromkeys(filter(None, (source.remarks() for source in (train, *others.values()))))
        sums = {path.name: digest(path) for path in sorted(part.iterdir())}
        facts = {"rows": sizes, "sums": sums, "remarks": "; ".join(told)}
        (part / _FACTS).write_text(json.dumps(facts), "utf-8")
        try:
            os.rename(part, place)
        except OSError:  # another process was faster
            if not place.is_dir():
                raise
    made = _load(place, recipe, name)
    if made is None:
        raise OSError(f"{place} has changed since it was written: delete it")
    return made


def _encode(
    source: Source, title: str, features: Features, place: Path, first: int | None, progress: Progress | None
) -> int:
    rows, columns = 0, _narrow(features.recipe)
    files: list[IO[bytes]] = []
    try:
        for kind in ("columns", *_COUNTS):
            files.append(open(place / f"{title}.{kind}", "wb"))  # noqa: SIM115 (closed below, all of them)
        for log in source.blocks():
            encoded = features.columns(log, None if first is None else first + rows)
            for file, values in zip(files, (encoded.astype(columns), log.clicks, log.views), strict=True):
                file.write(np.ascontiguousarray(values, None if file is files[0] else np.int32).tobytes())
            rows += len(log)
            if progress is not None:
                progress(title, rows)
    finally:
        for file in files:
            file.close()
    if not rows:
        raise UnusableFile(f"the part {title} has no row: give a source with more rows, or leave it out")
    return rows


def _load(place: Path, recipe: Recipe, name: str) -> Prepared | None:
    """What `prepare` has written; None where there is none, or another one than was written."""
    try:
        facts = json.loads((place / _FACTS).read_text("utf-8"))
        if any(digest(place / file) != expected for file, expected in facts["sums"].items()):
            return None
        parts = {title: _mapped(place, title, rows, recipe) for title, rows in facts["rows"].items()}
        return Prepared(recipe, parts, name, facts["remarks"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _mapped(place: Path, title: str, rows: int, recipe: Recipe) -> Encoded:
    def values(kind: str, dtype: Any, *shape: int) -> NDArray[Any]:
        return np.memmap(place / f"{title}.{kind}", dtype, "r", shape=(rows, *shape))

    clicks, views = (values(kind, np.int32) for kind in _COUNTS)
    return Encoded(values("columns", _narrow(recipe), recipe.per_row), clicks, views, recipe.d)


def _narrow(recipe: Recipe) -> Any:
    return np.uint16 if recipe.d <= 2**16 else np.uint32


@cache
def _own() -> str:
    """Hash of this package's source: other code may make other features."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes().replace(b"\r\n", b"\n") for path in sources)).hexdigest()
