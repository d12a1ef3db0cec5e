"""Threads of the compiled kernels: a pool of Python threads whose loops release the GIL.

No threading layer stands below: kernels may be called from any number of Python threads at once, in spawned processes
and after a fork, which starts a pool of its own. While any of them runs, SciPy's BLAS is held on one thread, since each
thread has its own rows; factorisations outside have all.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import count as counter
from typing import Any

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_wanted: int | None = None
_limits: list[list[int]] = []  # those of the blocks that are open, the newest last
_at_work = 0
_blas_before: list[int] = []


def count() -> int:
    """Threads that a kernel uses: those of `limit`, else of OMP_NUM_THREADS, else the cores of this process."""
    newest = _limits[-1:]  # in one go: another thread may close the block meanwhile
    if newest:
        return newest[0][0]
    if _wanted is not None:
        return _wanted
    named = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(named) if named.isdigit() and int(named) > 0 else _cores()


def set_count(threads: int) -> None:
    """Use so many threads from now on; 1 is none besides the caller's."""
    global _wanted
    _check(threads)
    _wanted = threads


def _check(threads: int) -> None:
    if threads < 1:
        raise ValueError(f"threads = {threads}: 1 or more are expected")


@contextmanager
def limit(threads: int) -> Iterator[None]:
    """Use so many threads within the block, in all Python threads; of blocks open at once the newest counts."""
    _check(threads)
    own = [threads]  # blocks of several Python threads may end in any order: each takes away its own entry
    with _lock:
        _limits.append(own)
    try:
        yield
    finally:
        with _lock:
            _limits[:] = [one for one in _limits if one is not own]


def run(work: Callable[[int], Any], chunks: int, threads: int) -> list[Any]:
    """``[work(0), ..., work(chunks - 1)]``, each chunk taken by the next thread that is free.

    `work` should spend its time in compiled code that has released the GIL.
    """
    threads = min(threads, chunks)
    results: list[Any] = [None] * chunks
    order = counter()

    def take() -> None:
        while (chunk := next(order)) < chunks:
            results[chunk] = work(chunk)

    with one_blas_thread():
        if threads == 1:
            take()
        else:
            others = [_workers().submit(take) for _ in range(threads - 1)]
            try:
                take()
            finally:
                wait(others)
            for other in others:
                other.result()
    return results


def _workers() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(count(), _cores()), "pianobench", initializer=_alone)
        return _pool


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS on one thread within the block; as often as wanted at once, in any Python threads."""
    global _at_work
    shared, own = _blas()
    before = _set(own, [1] * len(own))
    with _lock:
        if _at_work == 0:
            _blas_before[:] = _set(shared, [1] * len(shared))
        _at_work += 1
    try:
        yield
    finally:
        with _lock:
            _at_work -= 1
            if _at_work == 0:
                _set(shared, _blas_before)
        _set(own, before)


def _set(libraries: list[Any], counts: list[int]) -> list[int]:
    """Give each library so many threads; returns how many they had."""
    before = [library.get_num_threads() for library in libraries]
    for library, had, wanted in zip(libraries, before, counts, strict=True):
        if had != wanted:
            # Newer versions of threadpoolctl obey, without a word, only the thread that has first set OpenBLAS.
            getattr(library, "_real_set_num_threads", library.set_num_threads)(wanted)
    return before


def _alone() -> None:
    own = _blas()[1]
    _set(own, [1] * len(own))


@cache
def _blas() -> tuple[list[Any], list[Any]]:
    """Handles of the BLAS that SciPy has loaded, and of others in this process: those with one number of threads for
    the process, and those on OpenMP, which has one for each thread that calls."""
    import scipy.linalg.cython_blas  # noqa: F401  (loads it)
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    found = [one for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]
    own = [one for one in found if getattr(one, "threading_layer", None) == "openmp"]
    return [one for one in found if one not in own], own


@cache
def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _forget() -> None:
    """After a fork: the parent's threads are not here, and its locks may be held for ever."""
    global _lock, _pool, _at_work
    _lock, _pool, _at_work = threading.Lock(), None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
