"""`pianobench compare` and `pianobench.compare` as a user meets them, on small real data, in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from pianobench.results import load

COMMAND = [sys.executable, "-P", "-m", "pianobench", "compare"]
X, Y = load_iris(return_X_y=True)
QUICK = ("--solver", "lbfgs", "--budget", "2", "--tol", "1e-4")
PEER = "sklearn-lbfgs-best"
FIRST = (
    "wine_standardised", *QUICK, "--solver", "piano", "--solver", PEER, "--lam-factor", "0.3", "--split", "0.25",
)  # fmt: skip


def compare(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*COMMAND, *words], cwd=cwd, capture_output=True, text=True, timeout=180)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one comparison: two methods, two penalties, a quarter held out."""
    path = tmp_path_factory.mktemp("compare")
    done = compare(*FIRST, cwd=path)
    assert done.returncode == 0, done.stderr
    (path / "stdout.txt").write_text(done.stdout)
    (path / "stderr.txt").write_text(done.stderr)
    return path


def test_the_ranking_ends_the_output_and_fits_100_columns(folder: Path) -> None:
    text = (folder / "stdout.txt").read_text()
    lines = text.splitlines()
    text = " ".join(text.split())
    for part in (
        "wine_standardised l1:0.3max", "refused: L-BFGS: takes l2 or no penalty, not l1", "accuracy", "log loss",
        "refused: scikit-learn lbfgs: takes l2, none, not l1",
        "Over 1 problem with l1", "Over 1 problem with l2", "worst", "median", "undecided within a factor of 1.5",
    ):  # fmt: skip
        assert part in text, part
    assert lines[-1].startswith("Figure  results/runs/compare-wine_standardised-")
    assert max(len(line) for line in lines[:-2]) <= 100
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("Over 1 problem with l2")) :]
    assert {line.split("1 of 1")[0].split(maxsplit=1)[1].strip() for line in table[2:5]} == {
        "L-BFGS", "PIANO", "scikit-learn lbfgs",
    }  # fmt: skip


def test_progress_goes_to_standard_error(folder: Path) -> None:
    text = (folder / "stderr.txt").read_text()
    assert "[6/6]" in text
    assert "skipped" in text


def test_tables_figures_and_the_manifest_are_kept(folder: Path) -> None:
    (run,) = (folder / "results" / "runs").glob("compare-*")
    assert {p.name for p in run.iterdir()} == {
        "comparison.png", "comparison.svg", "config.toml", "curves.parquet", "manifest.json", "rows.parquet",
    }  # fmt: skip
    tables = load(run)
    assert set(tables.rows["tier"]) == {"compare"}
    assert tables.manifest["title"].startswith("wine_standardised: n = 1")
    solved = tables.rows[tables.rows["status"] != "skipped"]
    assert set(solved["solver"]) == {"lbfgs", "piano", PEER}
    assert solved["test_accuracy"].between(0.8, 1.0).all()
    assert tables.rows.loc[tables.rows["status"] == "skipped", "test_accuracy"].isna().all()


def test_a_second_comparison_measures_nothing_again_and_prints_json(folder: Path) -> None:
    done = compare(*FIRST, "--json", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    document = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert all(row["reused"] for row in document["rows"])
    assert all(Path(folder, path).is_file() for path in document["figures"])
    assert {row["outcome"] for row in document["ranking"]} >= {"reached", "refused"}
    assert {row["solver"] for row in document["overall"]} == {"lbfgs", "piano", PEER}
    costs = {row["solver"]: row["gradient_equivalents"] for row in document["ranking"] if row["outcome"] == "reached"}
    assert costs[PEER] is None, "a black box does not tell"
    assert costs["lbfgs"] > 1


def test_svmlight_csv_and_npz_hold_the_same_problem(tmp_path: Path) -> None:
    dump_svmlight_file(X, Y, str(tmp_path / "iris.svm"), zero_based=False)
    np.savez(tmp_path / "iris.npz", X=X, y=Y)
    pd.DataFrame(X, columns=list("abcd")).assign(kind=Y).to_csv(tmp_path / "iris.csv", index=False)
    found = {}
    for name in ("iris.svm", "iris.npz", "iris.csv"):
        done = compare(name, *QUICK, "--penalty", "l2", "--lam", "1", "--json", "--quiet", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (found[name],) = json.loads(done.stdout)["rows"]
        assert found[name]["dataset"] == name
        assert found[name]["status"] == "converged"
    assert found["iris.csv"]["reused"], "the same arrays as the npz"
    assert found["iris.svm"]["layout"] == "dense", "text with nearly all entries stored"
    values = [row["objective"] for row in found.values()]
    np.testing.assert_allclose(values, values[0], rtol=1e-4)


def test_held_out_scores_are_those_of_scikit_learn(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).permutation(len(Y))
    train, test = rows[:100], rows[100:]
    names = np.array(["virginica", "setosa", "versicolor"])[Y]
    for name, part in (("train.csv", train), ("test.csv", test)):
        pd.DataFrame(X[part], columns=list("abcd")).assign(kind=names[part]).to_csv(tmp_path / name, index=False)
    words = ("--solver", "lbfgs", "--tol", "1e-8", "--penalty", "l2", "--lam", "2", "--test", "test.csv")
    done = compare("train.csv", *words, "--conditioning", "scale", "--json", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    theirs = LogisticRegression(C=1 / 2, tol=1e-10, max_iter=10_000).fit(X[train], names[train])
    assert row["test_accuracy"] == pytest.approx(theirs.score(X[test], names[test]))
    assert row["test_log_loss"] == pytest.approx(log_loss(names[test], theirs.predict_proba(X[test])), rel=1e-3)
    manifest = load("latest", tmp_path / "results" / "runs").manifest
    assert manifest["command"][:3] == ["pianobench", "compare", "train.csv"]
    assert str(tmp_path) not in json.dumps(manifest)


def test_a_failed_run_is_exit_code_one_and_a_dry_run_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\nfrom pianobench.algorithms.lbfgs import Lbfgs\n"
        "@dataclass(frozen=True)\nclass Mine(Lbfgs):\n    def step(self, problem, state):\n        "
        "raise RuntimeError('planted')\n"
    )
    words = ("iris", "--solver", "mine.py:Mine", "--penalty", "l2", "--lam", "1")
    done = compare(*words, "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 cells, 0 held by the store, 1 to run" in done.stdout
    assert not (tmp_path / "results").exists()
    done = compare(*words, "--quiet", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "failed: Mine: error: warming up: RuntimeError: planted" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["irsi"], "no data set is called 'irsi': did you mean iris?"),
        (["absent.csv"], "there is no file absent.csv"),
        (["iris", "--split", "1.5"], "split = 1.5: a share between 0 and 1"),
        (["iris", "--split", "0.5", "--test", "x.csv"], "--test x.csv and --split 0.5 are both given"),
        (["x.csv", "--target", "a", "--read", "target=b"], "--target a and --read target=b are both given"),
        (["x.csv", "--read", "drop=a", "--read", "drop=b"], "--read drop=b: drop is given twice; several are a list"),
        (["iris", "--lam", "1", "--lam-factor", "2"], "--lam 1 and --lam-factor 2 are both given"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(tmp_path: Path, words: list[str], message: str) -> None:
    done = compare(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"pianobench: {message}")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


SCRIPT = """
import matplotlib
matplotlib.use("agg")
from sklearn.datasets import load_iris
import pianobench
print("once")
found = pianobench.compare(*load_iris(return_X_y=True), solvers=["lbfgs"], lam_factors=[0.5], test_share=0.2, tol=1e-4)
print(found.ranking[["penalty", "outcome", "place"]].to_json())
print(len(found.figure().axes), "<table" in found._repr_html_(), list(found.rows["status"]), len(found.curves) > 3)
"""


def test_python_ranks_arrays_from_a_script_without_a_guard(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    first, ranking, last = done.stdout.splitlines()
    assert first == "once", "no process runs the script again"
    assert json.loads(ranking)["outcome"] == {"0": "refused", "1": "refused", "2": "reached", "3": "reached"}
    assert last == "6 True ['skipped', 'converged'] True"
    assert "[2/2]" in done.stderr
    assert {p.name for p in tmp_path.iterdir()} == {"script.py"}, "nothing is left behind"
