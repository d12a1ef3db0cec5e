"""Synthetic data sets in the registry: each family by its name, with parameters after a colon where they differ."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import partial

from pianobench.datasets.dataset import Dataset
from pianobench.datasets.entry import Entry
from pianobench.datasets.generators import FAMILIES, Generator, UnusableParameter, parse

# Of the defaults. A generator that makes other bytes is another version, with another sum.
_CHECKSUMS: dict[str, str] = {
    "correlated": "509dd6712d5d9ecc01d26ad25c4785a4ae4ba335a25ae1a1d933be5a0ead237c",
    "counts": "7fa94041aadcceb06691d921ee7bcb0f0cef2d79ec6cbe379acad041a541aeb8",
    "dense": "344b879c98e3527d4a2039f3096bf3d390eab4af26a72d6da9c349ce8de035ec",
    "ill_scaled": "2a3166a767b9ddbaffbbc13829dda33e04fc01a9417e062971ae7336d0c2adc9",
    "many_classes": "a15334b8e4c2289886d36e2e9efb651904b00513e8670b11ff2b73bc4f511b29",
    "nonnegative": "fa75fbafee2fba3cdf841f208f233ccc3ba6eb0fdd23a03fd01f31bcf32a4bb4",
    "planted_sparse": "a68d7c3eeddfdfdba45df905875450c83cf1c7fa9f4d4cf84720f307aef833a9",
    "separable": "dea4c6c3588f8d2b9a9b4d455e54cc13e4d719832e99e8fffbf3c32eef9ab67c",
    "shifted": "fd269854630d343b0d78fb36e18a551476841664ca9927df29b4ac5fb967c33e",
    "sparse_text": "122a58aeb2f53991170f29f6c849c8ba4cbab9a0998a77b68e89315e8ee661f5",
}


def entries() -> Iterator[Entry]:
    """The families, with the sizes of their defaults."""
    for family, kind in FAMILIES.items():
        default = kind()
        yield Entry(
            name=family,
            description=kind.about,
            field="synthetic",
            origin=default.origin,
            licence="generated, none needed",
            n=default.n,
            d=default.d,
            m=default.m,
            source="generated",
            read=partial(load, family),
            checksum=_CHECKSUMS[family],
        )


def generator(family: str, text: str = "") -> Generator:
    """The generator that a name of the registry stands for.

    Parameters
    ----------
    family : str
        A name of `FAMILIES`.
    text : str
        Parameters such as ``n=1e6,seed=3``; those left out have their defaults.

    Raises
    ------
    UnusableParameter
        There is no such family or parameter, or a value is out of its range.
    """
    if family not in FAMILIES:
        near = difflib.get_close_matches(family, FAMILIES, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UnusableParameter(f"no family of generators is called {family!r}: {hint}there are {', '.join(FAMILIES)}")
    kind = FAMILIES[family]
    return kind(**parse(kind, text))


def load(family: str, text: str = "") -> Dataset:
    """A synthetic data set, named by its family and the parameters that differ from the defaults.

    Raises
    ------
    UnusableParameter
        As `generator` has it, or the data would not fit into memory.
    """
    return generator(family, text).dataset()
