"""Which reader reads which log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pianobench.datasets.kdd12.kinds import KINDS, Generated, OfFile
from pianobench.datasets.kdd12.named import wanted
from pianobench.datasets.kdd12.sifted import TOLERATED
from pianobench.datasets.readers.packed import opened
from pianobench.datasets.readers.parsed import Unreadable
from pianobench.datasets.reading import UnusableFile
from pianobench.datasets.streamed.clicks import ClickFile, ClickSource
from pianobench.datasets.streamed.reader import Reader
from pianobench.datasets.streamed.svmlight import SvmlightLog

FORMS = ("svmlight", "kdd12")
_CLICKS = re.compile(rb"\d+(\t\d+){11}\r?\n?")
_BEGINNING = 1 << 16  # bytes that the form is told from


def generated(name: str) -> Generated | OfFile | None:
    """What a name of the registry such as ``kdd12:rows=3e7`` stands for; None where it is no click log's name.

    Raises
    ------
    UnusableParameter
    """
    family, _, text = name.partition(":")
    return wanted(family, text) if family in KINDS and not Path(name).exists() else None


def open_log(
    log: str,
    *,
    form: str | None = None,
    model: int = 1,
    classes: Sequence[int] | None = None,
    tolerated: float = TOLERATED,
) -> Reader:
    """A reader of a log, at its beginning.

    Parameters
    ----------
    log : str
        Path of a file, or a name of the registry's click logs, whose rows need no file.
    form : {"svmlight", "kdd12"}, optional
        By default the first line tells.
    model : int
        Features of clicks.
    classes : sequence of int, optional
        Of an svmlight log.
    tolerated : float
        Share of a click log's lines that may be left out.

    Raises
    ------
    UnusableFile, UnusableParameter, MissingData
    """
    named = generated(log)
    if isinstance(named, OfFile):
        path = named.path()
        named.source()  # says what is missing
        assert path is not None
    else:
        path = Path(log)
    form = form or ("kdd12" if named is not None else _form(path))
    if form not in FORMS:
        raise UnusableFile(f"there is no form {form!r} of logs: {' and '.join(FORMS)} can be read")
    if form == "svmlight":
        return SvmlightLog(path, classes)
    if classes is not None:
        raise UnusableFile("classes are given: a log of clicks has its own, views without a click and clicks")
    if isinstance(named, Generated):
        return ClickSource(named, named.rows, model)
    return ClickFile(path, model, tolerated)


def _form(path: Path) -> str:
    """The form that the first line has; svmlight where it is that of no click log."""
    if not path.is_file():
        return "svmlight"  # whose reader says that it is not there
    try:
        with opened(path) as stream:
            return "kdd12" if _CLICKS.fullmatch(stream.readline(_BEGINNING)) else "svmlight"
    except (Unreadable, OSError):
        return "svmlight"  # whose reader says what is wrong
