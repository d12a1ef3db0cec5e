"""The process of one cell: load, warm up, solve, tell how it ended. Started by `isolate` as ``python -m``.

It imports what it runs and nothing else. Every checkpoint goes to the cell's curve as it happens, and what is known
goes to ``outcome.json`` at each new stage, so that a process that is killed leaves its curve, its facts and the stage.
How it ended is written last, whatever happened, by `main`.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from pianobench.results.attempt import Attempt

BLOCK = 4096  # rows of X that the accuracy is computed for at once


@dataclass
class Report:
    """What is known so far, written anew at each stage."""

    attempt: Attempt
    stage: str = "start"
    facts: dict[str, Any] = field(default_factory=dict)

    def enter(self, stage: str) -> None:
        """Begin a stage."""
        self.stage = stage
        self.write()

    def write(self) -> None:
        """Write what is known."""
        self.attempt.write("outcome", {**self.facts, "stage": self.stage, "peak_bytes": peak_bytes()})

    def end(self, status: str, reason: str) -> None:
        """Say how it ended."""
        self.facts.update(status=status, reason=reason)


def main(folder: str, work: Callable[[dict[str, Any], Report], None] | None = None) -> None:
    """Run the cell whose ``spec.json`` lies in `folder`, and write ``outcome.json``.

    Parameters
    ----------
    folder : str
    work : callable, optional
        What the cell is to do, told its specification and the report to write; to run a solver by default.
    """
    attempt = Attempt(Path(folder))
    spec = attempt.read("spec")
    if spec is None:
        raise FileNotFoundError(f"{folder} has no spec.json")
    report = Report(attempt)
    try:
        (work or _measure)(spec, report)
    except BaseException as error:  # whatever it is, SystemExit too, a failed run is a row
        traceback.print_exc()
        report.end(*_ending(error, report.stage))
    report.write()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # not by returning, which would wait for threads that the solver has left behind


def _ending(error: BaseException, stage: str) -> tuple[str, str]:
    """Status and reason of a run that an exception ended."""
    # Not isinstance: that needs a module whose import may be what has failed.
    kind = type(error).__name__
    if isinstance(error, MemoryError):
        return "out-of-memory", f"{stage}: {str(error) or kind}"
    if kind == "CouldNotStart":
        return "breakdown", str(error)
    if kind == "ContractBroken":
        return "error", f"{stage}: {error}"
    return "error", f"{stage}: {kind}: {error} ({_place(error)})"


def _measure(spec: dict[str, Any], report: Report) -> None:
    problem, X, y = set_up(spec, report)
    import numpy as np

    report.enter("setting up the solver")
    # A black box is asked the same questions as a solver of ours, by a module of its own, which is named and not
    # imported: else it would be a part of every solver's key.
    road = import_module("pianobench.experiments." + ("black_box" if spec.get("black_box") else "watched"))
    solver = road.make(spec["solver"], spec["solver_file"], spec["params"])
    refusal = road.refusal(solver, problem)
    if refusal is not None:
        report.end("skipped", refusal)
        return

    entropy, spawn_key = spec["seed_words"]

    def rng() -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=spawn_key))

    report.enter("warming up")
    began = time.perf_counter()
    road.warm(solver, problem, spec["threads"])
    report.facts["warmup_seconds"] = time.perf_counter() - began

    report.enter("solving")
    before = problem.meter.total
    with report.attempt.open_curve() as curve:

        def note(checkpoint: Any) -> None:
            curve.write(json.dumps(asdict(checkpoint), default=float) + "\n")

        began_with = usage()
        result = road.solve(solver, problem, spec, rng(), note)
        report.facts.update(difference(began_with, usage()))
    spent = problem.meter.total
    report.facts.update(
        steps=int(result.steps),
        setup_seconds=float(result.setup_seconds),
        seconds=float(result.seconds),
        **observed_threads(),
    )
    if not spec.get("black_box"):  # whose seconds are those of one fit, and whose work is not known
        report.facts.update(
            evaluation_seconds=report.facts["wall_seconds"] - float(result.seconds),
            rows_read=spent.rows - before.rows,
            flops=spent.flops - before.flops,
            bytes_moved=spent.bytes - before.bytes,
        )
    finite = bool(np.all(np.isfinite(result.W)))
    if finite or result.status in ("diverged", "breakdown"):
        report.end(result.status, result.reason)
    else:
        report.end("diverged", f"the returned weights are not finite (the loop said {result.status})")
    if finite:
        report.enter("scoring the weights")
        report.facts["accuracy"] = _accuracy(problem, X, y, result.W)
        report.facts.update(_held_out(problem, result.W, spec.get("test")))


def set_up(spec: dict[str, Any], report: Report) -> tuple[Any, Any, Any]:
    """The problem of a cell, its X and its y; threads are set, and the facts of the problem are told."""
    report.enter("setting up threads")
    import numpy as np
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    from pianobench.datasets import handover
    from pianobench.problems.kernels.compiled import threads

    # The environment has set all pools before they were loaded; this catches libraries that do not read it.
    threadpool_limits(spec["threads"])
    threads.set_count(spec["threads"])
    if "numba" in sys.modules:
        import numba

        numba.set_num_threads(spec["threads"])

    report.enter("reading the data")
    X, y = handover.read(Path(spec["data"]), spec["checksum"])

    report.enter("setting up the problem")
    problem, lam = _problem(spec["problem"], X, y)
    report.facts.update(
        n=problem.n,
        d=problem.d,
        m=problem.m,
        dtype=str(np.dtype(problem.dtype)),
        layout=problem.layout,
        lam=lam,
        lambda_max=float(problem.lambda_max),
    )
    return problem, X, y


def _problem(choice: dict[str, Any], X: Any, y: Any) -> tuple[Any, float | None]:
    """The problem, and its strength in user units."""
    from pianobench.problems import L0, L1, L2, ElasticNet, Problem

    rest = {"fit_intercept": choice["intercept"], "conditioning": choice["conditioning"]}
    lam = choice["lam"]
    if choice["lam_factor"] is not None:
        lam = choice["lam_factor"] * float(Problem(X, y, penalty=None, **rest).lambda_max)
    if choice["penalty"] == "none":
        penalty = None
    elif choice["penalty"] == "elasticnet":
        penalty = ElasticNet(lam, choice["ridge"])
    else:
        penalty = {"l1": L1, "l2": L2, "l0": L0}[choice["penalty"]](lam)
    return Problem(X, y, penalty=penalty, **rest), lam


def _accuracy(problem: Any, X: Any, y: Any, W: Any) -> float:
    """Share of the samples whose largest score is that of their class; off the clock."""
    coef, b = problem.to_user(W)
    right = 0
    for start in range(0, problem.n, BLOCK):
        rows = slice(start, start + BLOCK)
        right += int((problem.decode((X[rows] @ coef.T + b).argmax(axis=1)) == y[rows]).sum())
    return float(right / problem.n)


def _held_out(problem: Any, W: Any, test: dict[str, Any] | None) -> dict[str, float]:
    """Scores on held-out samples, if there are any."""
    if test is None:
        return {}
    from pianobench.experiments import held_out

    return held_out.evaluate(problem, W, Path(test["data"]), test["checksum"])


def usage() -> dict[str, float]:
    """Wall and processor time, and how often another process took the core, so far."""
    so_far = {"wall_seconds": time.perf_counter(), "cpu_seconds": time.process_time()}
    if sys.platform != "win32":
        import resource

        so_far["involuntary_switches"] = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    return so_far


def difference(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """What `usage` has grown by."""
    return {name: after[name] - value for name, value in before.items()}


def observed_threads() -> dict[str, Any]:
    """What the pools say after the run, against what was asked of them."""
    from threadpoolctl import threadpool_info

    from pianobench.problems.kernels.compiled import threads

    pools = [
        {
            "pool": pool["internal_api"],
            "version": pool["version"],
            "kernel": pool.get("architecture"),
            "threads": pool["num_threads"],
        }
        for pool in threadpool_info()
    ]
    pools.append({"pool": "pianobench", "version": None, "kernel": None, "threads": threads.count()})
    if "numba" in sys.modules:
        import numba

        layer: str
        try:
            layer = numba.threading_layer()  # type: ignore[attr-defined]
        except ValueError:  # nothing ran in parallel
            layer = "not started"
        pools.append({"pool": "numba", "version": layer, "kernel": None, "threads": numba.get_num_threads()})
    most = max((int(pool["threads"]) for pool in pools), default=1)
    return {"threads_observed": most, "thread_pools": json.dumps(pools)}


def peak_bytes() -> int | None:
    """Largest resident memory so far, or None where only the parent's readings can tell.

    Not `getrusage`: on Linux a new process inherits that number from the one that started it.
    """
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    kibibytes = next((line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:")), None)
    return int(kibibytes) * 1024 if kibibytes else None


def _place(error: BaseException) -> str:
    """File and line where an exception came from."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown place"


if __name__ == "__main__":
    main(sys.argv[1])
