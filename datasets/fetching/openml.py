"""Sets of OpenML, by number or by name: its description says the file, its MD5, the target and what is no feature."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pianobench.datasets.fetching.connection import Refused
from pianobench.datasets.fetching.download import download
from pianobench.datasets.fetching.wanted import FetchError, File, Wanted

API = "https://www.openml.org/api/v1/json"
DESCRIPTION = "description.json"  # as it came, beside the data
_NONE = (404, 412)  # answers to a question after a set that there is not
_MOST = 1 << 24  # bytes of an answer of the interface


def wanted(key: str, place: Path, anew: bool) -> Wanted:
    """The ARFF file of a data set.

    Parameters
    ----------
    key : str
        A number, or a name: the active set of this name that came first.
    place : Path
        Folder of the set; a description that is there is not asked for again.
    anew : bool
        It is.

    Raises
    ------
    FetchError
        OpenML has no such set, or it has not one column of labels.
    """
    notes: tuple[str, ...] = ()
    path = place / DESCRIPTION
    if anew or not path.is_file():
        number, notes = (int(key), ()) if key.isdigit() else _number(key)
        _ask(f"data/{number}", path, f"OpenML has no data set with number {number}")
    try:
        about = json.loads(path.read_text("utf-8"))["data_set_description"]
        number, name, url = int(about["id"]), str(about["name"]), str(about["url"])
        kind, md5 = str(about["format"]).lower(), str(about.get("md5_checksum") or "")
    except (ValueError, KeyError, TypeError) as error:
        raise FetchError(f"{path} is no description of OpenML's: delete it and try again") from error
    if key.isdigit() and number != int(key):
        raise FetchError(f"{path} describes number {number}: delete it and try again")
    if kind not in ("arff", "sparse_arff"):
        raise FetchError(f"it has the form {about['format']}, and only ARFF files of OpenML are read")
    if str(about.get("status") or "active") != "active":
        notes += (f"OpenML lists it as {about['status']}",)
    if API.startswith("https:") and url.startswith("http:"):  # what old descriptions have
        url = f"https:{url.removeprefix('http:')}"
    options = {"target": _target(about), "drop": _no_features(about)}
    facts = {
        "description": f"OpenML's {name}, version {about.get('version')}",
        "field": "not stated",
        "origin": f"OpenML {number}",
        "licence": str(about.get("licence") or "not stated"),
        "form": "arff",
        "options": {option: value for option, value in options.items() if value},
    }
    return Wanted((File(f"{number}.arff", url, md5=md5),), facts, notes)


def _ask(what: str, path: Path, none: str) -> None:
    try:
        download(f"{API}/{what}", path, most_bytes=_MOST)
    except Refused as error:
        raise FetchError(none if error.code in _NONE else str(error)) from error


def _number(name: str) -> tuple[int, tuple[str, ...]]:
    """Of the active set that came first under a name, and what to know about the others."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "list.json"
        none = f"OpenML has no active data set that is called {name}; other versions go by their number"
        _ask(f"data/list/data_name/{quote(name)}/status/active", path, none)
        try:
            found = sorted(int(one["did"]) for one in json.loads(path.read_text("utf-8"))["data"]["dataset"])
        except (ValueError, KeyError, TypeError) as error:
            raise FetchError(f"OpenML's list of sets that are called {name} cannot be understood") from error
    if not found:
        raise FetchError(none)
    others = f", and has {len(found) - 1} more of this name: {', '.join(map(str, found[1:6]))}" if found[1:] else ""
    return found[0], (f"OpenML calls it number {found[0]}{others}",)


def _target(about: dict[str, Any]) -> str:
    target = str(about.get("default_target_attribute") or "")
    if not target or "," in target:
        raise FetchError(
            f"OpenML names {f'several targets, {target}' if target else 'no target'}, and one column of labels is "
            f"expected: download {about['url']} and choose one yourself, with --data and --read target=NAME"
        )
    return target


def _no_features(about: dict[str, Any]) -> list[str]:
    """Columns that are no features: marks of the rows, and what the description says to leave out."""
    found: list[str] = []
    for key in ("row_id_attribute", "ignore_attribute"):
        value = about.get(key) or []
        found += value if isinstance(value, list) else str(value).split(",")
    return list(dict.fromkeys(str(one).strip() for one in found))
