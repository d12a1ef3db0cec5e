"""Real sets that are part of the package: README.md tells where they come from, LICENSES what holds for each."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from pianobench.datasets import catalogue
from pianobench.datasets.dataset import Dataset
from pianobench.datasets.entry import Entry

FOLDER = Path(__file__).parent
REMEDY = "files of the package are missing: install it again"


def entries() -> Iterator[Entry]:
    """What the catalogue describes; it is there wherever the package is."""
    facts = catalogue.tables("bundled")
    for entry in catalogue.entries("bundled", "bundled", FOLDER, REMEDY):
        yield replace(entry, read=partial(_read, entry.read, facts[entry.name]["preprocessing"]))


def _read(read: Callable[[], Dataset], made: str) -> Dataset:
    """With what was done to the origin's data before they became a file of this folder."""
    found = read()
    return replace(found, preprocessing=made if found.preprocessing == "none" else f"{made}; {found.preprocessing}")
