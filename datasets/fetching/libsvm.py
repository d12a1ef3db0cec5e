"""Sets of LIBSVM's page of multi-class data: the catalogue has those whose files and sizes are known."""

from __future__ import annotations

from pathlib import Path

from pianobench.datasets.fetching.described import described
from pianobench.datasets.fetching.wanted import File, Wanted

BASE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/"


def wanted(key: str, place: Path, anew: bool) -> Wanted:
    """The files of a set of the catalogue.

    Raises
    ------
    FetchError
        The catalogue does not have it.
    """
    del place, anew
    facts = described("libsvm", key)
    files = tuple(File(path.rpartition("/")[2], BASE + path, sha256) for path, sha256 in facts["files"].items())
    return Wanted(files, facts)
