"""Data by name: a set of ours, one of another distribution, or the user's own file."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pianobench import datasets
from pianobench.datasets import Dataset, reading
from pianobench.datasets.readers import forms
from pianobench.experiments import plugins, solver_choice
from pianobench.experiments.config import Config, ProblemGrid, SolverChoice
from pianobench.experiments.mistakes import UserMistake


def load(name: str) -> Dataset:
    """A data set of ours or of another distribution, under the name asked for.

    Raises
    ------
    ValueError
        With near matches, and where to see all names; or why it cannot be used.
    """
    own = datasets.names()
    key, _, part = name.partition(":")
    plugin = None if key in own else plugins.get("data set", key, own)
    if plugin is not None:
        found = plugins.dataset(plugin)
        return found.part(part) if part else found
    if key not in own and Path(name).suffix in forms.ENDINGS:
        raise datasets.UnknownDataset(
            f'no data set is called {name!r}: a file of your own is data = "{name}" in place of datasets, '
            f"or `pianobench compare {name}`"
        )
    try:
        return replace(datasets.load(name), name=name)
    except datasets.UnknownDataset:
        known = [*own, *(p.key for p in plugins.found("data set", own))]
        near = difflib.get_close_matches(key, known, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise datasets.UnknownDataset(
            f"no data set is called {name!r}: {hint}`pianobench datasets` lists all names"
        ) from None


def of_option(file: Path, options: Mapping[str, Any]) -> dict[str, Dataset]:
    """The file of ``--data`` by its name, read with these options.

    Raises
    ------
    UserMistake
    """
    if not file.is_file():
        raise UserMistake(f"--data {file}: there is no such file; a path is relative to the working folder")
    try:
        return {file.name: _read(file, options)}
    except (ValueError, OSError) as error:
        raise UserMistake(f"--data {file}: {error}") from error


def read_options(texts: Sequence[str]) -> dict[str, Any]:
    """``--read KEY=VALUE`` as options: a value is a number, a truth value or a list as TOML writes it, else a text.

    Raises
    ------
    UserMistake
    """
    options = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.isidentifier():
            raise UserMistake(f"--read {text}: KEY=VALUE is expected, for example --read missing=drop")
        if key in options:
            raise UserMistake(f'--read {text}: {key} is given twice; several are a list: --read \'{key}=["a", "b"]\'')
        try:
            options[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            options[key] = value
    return options


def of(grids: Sequence[ProblemGrid], folder: Path, given: Mapping[str, Dataset]) -> dict[str, Dataset]:
    """All data of some grids by the names that its cells have, `given` those that are read already.

    Files are relative to `folder`.

    Raises
    ------
    UserMistake
        One line for each name or file that cannot be used.
    """
    found = dict(given)
    files: dict[str, tuple[Path, dict[str, Any]]] = {}
    mistakes = []
    for i, grid in enumerate(grids):
        for j, name in enumerate(grid.sources):
            file = None if grid.data is None else (folder / grid.data).resolve()
            where = f"problems[{i}].datasets[{j}] = {name!r}" if file is None else f"problems[{i}].data = {grid.data!r}"
            try:
                if file is None:
                    found[name] = found.get(name) or load(name)
                elif files.setdefault(name, (file, dict(grid.reading))) != (file, dict(grid.reading)):
                    raise ValueError(
                        f"another file is called {name} too, or it is read otherwise, and rows name files alone: "
                        "rename one"
                    )
                elif name not in found:
                    found[name] = _read(file, grid.reading)
            except (ValueError, OSError) as error:
                mistakes.append(f"{where}: {error}")
    if mistakes:
        raise UserMistake("\n".join(mistakes))
    return found


def _read(file: Path, options: Mapping[str, Any]) -> Dataset:
    if not file.is_file():
        raise ValueError("there is no such file: a path is relative to the folder of the configuration")
    return reading.read(file, **options)


def override(config: Config, solvers: Sequence[str], data: Path | None, reading: Mapping[str, Any]) -> Config:
    """The configuration with solvers of the command line added, and with a file in place of all its data.

    Paths are relative to the working folder.

    Raises
    ------
    UserMistake
    """
    changes: dict[str, object] = {}
    if solvers:
        changes["solvers"] = (*config.solvers, *(_choice(text) for text in solvers))
    if data is not None:
        own = {"datasets": (), "data": str(data.resolve()), "reading": dict(reading)}
        changes["title"] = f"{config.title}: on {data.name} instead"
        changes["problems"] = tuple(_once(grid.model_copy(update=own) for grid in config.problems))
    return config.model_copy(update=changes)


def _choice(text: str) -> SolverChoice:
    try:
        key, params = solver_choice.parse(text)
        file, _, name = key.rpartition(":")
        if file and not Path(file).is_file():
            raise ValueError(f"there is no file {file}; a path is relative to the working folder")
        choice = SolverChoice(key=f"{Path(file).resolve()}:{name}" if file else key, params=params)
        solver_choice.choose(choice.key, dict(choice.params), Path())
    except (ValueError, OSError) as error:
        raise UserMistake(f"--solver {text}: {error}") from error
    return choice


def _once(values: Iterable[Any]) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if value not in kept:
            kept.append(value)
    return kept
