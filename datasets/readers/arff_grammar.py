"""Grammar of ARFF: values between commas, quoted or not, and the header that declares the attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pianobench.datasets.readers.parsed import Unreadable

# Possessive quantifiers throughout: no text makes these patterns go back over what they have read.
_QUOTED = r"'((?:[^'\\]|\\.)*+)'|\"((?:[^\"\\]|\\.)*+)\""
_CELL = re.compile(
    rf"[ \t]*+(?:{_QUOTED}|([^,\t'\"{{}}%]*+))(?:[ \t]*+(,|\Z|(?<=[ \t])%)|[ ]*+\t[ \t]*+)",
)
_ENTRY = re.compile(
    rf"[ \t]*+([0-9]{{1,9}})[ \t]++(?:{_QUOTED}|([^\s,'\"{{}}%]++))[ \t]*+(,|\}}(?:[ \t]*+\Z|[ \t]++%))"
)
_EMPTY = re.compile(r"\{[ \t]*+\}(?:[ \t]*+\Z|[ \t]++%)")
_SPECIAL = re.compile(r"[\t'\"{}%]")
_DECLARED = re.compile(rf"(?:{_QUOTED}|([^\s{{'\"%,]++))[ \t]*+(.*)", re.DOTALL)
_TYPE = re.compile(r"([a-z]++)[ \t]*+(.*)", re.IGNORECASE | re.DOTALL)
_RANGE = re.compile(r"\[[-+.0-9eE, \t]*+\][ \t]*+(?:%.*)?|%.*|", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_NUMERIC = ("numeric", "real", "integer")
_SEVERAL_LABELS = re.compile(r"-C\s+-?[0-9]+")  # as MEKA writes into the name of the relation


@dataclass(frozen=True)
class Attribute:
    """What a header declares of one column.

    Parameters
    ----------
    name : str
    kind : str
        numeric, nominal, hierarchical, string or date.
    values : tuple of str
        Of a nominal attribute, in the order of their declaration.
    """

    name: str
    kind: str
    values: tuple[str, ...] = ()

    @property
    def first(self) -> str | None:
        """What sparse rows that leave it out mean: 0, or the first value; None where they must not."""
        return "0" if self.kind == "numeric" else next(iter(self.values), None)


@dataclass(frozen=True)
class Header:
    """All before the rows.

    Parameters
    ----------
    attributes : tuple of Attribute
    inputs, outputs : tuple of str
        Names of attributes, where KEEL says them.
    several_labels : bool
        Whether the relation says so.
    named : bool
        Whether the names are the file's own.
    """

    attributes: tuple[Attribute, ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    several_labels: bool = False
    named: bool = True


def shown(text: str) -> str:
    """A value in a message: quoted, on one line, not at length."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def cells(text: str) -> list[str | None]:
    """Values of a row, None for a missing one.

    Raises
    ------
    Unreadable
    """
    if not _SPECIAL.search(text):
        plain = [cell.strip(" ") for cell in text.split(",")]
        if "" in plain:
            raise Unreadable(f"value {plain.index('') + 1} is empty: ? stands for a missing value")
        return [None if cell == "?" else cell for cell in plain]
    found: list[str | None] = []
    at, end = 0, None
    while end not in ("", "%"):
        match = _CELL.match(text, at)
        if match is None:
            raise Unreadable(_odd(text[at:].lstrip(" \t"), len(found) + 1))
        value = _value(match[1], match[2], match[3].strip(" ") if match[3] is not None else None)
        if value == "" and match[3] is not None:
            raise Unreadable(f"value {len(found) + 1} is empty: ? stands for a missing value")
        found.append(value)
        at, end = match.end(), match[4]
    return found


def _odd(rest: str, number: int) -> str:
    if rest.startswith("{"):
        return "{...} after the values is the weight of a row, and weights are not read: remove it"
    if "%" in rest.partition(",")[0]:
        return f"value {number} has a % in it, where a comment could start: put the value in quotes"
    return f"value {number} begins {shown(rest)}: quotes around a whole value are expected, \\' within"


def entries(text: str) -> Iterator[tuple[int, str | None]]:
    """Position and value of each entry of a sparse row ``{0 5, 3 'a b'}``.

    Raises
    ------
    Unreadable
    """
    if _EMPTY.match(text):
        return
    at, end = 1, ","
    while end == ",":
        match = _ENTRY.match(text, at)
        if match is None:
            weight = re.search(r"\}[ \t,]*\{", text[at:])
            raise Unreadable(
                "{...} after the row is its weight, and weights are not read: remove it"
                if weight
                else f"{shown(text[at:].strip())} is no entry of a sparse row: {{position value, ...}} is expected"
            )
        yield int(match[1]), _value(*match.group(2, 3, 4))
        at, end = match.end(), match[5]


def _value(single: str | None, double: str | None, plain: str | None) -> str | None:
    if plain is not None:
        return None if plain == "?" else plain
    text = single if single is not None else str(double)
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text) if "\\" in text else text


def decoded(line: bytes, number: int, path: Path) -> str:
    """Text of a line, without blanks around it.

    Raises
    ------
    Unreadable
    """
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"byte {error.start + 1} is not UTF-8: save the file as UTF-8", number, path) from error
    if "\0" in text or "\r" in text:
        raise Unreadable("it has a NUL or a carriage return within: this is no text of lines", number, path)
    return text.strip(" \t")


def header(numbered: Iterator[tuple[int, bytes]], path: Path) -> tuple[Header, int]:
    """Read until ``@data``.

    Parameters
    ----------
    numbered : iterator of (int, bytes)
        Lines with their numbers, as `packed.lines` gives them.
    path : Path

    Returns
    -------
    Header
    int
        Number of the line of ``@data``.

    Raises
    ------
    Unreadable
    """
    attributes: dict[str, Attribute] = {}
    lists: dict[str, tuple[str, ...]] = {"inputs": (), "outputs": ()}
    several = False
    for number, line in numbered:
        text = decoded(line, number, path)
        if not text or text.startswith("%"):
            continue
        word, _, rest = text.replace("\t", " ", 1).partition(" ")
        word, rest = word.lower(), rest.strip(" \t")
        try:
            if word == "@data":
                return Header(tuple(attributes.values()), lists["inputs"], lists["outputs"], several), number
            if word == "@relation":
                several = bool(_SEVERAL_LABELS.search(rest))
            elif word == "@attribute":
                attribute = _attribute(rest)
                if attribute.name in attributes:
                    raise Unreadable(f"a second attribute is called {shown(attribute.name)}: rename it")
                attributes[attribute.name] = attribute
            elif word in ("@inputs", "@input", "@outputs", "@output"):
                names = tuple(name for name in cells(rest) if name is not None)
                lists[word[1:].removesuffix("s") + "s"] = names
            else:
                raise Unreadable(f"{shown(text)} stands before @data: @attribute, with a name and a type, is expected")
        except Unreadable as error:
            raise Unreadable(str(error), number, path) from error
    raise Unreadable("it has no line @data: is it cut off, or not ARFF?", path=path)


def _attribute(text: str) -> Attribute:
    match = _DECLARED.fullmatch(text)
    if match is None:
        raise Unreadable(f"@attribute {shown(text)} has no name: @attribute 'the name' numeric is expected")
    name = _value(match[1], match[2], match[3]) or "?"
    rest = match[4]
    if rest.startswith("{"):
        return Attribute(name, "nominal", _nominal(name, rest))
    kind = _TYPE.fullmatch(rest)
    word = kind[1].lower() if kind else ""
    if kind and word in _NUMERIC:
        if not _RANGE.fullmatch(kind[2]):
            raise Unreadable(f"{shown(kind[2])} after the type of {shown(name)} is not read: remove it")
        return Attribute(name, "numeric")
    if word in ("string", "date", "hierarchical"):
        return Attribute(name, word)
    if word == "relational":
        raise Unreadable(f"attribute {shown(name)} is relational, with a table in each cell, which is not read")
    raise Unreadable(
        f"attribute {shown(name)} has type {shown(rest)}: numeric, real, integer or {{a, b, c}} is expected"
    )


def _nominal(name: str, text: str) -> tuple[str, ...]:
    end = len(text) - 1
    if not text.endswith("}"):  # a comment follows
        close = re.search(r"\}[ \t]*+%[^}]*+\Z", text)
        if close is None:
            raise Unreadable(f"the values of {shown(name)} have no closing brace at the line's end")
        end = close.start()
    values = [value if value is not None else "?" for value in cells(text[1:end])]
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise Unreadable(f"the values of {shown(name)} hold {shown(value)} twice")
        seen.add(value)
    return tuple(values)
