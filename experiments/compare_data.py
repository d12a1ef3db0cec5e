"""Data of a comparison: a name, a file or arrays; and the samples held out, from a second file or by splitting."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pianobench.datasets import Dataset, UnknownDataset, load, names, reading
from pianobench.datasets.readers import forms
from pianobench.experiments.mistakes import UserMistake


@dataclass(frozen=True)
class Held:
    """Samples to fit, and samples held out or None."""

    train: Dataset
    test: Dataset | None = None


def named(data: str, target: str | None = None) -> Dataset:
    """A data set by its name, else a file.

    Raises
    ------
    UserMistake
        Neither exists, or the file cannot be used.
    """
    if data in names() and target is None:
        return load(data)
    path = Path(data)
    if not path.exists() and path.suffix == "":
        try:
            return load(data)
        except UnknownDataset as error:
            raise UserMistake(f"{error}; or give the path of a file ({', '.join(forms.ENDINGS)})") from error
    return from_file(path, target)


def from_file(path: Path, target: str | None) -> Dataset:
    """A file of data, with its mistakes as ours."""
    try:
        return reading.read(path, target=target)
    except reading.UnusableFile as error:
        raise UserMistake(str(error)) from error


def from_arrays(X: Any, y: Any, name: str = "data") -> Dataset:
    """Checked arrays: X of numbers, dense or sparse, y labels of any kind.

    Raises
    ------
    UserMistake
    """
    import scipy.sparse as sp

    from pianobench.problems.data import rows_in_memory

    try:
        rows, classes = rows_in_memory(X, y, None, False, None)
    except ValueError as error:
        raise UserMistake(str(error)) from error
    part = rows.parts[0]
    V = part.design.X
    return Dataset(
        name=name,
        X=V if sp.issparse(V) else np.ascontiguousarray(V),
        y=np.ascontiguousarray(part.codes, np.int64),
        classes=tuple(str(value) for value in classes.tolist()),
        features=(),
        description="arrays of the caller",
        field="own data",
        origin="arrays of the caller",
        licence="not stated",
    )


def with_test(train: Dataset, test: Dataset) -> Held:
    """Held-out samples brought to the columns and classes of the training set.

    Raises
    ------
    UserMistake
        They have more columns, or dense ones of another number, or a class that the training set lacks.
    """
    X = test.X
    if not isinstance(X, np.ndarray) and X.shape[1] < train.d:  # a sparse text leaves zeros at the end out
        X = X.copy()
        X.resize((X.shape[0], train.d))
    if X.shape[1] != train.d:
        raise UserMistake(f"{test.name} has {test.d} features and {train.name} {train.d}: give both the same columns")
    codes = {name: code for code, name in enumerate(train.classes)}
    strange = [name for name in test.classes if name not in codes]
    if strange:
        raise UserMistake(
            f"{test.name} has the class {strange[0]!r}, which {train.name} lacks: its classes are "
            f"{_some(train.classes)}; drop those rows"
        )
    y = np.array([codes[name] for name in test.classes], np.int64)[test.y]
    return Held(train, replace(test, X=X, y=y, classes=train.classes))


def split(whole: Dataset, share: float, seed: int) -> Held:
    """A share of each class held out, drawn by the seed; a class of one sample stays in the training set.

    Raises
    ------
    UserMistake
        The share is not between 0 and 1, or leaves nothing on one side.
    """
    if not 0 < share < 1:
        raise UserMistake(f"split = {share:g}: a share between 0 and 1 is expected, for example 0.25")
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0x7E57,)))
    held = np.zeros(whole.n, bool)
    for code in range(whole.m):
        members = rng.permutation(np.flatnonzero(whole.y == code))
        held[members[: min(round(share * len(members)), len(members) - 1)]] = True
    if not held.any():
        raise UserMistake(f"split = {share:g} holds no sample out of {whole.n}: give a larger share")
    about = f"{whole.preprocessing}; " if whole.preprocessing != "none" else ""
    train, test = (
        replace(
            whole,
            name=whole.name + ending,
            X=whole.X[rows] if isinstance(whole.X, np.ndarray) else whole.X[np.flatnonzero(rows)],
            y=whole.y[rows],
            preprocessing=f"{about}{what} of a stratified split, share {share:g}, seed {seed}",
        )
        for rows, ending, what in ((~held, "", "training part"), (held, "-held-out", "held-out part"))
    )
    return Held(train, test)


def _some(classes: Sequence[str], most: int = 8) -> str:
    more = f" and {len(classes) - most} more" if len(classes) > most else ""
    return ", ".join(map(repr, classes[:most])) + more
