"""The rows that have arrived: the newest batch, and of those before all, or a uniform sample of bounded size.

Each row has a key, a hash of the seed and its number in the log; the `capacity` rows of smallest key are kept. That is
a uniform sample without replacement at any time, and the same one however the rows were cut into batches.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from pianobench.problems import Penalty, Problem
from pianobench.problems.data import rows_in_memory
from pianobench.problems.design import Csr, Design
from pianobench.problems.engines.memory import MemoryRows, Part
from pianobench.problems.penalties import Array

GOLDEN, MIX1, MIX2 = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


class Log:
    """Rows that have arrived so far.

    Parameters
    ----------
    classes : array-like (m,)
        All classes that will ever come; two at least.
    penalty : Penalty
        Beside a sum over all rows so far.
    fit_intercept : bool
    capacity : int, optional
        Rows kept of the batches before the newest; None keeps all.
    seed : int
        Of the choice which are kept.

    Attributes
    ----------
    batches, rows : int
        So far.
    weight : float
        Of all rows so far, those no longer kept included.
    """

    def __init__(
        self,
        classes: ArrayLike,
        penalty: Penalty,
        *,
        fit_intercept: bool = True,
        capacity: int | None = None,
        seed: int = 0,
    ) -> None:
        if capacity is not None and (capacity != int(capacity) or capacity < 1):
            raise ValueError(f"capacity={capacity!r}: a whole number of rows, 1 or more, is expected, or None for all")
        self.classes = np.unique(np.asarray(classes))
        if self.classes.size < 2:
            raise ValueError(f"classes={self.classes.tolist()}: two classes at least are expected")
        self.penalty, self.fit_intercept, self.capacity, self.seed = penalty, fit_intercept, capacity, seed
        self.batches, self.rows, self.weight = 0, 0, 0.0
        self.newest: Part | None = None
        self._kept: tuple[Part, ...] = ()
        self._keys: tuple[NDArray[np.uint64], ...] = ()

    # arriving ---------------------------------------------------------------------------------------------------------

    def add(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> None:
        """The next batch: X (k, d), dense or CSR, labels y (k,), weights (k,).

        Sparse batches may be wider than those before, and narrower: columns missing are 0. Rows of weight 0 are left
        out, as if they had not come.

        Raises
        ------
        ValueError
            As `Problem` does, or the batch has a class, type or width that does not fit. The log stays as it was.
        """
        rows, _ = rows_in_memory(X, y, sample_weight, self.fit_intercept, self.classes)
        (part,) = rows.parts
        if not part.weights.all():  # a sample of such rows alone would have no loss
            part = part.slice(np.flatnonzero(part.weights))
        if self.newest is not None:
            part = self._fitting(part)
        self._retire()
        self.newest = part
        self.batches, self.rows, self.weight = self.batches + 1, self.rows + part.n, self.weight + part.weights.sum()

    def _fitting(self, part: Part) -> Part:
        assert self.newest is not None
        old, new = self.newest.design, part.design
        if type(old) is not type(new) or old.X.dtype != new.X.dtype:
            given, expected = (f"{type(one).__name__.lower()} {one.X.dtype}" for one in (new, old))
            raise ValueError(f"X is {given} and was {expected} before: give all batches in one layout and type")
        if new.d < old.d:
            new = _wide(new, old.d)
        elif new.d > old.d:
            self.widen(new.d)
        return replace(part, design=new)

    def widen(self, d: int) -> None:
        """Give all rows d columns, those that come new 0.

        Raises
        ------
        ValueError
            X is dense, where a missing column cannot be told from zeros, or d is smaller than it was.
        """
        if self.newest is not None:
            self.newest = replace(self.newest, design=_wide(self.newest.design, d))
        self._kept = tuple(replace(part, design=_wide(part.design, d)) for part in self._kept)

    def _retire(self) -> None:
        """The newest batch becomes an old one."""
        if self.newest is None:
            return
        n, first = self.newest.n, self.rows - self.newest.n
        keys = hashed(self.seed, np.arange(first, first + n, dtype=np.uint64))
        parts, all_keys = (*self._kept, self.newest), (*self._keys, keys)
        if self.capacity is not None and sum(map(len, all_keys)) > self.capacity:
            last = np.partition(np.concatenate(all_keys), self.capacity - 1)[self.capacity - 1]
            chosen = [np.flatnonzero(k <= last) for k in all_keys]
            parts = (_joined([part.slice(where) for part, where in zip(parts, chosen, strict=True)]),)
            all_keys = (np.concatenate([k[where] for k, where in zip(all_keys, chosen, strict=True)]),)
        self._kept, self._keys = parts, all_keys

    # asking -----------------------------------------------------------------------------------------------------------

    @property
    def d(self) -> int:
        """Features."""
        return 0 if self.newest is None else self.newest.design.d

    @property
    def kept(self) -> int:
        """Rows kept of the old batches."""
        return sum(part.n for part in self._kept)

    @property
    def old_rows(self) -> int:
        """Rows of the old batches, kept or not."""
        return self.rows - (0 if self.newest is None else self.newest.n)

    @property
    def complete(self) -> bool:
        """Whether all rows are kept, so that what is said of them is exact."""
        return self.kept == self.old_rows

    def newest_problem(self, total: float | None = None) -> Problem:
        """The newest batch alone, its weights scaled to add up to `total`."""
        assert self.newest is not None
        return self._problem((self.newest,), total)

    def old_problem(self) -> Problem | None:
        """The rows kept of the old batches, None where there are none."""
        return self._problem(self._kept, None) if self.kept else None

    def whole_problem(self) -> Problem:
        """All rows.

        Raises
        ------
        ValueError
            Not all are kept.
        """
        if not self.complete:
            raise ValueError(
                f"{self.kept:,} of {self.old_rows:,} old rows are kept: training on all asks for capacity=None"
            )
        assert self.newest is not None
        return self._problem((*self._kept, self.newest), None)

    def sample(self, new: int, old: int, rng: np.random.Generator) -> Problem:
        """Rows drawn without replacement: `new` of the newest batch, `old` of those kept before.

        Their weights are scaled to that of all rows so far, so that the penalty keeps its meaning; a new row and an old
        one weigh the same.
        """
        assert self.newest is not None
        drawn = [self.newest.slice(_drawn(self.newest.n, new, rng))] if new else []
        if old:
            places = _drawn(self.kept, old, rng)
            drawn += [part for part in MemoryRows(self._kept).take(places, None).parts if part.n]  # type: ignore[attr-defined]
        return self._problem((_joined(drawn),), self.weight)

    def held_out(self, share: float) -> tuple[Log, Problem | None]:
        """This log with a share of the newest rows left out, and those; they are chosen by their keys."""
        assert self.newest is not None
        first = self.rows - self.newest.n
        keys = hashed(~self.seed, np.arange(first, self.rows, dtype=np.uint64))
        out = keys < np.uint64(min(share * 2.0**64, 2.0**64 - 2048.0))
        if not out.any() or out.all():
            return self, None
        other = copy.copy(self)
        other.newest = self.newest.slice(np.flatnonzero(~out))
        other.rows = self.rows - int(out.sum())
        return other, self._problem((self.newest.slice(np.flatnonzero(out)),), None)

    def _problem(self, parts: tuple[Part, ...], total: float | None) -> Problem:
        rows = MemoryRows(parts)
        if total is not None:
            have = sum(float(part.weights.sum()) for part in parts)
            rows = rows.each(Part.reweighted, total / have) if have else rows  # type: ignore[assignment]
        return Problem.over(rows, self.classes, penalty=self.penalty, fit_intercept=self.fit_intercept)

    # keeping ----------------------------------------------------------------------------------------------------------

    def export(self) -> dict[str, Array]:
        """All of it as arrays; `load` restores the same log."""
        saved = {"facts": np.array([self.batches, self.rows, self.weight])}
        parts = [*self._kept, *([] if self.newest is None else [self.newest])]
        if parts:
            whole = _joined(parts)
            saved |= {"codes": whole.codes.astype(np.int32), "weights": whole.weights}
            saved["sizes"] = np.array([part.n for part in self._kept])
            saved["keys"] = np.concatenate([*self._keys, np.zeros(0, np.uint64)])
            X = whole.design.X
            if isinstance(whole.design, Csr):
                saved |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
            else:
                saved["X"] = X
        return saved

    def load(self, saved: dict[str, Array]) -> None:
        """Put back what `export` gave.

        Raises
        ------
        KeyError, ValueError
            The arrays are not those of a log.
        """
        batches, rows, weight = saved["facts"]
        self.batches, self.rows, self.weight = int(batches), int(rows), float(weight)
        if not self.batches:
            return
        sparse = "data" in saved
        X = (
            sp.csr_array((saved["data"], saved["indices"], saved["indptr"]), shape=tuple(saved["shape"]))
            if sparse
            else saved["X"]
        )
        (whole,) = rows_in_memory(X, self.classes[saved["codes"]], saved["weights"], self.fit_intercept, self.classes)[
            0
        ].parts
        ends = np.cumsum([0, *saved["sizes"]]).tolist()
        self._kept = tuple(whole.slice(slice(*edges)) for edges in pairwise(ends))
        self._keys = tuple(np.asarray(saved["keys"][slice(*edges)], np.uint64) for edges in pairwise(ends))
        self.newest = whole.slice(slice(ends[-1], None))


def hashed(seed: int, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Keys of rows by their number: splitmix64 [SLF14] at the place ``number`` of the sequence that the seed begins."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed % 2**64) * MIX1 + (numbers + np.uint64(1)) * GOLDEN
        z = (z ^ (z >> np.uint64(30))) * MIX1
        z = (z ^ (z >> np.uint64(27))) * MIX2
        return np.asarray(z ^ (z >> np.uint64(31)))


def _drawn(n: int, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """k of n row numbers, ascending."""
    if k >= n:
        return np.arange(n)
    return np.sort(rng.choice(n, k, replace=False, shuffle=False))


def _wide(design: Design, d: int) -> Design:
    if d < design.d:
        raise ValueError(f"d={d}: the rows have {design.d} columns already, and none can be taken away")
    if d == design.d:
        return design
    if not isinstance(design, Csr):
        raise ValueError(f"X has {d} columns here and {design.d} elsewhere: dense batches must all have the same ones")
    X = design.X
    return replace(design, X=sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], d)))


def _joined(parts: list[Part]) -> Part:
    first = parts[0]
    stack = sp.vstack if isinstance(first.design, Csr) else np.concatenate
    X = stack([part.design.X for part in parts])
    X = sp.csr_array(X) if isinstance(first.design, Csr) else X
    design = replace(first.design, X=X, nonnegative=all(part.design.nonnegative for part in parts))
    codes, weights = (np.concatenate([getattr(part, name) for part in parts]) for name in ("codes", "weights"))
    return replace(first, design=design, codes=codes, weights=weights)
