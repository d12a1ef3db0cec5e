"""The process of one cell: load, warm up, solve, tell how it ended. Started by `isolate` as ``python -m``.

It imports what it runs and nothing else. Every checkpoint goes to the cell's curve as it happens, so that a
process that is killed leaves its curve; how it ended is written at the end, whatever happened, by `main`.
"""

import json
import signal
import sys
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pianobench.results.store import Attempt

WARMUP_STEPS = 2


@dataclass
class Report:
    """What is known so far; kept, with the stage that was reached, also when something fails."""

    stage: str = "start"
    facts: dict[str, Any] = field(default_factory=dict)


def main(folder: str) -> None:
    """Run the cell whose ``spec.json`` lies in `folder`, and write ``outcome.json``."""
    _die_with_parent()
    attempt = Attempt(Path(folder))
    spec = attempt.read("spec")
    if spec is None:
        raise FileNotFoundError(f"{folder} has no spec.json")
    report = Report()
    try:
        _measure(spec, attempt, report)
    except MemoryError as error:
        traceback.print_exc()
        report.facts.update(status="out-of-memory", reason=f"{report.stage}: {str(error) or 'MemoryError'}")
    except Exception as error:  # a failed run is a row
        traceback.print_exc()
        reason = f"{report.stage}: {type(error).__name__}: {error} ({_place(error)})"
        report.facts.update(status="error", reason=reason)
    report.facts["peak_bytes"] = _peak_bytes()
    attempt.write("outcome", report.facts)


def _measure(spec: dict[str, Any], attempt: Attempt, report: Report) -> None:
    facts = report.facts
    report.stage = "set-up of threads"
    import numpy as np
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    from pianobench.algorithms import solve, solver_refusal
    from pianobench.datasets import handover
    from pianobench.experiments import solver_choice

    # The environment has set all pools before they were loaded; this catches libraries that do not read it.
    threadpool_limits(spec["threads"])
    if "numba" in sys.modules:
        import numba

        numba.set_num_threads(spec["threads"])

    report.stage = "reading the data"
    X, y = handover.read(Path(spec["data"]), spec["checksum"])

    report.stage = "setting up the problem"
    problem, lam = _problem(spec["problem"], X, y)
    facts.update(
        n=problem.n,
        d=problem.d,
        m=problem.m,
        dtype=str(np.dtype(problem.dtype)),
        layout=problem.layout,
        lam=lam,
        lambda_max=float(problem.lambda_max),
    )
    box: Any = None
    if spec.get("black_box"):
        from pianobench.experiments import black_box

        box = black_box
    solver = (box or solver_choice).make(spec["solver"], spec["solver_file"], spec["params"])
    refusal = solver_refusal(solver, problem) if box is None else box.refusal(solver, problem)
    if refusal is not None:
        facts.update(status="skipped", reason=refusal)
        return

    def rng() -> np.random.Generator:
        entropy, spawn_key = spec["seed_words"]
        return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=spawn_key))

    report.stage = "warm-up"
    began = time.perf_counter()
    if box is None:
        solve(solver, problem.tiny(), rng=rng(), tol=spec["tolerance"], max_steps=WARMUP_STEPS)
    else:
        box.warm(solver, problem, spec["threads"])
    facts["warmup_seconds"] = time.perf_counter() - began

    report.stage = "solving"
    with attempt.open_curve() as curve:

        def note(checkpoint: Any) -> None:
            curve.write(json.dumps(asdict(checkpoint), default=float) + "\n")

        if box is None:
            result = solve(
                solver,
                problem,
                rng=rng(),
                tol=spec["tolerance"],
                max_steps=spec["max_steps"],
                max_seconds=spec["max_seconds"],
                on_checkpoint=note,
            )
        else:
            result = box.solve(solver, problem, spec, rng(), note)
    facts.update(
        status=result.status,
        reason=result.reason,
        steps=int(result.steps),
        setup_seconds=float(result.setup_seconds),
        seconds=float(result.seconds),
        **_observed_threads(),
    )
    if not np.all(np.isfinite(result.W)) and result.status not in ("diverged", "breakdown"):
        facts.update(status="diverged", reason=f"the returned weights are not finite (the loop said {result.status})")
    if spec.get("test") and np.all(np.isfinite(result.W)):
        report.stage = "scoring held-out samples"
        from pianobench.experiments import held_out

        facts.update(held_out.evaluate(problem, result.W, Path(spec["test"]["data"]), spec["test"]["checksum"]))


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


def _observed_threads() -> dict[str, Any]:
    """What the pools say after the run, against what was asked of them."""
    from threadpoolctl import threadpool_info

    pools = [
        {"pool": pool["internal_api"], "version": pool["version"], "threads": pool["num_threads"]}
        for pool in threadpool_info()
    ]
    if "numba" in sys.modules:
        import numba

        layer: str
        try:
            layer = numba.threading_layer()  # type: ignore[attr-defined]
        except ValueError:  # nothing ran in parallel
            layer = "not started"
        pools.append({"pool": "numba", "version": layer, "threads": numba.get_num_threads()})
    most = max((int(pool["threads"]) for pool in pools), default=1)
    return {"threads_observed": most, "thread_pools": json.dumps(pools)}


def _peak_bytes() -> int | None:
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


def _die_with_parent() -> None:
    """On Linux: be killed when the parent is, so that a killed suite leaves no process that works on."""
    if sys.platform == "linux":
        import ctypes

        set_death_signal = 1
        ctypes.CDLL(None, use_errno=True).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1])
