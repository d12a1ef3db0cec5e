"""How far the kernels are from what this machine can do: its bandwidth and products, and the time of each kernel.

A floor is the larger of two times: the flops of the products at the rate of BLAS, and one read of X at the bandwidth.
No kernel of a block of rows can be faster; one that has few classes spends most of its time above it on exponentials.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pianobench.experiments.environment import available_cores
from pianobench.problems import Problem
from pianobench.problems.kernels.compiled import threads
from pianobench.problems.kernels.compiled.jit import compiled

STREAM = 1 << 28  # bytes that are read for the bandwidth: more than a cache holds
SIDE = 1024  # of the square matrices whose product gives the rate
DENSE = ((20_000, 64, 10), (20_000, 100, 50), (5_000, 500, 200), (50_000, 784, 10), (3_000, 2_000, 20))
SPARSE = (20_000, 50_000, 20, 5e-4)  # n, d, m and the density
SECONDS = 0.1  # that a kernel is repeated for
QUIET = 0.2  # BLAS threads spin so long after a call and would spoil the next measurement
# In a process of its own: what PIANO and L-BFGS compile, or load, before their first step.
FIRST = """
import json, time
began = time.perf_counter()
import numpy as np
from pianobench.problems import L2, Problem
imported = time.perf_counter()
X = np.random.default_rng(0).normal(size=(64, 3))
found = {}
problem = Problem(X, np.arange(64) % 3, penalty=L2(1.0))
for repeat in ("first", "warm"):
    start = time.perf_counter()
    W = problem.zeros()
    problem.moments_map(W, lambda W, *rest: W)
    problem.smooth(W)
    line = problem.line(W, W + 1.0)
    line(1.0), line.smooth(1.0)
    found[repeat] = time.perf_counter() - start
print(json.dumps({"import": imported - began, **found}))
"""


def examine() -> dict[str, Any]:
    """Rates, kernels and first calls; takes less than a minute on two idle cores.

    Returns
    -------
    dict
        ``rates``: best bandwidth and flops a second by number of threads; ``kernels``: rows with the median time, as a
        multiple of the floor and of NumPy's two products on all threads, and declared flops over time;
        ``first_calls``: seconds where kernels are compiled, loaded from the cache, and there.
    """
    counts = sorted({1, available_cores()})
    machine = {count: rates(count) for count in counts}
    shapes = [dense(*shape) for shape in DENSE] + [sparse(*SPARSE)]
    kernels = [row for problem in shapes for row in of_problem(problem, machine)]
    with tempfile.TemporaryDirectory() as empty:
        cold = first_calls(empty)
        kept = first_calls(empty)
    return {
        "rates": [{"threads": count, **found} for count, found in machine.items()],
        "kernels": kernels,
        "first_calls": {"compiled": cold["first"], "from_cache": kept["first"], "warm": kept["warm"]},
    }


def rates(count: int) -> dict[str, float]:
    """Bytes a second of one read, and flops a second of BLAS in each type, with `count` threads."""
    x = np.ones(STREAM // 8)
    edges = [x.size * part // count for part in range(count + 1)]
    read = seconds(lambda: threads.run(lambda part: _sum(x[edges[part] : edges[part + 1]]), count, count), min)
    found = {"bytes": x.nbytes / read}
    for dtype in ("float64", "float32"):
        A = np.ones((SIDE, SIDE), dtype)
        with threadpool_limits(count, user_api="blas"):
            found[dtype] = 2.0 * SIDE**3 / seconds(lambda A=A: A @ A, min)  # type: ignore[misc]
        time.sleep(QUIET)
    return found


def of_problem(problem: Problem, machine: dict[int, dict[str, float]]) -> list[dict[str, Any]]:
    """A row for each kernel and number of threads."""
    (part,) = problem.home.parts  # type: ignore[attr-defined]
    X, m, size = part.design.X, problem.m, problem.dtype.itemsize
    W = 0.1 * np.random.default_rng(1).normal(size=(problem.p, m))
    R = np.random.default_rng(2).normal(size=(problem.n, m))
    plain = seconds(lambda: (X @ W, X.T @ R))
    time.sleep(QUIET)
    curvature = problem.curvature(W)
    kernels: dict[str, Callable[[], Any]] = {
        "smooth": lambda: problem.smooth(W),
        "moments": lambda: problem.moments_map(W, _same),
        "curvature": lambda: curvature @ W,
    }
    rows = []
    for count, rate in machine.items():
        for name, call in kernels.items():
            with threads.limit(count):
                before = problem.meter.total
                call()
                flops = problem.meter.total.flops - before.flops
                took = seconds(call)
            products = 3.0 if name == "moments" and problem.signed else 2.0
            stored = 2.0 * problem.nnz * m * products
            floor = max(stored / rate[str(problem.dtype)], problem.nnz * (size + 4 * sp.issparse(X)) / rate["bytes"])
            rows.append(
                {
                    "n": problem.n,
                    "d": problem.d,
                    "m": m,
                    "layout": problem.layout,
                    "threads": count,
                    "kernel": name,
                    "milliseconds": 1e3 * took,
                    "times_floor": took / floor,
                    "times_numpy": took / plain,
                    "declared_gigaflops": 1e-9 * flops / took,
                }
            )
    return rows


def dense(n: int, d: int, m: int) -> Problem:
    """Normal values, labels without a pattern."""
    rng = np.random.default_rng(0)
    return Problem(rng.standard_normal((n, d)), rng.integers(0, m, n), fit_intercept=False, classes=range(m))


def sparse(n: int, d: int, m: int, density: float) -> Problem:
    """As `dense`, with so many entries stored."""
    rng = np.random.default_rng(0)
    X = sp.random_array((n, d), density=density, format="csr", rng=rng)
    return Problem(X, rng.integers(0, m, n), fit_intercept=False, classes=range(m))


def first_calls(folder: str) -> dict[str, float]:
    """Seconds of the first and the second call of what PIANO and L-BFGS use, kernels kept in `folder`."""
    variables = {**os.environ, "PIANOBENCH_CACHE": folder}
    command = [sys.executable, "-P", "-c", FIRST]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def seconds(call: Callable[[], Any], of: Callable[[list[float]], float] = statistics.median) -> float:
    """Median (or else) over repetitions, after one that does not count."""
    call()
    taken: list[float] = []
    began = time.perf_counter()
    while len(taken) < 3 or (time.perf_counter() - began < SECONDS and len(taken) < 50):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return of(taken)


def _same(W: Any, *_rest: Any) -> Any:
    return W


@compiled
def _sum(x: Any) -> float:
    """Eight sums side by side: one alone would wait for each addition."""
    a = b = c = d = e = f = g = h = 0.0
    for i in range(0, x.size - 7, 8):
        a += x[i]
        b += x[i + 1]
        c += x[i + 2]
        d += x[i + 3]
        e += x[i + 4]
        f += x[i + 5]
        g += x[i + 6]
        h += x[i + 7]
    return (a + b) + (c + d) + (e + f) + (g + h)
