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
    "correlated": "eb8defebef8b35de20507dedd7de73f036ff365517f4b76065b4bd1ec6c32342",
    "counts": "7fa94041aadcceb06691d921ee7bcb0f0cef2d79ec6cbe379acad041a541aeb8",
    "dense": "4a307a5473b09a4eed6faa35ddd89cc8de67647bcb5ae73fb031d5395dc14888",
    "ill_scaled": "7924d374b891f25e6d2b0f61fd5cda009f04e655232895d1f1e114f254cd7ec2",
    "many_classes": "6ae6a2242deafdfe9a7e18062f3ac9e3a49cf06f46050acd97e0440656a31d2e",
    "nonnegative": "cba51b13dd0d70ba141fbf03c3ee42aeedf9e6ca600f099781c3677b2e743304",
    "planted_sparse": "088e5b27aae9c4b4ed04da713d8a630d8dc7c258a2479d4f3f6f2d8cbc8b91cb",
    "separable": "1427c75c277518a0155eb3f0fc58e13fbc28cddd2ae25b7dfd310c747f3b7644",
    "shifted": "3e973ae5660d0db29d0d1dcce1add1a88f58fec0e81628974d1b45bfba9b4c98",
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
