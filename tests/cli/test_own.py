"""Own data and own solvers without forking, by options and in a configuration; and lists in a stable form."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from commands import here, process

from pianobench.datasets import reading
from pianobench.experiments.cli import listings
from pianobench.results import load

HERE = Path(__file__).parent
CONFIG = """
title = "Own"
[budget]
seconds = 20
[[problems]]
data = "data/my.npz"
penalty = "l2"
lam = [2.0]
[[solvers]]
key = "lbfgs"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a configuration, a solver, and data beside it; the user stands in another folder."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) * (rng.random((90, 3)) < 0.7)
    y = np.array(["a", "b", "c"])[(X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(90, 3))).argmax(axis=1)]
    (tmp_path / "configs" / "data").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    np.savez(tmp_path / "configs" / "data" / "my.npz", X=X, y=y)
    S = sp.csr_array(X)
    np.savez(tmp_path / "work" / "rows.npz", data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=y)
    (tmp_path / "configs" / "own.toml").write_text(CONFIG)
    shutil.copy(HERE / "faulty.py", tmp_path / "work" / "my.py")
    return tmp_path


def test_data_and_solver_of_ones_own_run_and_are_recorded(place: Path) -> None:
    work = place / "work"
    words = ["run", "../configs/own.toml", "--solver", "my.py:Good(rate=0.03)", "--json", "--quiet"]
    done = process(*words, cwd=work)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    rows = document["rows"]
    assert [(r["solver"], r["params"], r["status"]) for r in rows] == [
        ("lbfgs", "{}", "converged"),
        ("my.py:Good", '{"rate": 0.03}', "converged"),
    ]
    assert {r["dataset"] for r in rows} == {"my.npz"}
    data = reading.read(place / "configs" / "data" / "my.npz")
    assert {r["data_checksum"] for r in rows} == {data.checksum}
    assert [(r["n"], r["d"], r["m"]) for r in rows] == [(90, 3, 3)] * 2
    manifest = load(work / document["run"]).manifest
    recorded = manifest["datasets"]["my.npz"]
    assert (recorded["n"], recorded["d"], recorded["m"], recorded["checksum"]) == (90, 3, 3, data.checksum)
    assert str(place) not in json.dumps(rows) + json.dumps(manifest), "rows and manifest name no folder"


def cells(place: Path, *words: str) -> list[dict[str, Any]]:
    done = here("run", *words, "--dry-run", "--json", cwd=place / "work")
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout)["cells"])


def test_a_file_takes_the_place_of_all_data_of_a_configuration(place: Path) -> None:
    labels = [cell["label"].split("/")[:3] for cell in cells(place, "smoke", "--data", "rows.npz")]
    assert labels == [
        ["rows.npz", "l2:0.1max", "piano"],
        ["rows.npz", "l2:0.1max", "lbfgs"],
        ["rows.npz", "l1:0.3max", "piano"],
        ["rows.npz", "l1:0.3max", "lbfgs"],
    ]


def test_the_key_follows_the_bytes_of_data_and_solver_and_not_their_place(place: Path) -> None:
    def keys() -> list[str]:
        options = ["--data", "rows.npz", "--solver", "my.py:Good", "--only", "l2"]
        return [cell["key"] for cell in cells(place, "smoke", *options)]

    before = keys()
    assert len(set(before)) == 3
    (place / "elsewhere").mkdir()
    (place / "work").rename(place / "elsewhere" / "work")
    (place / "work").symlink_to(place / "elsewhere" / "work")
    assert keys() == before
    with open(place / "work" / "my.py", "a") as stream:
        stream.write("# edited\n")
    assert [a == b for a, b in zip(before, keys(), strict=True)] == [True, True, False]
    with np.load(place / "work" / "rows.npz") as saved:
        changed = {**saved, "data": saved["data"] * 2}
    np.savez(place / "work" / "rows.npz", **changed)
    assert not set(before) & set(keys())


def test_two_files_of_one_name_are_told_apart(place: Path) -> None:
    shutil.copy(place / "work" / "rows.npz", place / "configs" / "my.npz")
    second = '[[problems]]\ndata = "my.npz"\npenalty = "l1"\nlam = [1.0]\n'
    (place / "configs" / "two.toml").write_text(CONFIG + second)
    done = here("run", "../configs/two.toml", "--dry-run", cwd=place / "work")
    assert done.returncode == 2
    assert "problems[1].data = 'my.npz': another file is called my.npz too" in done.stderr


def test_reproduce_takes_a_further_solver(place: Path) -> None:
    done = here("reproduce", "--solver", "my.py:Good", "--dry-run", "--only", "*digits*l2*", cwd=place / "work")
    assert done.returncode == 0, done.stderr
    assert "digits/l2:0.1max/my.py:Good/seed0/threads1" in done.stdout


def test_solvers_as_json_have_the_same_keys_each(tmp_path: Path) -> None:
    entries = json.loads(here("solvers", "--json", cwd=tmp_path).stdout)
    assert (
        *("key", "kind", "title", "citation", "penalties", "needs", "monotone", "step", "parameters", "module", "from"),
        *("available", "error"),
    ) == listings.SOLVER_KEYS
    assert {tuple(entry) for entry in entries} == {listings.SOLVER_KEYS}
    piano = entries[0]
    assert (piano["key"], piano["kind"], piano["needs"], piano["monotone"]) == ("piano", "solver", ["moments"], True)
    peer = next(entry for entry in entries if entry["key"] == "sklearn-lbfgs-best")
    assert (peer["kind"], peer["available"], peer["penalties"]) == ("peer", True, ["l2", "none"])
    assert {"name": "tol", "type": "float", "default": 0.0} in peer["parameters"]
    assert piano["parameters"] == [{"name": "cap", "type": "float", "default": 30.0}]
    assert piano["module"] == "pianobench.algorithms.piano"
    assert piano["from"].startswith("pianobench ")


def test_data_sets_as_json_have_the_same_keys_each(tmp_path: Path) -> None:
    entries = json.loads(here("datasets", "--json", cwd=tmp_path).stdout)
    assert (
        *("name", "n", "d", "m", "field", "description", "origin", "licence", "checksum", "source", "from"),
        *("available", "error"),
    ) == listings.DATASET_KEYS
    assert {tuple(entry) for entry in entries} == {listings.DATASET_KEYS}
    (iris,) = [entry for entry in entries if entry["name"] == "iris"]
    assert (iris["n"], iris["d"], iris["m"], iris["source"], iris["available"]) == (150, 4, 3, "scikit-learn", True)
    assert len(iris["checksum"]) == 64


def test_a_solver_whose_library_is_missing_is_listed_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pianobench.algorithms import SOLVERS
    from pianobench.algorithms.registry import Entry

    class Missing(Entry):
        @property
        def solver_class(self) -> type[Any]:
            import a_library_that_is_not_there  # type: ignore[import-not-found]  # noqa: F401

            raise AssertionError

    monkeypatch.setitem(SOLVERS, "gone", Missing("gone", "Gone", "X00", "piano:Piano"))
    entry = {e["key"]: e for e in json.loads(here("solvers", "--json", cwd=tmp_path).stdout)}["gone"]
    assert (entry["key"], entry["title"], entry["available"], entry["penalties"]) == ("gone", "Gone", False, None)
    assert entry["error"] == (
        "the library a_library_that_is_not_there is not installed; `pianobench doctor` says what installs it"
    )
    text = here("solvers", cwd=tmp_path)
    assert text.returncode == 0
    assert "gone is not available: the library a_library_that_is_not_there" in text.stdout


def test_one_data_set_is_described_whole(tmp_path: Path) -> None:
    iris = json.loads(here("datasets", "iris", "--json", cwd=tmp_path).stdout)
    assert tuple(iris) == listings.DETAIL_KEYS
    assert (iris["nnz"], iris["density"], iris["layout"], iris["dtype"], iris["parts"]) == (
        600,
        1,
        "dense",
        "float64",
        {},
    )
    assert iris["classes"] == {"setosa": 50, "versicolor": 50, "virginica": 50}
    text = here("datasets", "digits", cwd=tmp_path).stdout
    assert "0 (178), 1 (182)" in text
    assert "and 44 more" in text, "64 names of columns are cut"
    done = here("datasets", "irsi", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean iris?" in done.stderr
