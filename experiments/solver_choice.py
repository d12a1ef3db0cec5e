"""Solvers by key: one of the registry, one of another distribution, or a class in somebody's own file."""

from __future__ import annotations

import dataclasses
import difflib
import importlib.util
import re
import sys
import tomllib
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pianobench.experiments import sources


class WrongParameter(ValueError):
    """A hyper-parameter that the solver does not have, or whose value it cannot take."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


@dataclass(frozen=True)
class Chosen:
    """A solver that a configuration asks for.

    Attributes
    ----------
    key : str
        As rows and labels name it: a file without the folders that are of this machine alone.
    title : str
        Its name in the literature, or that of its class.
    file : str or None
        Path of somebody's own file.
    solver : Solver or None
        None for a class in somebody's own file, which is made elsewhere.
    texts : dict
        Sources that decide what it does.
    black_box : bool
        Whether it is a peer.
    """

    key: str
    title: str
    file: str | None
    solver: Any
    texts: dict[str, bytes]
    black_box: bool = False


def choose(key: str, params: dict[str, Any], folder: Path, stop: Iterable[str] = ()) -> Chosen:
    """The solver that a configuration in `folder` means, made once so that its mistakes show now.

    A class in somebody's own file is made in another process.

    Parameters
    ----------
    key : str
        Key of the registry or of another distribution, or ``file.py:Class``.
    params : dict
        Hyper-parameters.
    folder : Path
        Where files are looked for.
    stop : iterable of str
        Modules of ours whose sources do not count, see `sources.closure`.

    Raises
    ------
    ValueError
        As of `make`.
    """
    from pianobench.algorithms import SOLVERS
    from pianobench.experiments import plugins, probe

    stop = tuple(stop)
    file, _, name = key.rpartition(":")
    if file:
        path = (folder / file).resolve()
        _look(path)
        probe.ask(key, str(path), params)
        try:
            texts = sources.beside(path)
        except SyntaxError as error:  # the probe has not told it: the file ends the process before
            raise ValueError(f"{error.filename}, line {error.lineno}: {error.msg}") from error
        imported = {module for text in texts.values() for module in sources.imports(text, "")}
        title = f"{path.name}:{name}" if Path(file).is_absolute() else key
        return Chosen(title, name, str(path), None, texts | sources.closure(imported, stop))
    solver = make(key, None, params)
    if key in SOLVERS:
        return Chosen(key, SOLVERS[key].title, None, solver, sources.closure([type(solver).__module__], stop))
    peer = _peer(key)
    if peer is not None:
        from pianobench.experiments import compare_peers

        return Chosen(key, peer.title, None, solver, compare_peers.texts(peer), black_box=True)
    plugin = plugins.get("solver", key, SOLVERS)
    assert plugin is not None  # or it could not have been made
    texts = plugins.texts(type(solver))
    imported = {module for text in texts.values() for module in sources.imports(text, "")}
    return Chosen(key, plugins.title(plugin), None, solver, texts | sources.closure(imported, stop))


def make(key: str, file: str | None, params: dict[str, Any]) -> Any:
    """A solver with its hyper-parameters.

    Parameters
    ----------
    key : str
        Key of the registry or of another distribution, or ``file.py:Class``.
    file : str or None
        Path of that file, if the key names one.
    params : dict
        Hyper-parameters.

    Raises
    ------
    ValueError
        Unknown key, class or parameter, with the valid ones; or the class cannot be imported or made.
    """
    peer = _peer(key) if file is None else None
    ours = peer.box_class if peer else None
    cls = _of_file(Path(file), key.rpartition(":")[2]) if file is not None else ours or _of_key(key)
    _check(cls, params)
    try:
        return peer.make(**params) if peer else cls(**params)
    except Exception as error:  # what a stranger's class may raise is not known
        raise ValueError(f"{cls.__name__} cannot be made: {type(error).__name__}: {error}") from error


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Key and hyper-parameters of ``KEY`` or ``KEY(name=value, ...)``, values as in TOML.

    Raises
    ------
    ValueError
    """
    found = re.fullmatch(r"\s*([^()]+?)\s*(?:\((.*)\))?\s*", text)
    if found is None:
        raise ValueError("a key, file.py:Class or either with (name=value, ...) is expected")
    try:
        params = tomllib.loads(f"params = {{ {found[2] or ''} }}")["params"]
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"({found[2]}) is not name=value, ... with numbers, true, false or texts in quotes") from error
    return found[1], params


def _peer(key: str) -> Any:
    """The peer of that key, or None."""
    from pianobench.algorithms import SOLVERS

    if key in SOLVERS:
        return None
    from pianobench.algorithms.peers import PEERS  # only here: a cell imports what it runs

    return PEERS.get(key)


def _of_key(key: str) -> type[Any]:
    from pianobench.algorithms import SOLVERS

    if key in SOLVERS:
        return SOLVERS[key].solver_class
    from pianobench.algorithms.peers import PEERS
    from pianobench.experiments import plugins

    plugin = plugins.get("solver", key, SOLVERS)
    if plugin is not None:
        return plugins.solver_class(plugin)
    known = [*SOLVERS, *(p.key for p in plugins.found("solver", SOLVERS)), *PEERS]
    near = difflib.get_close_matches(key, known, n=1)
    if key.endswith(".py"):
        hint = f"a class of a file is meant by '{key}:Class'; "
    else:
        hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"there is no such solver; {hint}the solvers are {', '.join(known)}")


def _of_file(path: Path, name: str) -> type[Any]:
    module = _module(path)
    cls = getattr(module, name, None)
    if not isinstance(cls, type):
        known = sorted(k for k, v in vars(module).items() if isinstance(v, type) and v.__module__ == module.__name__)
        raise ValueError(f"{path.name} has no class {name!r}; it has {', '.join(known) or 'none'}")
    return cls


def _check(cls: type[Any], params: dict[str, Any]) -> None:
    """Refuse parameters that the dataclass has not, or whose type is not that of their default."""
    if not dataclasses.is_dataclass(cls):
        return  # other constructors are asked by calling them
    known = {f.name: f for f in dataclasses.fields(cls) if f.init}
    for name, value in params.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            message = f"{cls.__name__} has no parameter {name!r}: {hint}it has {', '.join(known) or 'none'}"
            raise WrongParameter(name, message)
        default = known[name].default
        wanted = next((words for kind, words in _KINDS.items() if isinstance(default, kind)), None)
        allowed = (int, float) if type(default) is float else type(default)
        if wanted and (not isinstance(value, allowed) or isinstance(value, bool) != isinstance(default, bool)):
            raise WrongParameter(name, f"{cls.__name__}.{name} should be {wanted}, like its default {default!r}")
    for name, one in known.items():
        if name not in params and one.default is one.default_factory is dataclasses.MISSING:
            raise WrongParameter(name, f"{cls.__name__} needs the parameter {name}, which has no default")


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _look(path: Path) -> None:
    if not path.is_file():
        raise ValueError(f"there is no file {path.name}: a path is relative to the configuration's folder, or to yours")


def _module(path: Path) -> Any:
    _look(path)
    name = f"_pianobench_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path.name} is not a Python file: its name should end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    sys.path.append(str(path.parent))  # for the files beside it; last, so that they hide nothing
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else next(iter(lines[::-1]), None)
        where = f"{path.name}, line {line}" if line else path.name
        raise ValueError(f"{where}: {type(error).__name__}: {error}") from error
    return module
