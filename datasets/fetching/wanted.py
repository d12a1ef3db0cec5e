"""What a source says of a data set before it is fetched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class FetchError(ValueError):
    """A data set cannot be fetched; the message says what is wrong and the remedy."""


class ByHand(FetchError):
    """Only the user can bring the files; the message says from where, and where to put them."""


@dataclass(frozen=True)
class File:
    """One file of a data set.

    Parameters
    ----------
    name : str
        In the folder of the set, without a folder of its own.
    url : str
        Empty where it cannot be downloaded.
    sha256, md5 : str
        In hexadecimal digits; empty where they are not known.
    """

    name: str
    url: str = ""
    sha256: str = ""
    md5: str = ""


@dataclass(frozen=True)
class Wanted:
    """The files of a data set, and how they are read.

    Parameters
    ----------
    files : tuple of File
        In the order of the parts.
    facts : mapping
        ``description``, ``field``, ``origin``, ``licence``; ``form``, ``parts``, ``options`` for the reader, no form
        where none reads it; ``n``, ``d``, ``m`` where they are known.
    notes : tuple of str
        What the user should know about the choice made.
    produce : callable, optional
        Writes the files into a folder, in place of downloads.
    by_hand : str
        Instructions where files have no address.
    """

    files: tuple[File, ...]
    facts: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    produce: Callable[[Path], None] | None = None
    by_hand: str = field(default="", repr=False)
