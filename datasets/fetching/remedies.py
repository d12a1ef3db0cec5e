"""What can be done without a network, in lines for the user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_WITHOUT = "Data that need no network: `pianobench datasets` says which are here, and --data FILE takes your own."


def files(name: str, why: str, urls: Sequence[str], place: Path) -> str:
    """Where the files of a set can be put."""
    return "\n".join(
        (
            f"{name}: {why}. Nothing was changed; what has come of a file is gone on from.",
            f"By hand: put {' and '.join(urls)}",
            f"into {place} and run this again: it checks what is there.",
            _WITHOUT,
        )
    )


def description(name: str, why: str, api: str, place: Path) -> str:
    """The same where OpenML has to be asked first which file it is."""
    key = place.name
    if not key.isdigit():
        by_hand = "By hand: look its number up on OpenML's site; `pianobench fetch openml/NUMBER` says more."
        return "\n".join((f"{name}: {why}. Nothing was changed.", by_hand, _WITHOUT))
    return "\n".join(
        (
            f"{name}: {why}. Nothing was changed.",
            f"By hand: save {api}/data/{key} as {place / 'description.json'},",
            f'and the file that its "url" names as {place / f"{key}.arff"}; run this again: it checks what is there.',
            _WITHOUT,
        )
    )


def folder(name: str, why: str, place: Path) -> str:
    """The same where a library fetches."""
    return "\n".join(
        (
            f"{name}: {why}. Nothing was changed.",
            f"By hand: fetch it on another machine, and copy its folder here, to {place}.",
            _WITHOUT,
        )
    )
