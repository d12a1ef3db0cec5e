"""The entries of `solvers` and `datasets`: all keys always there, null where there is nothing to say.

What cannot be used (an optional library is missing, another distribution's entry point is broken) is an entry with its
reason in `error`, never a failure of the list.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from pianobench import __version__

OURS = f"pianobench {__version__}"
SOLVER_KEYS = (
    "key",
    "kind",
    "title",
    "citation",
    "penalties",
    "needs",
    "monotone",
    "step",
    "parameters",
    "module",
    "from",
    "available",
    "error",
)
DATASET_KEYS = (
    "name",
    "n",
    "d",
    "m",
    "field",
    "description",
    "origin",
    "licence",
    "checksum",
    "source",
    "from",
    "available",
    "error",
)
DETAIL_KEYS = (
    *("name", "description", "field", "origin", "licence", "preprocessing"),
    *("n", "d", "m", "parts", "nnz", "density", "layout", "dtype", "classes", "features", "checksum", "files"),
)


def solvers() -> list[dict[str, Any]]:
    """Solvers of ours, those of other distributions, then the peers: other libraries' methods as black boxes."""
    from pianobench.algorithms import SOLVERS
    from pianobench.algorithms.peers import PEERS
    from pianobench.experiments import plugins

    entries = []
    for key, entry in SOLVERS.items():
        known = {
            "key": key,
            "kind": "solver",
            "title": entry.title,
            "citation": entry.citation,
            "module": entry.module,
            "from": OURS,
        }
        entries.append(_entry(SOLVER_KEYS, known, lambda entry=entry: _of_class(entry.solver_class)))  # type: ignore[misc]
    for plugin in plugins.found("solver", [*SOLVERS, *PEERS]):
        known = {"key": plugin.key, "kind": "solver", "module": plugin.module, "from": plugin.distribution}
        entries.append(_entry(SOLVER_KEYS, known, lambda plugin=plugin: _of_plugin(plugin)))  # type: ignore[misc]
    for key, peer in PEERS.items():
        known = {"key": key, "kind": "peer", "title": peer.title, "citation": peer.citation, "module": peer.modules[0]}
        known["from"] = peer.citation
        entries.append(_entry(SOLVER_KEYS, known, lambda peer=peer: _of_peer(peer)))  # type: ignore[misc]
    return entries


def datasets() -> list[dict[str, Any]]:
    """Data sets of ours, none of which is read, then those of other distributions."""
    from pianobench.datasets import entries as known_entries
    from pianobench.datasets.registry import SOURCES
    from pianobench.experiments import plugins

    entries = []
    known = known_entries()
    places = [source.partition(".")[0].replace("_", "-") for source in SOURCES]
    for one in sorted(known.values(), key=lambda one: places.index(one.source)):
        about = {key: getattr(one, key) for key in DATASET_KEYS if hasattr(one, key)}
        entries.append(
            {**dict.fromkeys(DATASET_KEYS), **about, "from": OURS, "available": not one.missing, "error": one.missing}
        )
    for plugin in plugins.found("data set", tuple(known)):
        told = {"name": plugin.key, "source": "another distribution", "from": plugin.distribution}
        entries.append(_entry(DATASET_KEYS, told, lambda plugin=plugin: _of_made(plugins.dataset(plugin))))  # type: ignore[misc]
    return entries


def _of_made(dataset: Any) -> dict[str, Any]:
    texts = ("description", "field", "origin", "licence", "checksum")
    return {"n": dataset.n, "d": dataset.d, "m": dataset.m, **{name: getattr(dataset, name) for name in texts}}


def dataset(name: str) -> dict[str, Any]:
    """All that there is to say of one data set, which is read.

    Raises
    ------
    UserMistake
    """
    import numpy as np

    from pianobench.experiments import data_choice
    from pianobench.experiments.mistakes import UserMistake

    try:
        found = data_choice.load(name)
    except ValueError as error:
        raise UserMistake(str(error)) from error
    dense = isinstance(found.X, np.ndarray)
    nnz = int(np.count_nonzero(found.X)) if dense else int(found.X.nnz)
    counts = np.bincount(found.y, minlength=found.m)
    known = {key: getattr(found, key) for key in DETAIL_KEYS if hasattr(found, key)}
    return {
        **dict.fromkeys(DETAIL_KEYS),
        **known,
        "parts": dict(found.parts),
        "nnz": nnz,
        "density": nnz / (found.n * found.d),
        "layout": "dense" if dense else "csr",
        "dtype": str(found.X.dtype),
        "classes": dict(zip(found.classes, counts.tolist(), strict=True)),
        "features": list(found.features),
        "files": dict(found.files),
    }


def _entry(keys: tuple[str, ...], known: dict[str, Any], look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """All keys in their order, with what is known anyhow and what looking closer tells, or why that failed."""
    try:
        told = {"available": True, **look()}
    except (Exception, SystemExit) as error:  # a list must not end with one entry of it
        text = str(error).strip() or type(error).__name__
        told = {"available": False, "error": _remedy(error) or text.splitlines()[0]}
    return {**dict.fromkeys(keys), **known, **told}


def _remedy(error: BaseException) -> str | None:
    if not isinstance(error, ModuleNotFoundError):
        return None
    return f"the library {error.name} is not installed; `pianobench doctor` says what installs it"


def _of_class(cls: type[Any]) -> dict[str, Any]:
    return {
        "penalties": sorted(str(p) for p in cls.penalties),
        "needs": sorted(str(n) for n in getattr(cls, "needs", ())),
        "monotone": getattr(cls, "monotone", None),
        "step": getattr(cls, "step_is", None),
        "parameters": [
            {"name": f.name, "type": str(getattr(f.type, "__name__", f.type)), "default": _default(f)}
            for f in (dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ())
            if f.init
        ],
    }


def _default(field: Any) -> Any:
    if field.default is not dataclasses.MISSING:
        return _plain(field.default)
    return None if field.default_factory is dataclasses.MISSING else _plain(field.default_factory())


def _plain(value: Any) -> Any:
    """For strict JSON: texts, truth, whole and finite numbers as they are, else their text."""
    if isinstance(value, bool | int | str | None) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def _of_plugin(plugin: Any) -> dict[str, Any]:
    from pianobench.experiments import plugins

    citation = getattr(plugin.load(), "citation", None)
    return {"title": plugins.title(plugin), "citation": citation, **_of_class(plugins.solver_class(plugin))}


def _of_peer(peer: Any) -> dict[str, Any]:
    box = peer.make()
    trouble = peer.available()
    parameters = [
        {"name": f.name, "type": str(getattr(f.type, "__name__", f.type)), "default": _plain(getattr(box, f.name))}
        for f in dataclasses.fields(box)
    ]
    told = {"penalties": sorted(box.penalties), "needs": [], "step": box.step_is, "parameters": parameters}
    return {**told, "available": trouble is None, "error": trouble}
