"""From pydantic's errors to lines for people: the key's path, its value, what was expected, the remedy."""

import difflib
import json
import re
import typing
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel

Place = tuple[int | str, ...]

# Remedies for a value of the wrong type, by pydantic's name of the mistake.
_REMEDIES = {
    "string_type": "write a text in quotes",
    "bool_type": "write true or false, without quotes",
    "float_type": "write a number, without quotes",
    "int_type": "write a whole number, without quotes",
    "int_from_float": "write a whole number",
    "greater_than": "write a larger number",
    "greater_than_equal": "write a larger number",
    "less_than": "write a smaller number",
    "finite_number": "write one",
}


def lines(errors: Sequence[Any], model: type[BaseModel]) -> list[str]:
    """A line for each mistake, in the order of the file's model.

    A key that is missing and stands there with a slip of the pen is one mistake.

    Parameters
    ----------
    errors : list of dict
        From `pydantic.ValidationError.errors`.
    model : type
        The model of the whole file.
    """
    meant = {(*_table(e["loc"]), near) for e in errors if e["type"] == "extra_forbidden" and (near := _near(e, model))}
    return [_line(e, model) for e in errors if not (e["type"] == "missing" and tuple(e["loc"]) in meant)]


def _line(problem: Any, model: type[BaseModel]) -> str:
    place: Place = problem["loc"]
    kind, value = problem["type"], problem["input"]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    if kind == "extra_forbidden":
        near = _near(problem, model)
        remedy = f"did you mean {near}?" if near else f"known here: {', '.join(_keys(place, model))}"
        return f"{where} = {_short(value)}: there is no such key; {remedy}"
    if kind == "missing":
        return f"{where} is missing: add {example(place, model)}"
    message = problem["msg"].removeprefix("Value error, ")
    if kind in ("tuple_type", "model_type", "model_attributes_type", "dict_type"):
        return f"{where} = {_short(value)}: {_shape(place, kind, value, model)}"
    if isinstance(value, dict | BaseModel):  # a check of a whole table: its text says which keys
        return f"{where}: {message}"
    expected = re.sub(r"^Input should be", "it should be", message)
    remedy = f": {_REMEDIES[kind]}" if kind in _REMEDIES else ""
    return f"{where} = {_short(value)}: {expected}{remedy}"


def _shape(place: Place, kind: str, value: Any, model: type[BaseModel]) -> str:
    """What to write where a list or a table is expected and something else was given."""
    name = str(place[-1]) if isinstance(place[-1], str) else str(place[-2])
    if kind == "dict_type":
        return f"it should be a table: write {name} = {{ name = value }}"
    if kind != "tuple_type":
        brackets = f"[[{name}]]" if isinstance(place[-1], int) else f"[{name}]"
        return f"it should be a table: write {brackets} and its keys below"
    if inner_model(_annotation(place, model)) is not None:
        return f"it should be a list of tables: write [[{name}]] with two brackets"
    return f"it should be a list: write {name} = [{_short(value)}]"


def example(place: Place, model: type[BaseModel]) -> str:
    """What to write for a key that is missing: a table's head, or the key with the example of its field."""
    name = str(place[-1])
    annotation = _annotation(place, model)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{name}] and its keys below"
    if inner_model(annotation) is not None:
        return f"[[{name}]] and its keys below"
    field = _model_at(place, model).model_fields[name]
    return f"{name} = {_short((field.examples or ['..'])[0])}"


def _near(problem: Any, model: type[BaseModel]) -> str | None:
    """Key that an unknown one was perhaps meant to be."""
    return next(iter(difflib.get_close_matches(str(problem["loc"][-1]), _keys(problem["loc"], model), n=1)), None)


def _keys(place: Place, model: type[BaseModel]) -> list[str]:
    """Keys that the table holding this one may have."""
    return list(_model_at(place, model).model_fields)


def _table(place: Place) -> Place:
    return tuple(place[:-1])


def _model_at(place: Place, model: type[BaseModel]) -> type[BaseModel]:
    """Model of the table that holds the key at `place`."""
    for part in place[:-1]:
        if isinstance(part, str):
            inner = inner_model(model.model_fields[part].annotation)
            if inner is None:
                break
            model = inner
    return model


def _annotation(place: Place, model: type[BaseModel]) -> Any:
    name = next(part for part in reversed(place) if isinstance(part, str))
    return _model_at(place, model).model_fields[name].annotation


def inner_model(annotation: Any) -> type[BaseModel] | None:
    """Model of a table, or of the entries of a list of tables, or None."""
    return next(_models(annotation), None)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _models(part)


def _short(value: Any, most: int = 60) -> str:
    """A value as one would write it, cut where it is long."""
    as_json = isinstance(value, bool) or "'" in str(value)
    text = json.dumps(value, default=str) if as_json and not isinstance(value, dict | list) else repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"
