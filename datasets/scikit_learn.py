"""The four small sets that scikit-learn brings along: no network, no extra dependency."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pianobench.datasets.dataset import Dataset
from pianobench.datasets.entry import Entry

_LICENCE = "distributed with scikit-learn (BSD-3-Clause); the copy at UCI: CC BY 4.0"


_ABOUT: dict[str, dict[str, Any]] = {
    "breast_cancer": {
        "description": "breast tumours, malignant or benign, measurements of cell nuclei, in raw units",
        "field": "biomedicine",
        "origin": "Wolberg, Mangasarian, Street and Street, Breast Cancer Wisconsin (Diagnostic), UCI 1993",
        "n": 569,
        "d": 30,
        "m": 2,
        "checksum": "7d01976c6ab94cf39b9a2bbded57a80151b58d9a47e2150fff8f56bdaf1974a8",
    },
    "digits": {
        "description": "handwritten digits, 8x8 pixels",
        "field": "images",
        "origin": "Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI 1998 (its test part)",
        "n": 1797,
        "d": 64,
        "m": 10,
        "checksum": "5a6a9e8f40d05f639c9152e81a02c572d008966d484892f7c58b9524dd5fdf2b",
    },
    "iris": {
        "description": "iris flowers of three species, four lengths in cm",
        "field": "botany",
        "origin": "Fisher 1936, the numbers of the paper (the copy at UCI has two wrong samples)",
        "n": 150,
        "d": 4,
        "m": 3,
        "checksum": "91cc8315ab939f2ef358e8100fb7f6c375015d69ebffc272d42e7d1b3d5d0044",
    },
    "wine": {
        "description": "Italian wines of three growers, chemical analysis in raw units: columns differ by 10^4",
        "field": "chemistry",
        "origin": "Aeberhard and Forina, Wine, UCI 1992",
        "n": 178,
        "d": 13,
        "m": 3,
        "checksum": "7ebf0ce26226bee26235d77f8111e6b8602c328f44595013bf62bfb0fa4db883",
    },
}
_STANDARDISED = "wine_standardised"
_TEXTS = ("description", "field", "origin")


def entries() -> Iterator[Entry]:
    """The four sets, and the wines with standardised columns, a set of its own.

    The last is not the same as conditioning a problem on raw wines, which leaves the penalty in raw units.
    """
    for name, about in _ABOUT.items():
        yield Entry(name=name, source="scikit-learn", licence=_LICENCE, read=partial(_read, name), **about)
    wine = {**_ABOUT["wine"], "checksum": None}  # the last bits depend on the order in which a machine adds
    wine["description"] = "Italian wines of three growers, chemical analysis, standardised columns"
    yield Entry(name=_STANDARDISED, source="scikit-learn", licence=_LICENCE, read=_wine_standardised, **wine)


def _read(name: str) -> Dataset:
    # Imported here: scikit-learn takes about a second to import, and a list of names needs none of it.
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{name}")()
    X, done = (bunch.data / 16.0, "grey values 0 to 16 divided by 16") if name == "digits" else (bunch.data, "none")
    return Dataset(
        name=name,
        X=np.ascontiguousarray(X, dtype=np.float64),
        y=np.ascontiguousarray(bunch.target, dtype=np.int64),
        classes=tuple(str(c) for c in bunch.target_names),
        features=tuple(str(f) for f in bunch.feature_names),
        licence=_LICENCE,
        preprocessing=done,
        **{text: _ABOUT[name][text] for text in _TEXTS},
    )


def _wine_standardised() -> Dataset:
    raw = _read("wine")
    return replace(
        raw,
        name=_STANDARDISED,
        X=(raw.X - raw.X.mean(axis=0)) / raw.X.std(axis=0),
        preprocessing="each column centred and divided by its standard deviation",
    )
