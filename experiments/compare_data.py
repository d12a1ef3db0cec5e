"""Data of a comparison: a name, a file or arrays; and the samples held out, from a second file or by splitting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from pianobench.datasets import Dataset, names, reading
from pianobench.datasets.readers import forms
from pianobench.experiments import data_choice
from pianobench.experiments.mistakes import UserMistake


@dataclass(frozen=True)
class Held:
    """Samples to fit, and samples held out or None."""

    train: Dataset
    test: Dataset | None = None


def of_options(
    data: str, options: Mapping[str, Any], test: Path | None = None, share: float | None = None, seed: int = 0
) -> Held:
    """What ``compare DATA`` means: a name or a file, with the held-out samples asked for or those of the origin.

    Parameters
    ----------
    data : str
        Name of a data set, else path of a file.
    options : mapping
        How a file is read; see `pianobench.datasets.readers`.
    test : Path, optional
        File of held-out samples.
    share : float, optional
        Share of the samples to hold out, drawn by `seed`.

    Raises
    ------
    UserMistake
    """
    whole = named(data, options, beside=test)
    if test is not None:
        own = data.partition(":")[0] in names()  # then `named` has not read the file beside it
        return with_test(whole, from_file([test], options)) if own or not whole.parts else parts(whole)
    if share is not None:
        return split(whole, share, seed)
    return parts(whole)


def named(data: str, options: Mapping[str, Any] = MappingProxyType({}), beside: Path | None = None) -> Dataset:
    """A data set by its name, else a file, together with the one `beside` it as its parts train and test.

    Raises
    ------
    UserMistake
        Neither exists, or the file cannot be used, or a name is given options of files.
    """
    path = Path(data)
    is_name = data.partition(":")[0] in names()
    if not is_name and (path.exists() or path.suffix):
        files = [path] if beside is None else [path, beside]
        return from_file(files, options)
    try:
        found = data_choice.load(data)
    except ValueError as error:
        more = "" if is_name else f"; or give the path of a file ({', '.join(forms.ENDINGS)})"
        raise UserMistake(f"{error}{more}") from error
    if options:
        given = ", ".join(f"{key}={value}" for key, value in options.items())
        raise UserMistake(f"{given} is for files, and {data} is a data set by name: leave it out")
    return found


def from_file(paths: Sequence[Path], options: Mapping[str, Any]) -> Dataset:
    """A file of data, or two as its parts train and test, with its mistakes as ours."""
    try:
        return reading.read(paths, parts=("train", "test")[: len(paths)] if len(paths) > 1 else (), **options)
    except reading.UnusableFile as error:
        raise UserMistake(str(error)) from error


def parts(whole: Dataset) -> Held:
    """The parts train and test where the origin splits the data so, else all samples to fit.

    Raises
    ------
    UserMistake
        The test part has a class that the training part lacks.
    """
    if not {"train", "test"} <= {name for name, _ in whole.parts}:
        return Held(whole)
    train, test = whole.part("train"), whole.part("test")
    strange = set(np.unique(test.y).tolist()) - set(np.unique(train.y).tolist())
    if strange:
        there = [whole.classes[code] for code in np.unique(train.y)]
        raise UserMistake(_strange(test.name, whole.classes[min(strange)], train.name, there))
    return Held(replace(train, name=whole.name), replace(test, name=f"{whole.name}-held-out"))


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
        raise UserMistake(_strange(test.name, strange[0], train.name, train.classes))
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


def _strange(test: str, name: str, train: str, classes: Sequence[str]) -> str:
    return f"{test} has the class {name!r}, which {train} lacks: its classes are {_some(classes)}; drop those rows"


def _some(classes: Sequence[str], most: int = 8) -> str:
    more = f" and {len(classes) - most} more" if len(classes) > most else ""
    return ", ".join(map(repr, classes[:most])) + more
