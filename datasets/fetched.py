"""Sets that `pianobench fetch` brings: those of its catalogue, here or not, and whatever else it has brought."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from pianobench.datasets.dataset import Dataset
from pianobench.datasets.entry import Entry, MissingData
from pianobench.datasets.fetching import described, receipts
from pianobench.datasets.fetching.receipts import Receipt
from pianobench.datasets.fetching.wanted import FetchError

_TEXTS = ("description", "field", "origin", "licence")


def entries() -> Iterator[Entry]:
    """What can be read, or could be after `pianobench fetch`: all whose size is known and that a reader reads."""
    here = {receipt.name: receipt for receipt in receipts.every()}
    for name in dict.fromkeys([*described.names(), *here]):
        receipt = here.get(name)
        facts = facts_of(name, receipt)
        n, d, m = ((receipt and getattr(receipt, one)) or facts.get(one) for one in "ndm")
        if n and d and m and facts.get("form"):
            about: dict[str, Any] = {text: str(facts.get(text) or "not stated") for text in _TEXTS}
            yield Entry(
                name=name,
                n=n,
                d=d,
                m=m,
                source="fetched",
                read=partial(read, name),
                missing=None if receipt else remedy(name),
                nnz=receipt.nnz if receipt else None,
                checksum=receipt.checksum if receipt else None,
                **about,
            )


def remedy(name: str) -> str | None:
    """What brings a set by this name; None where the name is none that could be fetched.

    ``openml/61`` could be although no entry has it before.
    """
    try:
        source, key = receipts.split(name)
        if source != "openml":
            described.described(source, key)
    except FetchError:
        return None
    return f"`pianobench fetch {name}` brings it"


def facts_of(name: str, receipt: Receipt | None) -> Mapping[str, Any]:
    """What the catalogue says, else what was said when it was fetched."""
    return described.described(*receipts.split(name)) if name in described.names() else receipt.facts if receipt else {}


def read(name: str) -> Dataset:
    """A fetched set, its files held against the checksums of the day on which they came.

    Raises
    ------
    MissingData
        It has not been fetched.
    UnusableFile
        A file has changed since, or cannot be read.
    """
    from pianobench.datasets import reading

    receipt = receipts.load(name)
    if receipt is None:
        raise MissingData(f"{name} is not on this machine: {remedy(name)}")
    file = receipts.changed(receipt)
    if file is not None:
        raise reading.UnusableFile(
            f"{file} of {name} is gone or has changed since it was fetched: `pianobench fetch {name}` fetches it anew"
        )
    facts, place = facts_of(name, receipt), receipts.folder(name)
    if not facts.get("form"):
        raise reading.UnusableFile(f"{name} is not read by its name: read a file of {place} with --data")
    found = reading.read(
        [place / got.name for got in receipt.files],
        form=facts["form"],
        parts=tuple(facts.get("parts", ())),
        **facts.get("options", {}),
    )
    about: dict[str, Any] = {text: str(facts.get(text) or "not stated") for text in _TEXTS}
    return replace(found, name=name, **about)
