"""What reading a file of any bytes may come to: a sound data set, or one line that says what is wrong."""

from __future__ import annotations

import os
import pickle
import re
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import scipy.sparse as sp
from mutations import Case

from pianobench.datasets import reading
from pianobench.datasets.dataset import Dataset

SECONDS = 2.0  # of the processor, for one case
HANGS = 20  # seconds after which a case is broken off
MEMORY = 300 << 20  # bytes beyond what the process had
LONGEST = 600  # characters of a message
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "os.startfile")
_NETWORK = ("socket.connect", "socket.bind", "socket.getaddrinfo")

_watched: list[str] | None = None  # what was seen, while a case is read


def _hook(event: str, args: tuple[Any, ...]) -> None:
    """What Python's own audit sees while a case is read."""
    if _watched is None:
        return
    if event == "open":
        _, mode, flags = args
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & _WRITES):
            _watched.append(f"opened {args[0]!r} to write")
    elif event in _PROCESSES or event in _NETWORK or event.startswith("pickle."):
        _watched.append(f"{event} {args!r}"[:200])


@cache
def _listen() -> None:
    """Once: a hook cannot be taken away."""
    sys.addaudithook(_hook)


@contextmanager
def guarded() -> Iterator[None]:
    """Unpickling fails, warnings are errors, and what hangs is broken off."""

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("something was to be unpickled")

    def late(*_: Any) -> None:
        raise TimeoutError(f"it takes more than {HANGS} s")

    kept = pickle.load, pickle.loads, pickle.Unpickler
    pickle.load = pickle.loads = pickle.Unpickler = refused  # type: ignore[assignment, misc]
    before = signal.signal(signal.SIGALRM, late)
    _listen()
    with suppress(OSError):  # what earlier tests took is forgotten, where Linux lets it be
        Path("/proc/self/clear_refs").write_text("5")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.signal(signal.SIGALRM, before)
        pickle.load, pickle.loads, pickle.Unpickler = kept  # type: ignore[misc]


def written(case: Case, folder: Path) -> list[Path]:
    """The case's files."""
    paths = [folder / name for name, _ in case.files]
    for path, (_, content) in zip(paths, case.files, strict=True):
        path.write_bytes(content)
    return paths


def finding(case: Case, form: str, folder: Path, expected: str | None = None) -> tuple[Dataset | None, str | None]:
    """Read a case: the data set where it is accepted, and what is wrong with the outcome, None if nothing is.

    Parameters
    ----------
    case : Case
    form : str
    folder : Path
        Where its files are written; those of the last case stay there.
    expected : str, optional
        Pattern that the message must have; a data set is wrong then.
    """
    global _watched
    paths = written(case, folder)
    process = psutil.Process()
    resident, start, seen = process.memory_info().rss, time.process_time(), list[str]()
    peak = _peak()
    signal.setitimer(signal.ITIMER_REAL, HANGS)
    data, wrong = None, None
    try:
        _watched = seen
        data = reading.read(paths, form=form, cache=False, **case.options)
    except reading.UnusableFile as error:
        wrong = _message(str(error), [path.name for path in paths])
        if expected is not None and not re.search(expected, str(error)):
            wrong = f"{expected!r} is not in the message {error}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "datasets" in frame.filename]
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        wrong = f"{type(error).__name__} at {where}: {str(error)[:200]}"
    finally:
        _watched = None
        signal.setitimer(signal.ITIMER_REAL, 0)
    took = time.process_time() - start
    if data is not None:
        wrong = unsound(data) if expected is None else "it is read"
    if seen:
        wrong = f"it {seen[0]}"
    if took > SECONDS:
        wrong = f"it took {took:.1f} s"
    if _peak() > max(peak, resident + MEMORY):
        wrong = f"it took {(_peak() - resident) >> 20} MiB"
    return data, wrong


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _message(text: str, names: list[str]) -> str | None:
    if not any(name in text for name in names):
        return f"the message names no file: {text[:200]!r}"
    if not text.isprintable():
        return f"the message is not one printable line: {text[:200]!r}"
    return f"the message has {len(text)} characters: {text[:120]!r}" if len(text) > LONGEST else None


def unsound(data: Dataset) -> str | None:
    """What is wrong with a data set."""
    X, n, d = data.X, data.n, data.d
    values = X.data if sp.issparse(X) else X
    rules: Mapping[str, Any] = {
        "X has two dimensions and rows": X.ndim == 2 and n >= 1 and d >= 1,
        "X is float32 or float64 of this machine": values.dtype in (np.float32, np.float64) and values.dtype.isnative,
        "X is finite": np.isfinite(values).all(),
        "X is contiguous": sp.issparse(X) or X.flags.c_contiguous,
        "y is int64 (n,)": data.y.shape == (n,) and data.y.dtype == np.int64,
        "each class has a row": len(data.y) > 0 and set(np.unique(data.y)) == set(range(data.m)) and data.m >= 2,
        "classes are distinct texts": len(set(data.classes)) == data.m and all(map(_is_text, data.classes)),
        "features are named all or none": len(data.features) in (0, d) and all(map(_is_text, data.features)),
        "parts are all rows": not data.parts or sum(size for _, size in data.parts) == n,
        "no part is empty": all(size > 0 for _, size in data.parts),
        "X is small": values.nbytes < 64 << 20,
    }
    if sp.issparse(X):
        pointers, indices = X.indptr, X.indices
        rules = {
            **rules,
            "X is CSR": X.format == "csr" and isinstance(X, sp.csr_array),
            "its pointers hold": len(pointers) == n + 1
            and pointers[0] == 0
            and pointers[-1] == len(indices) == len(values)
            and (np.diff(pointers) >= 0).all(),
            "its indices are of 32 bits where that is enough": indices.dtype == pointers.dtype == np.int32
            or d >= 2**31,
            "its indices are in bounds": len(indices) == 0 or (indices.min() >= 0 and indices.max() < d),
            "its rows are sorted, without repeats": all(
                (np.diff(indices[a:b]) > 0).all() for a, b in pairwise(pointers)
            ),
        }
    return next((f"not so: {rule}" for rule, holds in rules.items() if not holds), None)


def _is_text(text: Any) -> bool:
    return type(text) is str
