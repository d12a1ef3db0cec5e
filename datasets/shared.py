"""Larger real sets in a folder beside the checkout, or where $PIANOBENCH_SHARED_DATA says: used there, never copied."""

from collections.abc import Iterator

from pianobench.datasets import catalogue
from pianobench.datasets.entry import Entry
from pianobench.datasets.places import shared_folder

REMEDY = "PIANOBENCH_SHARED_DATA names the folder that has it"


def entries() -> Iterator[Entry]:
    """What the catalogue describes, and whether it is here."""
    yield from catalogue.entries("shared", "shared", shared_folder(), REMEDY)
