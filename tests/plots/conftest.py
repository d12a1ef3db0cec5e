"""Tables of a small run, as the store would give them."""

from typing import Any

import numpy as np
import pytest

from pianobench.results.schema import CURVES, ROWS, frame
from pianobench.results.store import Tables


def _row(key: str, solver: str, status: str, **changes: Any) -> dict[str, Any]:
    return {
        "key": key,
        "experiment": "test",
        "tier": "smoke",
        "dataset": "some_set",
        "n": 1234,
        "d": 5,
        "m": 3,
        "problem": "l1:0.1max",
        "penalty": "l1",
        "lam_factor": 0.1,
        "lam": 2.5,
        "intercept": True,
        "conditioning": "none",
        "solver": solver,
        "solver_title": solver.upper(),
        "tolerance": 1e-6,
        "status": status,
        "reason": "because of the test",
        "certificate": None if status == "skipped" else "dual",
        "threads_asked": 1,
        "measured_at": "2026-01-02T03:04:05Z",
        "commit": "0123456789" * 4 + "+",
        "machine": "A processor, 2 cores",
        **changes,
    }


@pytest.fixture
def tables() -> Tables:
    """Two problems: on the first one run converges, one times out, one is refused; the second has no penalty."""
    rows = [
        _row("a", "piano", "timeout"),
        _row("b", "fista", "converged"),
        _row("c", "lbfgs", "skipped"),
        _row("d", "piano", "converged", problem="none", penalty="none", lam=None, lam_factor=None),
    ]
    points = []
    for key, end in (("a", 3), ("b", 7), ("d", 9)):
        for i, gap in enumerate(np.logspace(0, -end, 5 + 2 * end)):
            points.append(
                {"key": key, "step": i, "seconds": 1e-5 + 0.01 * i, "gradient_equivalents": 1.5 * i, "gap": gap}
            )
    return Tables(frame(rows, ROWS), frame(points, CURVES), {"experiment": "test"})
