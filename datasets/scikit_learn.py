"""The four small sets that scikit-learn brings along: no network, no extra dependency."""

from dataclasses import replace
from typing import Any

import numpy as np

from pianobench.datasets.dataset import Dataset

_LICENCE = "distributed with scikit-learn (BSD-3-Clause); the copy at UCI: CC BY 4.0"


def digits() -> Dataset:
    """1,797 handwritten digits of 8×8 pixels; grey values 0…16 divided by 16."""
    bunch = _fetch("load_digits")
    return _dataset(
        "digits",
        bunch,
        X=bunch.data / 16.0,
        description="handwritten digits, 8x8 pixels",
        field="images",
        origin="Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI 1998 (its test part)",
        preprocessing="grey values divided by 16",
    )


def wine() -> Dataset:
    """178 wines of three growers by 13 chemical measurements, in raw units: columns differ by 10^4."""
    return _dataset(
        "wine",
        _fetch("load_wine"),
        description="Italian wines of three growers, chemical analysis",
        field="chemistry",
        origin="Aeberhard and Forina, Wine, UCI 1992",
    )


def wine_standardised() -> Dataset:
    """The wines with each column centred and divided by its standard deviation: a data set of its own.

    Not the same as conditioning a problem on raw wines, which leaves the penalty in raw units.
    """
    raw = wine()
    return replace(
        raw,
        name="wine_standardised",
        X=(raw.X - raw.X.mean(axis=0)) / raw.X.std(axis=0),
        preprocessing="each column centred and divided by its standard deviation",
    )


def iris() -> Dataset:
    """150 iris flowers of three species by four lengths in cm."""
    return _dataset(
        "iris",
        _fetch("load_iris"),
        description="iris flowers of three species, four lengths in cm",
        field="botany",
        origin="Fisher 1936, the numbers of the paper (the copy at UCI has two wrong samples)",
    )


def breast_cancer() -> Dataset:
    """569 tumours, malignant or benign, by 30 measurements of cell nuclei, in raw units."""
    return _dataset(
        "breast_cancer",
        _fetch("load_breast_cancer"),
        description="breast tumours, malignant or benign, measurements of cell nuclei",
        field="biomedicine",
        origin="Wolberg, Mangasarian, Street and Street, Breast Cancer Wisconsin (Diagnostic), UCI 1993",
    )


def _fetch(loader: str) -> Any:
    # Imported here: scikit-learn takes about a second to import, and a list of names needs none of it.
    import sklearn.datasets

    return getattr(sklearn.datasets, loader)()


def _dataset(name: str, bunch: Any, X: Any = None, **about: str) -> Dataset:
    return Dataset(
        name=name,
        X=np.ascontiguousarray(bunch.data if X is None else X, dtype=np.float64),
        y=np.ascontiguousarray(bunch.target, dtype=np.int64),
        classes=tuple(str(c) for c in bunch.target_names),
        features=tuple(str(f) for f in bunch.feature_names),
        licence=_LICENCE,
        **about,
    )
