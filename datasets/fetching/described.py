"""What the catalogue has of the sets that can be fetched."""

from __future__ import annotations

import difflib
from typing import Any

from pianobench.datasets import catalogue
from pianobench.datasets.fetching.wanted import FetchError

# What the tables of a source leave out since it is the same for all of them.
_OF_SOURCE: dict[str, dict[str, Any]] = {
    "libsvm": {"form": "svmlight", "licence": "LIBSVM's page states none; the origin's terms hold"},
    "sklearn": {"form": "npz"},
    "kaggle": {"archives": [], "notes": []},
}


def names() -> tuple[str, ...]:
    """``source/key`` of all of them."""
    return tuple(catalogue.tables("fetched"))


def described(source: str, key: str) -> dict[str, Any]:
    """The table of one set, and what goes for all of its source.

    Raises
    ------
    FetchError
        It is not in the catalogue.
    """
    name, known = f"{source}/{key}", names()
    if name not in known:
        near = difflib.get_close_matches(name, [one for one in known if one.startswith(f"{source}/")], n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise FetchError(f"{name} is not known: {hint}`pianobench fetch --list` says what is")
    facts = {**_OF_SOURCE[source], **catalogue.tables("fetched")[name]}
    if source == "libsvm":  # a part may lack the last columns, and a file without an index 1 is no file of base 0
        facts["options"] = {"base": 1, "n_features": facts["d"]}
    return facts
