"""Files .dat of KEEL: ARFF with lists of inputs and outputs and ranges of numbers, or bare rows without a header."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from pianobench.datasets.readers.arff import relation
from pianobench.datasets.readers.arff_grammar import Attribute, Header, cells, decoded, header
from pianobench.datasets.readers.packed import lines, opened
from pianobench.datasets.readers.parsed import Parsed, Unreadable


def read(
    paths: Sequence[Path], *, target: str | int | None = None, drop: Sequence[str | int] = (), missing: str = "error"
) -> Parsed:
    """Attributes and labels of KEEL's files.

    Parameters
    ----------
    paths : sequence of Path
        Each with a header, or none: then the columns are called 0, 1, 2, ..., all but the labels are numbers, and
        no names are kept.
    target, drop, missing
        As of `pianobench.datasets.readers.arff.read`; the labels are what ``@outputs`` names where it does, and
        ``<null>`` is missing too.

    Raises
    ------
    Unreadable
    """
    headers = [_header(path, target) for path in paths]
    return relation(paths, headers, target, drop, missing, null="<null>")


def _header(path: Path, target: str | int | None) -> tuple[Header, int]:
    with opened(path) as stream:
        numbered = lines(stream, path)
        for number, line in numbered:
            text = decoded(line, number, path)
            if text.startswith("@"):
                return header(chain([(number, line)], numbered), path)
            if text and not text.startswith("%"):
                try:
                    found = cells(text)
                except Unreadable as error:
                    raise Unreadable(str(error), number, path) from error
                return _bare(len(found), target), number - 1
    raise Unreadable("it is empty: a header, or rows of values with commas between, are expected", path=path)


def _bare(columns: int, target: str | int | None) -> Header:
    """The header that rows without one would have."""
    names = [str(i) for i in range(columns)]
    try:
        label = names[-1 if target is None else int(target)]
    except (ValueError, IndexError):
        raise Unreadable(f"it has no header, so target is a position from 0 to {columns - 1}, not {target!r}") from None
    return Header(tuple(Attribute(name, "string" if name == label else "numeric") for name in names), named=False)
