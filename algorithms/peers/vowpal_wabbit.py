"""Vowpal Wabbit's L-BFGS for two classes, from zero or from a pass of its online method.

It minimises the sum of the weighted logistic losses plus ``l2/2 |v|**2`` over one vector v, all in float32. In each
pass it reads the rows anew, from a file of its own, the cache.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pianobench.algorithms.peers import vowpal_wabbit_process
from pianobench.algorithms.peers.contract import Native, common_refusal, halves, hand_over, trouble_with
from pianobench.problems import Problem
from pianobench.problems.engines.memory import MemoryRows
from pianobench.problems.penalties import Array

CONSTANT = 11_650_396  # the hash of its intercept; a feature named by a number has that number for its hash
LARGEST = float(np.finfo(np.float32).max)
ROWS = 10_000  # put into words at once


@dataclass(eq=False)  # by identity, so that the folder goes when it does
class Cache:
    """A problem as Vowpal Wabbit takes it: its cache of the rows, in a folder that is removed with this.

    Attributes
    ----------
    folder : Path
    d : int
    bits : int
        Its table of weights has ``2**bits`` places, no two of which are shared.
    weight : float
        Sum of the rows' weights, in float32 as it has them.
    intercept : bool
    l2 : float
        In units of the summed loss, of one vector.
    """

    folder: Path
    d: int
    bits: int
    weight: float
    intercept: bool
    l2: float

    def __post_init__(self) -> None:
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    @property
    def common(self) -> list[str]:
        """What all its runs are told."""
        constant = ["--no_bias_regularization"] if self.intercept else ["--noconstant"]
        return ["--bit_precision", str(self.bits), "--loss_function", "logistic", "--holdout_off", *constant]


@dataclass(frozen=True)
class VowpalWabbit:
    """Vowpal Wabbit with ``--bfgs``. The defaults here are the library's own where it has one.

    Each fit is a process of its own. Its seconds are those from making the solver to the end of the last pass: passes
    read the binary cache, which is inside. Outside are the start of the process, imports, the text and its parsing,
    which make the cache, and the reading of the weights.

    Parameters
    ----------
    online : bool
        Start from one pass of its online method, with its own rule of learning rates (adaptive, normalised,
        invariant) and no penalty: a start, not a solution.
    tol : float
        Its ``--termination``: the relative fall of the objective at which it ends.
    max_iter : int or None
        Passes of L-BFGS after the first; None: the budget. Its own default, one pass, it refuses itself.
    mem : int
        Pairs that L-BFGS keeps.
    least_l2 : float
        Its ``--l2`` where the problem's is less. With 0, version 9.11.9 finds zero curvature and ends at once.
    """

    online: bool = False
    tol: float = 1e-3
    max_iter: int | None = 20
    mem: int = 15
    least_l2: float = 0.0

    @property
    def title(self) -> str:
        """Library and method."""
        return f"Vowpal Wabbit {'online, then ' if self.online else ''}bfgs"

    @property
    def penalties(self) -> frozenset[str]:
        """Kinds of penalty it takes."""
        return frozenset({"none", "l2"})

    @property
    def step_is(self) -> str:
        """One iteration in words."""
        return f"one pass over the rows by L-BFGS, after the first{' and one online' if self.online else ''}"

    def refusal(self, problem: Problem) -> str | None:
        """See `BlackBox`."""
        refusal = trouble_with("vowpalwabbit", "pylibvw") or common_refusal(self, problem)
        if refusal is not None:
            return refusal
        if problem.m != 2:
            return f"{self.title} takes two classes, not {problem.m}: its one-against-all is not softmax"
        d = problem.p - problem.fit_intercept
        if problem.fit_intercept and d > CONSTANT:
            return f"{self.title} has feature {CONSTANT:,} share a weight with the intercept, and X has {d:,} columns"
        rows = problem.home
        assert isinstance(rows, MemoryRows)
        for part in rows.parts:
            X: Any = part.design.X
            entries = X if isinstance(X, np.ndarray) else X.data
            largest = max(float(np.abs(entries).max(initial=0.0)), float(part.weights.max(initial=0.0)))
            if largest > LARGEST:
                return f"{self.title} takes X and weights in float32, whose largest is 3.4e38, and here is {largest:g}"
        return None

    def convert(self, problem: Problem) -> Cache:
        """See `BlackBox`. The rows are written as text, and Vowpal Wabbit makes its cache of that."""
        import pylibvw  # noqa: F401

        native = hand_over(problem)
        d = native.X.shape[1]
        weights = np.ones(len(native.codes)) if native.weights is None else native.weights
        cache = Cache(
            folder=Path(tempfile.mkdtemp(prefix="pianobench-vw-")),
            d=d,
            bits=bits_for(d, native.intercept),
            weight=float(weights.astype(np.float32).sum(dtype=float)),
            intercept=native.intercept,
            l2=native.l2 / 2,  # see `halves`
        )
        text = cache.folder / "rows.json"
        with text.open("w", encoding="ascii") as file:
            file.writelines(lines(native, weights))
        told = [*cache.common, "--noop", "--quiet", "--json", "--data", str(text), "--kill_cache"]
        seen = _run(cache, [[*told, "--cache_file", str(cache.folder / "cache")]], {})["weight"]
        if not abs(seen - cache.weight) <= 1e-6 * cache.weight:
            raise RuntimeError(f"Vowpal Wabbit read rows of weight {seen:g}, not {cache.weight:g}: a text misread")
        text.unlink()
        return cache

    def fit(self, native: Cache, budget: int, threads: int, seed: int = 0) -> tuple[Array, Array, dict[str, Any]]:
        """See `BlackBox`. It knows no threads but that which reads the cache; its process has as many processors."""
        passes = budget + 1
        done = _run(native, self._runs(native, passes), self._wanted(native, threads))
        made = round(done["weight"] / native.weight)  # it counts the weights of all that it has read
        v, b = np.array(done["v"]), np.array([done["b"]])
        info = {name: done[name] for name in ("seconds", "cpu_seconds", "peak_bytes")}
        return *halves(v, b), {"iterations": made - 1, "ended": made < passes, **info}

    def passes(self, native: Cache, most: int, threads: int) -> tuple[list[Pass], dict[str, Any]]:
        """One fit, and the point that each pass of L-BFGS ends at.

        Vowpal Wabbit stores its weights after each pass, some kilobytes, and the time of a pass is that of its file: to
        the resolution of the file system's clock, some milliseconds.

        Parameters
        ----------
        native : Cache
        most : int
            Passes of L-BFGS at most, the first and the one for the first step length included.
        threads : int
            Processors that it may use.

        Returns
        -------
        passes : list of Pass
        info : dict
            ``seconds`` and ``cpu_seconds`` of all, ``peak_bytes``.
        """
        import pylibvw

        model = native.folder / "model"
        for old in native.folder.glob("model*"):
            old.unlink()
        runs = self._runs(native, most)
        runs[-1] += ["--final_regressor", str(model), "--save_per_pass"]
        done = _run(native, runs, self._wanted(native, threads))
        files = [native.folder / f"model.{k}" for k in range(1, 1 + round(done["weight"] / native.weight))]
        times = [file.stat().st_mtime_ns * 1e-9 for file in files]
        found = []
        for file, when in zip(files, times, strict=True):
            told = ["--initial_regressor", str(file), "--predict_only_model", "--testonly", "--quiet", "--no_stdin"]
            vw = pylibvw.vw(told)
            v = np.array([vw.get_weight(place, 0) for place in range(native.d)])
            b = np.array([vw.get_weight(CONSTANT, 0) if native.intercept else 0.0])
            vw.finish()
            found.append(Pass(done["seconds"] - (times[-1] - when), *halves(v, b)))
        return found, {name: done[name] for name in ("seconds", "cpu_seconds", "peak_bytes")}

    def _runs(self, native: Cache, passes: int) -> list[list[str]]:
        """Options of the online pass, if there is one, and of L-BFGS."""
        told = [*native.common, "--cache_file", str(native.folder / "cache")]
        start = ["--final_regressor", str(native.folder / "start"), "--predict_only_model"]
        l2 = max(native.l2, self.least_l2)
        bfgs = ["--bfgs", "--l2", repr(l2), "--mem", str(self.mem), "--termination", repr(self.tol)]
        bfgs += ["--passes", str(passes)]
        bfgs += ["--initial_regressor", start[1]] if self.online else []
        bfgs += ["--predict_only_model"]  # its own state, too, is more than 9.11.9 can store between passes
        return [*([[*told, *start, "--passes", "1"]] if self.online else []), [*told, *bfgs]]

    def _wanted(self, native: Cache, threads: int) -> dict[str, Any]:
        return {"d": native.d, "constant": CONSTANT if native.intercept else None, "threads": threads}


@dataclass(frozen=True)
class Pass:
    """Where a pass ended.

    Attributes
    ----------
    seconds : float
        From the start of the fit.
    coef : array (2, d)
    b : array (2,)
    """

    seconds: float
    coef: Array
    b: Array


def bits_for(d: int, intercept: bool) -> int:
    """Size of the smallest table in which d features, and the intercept, have places of their own."""
    bits = max(1, (d - 1).bit_length())
    while intercept and CONSTANT % 2**bits < d:
        bits += 1
    return bits


def lines(native: Native, weights: Array) -> Iterator[str]:
    """The rows in JSON: its reader of plain text is off by a unit in the last place of float32, that of JSON is not.

    Nine digits tell float32 apart. Zeros are left out.
    """
    for low in range(0, len(weights), ROWS):
        part = native.X[low : low + ROWS]
        if isinstance(part, np.ndarray):
            filled = part != 0
            ends, columns, entries = filled.sum(axis=1).cumsum().tolist(), np.nonzero(filled)[1], part[filled]
        else:
            ends, columns, entries = part.indptr[1:].tolist(), part.indices, part.data
        words = list(map('"%d":%.9g'.__mod__, zip(columns.tolist(), entries.astype(np.float32).tolist(), strict=True)))
        for row, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True), start=low):
            label = f'"_label":{{"Label":{2 * int(native.codes[row]) - 1},"Weight":{weights[row]:.9g}}}'
            yield "{" + ",".join([label, *words[first:last]]) + "}\n"


def _run(cache: Cache, runs: list[list[str]], wanted: dict[str, Any]) -> dict[str, Any]:
    """What `vowpal_wabbit_process` tells of runs made one after another.

    Raises
    ------
    RuntimeError
        It raised, or its process ended.
    """
    order, answer = cache.folder / "order.json", cache.folder / "answer.json"
    answer.unlink(missing_ok=True)
    order.write_text(json.dumps({"runs": runs, "answer": str(answer), **wanted}), "utf-8")
    # -P: beside that file are others with the names of libraries
    done = subprocess.run([sys.executable, "-P", vowpal_wabbit_process.__file__, str(order)], check=False)
    if not answer.exists():
        raise RuntimeError(f"the process of Vowpal Wabbit ended with code {done.returncode}")
    told: dict[str, Any] = json.loads(answer.read_text("utf-8"))
    if "error" in told:
        raise RuntimeError(told["error"])
    return told
