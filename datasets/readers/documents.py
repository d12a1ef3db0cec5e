"""Documents with a label each, one by one: lines of text, CSV, JSON and JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pianobench.datasets.readers.chosen import choose, position_of
from pianobench.datasets.readers.delimited import decoded
from pianobench.datasets.readers.layout import delimited
from pianobench.datasets.readers.packed import lines, opened
from pianobench.datasets.readers.parsed import Unreadable

Place = str | int | None
Documents = Iterator[tuple[str, str]]  # text and label of each


def from_tsv(paths: Sequence[Path], text: Place, target: Place, header: bool | None) -> list[Documents]:
    """Of each file, lines ``label TAB text``, the text up to the end of the line; there are no quotes.

    By default a first line whose text is ``text`` is a header.

    Raises
    ------
    Unreadable
        With the line; also while a file is read.
    """
    target = 0 if target is None else target
    if target not in (0, 1) or text not in (None, 1 - target):
        raise Unreadable("lines are label TAB text: target = 0, or text TAB label: target = 1; they have no names")

    def documents(path: Path) -> Documents:
        with opened(path) as stream:
            for number, raw in lines(stream, path):
                line = decoded(raw, path, number)
                if not line.strip() or (header and number == 1):
                    continue
                if "\t" not in line:
                    what = f"it begins {line[:40]!r} and has no tab: label TAB text is expected"
                    raise Unreadable(what, number, path)
                first, last = line.split("\t", 1) if target == 0 else line.rsplit("\t", 1)
                words, label = (last, first) if target == 0 else (first, last)
                if header is None and number == 1 and words.strip() == "text":
                    continue
                yield words, _label(label, number, path)

    return [documents(path) for path in paths]


def from_csv(
    paths: Sequence[Path], text: Place, target: Place, header: bool | None
) -> tuple[list[Documents], tuple[str, ...]]:
    """Of each file, two columns of a table: that called ``text``, and the last other, by default; and notes.

    Raises
    ------
    Unreadable
        With the line; also while a file is read.
    """
    text = "text" if text is None else text
    first = delimited(paths[0], None, header, (), {str(text), str(target)})
    files = [first, *(delimited(path, None, first.header, ()) for path in paths[1:])]
    place = position_of(first, text, "text")
    if target is None:
        target = max({*range(len(first.names))} - {place}, default=place)
    if position_of(first, target, "target") == place:
        raise Unreadable(f"text and target are both column {first.names[place]!r}: a text and a label are expected")
    chosen = choose(files, target, (), [place], ())

    def documents(number: int) -> Documents:
        file, places, row = files[number], chosen.places[number], 0
        for texts, labels in file.batches([places[chosen.features[0]], places[chosen.target]], frozenset()):
            for document, label in zip(texts.to_pylist(), labels.to_pylist(), strict=True):
                if not label.strip():
                    _label(label, file.line(row), file.path)
                yield document, label.strip()
                row += 1

    return [documents(number) for number in range(len(files))], first.notes


def from_jsonl(paths: Sequence[Path], text: Place, target: Place) -> list[Documents]:
    """Of each file, lines with one JSON object each, or one list.

    Raises
    ------
    Unreadable
        With the line; also while a file is read.
    """

    def documents(path: Path) -> Documents:
        with opened(path) as stream:
            for number, raw in lines(stream, path):
                line = decoded(raw, path, number)
                if line.strip():
                    yield _document(_parsed(line, number, path), text, target, number, path)

    return [documents(path) for path in paths]


def from_json(paths: Sequence[Path], text: Place, target: Place, parts: Sequence[str]) -> list[Documents]:
    """Of each file a list of objects or of lists; or lists of one file, which holds them by name.

    Raises
    ------
    Unreadable
    """
    if parts and len(paths) > 1:
        raise Unreadable("parts_in_file is for one file that holds all parts: give one file, or leave it out")
    found = []
    for path in paths:
        with opened(path) as stream:
            content = _parsed(decoded(stream.read(), path), None, path)
        if isinstance(content, dict) != bool(parts):
            has = f"an object that holds {', '.join(list(content)[:12])}" if isinstance(content, dict) else "no object"
            remedy = "leave parts_in_file out" if parts else "name those to read in parts_in_file"
            raise Unreadable(f"it is {has}: {remedy}", path=path)
        for name in parts:
            if name not in content:
                raise Unreadable(f"it has no part {name!r}, it holds {', '.join(list(content)[:12])}", path=path)
        found += [(path, name, content[name]) for name in parts] or [(path, "", content)]

    def documents(path: Path, name: str, items: Any) -> Documents:
        where = f"{name} " if name else ""
        if not isinstance(items, list):
            raise Unreadable(f"{where}is no list: a list of documents, each with a label, is expected", path=path)
        for position, item in enumerate(items):
            yield _document(item, text, target, f"{where}item {position}, from 0", path)

    return [documents(*one) for one in found]


def _parsed(text: str, line: int | None, path: Path) -> Any:
    """JSON, without what its standard does not know, and without names given twice."""
    try:
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_object)
    except RecursionError as error:
        what = "it is nested too deep: documents with labels are expected"
        raise Unreadable(what, line, path) from error
    except ValueError as error:
        raise Unreadable(f"it is not JSON ({error})", line, path) from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no value of JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands twice in one object")
    return found


def _document(item: Any, text: Place, target: Place, where: int | str, path: Path) -> tuple[str, str]:
    """Text and label of an object (``text`` and ``label`` by default) or of a list (its first and its second)."""
    line = where if isinstance(where, int) else None

    def say(what: str) -> Unreadable:
        return Unreadable(what if line else f"{where}: {what}", line, path)

    if isinstance(item, dict):
        names: tuple[Any, Any] = ("text" if text is None else text, "label" if target is None else target)
        missing = next((name for name in names if name not in item), None)
        if missing is not None:
            has = ", ".join(list(item)[:8]) or "nothing"
            raise say(f"it has no field {missing!r}, it has {has}: name the fields in text and target")
    elif isinstance(item, list):
        names = (0 if text is None else text, 1 if target is None else target)
        if not all(isinstance(name, int) and 0 <= name < len(item) for name in names):
            raise say(
                f"it is a list of {len(item)}: text = {names[0]!r} and target = {names[1]!r} must be positions in it"
            )
    else:
        raise say(f"it is {str(item)[:40]!r}: an object with text and label, or a list of both, is expected")
    document, label = (item[name] for name in names)
    if not isinstance(document, str):
        raise say(f"its text is {str(document)[:40]!r}: a text is expected")
    if not isinstance(label, str | int):
        raise say(f"its label is {str(label)[:40]!r}: a text or a whole number is expected")
    return document, _label(str(label), line, path)


def _label(text: str, line: int | None, path: Path) -> str:
    label = text.strip()
    if not label or not label.isprintable():
        raise Unreadable(f"its label is {label!r}: give each document one, or leave it out", line, path)
    return label
