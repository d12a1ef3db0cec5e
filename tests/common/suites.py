"""Suites of a few cells on a small problem, most of them of planted solvers."""

import dataclasses
import functools
import json
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pianobench.datasets import handover, load
from pianobench.experiments import runner
from pianobench.experiments.cells import Cell, expand
from pianobench.experiments.config import Config
from pianobench.results import lock
from pianobench.results.store import Store

T = TypeVar("T")
PLANTED = Path(__file__).parents[1] / "experiments" / "planted.py"


def make(solvers: list[str], **budget: Any) -> list[Cell]:
    """Cells on iris, of keys of the registry or names of planted classes, the latter with or without ``(params)``.

    The limits are wide: on a busy machine a process may take many seconds to start.
    """
    return [_cell(solver, tuple(budget.items())) for solver in solvers]


def _cell(solver: str, budget: tuple[tuple[str, Any], ...]) -> Cell:
    from pianobench.experiments.solver_choice import parse

    name, params = parse(solver)
    if not name[0].isupper():
        return _expand(name, budget)
    # Asking for each class by itself would start a process each time, to make it there.
    one = _expand("planted.py:Descends", budget)
    return dataclasses.replace(one, solver=f"planted.py:{name}", solver_title=name, params=json.dumps(params))


@functools.cache
def _expand(key: str, budget: tuple[tuple[str, Any], ...]) -> Cell:
    config = Config.model_validate(
        {
            "title": "Test",
            "budget": {"seconds": 5.0, "allowance": 60.0, "steps": 30, "memory_gib": 0.5, **dict(budget)},
            "problems": [{"datasets": ["iris"], "penalty": "l2", "lam": [1.0]}],
            "solvers": [{"key": key}],
        }
    )
    return expand(config, "test", PLANTED.parent, {"iris": load("iris").checksum})[0]


def execute(cells: list[Cell], root: Path, **told: Any) -> runner.Outcome:
    """Run them in the given order."""
    store, data = Store(root), load("iris")
    return runner.run(cells, store, {data.checksum: handover.write(data, store.data)}, **told)


def once(factory: pytest.TempPathFactory, name: str, function: Callable[[Path], T]) -> T:
    """What a function of a folder returns, called by the first of all test workers; the others wait for it."""
    shared = factory.getbasetemp()
    if shared.name.startswith("popen-"):
        shared = shared.parent  # that of all workers

    def wait(_holder: str) -> bool:
        time.sleep(0.2)
        return True

    with lock.held(shared / f"{name}.lock", name, wait):
        kept = shared / f"{name}.pickle"
        if not kept.is_file():
            folder = shared / name
            folder.mkdir(exist_ok=True)  # a test that is run again after a failure finds it
            kept.write_bytes(pickle.dumps(function(folder)))
        result: T = pickle.loads(kept.read_bytes())
    return result
