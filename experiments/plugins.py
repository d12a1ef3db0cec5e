"""Solvers and data sets of other distributions, found by their entry points.

A distribution offers them in its ``pyproject.toml``; the name of the entry point is the key::

    [project.entry-points."pianobench.solvers"]
    mine = "my_package.my_module:MySolver"        # a class with the contract, or an object with `solver_class`
    [project.entry-points."pianobench.datasets"]
    my_data = "my_package.my_module:my_data"      # a function that returns a Dataset

They are found when asked for, imported when used, and never take a key of ours. One that is broken is an entry with its
error in the listings, and a mistake in one line where it is used.
"""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pianobench.datasets import Dataset

Kind = Literal["solver", "data set"]
GROUPS: dict[Kind, str] = {"solver": "pianobench.solvers", "data set": "pianobench.datasets"}
CONTRACT = ("penalties", "needs", "monotone", "step_is", "memory", "init", "step")


class PluginError(ValueError):
    """A solver or data set of another distribution cannot be used; the message says why and gives the remedy."""


@dataclass(frozen=True)
class Plugin:
    """An entry point.

    Attributes
    ----------
    kind : {"solver", "data set"}
    key : str
        Its name.
    distribution : str
        Name and version of the distribution that offers it.
    place : str
        ``module:attribute``.
    clash : str
        Why the key is not its own, or empty.
    """

    kind: Kind
    key: str
    distribution: str
    place: str
    clash: str = ""

    @property
    def module(self) -> str:
        """Name of the module."""
        return self.place.partition(":")[0]

    def load(self) -> Any:
        """What the entry point names.

        Raises
        ------
        PluginError
            The key is not its own, or it cannot be imported.
        """
        if self.clash:
            raise self.error(self.clash)
        try:
            return importlib.metadata.EntryPoint(self.key, self.place, GROUPS[self.kind]).load()
        except (Exception, SystemExit) as error:  # somebody else's code: whatever it raises must not end the suite
            raise self.error(f"importing {self.place} fails: {type(error).__name__}: {_first_line(error)}") from error

    def error(self, what: str) -> PluginError:
        """The mistake, with whose it is and what to do."""
        return PluginError(f"{self.kind} {self.key!r} of {self.distribution} cannot be used: {what}")


def found(kind: Kind, own: Iterable[str]) -> list[Plugin]:
    """All of other distributions, by key. `own` are the keys that are taken."""
    taken = set(own)
    plugins = []
    for point in importlib.metadata.entry_points(group=GROUPS[kind]):
        name = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"
        clash = "pianobench has that key itself, which stays: rename the entry point" if point.name in taken else ""
        plugins.append(Plugin(kind, point.name, name, point.value, clash))
    plugins = sorted(set(plugins), key=lambda p: (p.key, p.distribution))
    for i, plugin in enumerate(plugins):
        others = [p.distribution for p in plugins if p.key == plugin.key and p != plugin]
        if others and not plugin.clash:
            plugins[i] = replace(plugin, clash=f"{' and '.join(others)} has that key too: uninstall one")
    return plugins


def get(kind: Kind, key: str, own: Iterable[str]) -> Plugin | None:
    """The one with this key, or None; a key of ours is never one."""
    taken = set(own)
    return None if key in taken else next((p for p in found(kind, taken) if p.key == key), None)


def solver_class(plugin: Plugin) -> type[Any]:
    """The class of a solver, looked at but not yet made.

    Raises
    ------
    PluginError
    """
    offered = plugin.load()
    try:
        cls = offered if isinstance(offered, type) else offered.solver_class
    except (Exception, SystemExit) as error:
        raise plugin.error(
            f"{plugin.place} is neither a class nor an object with `solver_class` ({_first_line(error)})"
        ) from error
    missing = [name for name in CONTRACT if not hasattr(cls, name)]
    if missing:
        raise plugin.error(f"{getattr(cls, '__name__', cls)} lacks {', '.join(missing)}: see docs/contract.md")
    return cls


def title(plugin: Plugin) -> str:
    """Name in the literature, if the plugin gives one; else the class's name."""
    given = getattr(plugin.load(), "title", None)
    return given if isinstance(given, str) else str(solver_class(plugin).__name__)


def dataset(plugin: Plugin) -> Dataset:
    """The data set, under the plugin's key.

    Raises
    ------
    PluginError
    """
    function = plugin.load()
    if not callable(function):
        raise plugin.error(f"{plugin.place} is no function that returns a Dataset")
    try:
        made = function()
    except (Exception, SystemExit) as error:
        raise plugin.error(f"{plugin.place}() fails: {type(error).__name__}: {_first_line(error)}") from error
    if not isinstance(made, Dataset):
        raise plugin.error(f"{plugin.place}() returns {type(made).__name__}: pianobench.datasets.Dataset is expected")
    return replace(made, name=plugin.key)


def texts(cls: type[Any]) -> dict[str, bytes]:
    """Sources that decide what a class of another distribution does: all Python files of its package.

    Its version would not do: that of an editable installation stays while the code changes.
    """
    top = sys.modules[cls.__module__.partition(".")[0]]
    folders = [Path(folder) for folder in getattr(top, "__path__", [])]
    files = {path.relative_to(folder).as_posix(): path for folder in folders for path in folder.rglob("*.py")}
    if not folders and getattr(top, "__file__", None):
        files = {f"{top.__name__}.py": Path(str(top.__file__))}
    return {name: path.read_bytes() for name, path in files.items() if path.is_file()}


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or "no message").splitlines()[0]
