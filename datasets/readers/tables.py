"""Text files of labelled data: svmlight and CSV, also packed by gzip, bzip2 or xz."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.parsed import Parsed, Unreadable, stacked

_MARKS = (",", ";", "\t")  # between the cells of a line; where there is none, white space
_NUMBER = re.compile(r"\s*([-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?nan|[-+]?inf(inity)?|)\s*", re.IGNORECASE)
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def read(paths: Sequence[Path], *, target: str | None = None) -> Parsed:
    """Tables (provisional)."""
    parts = [_one(path, target) for path in paths]
    return stacked([X for X, _ in parts], [y for _, y in parts])


def _one(path: Path, target: str | None) -> tuple[Any, NDArray[Any]]:
    """Features and labels of a table: cells between commas, semicolons, tabs or blanks, with a header line or none.

    Parameters
    ----------
    path : Path
    target : str, optional
        Name of the column of labels, or its number from 0 where there is no header line; the last by default.

    Raises
    ------
    Unreadable
    """
    table = _table(path)
    names = list(table.columns)
    if len(names) < 2:
        raise Unreadable("it has one column: features and a column of labels are expected, with commas between")
    column = names[-1] if target is None else target
    if column not in names:
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        raise Unreadable(f"no column is called {target!r}: give --target one of {', '.join(names[:8])}{more}")
    features = table.drop(columns=column)
    for name in features:
        _check_numbers(features[name], str(name), guess=target is None)
    labels = table[column]
    if labels.isna().any():
        line = int(np.argmax(labels.isna().to_numpy()))
        raise Unreadable(f"column {column!r} has no label in row {line}: drop rows without a label")
    text = not np.issubdtype(labels.to_numpy().dtype, np.number) and labels.dtype != bool
    return features.to_numpy(np.float64), labels.to_numpy(str) if text else labels.to_numpy()


def _table(path: Path) -> Any:
    import pandas as pd

    try:
        with _open(path, "rt") as stream:
            lines = [str(stream.readline()).strip() for _ in range(2)]
        mark = max(_MARKS, key=lines[0].count) if any(mark in lines[0] for mark in _MARKS) else r"\s+"
        first, second = ([cell.strip().strip("\"'") for cell in re.split(mark, line)] for line in lines)
        headed = _headed(first, second)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # lines longer than the header lose their end
            table = pd.read_csv(path, header=0 if headed else None, sep=mark, skipinitialspace=True, index_col=False)
    except (ValueError, OSError, EOFError, lzma.LZMAError, pd.errors.ParserWarning) as error:
        raise Unreadable(
            f"it is not a table ({_first_line(str(error))}): lines of equally many cells in UTF-8 are expected"
        ) from error
    if headed and "" in first:
        raise Unreadable(
            f"column {first.index('')} has no name in the first line: is it the number of the row? Save the file "
            "without it (index=False in pandas), or give it a name"
        )
    table.columns = pd.Index([str(name).strip() for name in table.columns])
    return table


def _headed(first: list[str], second: list[str]) -> bool:
    """Whether the first line names columns: text stands above a number there, or it counts 0, 1, 2, ..."""
    number = _NUMBER.fullmatch
    return first[:-1] == [str(i) for i in range(len(first) - 1)] or any(
        not number(name) and number(value) for name, value in zip(first, second, strict=False)
    )


def _check_numbers(values: Any, name: str, guess: bool) -> None:
    import pandas as pd

    if pd.api.types.is_numeric_dtype(values):
        return
    example = next((str(v) for v in values if not _NUMBER.fullmatch(str(v))), str(values.iloc[0]))
    perhaps = f"; if it is the target, give --target {name}" if guess else ""
    raise Unreadable(
        f"column {name!r} holds {example!r}, which is not a number: encode it first, for example one-hot{perhaps}"
    )


def _open(path: Path, mode: str) -> Any:
    more = {"encoding": "utf-8-sig"} if "t" in mode else {}
    return _OPENERS.get(path.suffix.lower(), open)(path, mode, **more)


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else "it ends too soon"
