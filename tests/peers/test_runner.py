"""A configuration that asks for a peer by its key, from the command line to table and figure."""

import json
from pathlib import Path

import pytest
from commands import here as pianobench

from pianobench.results import load

TINY = """
title = "Peers"
tier = "smoke"
tolerance = 1e-9
[budget]
seconds = 5
[[problems]]
datasets = ["iris"]
penalty = "l2"
lam_factor = [0.1]
[[solvers]]
key = "lbfgs"
[[solvers]]
key = "sklearn-lbfgs"
[[solvers]]
key = "sklearn-lbfgs-best"
params = { tol = 1e-12 }
"""


def test_a_configuration_runs_peers_beside_solvers(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    done = pianobench("run", "tiny.toml", "--json", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = {row["solver"]: row for row in json.loads(done.stdout)["rows"]}
    assert [rows[key]["status"] for key in rows] == ["converged", "stalled", "converged"]
    assert rows["sklearn-lbfgs"]["reason"].startswith("reports success after")
    assert rows["sklearn-lbfgs"]["gap"] > 1e-9
    assert rows["sklearn-lbfgs-best"]["gradient_equivalents"] is None
    assert rows["sklearn-lbfgs-best"]["seconds"] > 0
    assert rows["sklearn-lbfgs-best"]["warmup_seconds"] > rows["sklearn-lbfgs-best"]["seconds"]  # imports are there
    tables = load("latest", tmp_path / "results" / "runs")
    curve = tables.curves[tables.curves["key"] == rows["sklearn-lbfgs-best"]["key"]]
    assert curve["step"].is_monotonic_increasing
    assert curve["gradient_equivalents"].isna().all()
    assert len(curve) > 3
    svg = next(tmp_path.glob("results/runs/tiny-*/convergence.svg")).read_text("utf-8")
    assert "scikit-learn lbfgs (default)" in svg
    again = pianobench("run", "tiny.toml", "--json", "--quiet", cwd=tmp_path)
    assert all(row["reused"] for row in json.loads(again.stdout)["rows"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ('"sklearn-lbfg"', "did you mean 'sklearn-lbfgs'?"),
        ('"sklearn-lbfgs"\nparams = { tol = "small" }', "solvers[1].params.tol = 'small': ScikitLearn.tol should be"),
        ('"sklearn-lbfgs"\nparams = { tool = 1.0 }', "did you mean tol?"),
    ],
)
def test_a_wrong_key_or_setting_is_one_line(tmp_path: Path, wrong: str, message: str) -> None:
    (tmp_path / "tiny.toml").write_text(TINY.replace('"sklearn-lbfgs"', wrong, 1))
    done = pianobench("run", "tiny.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
