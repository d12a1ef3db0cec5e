"""Sets that want an account: where they are, where to put them, and archives unpacked that were put there."""

from __future__ import annotations

from pathlib import Path

from pianobench.datasets.fetching.described import described
from pianobench.datasets.fetching.unzip import unzip
from pianobench.datasets.fetching.wanted import File, Wanted


def wanted(key: str, place: Path, anew: bool) -> Wanted:
    """The files that the user puts into the folder of the set, or zip archives of them.

    Raises
    ------
    FetchError
        The catalogue does not have it, or an archive cannot be unpacked.
    """
    del anew
    facts = described("kaggle", key)
    archives = facts.get("archives", [])
    for archive in archives:
        missing = [name for name in (*facts["files"], *archives) if not (place / name).exists()]
        if missing and (place / archive).is_file():
            unzip(place / archive, missing, place)
    files = tuple(File(name, "", sha256) for name, sha256 in facts["files"].items())
    return Wanted(files, facts, notes=tuple(facts["notes"]), by_hand=instructions(key, place))


def instructions(key: str, place: Path) -> str:
    """What the user must do, in lines."""
    facts = described("kaggle", key)
    lines = [
        f"kaggle/{key} wants an account, and that its rules are agreed to: it cannot be fetched for you.",
        f"1. {facts['page']}",
        *(f"   {line}" for line in facts["sizes"]),
        f"2. Put {' and '.join(facts['files'])} into {place}" + (", or the zip archive" if facts["archives"] else ""),
        f"3. pianobench fetch kaggle/{key}    (checks that they are there and records their checksums)",
        *(f"   {line}" for line in facts["notes"]),
    ]
    return "\n".join(lines)
