"""Click logs in the registry: ``kdd12`` is generated, ``kdd12_file`` the official file, ``kdd12_small`` real rows.

``kdd12:rows=2e6,model=2`` has parameters, ``kdd12:train`` is a part. As a `Dataset`, which has no weights, a row is 1
where it was clicked at least once; with ``views=1`` there is a row for each view, the weighted problem written out. The
weighted rows themselves are `prepared(name).train.labelled()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from pianobench.datasets.dataset import Dataset
from pianobench.datasets.entry import Entry
from pianobench.datasets.generators.parameters import UnusableParameter, parse
from pianobench.datasets.kdd12.features import recipe
from pianobench.datasets.kdd12.kinds import KINDS, Generated, OfFile
from pianobench.datasets.kdd12.layout import Some
from pianobench.datasets.kdd12.prepared import Prepared, Progress, prepare
from pianobench.datasets.reading import UnusableFile

_VIEWS_PER_ROW = 1.7  # of generated rows, and a little more
# Of the defaults. Another sum is another version of the generator or of the features.
_CHECKSUMS = {
    "kdd12": "0bee67d03e7b268167b756fc22036719048af790dec40af20f2f4abc50c41261",
    "kdd12_small": "365a26b840800494cc76466aab57fcc1572ddc561afc18c0e91fab06a24e2903",
}


def entries() -> Iterator[Entry]:
    """The three, with the sizes of their defaults; nothing is read."""
    for family, kind in KINDS.items():
        default = kind()
        n, made = default.rows + default.test_rows, recipe(default.model)
        yield Entry(
            name=family,
            description=default.about,
            field="clicks",
            origin=default.origin,
            licence=default.licence,
            n=n,
            d=made.d,
            m=2,
            source="kdd12",
            read=partial(load, family),
            missing=kind.missing(),
            nnz=n * made.per_row,
            checksum=_CHECKSUMS.get(family),
        )


def wanted(family: str, text: str = "") -> Generated | OfFile:
    """What a name of the registry stands for.

    Parameters
    ----------
    family : str
        One of `KINDS`.
    text : str
        Parameters such as ``rows=2e6,model=2``.

    Raises
    ------
    UnusableParameter
        There is no such parameter, or a value is out of its range.
    """
    kind = KINDS[family]
    return kind(**parse(kind, text))


def size(family: str, text: str = "") -> tuple[int, int, int, int]:
    """Samples, columns, classes and bytes of X; where ``views=1`` the first and the last one are guesses."""
    part = text if text in ("train", "test") else ""
    one = wanted(family, "" if part else text)
    made, n = recipe(one.model), {"train": one.rows, "test": one.test_rows}.get(part, one.rows + one.test_rows)
    n = round(n * _VIEWS_PER_ROW) if one.views else n
    return n, made.d, 2, 12 * n * made.per_row


def prepared(name: str, progress: Progress | None = None) -> Prepared:
    """Encoded rows of a name such as ``kdd12:rows=2e6,model=2``: what experiments on clicks start from.

    Raises
    ------
    UnusableParameter, MissingData, UnusableFile
    """
    family, _, text = name.partition(":")
    if family not in KINDS:
        raise UnusableParameter(f"{family!r} is no click log: {', '.join(KINDS)} are expected")
    return _prepared(wanted(family, text), progress)


def load(family: str, text: str = "") -> Dataset:
    """A click log as a data set.

    Parameters
    ----------
    family : str
        One of `KINDS`.
    text : str
        Parameters as `wanted` has them, or the name of a part.

    Raises
    ------
    UnusableParameter, UnknownPart, MissingData, UnusableFile
    """
    import numpy as np

    if text and "=" not in text:
        return load(family).part(text)
    one = wanted(family, text)
    _check_memory(one.name, size(family, text)[3])
    made = _prepared(one, None)
    parts = {name: part.labelled("expanded" if one.views else "clicked") for name, part in made.parts.items()}
    rows = "a row for each view" if one.views else "a row is a group of views, 1 where it was clicked at least once"
    return Dataset(
        name=one.name,
        X=_stacked([part.X for part in parts.values()]),
        y=np.concatenate([part.y for part in parts.values()]),
        classes=("not clicked", "clicked"),
        features=made.recipe.names,
        description=one.about,
        field="clicks",
        origin=one.origin,
        licence=one.licence,
        preprocessing=f"click rates of identifiers, by depth and position, learned on the training rows; {rows}"
        + (f"; {made.remarks}" if made.remarks else ""),
        parts=tuple((name, len(part.y)) for name, part in parts.items()) if len(parts) > 1 else (),
    )


def _prepared(one: Generated | OfFile, progress: Progress | None) -> Prepared:
    source, end = one.source(), one.rows + one.test_rows
    others = {"test": Some(source, one.rows, end)} if one.test_rows else {}
    made = prepare(Some(source, 0, one.rows), others, recipe(one.model), progress=progress)
    have = sum(len(part) for part in made.parts.values())
    if have < end:
        raise UnusableFile(f"{one.name} asks for {end} rows, and {have} are there: give a smaller rows= or test=")
    return made


def _stacked(matrices: list[Any]) -> Any:
    from scipy.sparse import csr_array, vstack

    return matrices[0] if len(matrices) == 1 else csr_array(vstack(matrices, format="csr"))


def _check_memory(name: str, needed: int) -> None:
    import psutil

    free = psutil.virtual_memory().available
    if 2 * needed > free:  # the parts and the whole
        raise UnusableParameter(
            f"{name} would take {2 * needed / 2**30:.3g} GiB and {free / 2**30:.3g} GiB are free: take fewer rows, or "
            "blocks of them from pianobench.datasets.kdd12.named.prepared"
        )
