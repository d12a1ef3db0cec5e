"""Data: registry, readers, fetchers with checksums, generators."""

if not __name__.startswith("pianobench."):
    raise ImportError("import pianobench.datasets, not datasets: the folder is a part of pianobench")

from pianobench.datasets.dataset import Dataset, UnknownPart
from pianobench.datasets.entry import Entry, MissingData
from pianobench.datasets.registry import UnknownDataset, entries, load, names

__all__ = ["Dataset", "Entry", "MissingData", "UnknownDataset", "UnknownPart", "entries", "load", "names"]
