"""What a reader returns, and how it says that it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Unreadable(ValueError):
    """A file is not of its form: what is wrong and the remedy, and the line where there are lines.

    Parameters
    ----------
    what : str
        In one line, for the file's owner.
    line : int, optional
        From 1, of the unpacked text.
    path : Path, optional
        The file, where a data set has more than one; the first by default.
    """

    def __init__(self, what: str, line: int | None = None, path: Path | None = None) -> None:
        super().__init__(what if line is None else f"line {line}: {what}")
        self.path = path


@dataclass(frozen=True)
class Parsed:
    """Features and labels as they stand in the files.

    Parameters
    ----------
    X : ndarray (n, d) or scipy.sparse.csr_array (n, d)
        Numbers; the rows of the files one after another.
    y : ndarray (n,)
        Labels: whole numbers or texts.
    features : tuple of str, length d or 0
        Names of the columns; empty where the form has none.
    sizes : tuple of int
        Rows of each part, in order: of each file, or of each part that a file itself marks.
    notes : tuple of str
        What was decided or done that its owner may not expect, in a few words each: "categories of 3 columns one-hot".
    parts : tuple of str
        Names of the parts, where a file itself has them.
    """

    X: Any
    y: NDArray[Any]
    sizes: tuple[int, ...]
    features: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


def stacked(matrices: Sequence[Any], labels: Sequence[NDArray[Any]], **more: Any) -> Parsed:
    """The parts one below another; sparse ones are widened to the widest.

    Raises
    ------
    Unreadable
        Dense parts have different numbers of columns.
    """
    sizes = tuple(int(X.shape[0]) for X in matrices)
    if all(isinstance(X, np.ndarray) for X in matrices):
        widths = [X.shape[1:] for X in matrices]
        if len(set(widths)) > 1:
            raise Unreadable(f"the parts have {' and '.join(str(w[0]) for w in widths)} columns: give all the same")
        X = matrices[0] if len(matrices) == 1 else np.concatenate(matrices)
    else:
        from scipy.sparse import csr_array, vstack

        d = max(int(X.shape[1]) for X in matrices)
        wide = [csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], d)) for X in matrices]
        X = wide[0] if len(wide) == 1 else csr_array(vstack(wide, format="csr"))
    if len({y.dtype.kind in "SU" for y in labels}) > 1:
        labels = [y.astype(str) for y in labels]
    return Parsed(X, np.concatenate(labels), sizes, **more)
