"""The repository's root, its files, and what is built from them."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def files() -> list[str]:
    """What git tracks or would track, so that the tests also hold before a commit."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = sorted({name for name in listed.split("\0") if name})
    return [name for name in names if (ROOT / name).is_symlink() or (ROOT / name).is_file()]


@pytest.fixture(scope="session")
def clone(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout named like the package, where its parent folder is the hardest place to import from."""
    clone = tmp_path_factory.mktemp("parent") / "pianobench"
    for name in files:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, clone / name, follow_symlinks=False)
    # What must stay out of a wheel.
    for stray in ("results/runs/one/rows.parquet", "algorithms/__pycache__/stray.pyc", "stray.py"):
        (clone / stray).parent.mkdir(parents=True, exist_ok=True)
        (clone / stray).touch()
    return clone


def build(source: Path, out: Path, *what: str) -> zipfile.ZipFile:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), *what, str(source)]
    done = subprocess.run(command, cwd=out.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = out.glob("*.whl")
    return zipfile.ZipFile(wheel)


@pytest.fixture(scope="session")
def wheel(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return build(clone, tmp_path_factory.mktemp("wheel"), "--wheel")


@pytest.fixture(scope="session")
def wheel_of_sdist(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return build(clone, tmp_path_factory.mktemp("sdist"))
