"""Data sets from files: the form by the ending, one table of all classes, checked once, parsed once."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets import parsed_cache
from pianobench.datasets.dataset import Dataset
from pianobench.datasets.readers import forms
from pianobench.datasets.readers.packed import PACKED, ending
from pianobench.datasets.readers.parsed import Parsed, Unreadable

_BEGINNING, _END = 330, 160  # characters that are kept of a longer message


class UnusableFile(ValueError):
    """The file cannot be read as data; the message names it, what is wrong, and the remedy.

    Messages quote what stands in files, which may be anything: they are brought to one printable line of bounded
    length, whose beginning, with the place, and end, with the remedy, are kept.
    """

    def __init__(self, message: str) -> None:
        text = "".join(one if one.isprintable() else repr(one)[1:-1] for one in message)
        if len(text) > _BEGINNING + _END:
            text = f"{text[:_BEGINNING]} ... {text[-_END:]}"
        super().__init__(text)


def read(
    paths: Path | Sequence[Path],
    *,
    form: str | None = None,
    parts: Sequence[str] = (),
    dense: bool | None = None,
    least_classes: int = 2,
    cache: bool = True,
    **options: Any,
) -> Dataset:
    """Features and labels of a file, or of the files that are parts of one data set.

    Parameters
    ----------
    paths : Path or sequence of Path
        Files of one form, also packed by gzip, bzip2 or xz; they share their columns and classes.
    form : str, optional
        One of `forms.FORMS`; by default the ending tells.
    parts : sequence of str, optional
        Names of the parts, ``train`` and ``test``; one for each file.
    dense : bool, optional
        Whether a sparse X is made dense; by default where more than two thirds of its entries are stored, since it is
        smaller then and faster for every method. An npz keeps the layout that it was given.
    least_classes : int
        Fewer are a mistake.
    cache : bool
        Whether a large file's content is kept in parsed form for the next time.
    **options
        Of the form's reader: `pianobench.datasets.readers` has one module for each. None is the default of all.

    Returns
    -------
    Dataset
        Named as the first file, without its folder. X is float32 or float64 and finite; classes are the labels' own
        values, sorted: numbers by value, texts in the order of their characters.

    Raises
    ------
    UnusableFile
    """
    files = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
    if not files:
        raise UnusableFile("no file is given: a path, or the paths of the parts, are expected")
    for path in files:
        if not path.is_file():
            raise UnusableFile(f"there is no file {path}" + (" (it is a folder)" if path.is_dir() else ""))
    form = form or _form(files[0])
    options = {name: value for name, value in options.items() if value is not None}
    _check_options(files[0], form, options)
    sums = tuple((path.name, digest(path)) for path in files)
    key = (
        parsed_cache.key(form, sums, parts, {**options, "dense": dense})
        if cache and parsed_cache.worth(files)
        else None
    )
    if key is not None and (kept := parsed_cache.load(key)) is not None:
        return kept
    try:
        parsed = forms.reader(form)(files, **options)
    except Unreadable as error:
        raise UnusableFile(f"{(error.path or files[0]).name}: {error}") from error
    except OSError as error:
        raise UnusableFile(f"{files[0].name} cannot be read: {error.strerror or error}") from error
    found = replace(
        _dataset(files[0].name, _laid_out(files[0].name, form, parsed, dense), tuple(parts), least_classes), files=sums
    )
    if key is not None:
        parsed_cache.save(key, found)
    return found


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _form(path: Path) -> str:
    try:
        return forms.ENDINGS[ending(path)]
    except KeyError:
        endings = ", ".join(forms.ENDINGS)
        raise UnusableFile(
            f"{path.name}: the ending tells the form, and {endings} can be read, also packed ({', '.join(PACKED)}): "
            "rename it, or name the form"
        ) from None


def _check_options(path: Path, form: str, given: dict[str, Any]) -> None:
    if form not in forms.FORMS:
        raise UnusableFile(f"{path.name}: there is no form {form!r}: {', '.join(forms.FORMS)} can be read")
    known = forms.options(form)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise UnusableFile(f"{path.name}: {form} has no option {name!r}: {hint}{has}")


def _dataset(name: str, parsed: Parsed, parts: tuple[str, ...], least_classes: int) -> Dataset:
    """Checked and brought to the types of a `Dataset`."""
    X, sparse = parsed.X, not isinstance(parsed.X, np.ndarray)
    if X.ndim != 2 or 0 in X.shape:
        raise UnusableFile(f"{name}: X has shape {X.shape}; (n, d) with a row for each sample is expected")
    if X.dtype.kind not in "biuf" or X.dtype.itemsize > 8:
        raise UnusableFile(f"{name}: X has type {X.dtype}; numbers are expected: float32 or float64")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    values = X.data if sparse else X
    if not np.isfinite(values).all():
        where = "" if sparse else " first in row {}, column {}".format(*np.argwhere(~np.isfinite(X))[0])
        raise UnusableFile(f"{name}: X has values that are not finite,{where}: fill them in or drop their rows")
    classes, codes = _codes(name, parsed.y, X.shape[0], least_classes)
    sizes = parsed.sizes if len(parsed.sizes) > 1 else ()
    named = parsed.parts or parts or ("train", *(f"test{i or ''}" for i in range(len(sizes) - 1)))
    return Dataset(
        name=name,
        X=_compact(X) if sparse else np.ascontiguousarray(X, dtype=X.dtype.newbyteorder("=")),
        y=codes,
        classes=classes,
        features=parsed.features,
        description=f"the user's file {name}",
        field="own data",
        origin=f"file {name}",
        licence="not stated",
        preprocessing="; ".join(parsed.notes) or "none",
        parts=tuple(zip(named, sizes, strict=True)) if sizes else (),
    )


def _laid_out(name: str, form: str, parsed: Parsed, dense: bool | None) -> Parsed:
    if dense not in (None, True, False):
        raise UnusableFile(f"{name}: dense is {dense!r}: true or false is expected")
    X = parsed.X
    if isinstance(X, np.ndarray) or dense is False:
        return parsed
    if dense is None and (form == "npz" or 3 * X.nnz <= 2 * X.shape[0] * X.shape[1]):
        return parsed
    share = 100 * X.nnz / max(X.shape[0] * X.shape[1], 1)
    return replace(
        parsed, X=X.toarray(), notes=(*parsed.notes, f"made dense, with {share:.0f} % of its entries stored")
    )


def _compact(X: Any) -> Any:
    """Sorted, each entry once, and 32-bit indices where they fit, as solvers and other libraries want them."""
    from scipy.sparse import csr_array

    X.sum_duplicates()
    if max(X.shape[1], X.nnz) < 2**31:
        X = csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X


def _codes(name: str, y: NDArray[Any], n: int, least: int) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    if y.shape != (n,):
        raise UnusableFile(f"{name}: y has shape {y.shape}; a label for each of the {n} rows of X is expected, ({n},)")
    if y.dtype.kind == "f" and not (np.isfinite(y) & (y == np.round(y)) & (np.abs(y) < 2**53)).all():
        raise UnusableFile(f"{name}: y has values that are not whole numbers; class labels are expected")
    if y.dtype.kind not in "biufSU":
        raise UnusableFile(f"{name}: y has type {y.dtype}; numbers or text are expected: y.astype(str)")
    values, codes = np.unique(y, return_inverse=True)
    if len(values) < least:
        raise UnusableFile(f"{name}: y holds one class only, {values[0]}; two at least are expected")
    names = values.astype(np.int64) if values.dtype.kind == "f" else values
    texts = (v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in names.tolist())
    return tuple(texts), np.ascontiguousarray(codes, dtype=np.int64)
