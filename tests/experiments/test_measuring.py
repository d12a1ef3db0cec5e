"""What a cell measures: known optima on real data, and the same numbers each time."""

from pathlib import Path
from typing import Any

import pytest

from pianobench.datasets import handover, load
from pianobench.experiments import runner
from pianobench.experiments.cells import expand
from pianobench.experiments.config import Config
from pianobench.results.store import Store

# Minimum of F on digits/16 with lam = 1 and an intercept, found by SciPy's L-BFGS-B and by cyanure.
OPTIMUM = 358.548947734


def measure(root: Path, solver: str, dataset: str, problem: dict[str, Any], **limits: Any) -> runner.Outcome:
    config = Config.model_validate(
        {
            "title": "Test",
            "tier": "smoke",
            "tolerance": limits.pop("tolerance", 1e-6),
            "budget": {"seconds": 20.0, **limits},
            "problems": [{"datasets": [dataset], **problem}],
            "solvers": [{"key": solver}],
        }
    )
    data = load(dataset)
    cells = expand(config, "test", root, {dataset: data.checksum})
    store = Store(root)
    return runner.run(cells, store, {data.checksum: handover.write(data, store.data)})


def test_the_certified_interval_holds_the_known_optimum_of_digits(tmp_path: Path) -> None:
    (row,) = measure(tmp_path, "lbfgs", "digits", {"penalty": "l2", "lam": [1.0]}, tolerance=1e-8).rows
    assert row["status"] == "converged"
    assert row["lower"] <= OPTIMUM * (1 + 1e-11)
    assert row["objective"] >= OPTIMUM * (1 - 1e-11)
    assert row["objective"] - row["lower"] <= 1e-8 * row["objective"]


@pytest.mark.parametrize("solver", ["piano", "lbfgs"])
def test_two_processes_measure_the_same_curve_but_for_the_seconds(tmp_path: Path, solver: str) -> None:
    problem = {"penalty": "l2", "lam_factor": [0.1]}
    one, two = (measure(tmp_path / name, solver, "iris", problem, steps=20).curves for name in ("one", "two"))
    assert len(one) > 3
    for first, second in zip(one, two, strict=True):
        assert {**first, "seconds": 0} == {**second, "seconds": 0}


def test_a_factor_means_a_multiple_of_lambda_max(tmp_path: Path) -> None:
    above = measure(tmp_path, "piano", "iris", {"penalty": "l1", "lam_factor": [1.001]}).rows[0]
    assert above["lam"] == pytest.approx(1.001 * above["lambda_max"])
    assert above["status"] == "converged"
    assert above["nnz"] <= above["m"], "only the intercept is left"
