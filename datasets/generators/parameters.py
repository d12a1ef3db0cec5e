"""Parameters of the generators: declared with their range, checked in one place, read from and written as text."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import Field, field, fields
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar, cast

import numpy as np

Number = TypeVar("Number", int, float)


class UnusableParameter(ValueError):
    """A parameter that the family has not, or a value out of its range; the message says what is expected."""


def parameter(default: Number, least: Number, most: Number) -> Number:
    """A field of a generator: its default, whose type is the parameter's, and its range, ends included."""
    declared: Any = field(default=default, metadata={"least": least, "most": most})
    return cast(Number, declared)


def check(generator: Any) -> None:
    """Hold each parameter against its range, and bring numbers to the declared type.

    Raises
    ------
    UnusableParameter
    """
    for one in fields(generator):
        object.__setattr__(generator, one.name, _checked(one, getattr(generator, one.name)))


def parse(family: Any, text: str) -> dict[str, Any]:
    """Parameters out of a text such as ``n=1e6,d=20,signal=0.5``; the empty text has none.

    Parameters
    ----------
    family : type of Generator
        Knows the parameters and their types.
    text : str
        Whole numbers may be written as 1e6.

    Raises
    ------
    UnusableParameter
        With near matches of a name that the family has not.
    """
    known = {one.name: one for one in fields(family)}
    found: dict[str, Any] = {}
    for item in text.split(",") if text.strip() else ():
        name, equals, value = (part.strip() for part in item.partition("="))
        if not (name and equals and value):
            raise UnusableParameter(f"{family.family}: {item.strip()!r} is no parameter: write name=value, as n=1000")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UnusableParameter(f"{family.family} has no parameter {name!r}: {hint}it has {', '.join(known)}")
        if name in found:
            raise UnusableParameter(f"{family.family}: {name} is given twice: leave one out")
        found[name] = _checked(known[name], _number(value, type(known[name].default)))
    return found


def written(generator: Any) -> str:
    """The parameters that differ from their defaults, in the order of their declaration, as `parse` reads them."""
    return ",".join(_differing(generator))


def _differing(generator: Any) -> Iterator[str]:
    for one in fields(generator):
        value = getattr(generator, one.name)
        if value != one.default:
            yield f"{one.name}={repr(value).removesuffix('.0')}"


def _number(text: str, kind: type) -> Any:
    """A float, or for whole numbers an exact decimal; or the text itself, which `_checked` then refuses."""
    try:
        number = Decimal(text) if kind is int else float(text)
    except (InvalidOperation, ValueError):
        return text
    return number if number == number else text  # a decimal that is not a number cannot be compared


def _checked(one: Field[Any], value: Any) -> int | float:
    kind: type[int] | type[float] = int if isinstance(one.default, int) else float
    least, most = one.metadata["least"], one.metadata["most"]
    numbers = (int, np.integer, Decimal) if kind is int else (int, float, np.integer, np.floating)
    # The range comes before the conversion: the digits of 1e999999999 would fill the memory.
    usable = isinstance(value, numbers) and not isinstance(value, bool) and least <= value <= most
    if not usable or (kind is int and int(value) != value):
        raise UnusableParameter(
            f"{one.name} = {value}: a {'whole number' if kind is int else 'number'} from {least:g} to {most:g} "
            f"is expected, for example {one.name}={one.default:g}"
        )
    return kind(value)
