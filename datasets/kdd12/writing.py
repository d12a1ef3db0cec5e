"""Generated clicks as files of the official names and layout: the readers take them for the real ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from pianobench.datasets.kdd12 import effects, text
from pianobench.datasets.kdd12.clicks import CHUNK, COUNTS, Clicks
from pianobench.datasets.kdd12.layout import COLUMNS, Log, Some

Progress = Callable[[str, int], None]
"""Is told the name of the file, and the rows so far."""

TRAINING, HELD_OUT, PROFILES = "training.txt", "held_out.txt", "userid_profile.txt"
TEXTS = {
    "query": ("queryid_tokensid.txt", 5),
    "keyword": ("purchasedkeywordid_tokensid.txt", 4),
    "title": ("titleid_tokensid.txt", 12),
    "description": ("descriptionid_tokensid.txt", 24),
}
"""File and largest number of tokens of each kind of text."""

_SEPARATORS = b"\t" * (len(COLUMNS) - 1) + b"\n"
_WORDS, _FIVE = 1_070_866, np.uint64(5)  # different tokens; age bands below the last


def write(clicks: Clicks, folder: Path, *, tables: bool = True, progress: Progress | None = None) -> tuple[Path, ...]:
    """Write the training rows, the test rows where there are any, and the side tables.

    The tables have the most frequent identifiers, one for each row of clicks at most: users and texts of the tail are
    unknown, as some of the real ones are. Equal parameters write equal bytes; memory is that of a chunk of rows.

    Parameters
    ----------
    clicks : Clicks
    folder : Path
        Is made where it is not there. Each file is put into its place when it is whole.
    tables : bool
        Whether to write the side tables.
    progress : callable, optional
        Is told the name of a file, and the rows so far.

    Returns
    -------
    tuple of Path
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {TRAINING: _clicks(Some(clicks, 0, clicks.rows).blocks())}
    if clicks.test_rows:
        files[HELD_OUT] = _clicks(clicks.blocks(start=clicks.rows))
    if tables:
        files[PROFILES] = _profiles(clicks)
        files |= {name: _texts(clicks, kind, most) for kind, (name, most) in TEXTS.items()}
    for name, pieces in files.items():
        part = folder / f"{name}.part"
        with open(part, "wb") as stream:
            rows = 0
            for count, piece in pieces:
                stream.write(piece)
                rows += count
                if progress is not None:
                    progress(name, rows)
        os.replace(part, folder / name)
    return tuple(folder / name for name in files)


def _clicks(logs: Iterable[Log]) -> Iterator[tuple[int, bytes]]:
    for log in logs:
        yield len(log), text.lines(tuple(log.values), _SEPARATORS)


def _numbers(clicks: Clicks, kind: str, first: int) -> Iterator[effects.Words]:
    stop = min(COUNTS[kind], first + clicks.total)
    for start in range(first, stop, CHUNK):
        yield np.arange(start, min(start + CHUNK, stop), dtype=np.uint64)


def _profiles(clicks: Clicks) -> Iterator[tuple[int, bytes]]:
    """Gender 0 (unknown), 1 or 2, and age 1 … 6; user 0, the unknown one, has none."""
    salt = effects.salt(clicks.family, clicks.version, clicks.seed, "profile")
    for user in _numbers(clicks, "user", 1):
        word = effects.mixed(user, salt)
        gender = np.minimum(word % _FIVE, 2)
        yield len(user), text.lines((user, gender, (word >> np.uint64(32)) % np.uint64(6) + np.uint64(1)), b"\t\t\n")


def _texts(clicks: Clicks, kind: str, most: int) -> Iterator[tuple[int, bytes]]:
    salt = effects.salt(clicks.family, clicks.version, clicks.seed, kind, "tokens")
    for number in _numbers(clicks, kind, 0):
        word = effects.mixed(number, salt)
        places = (effects.pair(word, np.full_like(word, place)) for place in range(most))
        tokens = [effects.long_tailed(place, _WORDS, 4) for place in places]
        yield len(number), text.lists(number, tokens, (word % np.uint64(most)).astype(np.int64) + 1)
