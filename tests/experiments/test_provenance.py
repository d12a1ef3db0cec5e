"""Where numbers come from: the manifest is complete, and the state of the code is told exactly."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pianobench.experiments import environment, machine, provenance


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout that seems to hold the module."""
    folder = tmp_path / "checkout"
    (folder / "experiments").mkdir(parents=True)
    (folder / "experiments" / "provenance.py").write_text("one = 1\n")
    (folder / "notes.txt").write_text("one\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "One")
    monkeypatch.setattr(provenance, "__file__", str(folder / "experiments" / "provenance.py"))
    provenance.commit.cache_clear()
    yield folder
    provenance.commit.cache_clear()


def commit() -> provenance.Commit:
    provenance.commit.cache_clear()
    return provenance.commit()


def test_a_clean_checkout_is_its_commit(checkout: Path) -> None:
    (checkout / "notes.txt").write_text("changed, and without a say\n")
    state = commit()
    assert len(state.name) == 40
    assert (state.difference, str(state)) == ("", state.name)


def test_each_change_of_the_code_has_a_hash_of_its_own(checkout: Path) -> None:
    source = checkout / "experiments" / "provenance.py"
    seen = []
    for text in ("one = 2\n", "one = 3\n"):
        source.write_text(text)
        seen.append(commit())
    source.write_text("one = 1\n")
    for text in ("new = 1\n", "new = 2\n"):
        (checkout / "new.py").write_text(text)
        seen.append(commit())
    assert len({state.difference for state in seen} | {""}) == 5
    assert all(str(state) == state.name + "+" for state in seen)
    (checkout / "new.py").unlink()
    assert commit().difference == ""


def test_a_package_inside_a_strangers_checkout_is_a_release(checkout: Path) -> None:
    git(checkout, "rm", "-q", "--cached", "experiments/provenance.py")
    git(checkout, "commit", "-q", "-m", "Without it")
    assert commit().name.startswith("release ")


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    return provenance.describe("test", ["pianobench", "run", str(Path.home() / "mine.toml")])


@pytest.mark.parametrize(
    "place",
    [
        "commit changed_since_commit difference_sha256 pianobench command started_at",
        "machine.cpu machine.cores_physical machine.cores_logical machine.smt machine.affinity machine.cpu_quota",
        "machine.governor machine.memory_gib machine.os machine.container machine.hypervisor load_before",
        "python versions.numpy versions.numba versions.llvmlite versions.pianobench versions_sha256",
        "numba.cpu numba.features compiled_kernels settings machine.clock_resolution",
        "objective.loss objective.parametrisation objective.penalty objective.start objective.stopping",
    ],
)
def test_the_manifest_is_complete(manifest: dict[str, Any], place: str) -> None:
    for path in place.split():
        part: Any = manifest
        for name in path.split("."):
            assert name in part, path
            part = part[name]


def test_the_manifest_has_every_blas_with_its_kernel(manifest: dict[str, Any]) -> None:
    pools = [pool for pool in manifest["blas"] if pool["user_api"] == "blas"]
    assert pools
    assert all(pool["version"] and pool["architecture"] and pool["num_threads"] for pool in pools)


def test_the_manifest_is_json_without_the_users_folders(manifest: dict[str, Any]) -> None:
    text = json.dumps(manifest)
    assert str(Path.home()) + os.sep not in text
    assert manifest["command"][-1] == f"~{os.sep}mine.toml"


def test_versions_are_found_by_the_name_of_a_module() -> None:
    assert set(provenance.versions_of(["sklearn", "numpy"])) == {"scikit-learn", "numpy"}
    assert provenance.versions_of(["no_such_module"]) == {"no_such_module": "absent"}


def test_settings_that_change_numbers_are_noticed_and_those_of_the_cells_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "NUMBA_OPT", "OMP_NUM_THREADS", "NUMBA_CACHE_DIR"):
        monkeypatch.setenv(name, "planted")
    found = {name for name, value in environment.settings().items() if value == "planted"}
    assert found == {"OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "NUMBA_OPT"}


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),
        ({}, None),
    ],
)
def test_the_quota_of_both_kinds_of_control_groups(tmp_path: Path, files: dict[str, str], quota: float | None) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert machine.cgroup_quota(tmp_path) == quota
