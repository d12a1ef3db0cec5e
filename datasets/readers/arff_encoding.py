"""From attributes to columns of features: a number is a column, a category one for each of its values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets.readers.arff_grammar import Attribute, shown
from pianobench.datasets.readers.arff_values import Block
from pianobench.datasets.readers.columns import Numbers
from pianobench.datasets.readers.one_hot import DENSITY, WIDE
from pianobench.datasets.readers.packed import FREE, RATIO
from pianobench.datasets.readers.parsed import Unreadable

_ENTRY = 16  # bytes of an entry of CSR, with room for its row


class Encoding:
    """X, grown block by block.

    Parameters
    ----------
    attributes : sequence of Attribute
    wanted : sequence of int
        Positions of those that are features.
    """

    def __init__(self, attributes: Sequence[Attribute], wanted: Sequence[int]) -> None:
        self._attributes = attributes
        self._wanted = np.array(wanted, np.int64)
        self._nominal = [i for i in wanted if attributes[i].kind == "nominal"]
        widths = [len(attributes[i].values) if attributes[i].kind == "nominal" else 1 for i in wanted]
        starts = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])
        self._start = dict(zip(wanted, starts.tolist(), strict=False))
        self._d = int(starts[-1])
        # Of dense rows; with sparse rows X is sparse too.
        self._sparse: bool | None = True if self._d > WIDE and len(wanted) < DENSITY * self._d else None
        self._rows = Numbers(self._d)
        self.n = 0
        self._ends: list[int] = []
        self._entries: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]] = []
        self._implied = 0
        self._most = 0
        self._path = Path()
        self._first: dict[int, int] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns: ``colour=red`` for the value red of colour."""
        found: list[str] = []
        for i in self._wanted.tolist():
            one = self._attributes[i]
            found += [f"{one.name}={value}" for value in one.values] if one.kind == "nominal" else [one.name]
        return tuple(found)

    def start(self, path: Path, declared: Sequence[Attribute]) -> None:
        """The blocks that follow are of this file, which declares its attributes so."""
        self._first = {i: self._attributes[i].values.index(declared[i].values[0]) for i in self._nominal}
        self._ends.append(self.n)
        self._path = path
        self._most += max(FREE, RATIO * path.stat().st_size)

    def add(self, block: Block) -> None:
        """Rows below those that are there.

        Raises
        ------
        Unreadable
            Sparse rows after dense ones, or far more entries than the file has bytes for.
        """
        rows = len(block.y)
        if not rows:
            return
        if block.entries is None and not self._sparse:
            self._sparse = False
            self._add_dense(block, rows)
        elif block.entries is not None and self._sparse is False:
            raise Unreadable("sparse and dense rows are mixed: write all in one way", path=self._path)
        else:
            self._sparse = True
            self._add_sparse(block, rows)
        self.n += rows

    def _add_dense(self, block: Block, rows: int) -> None:
        out = np.zeros((rows, self._d))
        for i, column in block.columns.items():
            start = self._start[i]
            if self._attributes[i].kind == "nominal":
                there = np.flatnonzero(column >= 0)
                out[there, start + column[there]] = 1
            else:
                out[:, start] = column
        self._rows.add(out)

    def _add_sparse(self, block: Block, rows: int) -> None:
        row, column, value = [], [], []
        codes: dict[int, NDArray[Any]] = {}
        if block.entries is not None:
            self._count(rows * len(self._nominal))
            codes = {i: np.full(rows, self._first[i], np.int64) for i in self._nominal}
            at, position, found = block.entries
            numeric = np.ones(len(at), bool)
            order = np.argsort(position, kind="stable")
            for i in self._nominal:
                low, high = np.searchsorted(position, (i, i + 1), sorter=order)
                mine = order[low:high]
                codes[i][at[mine]] = np.nan_to_num(found[mine], nan=-1).astype(np.int64)
                numeric[mine] = False
            starts = np.array([self._start[i] for i in self._wanted.tolist()], np.int64)
            row.append(at[numeric])
            column.append(starts[np.searchsorted(self._wanted, position[numeric])])
            value.append(found[numeric])
        for i, given in block.columns.items():
            if self._attributes[i].kind == "nominal":
                codes[i] = given
            else:
                there = np.flatnonzero(given)
                row.append(there)
                column.append(np.full(len(there), self._start[i]))
                value.append(given[there])
        for i, given in codes.items():
            there = np.flatnonzero(given >= 0)
            row.append(there)
            column.append(self._start[i] + given[there])
            value.append(np.ones(len(there)))
        self._entries.append(
            (
                np.concatenate(row) + self.n,
                np.concatenate(column).astype(np.int32 if self._d < 2**31 else np.int64),
                np.concatenate(value),
            )
        )

    def _count(self, entries: int) -> None:
        self._implied += entries
        if self._implied * _ENTRY > self._most:
            raise Unreadable(
                f"its categories come to more than {self._implied} entries that are not written down, far more than "
                "its bytes: drop nominal attributes, or declare them numeric",
                path=self._path,
            )

    def finish(self) -> tuple[Any, tuple[int, ...], list[str]]:
        """X, rows of each file, and what was done.

        Raises
        ------
        Unreadable
            Missing values cannot be filled in: the first file has no value of that column.
        """
        ends = [*self._ends[1:], self.n]
        notes = []
        if self._nominal:
            what = f"{len(self._nominal)} nominal attributes" if len(self._nominal) > 1 else "1 nominal attribute"
            notes.append(f"{what} one-hot, two columns for a binary one")
        if self._sparse:
            from scipy.sparse import coo_array

            row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
            self._entries.clear()
            X: Any = coo_array((value, (row, column)), shape=(self.n, self._d)).tocsr()
            if self._nominal:
                notes.append("what sparse rows leave out of nominal attributes is the first value")
        else:
            X = self._rows.rows()
        filled = self._fill(X, ends[0])
        if filled:
            notes.append(f"missing values of {filled} columns filled by the mean of the first file")
        if self._sparse:
            X.eliminate_zeros()
        return X, tuple(np.diff([0, *ends]).tolist()), notes

    def _fill(self, X: Any, first: int) -> int:
        """Put column means of the first rows in the place of NaN; how many columns had some."""
        values = X.data if self._sparse else X
        absent = np.isnan(values)
        if not absent.any():
            return 0
        if self._sparse:
            column = X.indices
            top = column[: X.indptr[first]], values[: X.indptr[first]]
            missing = np.bincount(top[0][np.isnan(top[1])], minlength=self._d)
            total = np.bincount(top[0], np.nan_to_num(top[1]), minlength=self._d)
            touched = np.unique(column[absent])
        else:
            missing, total = np.isnan(X[:first]).sum(axis=0), np.nansum(X[:first], axis=0)
            touched = np.flatnonzero(absent.any(axis=0))
        known = first - missing
        if not known[touched].all():
            name = self.names[touched[known[touched] == 0][0]]
            raise Unreadable(f"column {shown(name)} has no value in the first file to take the mean of: drop it")
        means = total / np.maximum(known, 1)
        if self._sparse:
            X.data[absent] = means[X.indices[absent]]
        else:
            where = np.nonzero(absent)
            X[where] = means[where[1]]
        return len(touched)
