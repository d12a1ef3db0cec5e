"""Logs for the tests of `pianobench stream`, the command, and the states that it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from commands import here

from pianobench.algorithms.stream import archive
from pianobench.datasets.kdd12.clicks import Clicks
from pianobench.datasets.kdd12.writing import write

FORM, SIZE = "pianobench stream", 60
SMALL = ("--batch-rows", str(SIZE), "--rows", "150", "--kept", "100")


def text_of(batches: int, seed: int = 0, d: int = 4, turned: int = 4) -> list[str]:
    """Lines of an svmlight log whose law turns after so many batches."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(batches):
        X = rng.normal(size=(SIZE, d)).round(3)
        sign = 3 if number < turned else -3
        for x, y in zip(X, sign * X[:, 0] + rng.logistic(size=SIZE) > 0, strict=True):
            found.append(f"{int(y)} " + " ".join(f"{i}:{v}" for i, v in enumerate(x, 1)))
    return found


def put(path: Path, rows: Sequence[str], end: str = "\n") -> Path:
    """A file of these lines."""
    path.write_text("\n".join(rows) + end, "utf-8")
    return path


def clicks(folder: Path, rows: int = 1200) -> Path:
    """A log of generated clicks, three views in ten clicked."""
    return write(Clicks(rows=rows, test=0.0, rate=0.3), folder, tables=False)[0]


def stream(folder: Path, *words: Any, code: int = 0) -> str:
    """What the command says in a folder: its output, or, where it must fail with a code, its error."""
    done = here("stream", *map(str, words), cwd=folder)
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def kept(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Facts and arrays of a state."""
    return archive.read(path, FORM, 1)


def same(first: Path, second: Path) -> bool:
    """Whether two states have the same arrays, to the bit."""
    (_, a), (_, b) = kept(first), kept(second)
    return a.keys() == b.keys() and all(a[name].tobytes() == b[name].tobytes() for name in a)
