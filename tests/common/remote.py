"""Rows that live in other processes: what a solver can do with them it can do with rows anywhere.

`Workers` starts spawned processes, each of which holds one part of the rows and all fields on them. Kernels are sent by
reference, so they must lie in a module that the worker can import. This file is the worker's program too: it is run by
path, so that no worker has to import a test.
"""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
import runpy
import traceback
import weakref
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, Self, TypeAlias

import numpy as np

from pianobench.problems import Problem
from pianobench.problems.data import rows_in_memory
from pianobench.problems.engines.memory import MemoryRows, Part
from pianobench.problems.rows import Kernel, Layout

WORKER = "pianobench_test_worker"


def split(part: Part, places: Sequence[int]) -> MemoryRows:
    """The rows of one part, cut before the numbers `places`."""
    ends = [0, *places, part.n]
    return MemoryRows(tuple(part.slice(slice(i, j)) for i, j in itertools.pairwise(ends)))


def problem_in_parts(X: Any, y: Any, workers: Workers | None = None, **arguments: Any) -> Problem:
    """`Problem(X, y, ...)` over two parts of its rows, in this process or one in each of two workers."""
    given = {name: arguments.pop(name, None) for name in ("sample_weight", "classes")}
    intercept = arguments.get("fit_intercept", True)
    rows, classes = rows_in_memory(X, y, given["sample_weight"], intercept, given["classes"])
    parts = split(rows.parts[0], [rows.n // 3])
    return Problem.over(parts if workers is None else workers.hold(parts), classes, **arguments)


class Workers:
    """Processes that hold rows; a context manager, or call `close`."""

    def __init__(self, count: int = 2) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._keys = 0
        self._forgotten: list[int] = []  # goes with the next message: garbage is collected at any time, also during one
        self._ends: list[Connection] = []
        self._processes = []
        for _ in range(count):
            mine, theirs = spawn.Pipe()
            given = {"init_globals": {"connection": theirs}, "run_name": WORKER}
            process = spawn.Process(target=runpy.run_path, args=(__file__,), kwargs=given, daemon=True)
            process.start()
            theirs.close()  # so that a worker's end is seen here
            self._ends.append(mine)
            self._processes.append(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes; their rows and fields are gone. Safe to call twice."""
        for end in self._ends:
            end.close()  # a worker ends when its connection does
        for process in self._processes:
            process.join(10)
            if process.is_alive():
                process.kill()
                process.join()
        self._ends = []

    def hold(self, rows: MemoryRows) -> RemoteRows:
        """Give each worker one part."""
        if len(rows.parts) != len(self._ends):
            raise ValueError(f"{len(rows.parts)} parts for {len(self._ends)} workers: give one part a worker")
        key = self.new_key()
        return RemoteRows(self, key, self.ask([("hold", key, part) for part in rows.parts]))

    def new_key(self) -> int:
        """Name of something that the workers hold."""
        self._keys += 1
        return self._keys

    def ask(self, messages: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Answers to one message a worker, in order; all work at once.

        Raises
        ------
        Exception
            What the first of the workers raised, with its traceback as a note.
        RuntimeError
            The workers are closed, or one has ended.
        """
        if not self._ends:
            raise RuntimeError("the workers are closed")
        packed = [pickle.dumps(message) for message in messages]  # first all: what cannot be sent is sent to nobody
        forgotten, self._forgotten = self._forgotten, []
        answers: list[Any] = []
        error: BaseException | None = None
        for end, message in zip(self._ends, packed, strict=True):
            try:
                end.send(forgotten)
                end.send_bytes(message)
            except OSError:
                pass  # recv will tell
        for place, end in enumerate(self._ends):
            try:
                good, answer = end.recv()
            except (EOFError, OSError):
                good, answer = False, RuntimeError(f"worker {place} has ended")
            answers.append(answer)
            error = error or (None if good else answer)
        if error is not None:
            raise error
        return answers

    def ask_all(self, *message: Any) -> list[Any]:
        """Answers to the same message."""
        return self.ask([message] * len(self._ends))

    def forget(self, key: int) -> None:
        """Let the workers drop what has that name."""
        self._forgotten.append(key)


Shape: TypeAlias = tuple[int, int, int, int, np.dtype[Any], Layout]  # n, d, m, nnz, dtype, layout of a part


class RemoteField:
    """`Field` whose pieces the workers hold."""

    def __init__(self, workers: Workers, k: int, key: int) -> None:
        self.k, self.key, self._workers = k, key, workers
        weakref.finalize(self, workers.forget, key)

    def export(self) -> list[Any]:
        return self._workers.ask_all("export", self.key)

    def load(self, parts: Sequence[Any]) -> None:
        self._workers.ask([("load", self.key, part) for part in parts])


class RemoteRows:
    """`Rows` whose parts the workers hold: see `pianobench.problems.rows`."""

    local = False

    def __init__(self, workers: Workers, key: int, shapes: list[Shape]) -> None:
        self._workers, self._key = workers, key
        self._sizes, self.nnz = [shape[0] for shape in shapes], sum(shape[3] for shape in shapes)
        self.n = sum(self._sizes)
        _, self.d, self.m, _, self.dtype, self.layout = shapes[0]
        weakref.finalize(self, workers.forget, key)

    def reduce(
        self, kernel: Kernel, *parameters: Any, fields: Sequence[RemoteField] = (), largest: bool = False
    ) -> tuple[Any, ...]:
        combine = np.maximum if largest else np.add
        keys = [field.key for field in fields]
        results = self._workers.ask_all("reduce", self._key, kernel, parameters, keys)
        total = results[0]
        with np.errstate(all="ignore"):
            for result in results[1:]:
                total = tuple(combine(t, r) for t, r in zip(total, result, strict=True))
        return total

    def field(self, k: int, fill: float, dtype: np.dtype[Any]) -> RemoteField:
        key = self._workers.new_key()
        self._workers.ask_all("field", key, self._key, k, fill, dtype)
        return RemoteField(self._workers, k, key)

    def each(self, change: Callable[..., Part], *parameters: Any) -> RemoteRows:
        key = self._workers.new_key()
        return RemoteRows(self._workers, key, self._workers.ask_all("each", key, self._key, change, parameters))

    def take(self, index: Any, weight: Any) -> RemoteRows:
        key, offsets = self._workers.new_key(), np.cumsum([0, *self._sizes])
        messages = []
        for start, end in itertools.pairwise(offsets):
            mine = (index >= start) & (index < end)
            messages.append(("take", key, self._key, index[mine] - start, None if weight is None else weight[mine]))
        return RemoteRows(self._workers, key, self._workers.ask(messages))


class Worker:
    """One process's part of all rows and fields; its methods are the messages."""

    def __init__(self) -> None:
        self.held: dict[int, Any] = {}

    def hold(self, key: int, part: Part) -> Shape:
        self.held[key], rows = part, MemoryRows((part,))
        return rows.n, rows.d, rows.m, rows.nnz, rows.dtype, rows.layout

    def reduce(self, key: int, kernel: Kernel, parameters: tuple[Any, ...], fields: list[int]) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):
            return kernel(self.held[key], *parameters, *(self.held[name] for name in fields))

    def field(self, key: int, rows: int, k: int, fill: float, dtype: np.dtype[Any]) -> None:
        self.held[key] = np.full((self.held[rows].n, k), fill, dtype)

    def export(self, key: int) -> Any:
        return self.held[key]

    def load(self, key: int, given: Any) -> None:
        self.held[key][...] = given

    def each(self, key: int, rows: int, change: Callable[..., Part], parameters: tuple[Any, ...]) -> Shape:
        return self.hold(key, change(self.held[rows], *parameters))

    def take(self, key: int, rows: int, index: Any, weight: Any) -> Shape:
        (part,) = MemoryRows((self.held[rows],)).take(index, weight).parts  # type: ignore[attr-defined]
        return self.hold(key, part)


def serve(connection: Connection) -> None:
    """Answer messages until the connection ends."""
    worker = Worker()
    while True:
        try:
            for key in connection.recv():
                worker.held.pop(key, None)
            message = connection.recv_bytes()
        except EOFError:
            return
        try:
            call, *arguments = pickle.loads(message)
            answer = True, getattr(worker, call)(*arguments)
        except Exception as error:
            error.add_note("in a worker:\n" + traceback.format_exc())
            answer = False, error
        try:
            connection.send(answer)
        except Exception as error:  # the answer cannot be sent: say so
            connection.send((False, RuntimeError(f"the worker's answer cannot be sent: {error!r}")))


if __name__ == WORKER:
    serve(globals()["connection"])
