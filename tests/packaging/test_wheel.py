"""The wheel holds the six folders and src, whole and alone, and works wherever it is installed and called."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

FOLDERS = ("algorithms", "datasets", "experiments", "plots", "problems", "results")
# One worker builds and installs, once.
pytestmark = pytest.mark.xdist_group("wheel")


def content(wheel: zipfile.ZipFile) -> dict[str, bytes]:
    return {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}


def test_wheel_holds_the_tracked_files(wheel: zipfile.ZipFile, clone: Path, files: list[str]) -> None:
    expected = {}
    for name in files:
        if name.startswith("src/pianobench/"):
            expected[name.removeprefix("src/")] = (clone / name).read_bytes()
        elif name.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
            expected[f"pianobench/{name}"] = (clone / name).read_bytes()
    built = content(wheel)
    assert sorted(built) == sorted(expected)
    assert built == expected


def test_wheel_of_the_sdist_is_the_same(wheel: zipfile.ZipFile, wheel_of_sdist: zipfile.ZipFile) -> None:
    assert content(wheel_of_sdist) == content(wheel)


def test_wheel_carries_the_licence(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert any(name.endswith(".dist-info/licenses/NOTICE") for name in names)


@pytest.fixture(scope="module")
def target(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("target")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*command, "--target", str(target), str(wheel.filename)], check=True)
    return target


def python(target: Path, cwd: Path, *arguments: str) -> str:
    # PYTHONPATH comes before site-packages, where the editable install is.
    environment = {**os.environ, "PYTHONPATH": str(target)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("place", ["elsewhere", "root", "parent"])
def test_installed_wheel_imports(target: Path, clone: Path, tmp_path: Path, place: str) -> None:
    cwd = {"elsewhere": tmp_path, "root": clone, "parent": clone.parent}[place]
    names = ", ".join(f"pianobench.{folder}" for folder in FOLDERS)
    modules = f"(pianobench, {names})"
    printed = python(target, cwd, "-c", f"import {names}\nfor m in {modules}: print(m.__file__)").splitlines()
    assert [str(Path(line).parent) for line in printed] == [
        str(target / "pianobench"),
        *(str(target / "pianobench" / folder) for folder in FOLDERS),
    ]


def test_installed_wheel_runs(target: Path, clone: Path) -> None:
    import pianobench

    assert pianobench.__version__ in python(target, clone, "-m", "pianobench", "--version")
