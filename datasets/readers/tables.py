"""Tables of rows and columns in text (CSV and its relatives) and in Parquet: numbers, and categories one-hot."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers import columns as cells
from pianobench.datasets.readers.chosen import choose, listed
from pianobench.datasets.readers.columns import is_number
from pianobench.datasets.readers.delimited import Delimited
from pianobench.datasets.readers.gathered import Gathered, gathered
from pianobench.datasets.readers.layout import delimited, separator_of
from pianobench.datasets.readers.missing import FILL, completed, gaps
from pianobench.datasets.readers.one_hot import Categorical, Numeric, categorical, side_by_side
from pianobench.datasets.readers.packed import ending
from pianobench.datasets.readers.parquet import Parquet, parquet
from pianobench.datasets.readers.parsed import Parsed, Unreadable

# A column of text with more categories than MANY, and than half of the rows, is an id or prose.
MANY = 100
_COMMA = re.compile(r"[-+]?\d*,\d+", re.ASCII)
_PAIR = re.compile(r"\d+:[-+.e\d]+", re.ASCII)
_LARGE = 2.0**53  # from here on, float64 does not hold all whole numbers


def read(
    paths: Sequence[Path],
    *,
    target: str | int | None = None,
    header: bool | None = None,
    separator: str | None = None,
    skip_rows: Sequence[int] = (),
    drop: Sequence[str | int] = (),
    columns: Sequence[str | int] = (),
    categories: Sequence[str | int] = (),
    missing: str = "error",
    missing_values: Sequence[str] = (),
) -> Parsed:
    """Features and labels of tables; columns and categories are one for all files.

    A column is named by its name, or by its position from 0 (from the end where negative). Numbers stay as they are,
    ``true`` and ``false`` are 1 and 0, and a column of other texts becomes a column of zeros and ones for each of its
    categories. The matrix is CSR if it has categories, more than 64 columns, and less than a quarter of its entries
    set.

    Parameters
    ----------
    paths : sequence of Path
    target : str or int, optional
        Column of the labels; the last by default.
    header : bool, optional
        Whether the first row names the columns. By default it does if it has a text above a number, or a name that
        another option has.
    separator : str, optional
        The character between cells, or its name: comma, semicolon, tab, bar, blanks. Guessed by default.
    skip_rows : sequence of int
        Lines to leave out, from 1: of comments, or of types below the header.
    drop : sequence of str or int
        Columns to leave out: the ids of rows.
    columns : sequence of str or int
        Instead of `drop`, the columns of features to keep.
    categories : sequence of str or int
        Columns that are categories although they look like numbers, or like ids.
    missing : str
        What to do where cells are missing: ``error``; ``drop`` their rows; ``mean``, numbers get the mean of their
        column over the first file, and where a category is missing, all its columns are zero; ``category``, likewise,
        but a missing category is a category of its own, ``colour=?``.
    missing_values : sequence of str
        Texts that mean a missing cell, besides those of `pianobench.datasets.readers.columns.MISSING`.

    Raises
    ------
    Unreadable
    """
    import pyarrow as pa

    if missing not in FILL:
        raise Unreadable(f"missing is {missing!r}: {', '.join(FILL)} are the choices")
    if header not in (None, True, False):
        raise Unreadable(f"header is {header!r}: true or false is expected")
    skip_rows = listed(skip_rows)
    if any(type(number) is not int or number < 1 for number in skip_rows):
        raise Unreadable(f"skip_rows is {skip_rows!r}: a list of numbers of lines is expected, from 1")
    separator = separator_of(separator)
    known = {str(one) for one in (target, *listed(drop), *listed(columns), *listed(categories))}
    first = _opened(paths[0], header, separator, skip_rows, known)
    files = [first, *(_opened(path, first.header, separator, skip_rows) for path in paths[1:])]
    chosen = choose(files, target, drop, columns, categories)
    empty = pa.array([*cells.MISSING, *(str(text).strip() for text in listed(missing_values))], pa.string())
    table = gathered(files, chosen, empty)
    _check_numbers(table)
    y, labelled = _labels(table, missing)
    features, notes = completed(table, _features(table), missing)
    sizes = table.sizes
    if missing == "drop":
        keep = labelled & ~gaps(features, len(y))
        features, y = [column.only(keep) for column in features], y[keep]
        sizes = [int(part.sum()) for part in np.split(keep, np.cumsum(sizes)[:-1])]
        if 0 in sizes:
            raise Unreadable("each row has a missing cell: drop columns, not rows", path=paths[sizes.index(0)])
        notes.append(f"{len(keep) - len(y)} rows with missing cells dropped")
    encoded = [column for column in features if isinstance(column, Categorical)]
    if len(features) == len(table.numeric) and missing != "drop":
        X, names = table.numbers, tuple(column.name for column in features)
    else:
        X, names = side_by_side(features, len(y))
    if encoded:
        notes.append(f"one-hot: {len(encoded)} columns into {sum(len(column.categories) for column in encoded)}")
    notes = [*(note for file in files for note in file.notes), *_rounded(table), *notes]
    return Parsed(X, y, tuple(sizes), names if first.header or encoded else (), tuple(dict.fromkeys(notes)))


def _opened(
    path: Path, header: bool | None, separator: str | None, skip_rows: Sequence[int], known: Collection[str] = ()
) -> Delimited | Parquet:
    if ending(path) != ".parquet":
        return delimited(path, separator, header, skip_rows, known)
    if header is False or separator or skip_rows:
        raise Unreadable("Parquet has names and no lines: leave out header, separator and skip_rows", path=path)
    return parquet(path)


def _check_numbers(table: Gathered) -> None:
    infinite = np.flatnonzero(np.isinf(table.summary.low) | np.isinf(table.summary.high))
    for j in infinite[table.summary.missing[infinite] < len(table.numbers)]:
        row = int(np.argmax(np.isinf(table.numbers[:, j])))
        raise table.unreadable(
            f"column {table.name(table.numeric[j])!r} has {table.numbers[row, j]}, infinite or beyond the numbers of "
            "float64: leave the row out, or give its text among missing_values",
            row,
        )


def _rounded(table: Gathered) -> Iterator[str]:
    large = np.maximum(table.summary.high, -table.summary.low) >= _LARGE
    for j in np.flatnonzero(large & (table.summary.missing < len(table.numbers))):
        if np.array_equal(table.numbers[:, j], np.round(table.numbers[:, j]), equal_nan=True):
            yield f"whole numbers beyond 2^53 rounded in column {table.name(table.numeric[j])!r}"


def _labels(table: Gathered, missing: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Labels (n,), and in which rows there is one."""
    target = table.texts[table.chosen.target]
    codes, values = target.codes(), cells.labels(target.texts())
    labelled = codes >= 0
    if not labelled.all() and (missing != "drop" or not len(values)):
        name = table.name(table.chosen.target)
        what = f"column {name!r} has no label here, and in {int((~labelled).sum())} rows in all: drop rows without one"
        raise table.unreadable(what, int(np.argmin(labelled)))
    return values[codes], labelled


def _features(table: Gathered) -> list[Numeric | Categorical]:
    """Columns in the order of the first file."""
    at = {position: j for j, position in enumerate(table.numeric)}
    found: list[Numeric | Categorical] = []
    for position in table.chosen.features:
        name = table.name(position)
        if position in at:
            j = at[position]
            found.append(Numeric(name, table.numbers[:, j], int(table.summary.missing[j])))
            continue
        codes, texts = table.texts[position].codes(), table.texts[position].texts()
        if position not in table.chosen.categories:
            if texts and {text.lower() for text in texts} <= {"true", "false"}:
                truth = np.array([*(text.lower() == "true" for text in texts), np.nan])
                found.append(Numeric(name, truth[codes], int(np.count_nonzero(codes < 0))))
                continue
            _check_categories(table, position, codes, texts)
        found.append(categorical(name, codes, texts))
    return found


def _check_categories(table: Gathered, position: int, codes: NDArray[np.int32], texts: list[str]) -> None:
    """Texts are categories, unless they look like numbers that were spoilt, like ids, or like prose."""
    name, n = table.name(position), len(codes)
    strange = [code for code, text in enumerate(texts) if not is_number(text)]
    if strange and all(_PAIR.fullmatch(texts[code]) for code in strange):
        raise Unreadable(f"column {name!r} has {texts[strange[0]]!r}, as svmlight has: give form = 'svmlight'")
    commas = [code for code in strange if _COMMA.fullmatch(texts[code])]
    if commas and len(commas) == len(strange):
        raise table.unreadable(
            f"column {name!r} has {texts[commas[0]]!r}: write numbers with a decimal point, and no mark of thousands",
            int(np.argmax(codes == commas[0])),
        )
    counts = np.bincount(codes + 1, minlength=len(texts) + 1)[1:]
    if strange and 2 * counts[strange].sum() < counts.sum():
        raise table.unreadable(
            f"column {name!r} has {texts[strange[0]]!r} among numbers: give it among missing_values if it means a "
            "missing cell, or the column among categories",
            int(np.argmax(codes == strange[0])),
        )
    if len(texts) > MANY and 2 * len(texts) > n:
        raise Unreadable(
            f"column {name!r} has {len(texts)} different texts in {n} rows, {texts[0][:40]!r} first: leave ids out "
            "with drop, read prose with form = 'texts', or name the column among categories"
        )
