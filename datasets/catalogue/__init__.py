"""Data sets in files, written down in TOML: one table each, in a TOML file for each place that they come from.

=======================  ===========================================================================================
key of the table         name in the registry
``description``, ...     ``field``, ``origin``, ``licence``: one line each
``n``, ``d``, ``m``      samples of all parts, columns, classes, as they are read
``nnz``                  stored values, of sparse sets
``checksum``             of the arrays as they are read, see `pianobench.datasets.dataset.checksum`
``files``                name and SHA-256 of each file, in the order of the parts
``parts``                names of the parts, where the origin splits the data
``form``, ``options``    how the files are read; the ending tells the form where it is left out
=======================  ===========================================================================================
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from pianobench.datasets.dataset import Dataset
from pianobench.datasets.entry import Entry, MissingData

FOLDER = Path(__file__).parent


@cache
def tables(name: str) -> dict[str, dict[str, Any]]:
    """The tables of one TOML file of this folder."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))


def entries(name: str, source: str, place: Path | None, remedy: str) -> Iterator[Entry]:
    """What a TOML file describes.

    Parameters
    ----------
    name : str
        Of the TOML file.
    source : str
        As `Entry` has it.
    place : Path or None
        Folder that the names of the files are relative to; None where there is none.
    remedy : str
        What brings files that are not there.
    """
    for key, facts in tables(name).items():
        about = {one: facts[one] for one in ("description", "field", "origin", "licence", "n", "d", "m")}
        here = place is not None and all((place / file).is_file() for file in facts["files"])
        yield Entry(
            name=key,
            source=source,
            read=partial(read, key, facts, place, remedy),
            missing=None if here else remedy,
            nnz=facts.get("nnz"),
            checksum=facts.get("checksum"),
            **about,
        )


def read(name: str, facts: Mapping[str, Any], place: Path | None, remedy: str) -> Dataset:
    """A data set from the files that its table names.

    Raises
    ------
    MissingData
        A file is not there.
    UnusableFile
        A file has other bytes than those that the table was written for.
    """
    from pianobench.datasets import reading

    paths = [Path() if place is None else place / file for file in facts["files"]]
    for path, expected in zip(paths, facts["files"].values(), strict=True):
        if not path.is_file():
            raise MissingData(f"{name} is not on this machine, {path.name} is missing: {remedy}")
        if expected and reading.digest(path) != expected:
            raise reading.UnusableFile(
                f"{path.name} of {name} is another file than the one described (its SHA-256 differs): "
                "it is damaged or of another version; replace it"
            )
    found = reading.read(
        paths,
        form=facts.get("form"),
        parts=facts.get("parts", ()),
        least_classes=min(2, facts["m"]),
        **facts.get("options", {}),
    )
    return replace(found, name=name, **{one: facts[one] for one in ("description", "field", "origin", "licence")})
