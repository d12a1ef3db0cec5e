"""Solvers by key: one of the registry, or a class in somebody's own file."""

import importlib.util
import sys
from pathlib import Path
from typing import Any


def make(key: str, file: str | None, params: dict[str, Any]) -> Any:
    """A solver with its hyper-parameters.

    Parameters
    ----------
    key : str
        Key of the registry, or ``file.py:Class``.
    file : str or None
        Path of that file, if the key names one.
    params : dict
        Hyper-parameters.

    Raises
    ------
    ValueError
        Unknown key, class or parameter, with the valid ones.
    FileNotFoundError
        There is no such file.
    """
    if file is None:
        from pianobench.algorithms import make_solver

        return make_solver(key, **params)
    module = _module(Path(file))
    name = key.rpartition(":")[2]
    cls = getattr(module, name, None)
    if not isinstance(cls, type):
        known = sorted(k for k, v in vars(module).items() if isinstance(v, type) and v.__module__ == module.__name__)
        raise ValueError(f"{Path(file).name} has no class {name!r}; it has {', '.join(known) or 'none'}")
    return cls(**params)


def _module(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path.name} beside the configuration")
    name = f"_pianobench_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module
