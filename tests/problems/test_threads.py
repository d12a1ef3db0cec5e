"""Compiled kernels on threads: the same bits for any number, from any thread and process, and bounded memory."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from pianobench.problems import L2, Problem
from pianobench.problems.kernels import softmax as kernels
from pianobench.problems.kernels.compiled import passes, threads
from pianobench.problems.kernels.coordinate import Rule
from pianobench.problems.kernels.softmax import log_sum_exp

LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}
N, D, M = 2000, 9, 4


@pytest.fixture(autouse=True)
def _always_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small problems too."""
    monkeypatch.setattr(passes, "ALONE", 0)


def make(layout: str, n: int = N, **changes: Any) -> Problem:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.5)
    X[:, 3] = X[5] = 0.0
    given = {"penalty": L2(0.1), "sample_weight": rng.choice([0.0, 0.5, 2.0], n)} | changes
    return Problem(LAYOUTS[layout](X), rng.integers(0, M, n), **given)


def answers(problem: Problem) -> list[Any]:
    """All that a problem computes with its rows."""
    W, V = np.random.default_rng(1).normal(size=(2, problem.p, problem.m))
    lse, margins = problem.field(1), problem.scores(W)
    problem.map_rows(log_sum_exp, lse, W=W)
    curvature, line, given = problem.curvature(W), problem.line(W, V), []

    def update(*moments: Any) -> np.ndarray:
        given.extend(moments[:5])
        return moments[0]

    for kept in (None, lse):
        given.append(problem.moments_map(V, update, kept)[1])
    found = [problem.value(W), *problem.smooth(W), *given, curvature @ V, curvature.diag(), curvature.dense()]
    found += [*line(0.3), *line.smooth(0.3), *line.turn(0.3, W)(0.1), problem.gram(), *margins.export(), *lse.export()]
    found += problem.sweep(Rule(), W, margins, np.arange(W.size), groups=2)
    return [np.asarray(one) for one in found]


def same(one: list[Any], other: list[Any]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("conditioning", ["none", "scale"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_bits_for_any_number_of_threads(
    layout: str, conditioning: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "MOST_ENTRIES", 700 * M)  # a sparse pass takes three blocks of rows
    problem = make(layout, conditioning=conditioning)
    with threads.limit(1):
        alone = answers(problem)
    for count in (2, 3, 7):
        with threads.limit(count):
            assert threads.count() == count
            assert same(alone, answers(problem)), f"{count} threads"


def test_blocks_of_rows_of_a_sparse_pass_change_rounding_only(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answers(make("csr"))
    monkeypatch.setattr(passes, "MOST_ENTRIES", 300 * M)
    for one, other in zip(whole, answers(make("csr")), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_python_threads_may_call_at_once() -> None:
    problems = [make(layout) for layout in LAYOUTS]
    W = np.random.default_rng(1).normal(size=(D + 1, M))
    alone, gate = [problem.smooth(W)[1] for problem in problems], threading.Barrier(4)

    def call(number: int) -> bool:
        gate.wait(10)
        return all((problems[number % 2].smooth(W)[1] == alone[number % 2]).all() for _ in range(20))

    with threads.limit(3), ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(4), timeout=60))


def test_limits_may_end_in_any_order() -> None:
    before = threads.count()
    first, second = threads.limit(5), threads.limit(6)
    with first:  # as two Python threads do whose blocks overlap
        second.__enter__()
        assert threads.count() == 6
    assert threads.count() == 6
    second.__exit__(None, None, None)
    assert threads.count() == before


@pytest.fixture
def two_blas_threads() -> Iterator[None]:
    threads.run(lambda _chunk: None, 1, 1)  # a BLAS that is loaded later would not be limited
    with threadpool_limits(2, user_api="blas"):
        yield


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_has_one_thread_inside_and_what_it_had_outside() -> None:
    # threadpoolctl leaves a library alone that another thread has set before: what there is counts, not what was asked
    outside = blas_threads()
    assert 2 in outside
    seen: list[set[int]] = []
    gate = threading.Barrier(2)

    def work(chunk: int) -> None:
        if chunk < 2:
            gate.wait(10)  # one on each thread
        seen.append(blas_threads())

    def look(_chunk: int) -> None:
        seen.append(blas_threads())

    def fail(chunk: int) -> None:
        seen.append(blas_threads())
        raise ArithmeticError(f"chunk {chunk}")

    for _ in range(2):
        threads.run(work, 6, 2)
        assert blas_threads() == outside
    with pytest.raises(ArithmeticError, match="chunk"):
        threads.run(fail, 2, 2)
    assert blas_threads() == outside
    with ThreadPoolExecutor(3) as pool:  # none of those that end gives BLAS its threads back while others run
        list(pool.map(lambda _thread: threads.run(look, 40, 2), range(3)))
    assert blas_threads() == outside
    assert len(seen) > 130
    assert all(one == {1} for one in seen)


def test_a_spawned_process_gives_the_same_bits() -> None:
    problem, W = make("dense"), np.random.default_rng(1).normal(size=(D + 1, M))
    (part,) = problem.home.parts
    expected = kernels.loss_gradient(part, W)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        for loss, G in pool.map(kernels.loss_gradient, [part] * 4, [W] * 4, timeout=100):
            assert (loss, G.tobytes()) == (expected[0], expected[1].tobytes())


FORK = """
import multiprocessing, threading
import numpy as np
from pianobench.problems import Problem
from pianobench.problems.kernels.compiled import passes, threads

passes.ALONE = 0
rng = np.random.default_rng(0)
problem = Problem(rng.normal(size=(4000, 9)), rng.integers(0, 4, 4000))
W = rng.normal(size=(10, 4))
threads.set_count(3)
expected = problem.smooth(W)[1]
busy = True

def call():
    while busy:
        problem.smooth(W)

def child(answers):
    answers.put(bool((problem.smooth(W)[1] == expected).all()))

other = threading.Thread(target=call)
other.start()
context = multiprocessing.get_context("fork")
answers = context.SimpleQueue()
for _ in range(5):  # while another thread may hold any lock
    process = context.Process(target=child, args=(answers,))
    process.start()
    process.join(20)
    assert process.exitcode == 0, process.exitcode
    assert answers.get()
busy = False
other.join()
assert (problem.smooth(W)[1] == expected).all()
print("right")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="fork is Linux's")
def test_a_fork_starts_threads_of_its_own() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout == "right\n", done.stderr


def peak(problem: Problem) -> int:
    """Bytes of arrays, those of compiled loops too, that there were at most during a second `smooth`."""
    W = np.zeros((problem.p, problem.m))
    problem.smooth(W)  # makes what is kept
    tracemalloc.start()
    try:
        problem.smooth(W)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_of_a_dense_pass_does_not_grow_with_the_rows() -> None:
    gradient, rows = 8 * (D + 1) * M, passes.block(8 * D)
    block = 8 * rows * (M + passes.LINE + 6 + 8) + 2_000  # scores twice, six numbers of a row, a vector of its columns
    sizes = [peak(make("dense", n)) for n in (4000, 64_000)]
    assert max(sizes) < (passes.MOST_CHUNKS + 5) * gradient + threads.count() * block + 20_000
    assert peak(make("dense", 64_000).restrict(np.ones((D + 1, M), bool))) < max(sizes) + 10_000
    X = np.asfortranarray(np.ones((64_000, D)))
    assert peak(Problem(X, np.arange(64_000) % M)) < max(sizes) + 10_000


def test_memory_of_a_sparse_pass_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "MOST_ENTRIES", 1 << 14)
    sizes = [peak(make("csr", n)) for n in (8000, 64_000)]
    assert max(sizes) < 8 * (1 << 14) + 60_000
