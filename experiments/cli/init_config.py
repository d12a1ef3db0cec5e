"""`init-config`: a configuration to start from, written from the model that reads it, so that it cannot go stale."""

from __future__ import annotations

import json
import textwrap
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

WIDTH = 100
# What is set where the model has no default: the first entry of these tables. All else is the model's.
STARTS: dict[str, dict[str, Any]] = {
    "problems": {"datasets": ["wine_standardised"], "lam_factor": [0.1]},
    "solvers": {},
}
ALSO: dict[str, str] = {"solvers": '\n[[solvers]]\nkey = "lbfgs"\n'}


def init_config(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="Where to write it.")] = Path("experiment.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write a commented configuration that runs as it is: every key, its meaning and its default."""
    from pianobench.experiments.mistakes import UserMistake

    if file.suffix != ".toml":
        raise UserMistake(f"{file}: a configuration's name ends in .toml, for example {file.with_suffix('.toml').name}")
    if not file.parent.is_dir():
        raise UserMistake(f"{file}: there is no folder {file.parent}")
    try:
        with open(file, "w" if force else "x", encoding="utf-8") as stream:
            stream.write(text())
    except FileExistsError:
        raise UserMistake(f"{file} exists: name another file, or overwrite it with --force") from None
    except OSError as error:
        raise UserMistake(f"{file} cannot be written: {error.strerror}") from error
    typer.echo(f"{file} is written; run it: pianobench run {file}")


def text() -> str:
    """The configuration, with every key of the model: set, or commented out with an example or its default."""
    from pianobench.experiments.config import Config

    head = (
        "What `pianobench run` runs: each of the problems with each of the solvers. Keys that are not set have a hash "
        "and no space before them, beside an example. A key that is not listed here is refused."
    )
    return f"{_comment(head)}\n{_table(Config, '', {})}"


def _table(model: type[BaseModel], prefix: str, start: dict[str, Any]) -> str:
    """Keys of a table, then the tables inside it."""
    lines, inner = [], []
    for name, field in model.model_fields.items():
        table, repeated = _inner(field)
        if table is not None:
            path = f"{prefix}{name}"
            brackets = f"[[{path}]]" if repeated else f"[{path}]"
            about = _comment(" ".join((table.__doc__ or "").split()).replace("`", ""))
            content = _table(table, f"{path}.", STARTS.get(name, {}))
            inner.append(f"\n{about}{brackets}\n{content}{ALSO.get(name, '')}")
        else:
            lines.append(_key(name, field, start))
    return "".join([*lines, *inner])


def _key(name: str, field: FieldInfo, start: dict[str, Any]) -> str:
    """A key with its meaning above: set to its default, to an example where it has none, or commented out."""
    about = " ".join((field.description or "").split())
    choices = _choices(field.annotation)
    about += f" One of {', '.join(toml(choice) for choice in choices)}." if choices else ""
    example = (field.examples or [None])[0]
    if name in start or field.is_required():
        return f"{_comment(about)}{name} = {toml(start.get(name, example))}\n"
    if field.default in (None, (), {}):  # not set by default: shown, but not set here either
        return f"{_comment(about)}#{name} = {toml(example)}\n"
    return f"{_comment(f'{about} Default: {toml(field.default)}.')}{name} = {toml(field.default)}\n"


def _choices(annotation: Any) -> tuple[Any, ...]:
    """The values that a field may have, if they are few."""
    return typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()


def _inner(field: FieldInfo) -> tuple[type[BaseModel] | None, bool]:
    """Model of the table that a field holds, and whether it is a list of such tables."""
    from pianobench.experiments.config_mistakes import inner_model

    return inner_model(field.annotation), not isinstance(field.annotation, type)


def _comment(sentence: str) -> str:
    return "".join(f"# {line}\n" for line in textwrap.wrap(sentence, WIDTH - 2, break_long_words=False))


def toml(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(v)}" for name, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    return json.dumps(value) if isinstance(value, bool | str) else repr(value)
