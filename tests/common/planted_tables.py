"""Tables of runs that never ran: times, gaps and endings as a test wants them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pianobench.results.schema import CURVES, ROWS, frame
from pianobench.results.store import Tables

TITLES = {
    "piano": "PIANO", "piano-accelerated": "Accelerated PIANO", "bohning": "Böhning–Lindsay", "irls": "IRLS",
    "newton-cg": "Newton-CG", "lc": "LC", "admm-mlr": "ADMM for MLR", "admm-l1": "ADMM for l1", "smlr": "SMLR",
    "flexa": "FLEXA", "gj-flexa": "GJ-FLEXA", "owl-qn": "OWL-QN", "prox-newton": "Proximal Newton", "fista": "FISTA",
    "lbfgs": "L-BFGS", "sklearn-lbfgs": "scikit-learn lbfgs", "sklearn-saga": "scikit-learn saga",
}  # fmt: skip


def row(solver: str, **changes: Any) -> dict[str, Any]:
    """A row of a run that converged."""
    base: dict[str, Any] = {
        "key": f"{solver}{sorted(changes.items(), key=str)}", "experiment": "compare-some", "tier": "compare",
        "dataset": "some", "n": 1797, "d": 64, "m": 10, "problem": "l2:0.1max", "penalty": "l2", "lam_factor": 0.1,
        "lam": 2.5, "intercept": True, "conditioning": "none", "solver": solver,
        "solver_title": TITLES.get(solver, solver), "params": "{}", "seed": 0, "tolerance": 1e-6, "max_seconds": 5.0,
        "status": "converged", "reason": "because of the test", "certificate": "dual", "threads_asked": 1,
        "warmup_seconds": 0.1, "measured_at": "2026-01-02T03:04:05Z", "commit": "0123456789" * 4,
        "machine": "A processor, 2 cores", "reused": False, "gap": 1e-7, "gradient_equivalents": 10.0,
    }  # fmt: skip
    return {**base, **changes}


def run(
    solver: str, seconds: float | None, level: float = 1e-6, used: float = 5.0, **changes: Any
) -> tuple[dict[str, Any], list[Any]]:
    """Row and curve of a run that is at gap 1 from the start, 1e-3 at half of `seconds` and at the tolerance then.

    With no `seconds` it is a run out of time at gap `level` after `used` seconds.
    """
    if seconds is None:
        changes = {"status": "timeout", "gap": level, "seconds": used, **changes}
        points = [(0.1 * used, 1.0), (used, level)]
    else:
        changes = {"seconds": seconds, **changes}
        points = [(seconds / 4, 1.0), (seconds / 2, 1e-3), (seconds, 1e-7)]
    record = row(solver, **changes)
    curve = [
        {"key": record["key"], "step": i, "seconds": s, "gap": gap, "gradient_equivalents": 100 * s}
        for i, (s, gap) in enumerate(points)
    ]
    return record, curve


def outside(solver: str, status: str, reason: str, **changes: Any) -> tuple[dict[str, Any], list[Any]]:
    """Row of a run without a curve."""
    return row(solver, status=status, reason=reason, seconds=None, gap=None, **changes), []


def tables(runs: Sequence[tuple[dict[str, Any], list[Any]]]) -> Tables:
    """As the store would give them."""
    rows = frame([record for record, _ in runs], ROWS)
    curves = frame([point for _, curve in runs for point in curve], CURVES)
    return Tables(rows, curves, {"experiment": "compare-some", "title": "some"})


def crowd(repeats: int = 1) -> Tables:
    """Fifteen methods on six problems, with all the endings that there are."""
    rng = np.random.default_rng(1)
    runs = []
    keys = list(TITLES)
    for number, (penalty, factor) in enumerate((p, f) for p in ("l1", "l2") for f in (0.3, 0.03, 0.003)):
        taken = [k for k in keys if (k not in ("lbfgs", "irls") if penalty == "l1" else k not in ("admm-l1", "owl-qn"))]
        for place, solver in enumerate(keys):
            about: dict[str, Any] = {
                "penalty": penalty, "lam_factor": factor, "lam": 40 * factor, "problem": f"{penalty}:{factor:g}max",
            }  # fmt: skip
            if solver not in taken:
                runs.append(outside(solver, "skipped", f"{TITLES[solver]} takes no penalty, not {penalty}", **about))
                continue
            if solver == "gj-flexa" and number == 4:
                runs.append(outside(solver, "crashed", "the process died of SIGSEGV (Segmentation fault)", **about))
                continue
            rate = 10 ** rng.uniform(-1.6, 1.4) * (1 + number % 3)
            for seed in range(repeats):
                runs.append(_decay(solver, rate * rng.uniform(0.9, 1.1), rng, place, seed=seed, **about))
    return tables(runs)


def _decay(solver: str, rate: float, rng: np.random.Generator, place: int, **about: Any) -> Any:
    seconds = np.geomspace(rate / 300, min(rate * 1.2, 5.0), 40)
    drop = np.cumsum(rng.gamma(2.0, 1.0, 40))
    gap = 10 ** (-6.4 * (seconds / rate) ** 0.45 * drop / drop[-1] / np.linspace(0.6, 1, 40))
    reached = np.flatnonzero(gap <= 1e-6)
    end = reached[0] + 1 if reached.size else 40
    box = solver.startswith("sklearn")
    cost = np.full(40, np.nan) if box else seconds / rate * 40 * (1 + place)
    record = row(
        solver, status="converged" if reached.size else "timeout", gap=float(gap[end - 1]), seconds=seconds[end - 1],
        gradient_equivalents=float(cost[end - 1]), **about,
    )  # fmt: skip
    curve = [
        {"key": record["key"], "step": i + 1, "seconds": seconds[i], "gap": gap[i], "gradient_equivalents": cost[i]}
        for i in range(end)
    ]
    return record, curve
