"""Which source files decide a measurement, and their hash.

A module's import closure is itself and the modules of this package that it imports, found by reading the
source, not by importing. A package's ``__init__`` belongs to the closure only where a name is taken from it:
else every solver would depend on the registry, and through it on every other solver.
"""

import ast
import fnmatch
import hashlib
import sys
import threading
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pianobench

ROOT = "pianobench"
_PARSING = threading.Lock()  # CPython 3.11 counts the depth of a tree for all threads together, and then refuses it


@cache
def source(module: str) -> Path | None:
    """File of a module of this package, or None if there is no such module."""
    parts = module.split(".")
    if parts[0] != ROOT:
        return None
    for folder in pianobench.__path__:
        stem = Path(folder, *parts[1:])
        for path in (stem.with_name(stem.name + ".py"), stem / "__init__.py"):
            if path.is_file() and len(parts) > 1:
                return path
    return None


def modules_below(package: str) -> tuple[str, ...]:
    """Names of a package and all modules in it, sorted."""
    start = source(package)
    if start is None:
        raise ValueError(f"{package} is not a package of {ROOT}")
    folder = start.parent
    names = []
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        names.append(".".join((package, *parts)))
    return tuple(sorted(names))


def closure(modules: Iterable[str], stop: Iterable[str] = ()) -> dict[str, bytes]:
    """Sources of the modules and of what they import from this package, by module name.

    Parameters
    ----------
    modules : iterable of str
        Where to start.
    stop : iterable of str
        Patterns (as of `fnmatch`) of modules that are left out, and not followed, wherever they are imported.
    """
    found: dict[str, bytes] = {}
    waiting = list(modules)
    patterns = tuple(stop)
    while waiting:
        name = waiting.pop()
        path = source(name)
        if name in found or path is None or any(fnmatch.fnmatchcase(name, p) for p in patterns):
            continue
        found[name] = path.read_bytes()
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting.extend(imports(found[name], package))
    return found


def imports(text: bytes, package: str) -> set[str]:
    """Modules of this package that a source text imports when it runs, wherever in the text.

    Parameters
    ----------
    text : bytes
        Source text.
    package : str
        Package that relative imports start from.
    """
    return {name for name in _imported(text, package) if source(name)}


def beside(path: Path) -> dict[str, bytes]:
    """Sources of a user's file and of the files and packages beside it that it imports, by relative path.

    Raises
    ------
    SyntaxError
        If one of them is not Python; its `filename` says which.
    """
    found: dict[str, bytes] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        name = file.relative_to(path.parent).as_posix()
        if name in found:
            continue
        found[name] = file.read_bytes()
        for imported in _imported(found[name], "", name):
            first = path.parent / imported.partition(".")[0]
            waiting.extend(p for p in (first.with_name(first.name + ".py"), *first.rglob("*.py")) if p.is_file())
    return found


def outside(texts: Mapping[str, bytes]) -> set[str]:
    """Top-level names of the packages that source texts import from elsewhere: not Python's, ours, or beside."""
    first = {name.partition(".")[0] for text in texts.values() for name in _imported(text, "")}
    near = {name.partition("/")[0].removesuffix(".py") for name in texts}
    return {name for name in first if name} - set(sys.stdlib_module_names) - near - {ROOT}


def _imported(text: bytes, package: str, filename: str = "<source>") -> set[str]:
    """Names of modules in a text's import statements; of relative ones only where a package is given."""
    found: set[str] = set()
    with _PARSING:
        waiting: list[ast.AST] = [ast.parse(text, filename)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting.extend(node.orelse)  # the rest is read by type checkers only
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = node.module or ""
            if node.level:
                base = package.split(".")[: len(package.split(".")) - node.level + 1]
                parent = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                submodule = f"{parent}.{alias.name}"
                found.add(submodule if source(submodule) else parent)
        waiting.extend(ast.iter_child_nodes(node))
    return found


def digest(sources: Mapping[str, bytes]) -> str:
    """SHA-256 of names and texts; line ends do not count."""
    whole = hashlib.sha256()
    for name in sorted(sources):
        text = sources[name].replace(b"\r\n", b"\n")
        whole.update(f"{name} {len(text)};".encode())
        whole.update(text)
    return whole.hexdigest()
