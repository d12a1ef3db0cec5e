"""The environment of a measuring process: every pool alike, and no compiled kernel from other sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pianobench.datasets import places
from pianobench.experiments import environment
from pianobench.experiments.cli import clean


def test_every_thread_pool_is_told_the_same_number() -> None:
    variables = environment.for_cell(3, "a mark")
    told = {name for name, value in variables.items() if value == "3" and name.endswith("_NUM_THREADS")}
    assert told >= {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"}


def test_the_cache_folder_follows_the_users_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIANOBENCH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "elsewhere")
    assert places.cache_folder() == Path("elsewhere", "pianobench")
    monkeypatch.setenv("PIANOBENCH_CACHE", "mine")
    assert places.cache_folder() == Path("mine")


@pytest.mark.parametrize("name", ["jit.py", "rows.py", "below/other.py"])
def test_an_edited_kernel_gets_a_cache_of_its_own(tmp_path: Path, name: str) -> None:
    """Any file of the kernels: most of them do not name Numba."""
    shutil.copytree(places._KERNELS, tmp_path / "edited", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "edited" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text((file.read_text() if file.exists() else "") + "# edited\n")
    assert places._state(tmp_path / "edited") != places._state(places._KERNELS)
    assert places.compiled_kernels().name == places._state(places._KERNELS)


def test_only_the_kernels_are_compiled() -> None:
    """What is compiled elsewhere would not be in the cache's name."""
    root = places._KERNELS.parents[2]
    texts = {
        path: path.read_text(encoding="utf-8")
        for part in ("problems", "algorithms")
        for path in (root / part).rglob("*.py")
    }
    naming = {path for path, text in texts.items() if "import numba" in text or "from numba" in text}
    assert naming
    assert all(path.is_relative_to(places._KERNELS) for path in naming)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """An installation of its own, with a kernel that calls one in another file."""
    package, root = tmp_path / "site" / "pianobench", places._KERNELS.parents[2]
    shutil.copytree(root / "src" / "pianobench", package)
    for part in ("problems", "datasets"):
        shutil.copytree(root / part, package / part, ignore=shutil.ignore_patterns("__pycache__"))
    compiled = "from pianobench.problems.kernels.compiled.jit import compiled\n"
    kernels = package / "problems" / "kernels" / "compiled"
    (kernels / "callee.py").write_text(f"{compiled}@compiled\ndef callee(x):\n    return x + 1\n")
    caller = f"{compiled.replace('jit import compiled', 'callee import callee')}@compiled\ndef caller(x):\n"
    (kernels / "caller.py").write_text(f"{compiled}{caller}    return callee(x)\n")
    return package


def called(package: Path, cache: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """What the kernel gives in a process that may not write beside the sources, and how often it was compiled."""
    text = (
        "from pianobench.problems.kernels.compiled.caller import caller\n"
        "print(caller(1.0), sum(caller.stats.cache_misses.values()))"
    )
    return subprocess.run(
        [sys.executable, "-P", "-B", "-c", text],
        env={**os.environ, "PYTHONPATH": str(package.parent), "PIANOBENCH_CACHE": str(cache), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def test_kernels_are_kept_outside_the_package_and_never_served_stale(installed: Path, tmp_path: Path) -> None:
    files, cache, other = set(installed.rglob("*")), tmp_path / "cache", {"NUMBA_CACHE_DIR": str(tmp_path / "other")}
    assert called(installed, cache, **other).stdout == "2.0 1\n"
    assert called(installed, cache).stdout == "2.0 0\n"
    callee = installed / "problems" / "kernels" / "compiled" / "callee.py"
    callee.write_text(callee.read_text().replace("+ 1", "+ 2"))
    assert called(installed, cache).stdout == "3.0 1\n"
    assert set(installed.rglob("*")) == files
    assert not (tmp_path / "other").exists()
    found = list(clean.in_cache(cache))
    assert len(found) == 2
    assert all(item.size > 1000 for item in found)
    done = called(installed, callee)  # a file: nothing can be written below it
    assert done.stdout == "3.0 1\n"
    assert "every process compiles its kernels anew" in done.stderr


def test_what_scikit_learn_sets_at_its_import_is_no_setting_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    before = environment.settings()
    monkeypatch.setenv("KMP_DUPLICATE_LIB_OK", "True")
    monkeypatch.setenv("KMP_INIT_AT_FORK", "FALSE")
    assert environment.settings() == before
    monkeypatch.setenv("KMP_BLOCKTIME", "0")
    assert environment.settings() != before
