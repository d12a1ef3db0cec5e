"""Large files in parsed form, so that text is parsed once: arrays on disk, named by all that decides them.

An entry is a text with the data set's facts and, beside it, its arrays as `handover` writes them, checked against
their checksum when they are read. What is damaged or cannot be written is as if it were not there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pianobench.datasets import handover
from pianobench.datasets.dataset import Dataset
from pianobench.datasets.places import cache_folder

WORTH = 1 << 18  # bytes: smaller files are parsed as fast as found
_LIBRARIES = ("numpy", "scipy", "pandas", "pyarrow", "scikit-learn")


def folder() -> Path:
    """Where the entries are."""
    return cache_folder() / "parsed"


def worth(files: Sequence[Path]) -> bool:
    """Whether finding the files' content is faster than parsing them."""
    return sum(path.stat().st_size for path in files) >= WORTH


def key(form: str, sums: Sequence[tuple[str, str]], parts: Sequence[str], options: dict[str, Any]) -> str:
    """Name of the entry: files, options, the readers' sources, and the libraries that they call."""
    facts = [form, list(sums), list(parts), sorted(options.items()), _readers()]
    return hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:32]


def load(key: str) -> Dataset | None:
    """The data set of an entry, or None."""
    try:
        facts = json.loads((folder() / f"{key}.json").read_text("utf-8"))
        X, y = handover.read(handover.folder(folder(), facts["checksum"]), facts.pop("checksum"))
        for name in ("classes", "features"):
            facts[name] = tuple(facts[name])
        for name in ("parts", "files"):
            facts[name] = tuple(tuple(pair) for pair in facts[name])
        return Dataset(X=X, y=y, **facts)
    except handover.CorruptData as damage:
        shutil.rmtree(damage.folder, ignore_errors=True)
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        pass
    return None


def save(key: str, dataset: Dataset) -> None:
    """Keep a data set, if the folder can be written to."""
    facts = {one.name: getattr(dataset, one.name) for one in fields(Dataset) if one.name not in "Xy"}
    text = json.dumps({**facts, "checksum": dataset.checksum})
    try:
        handover.write(dataset, folder())
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder(), suffix=".part", delete=False) as part:
            part.write(text)
        os.replace(part.name, folder() / f"{key}.json")
    except OSError:
        return


@cache
def _readers() -> list[str]:
    """What the parsed form depends on besides files and options."""
    own = Path(__file__).parent
    sources = [*sorted((own / "readers").glob("*.py")), own / "reading.py", own / "dataset.py"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    return [digest, *(version(library) for library in _LIBRARIES)]
