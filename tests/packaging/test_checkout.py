"""A checkout: one name for each import, an editable install that sees new files, links for type checkers."""

import copy
import importlib.metadata
import json
import multiprocessing
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import pianobench

FOLDERS = ("algorithms", "datasets", "experiments", "plots", "problems", "results")


@pytest.mark.parametrize("folder", FOLDERS)
def test_bare_import_is_refused(root: Path, folder: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"import {folder}"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"ImportError: import pianobench.{folder}, not {folder}")


def test_import_is_light() -> None:
    heavy = "{'numpy', 'scipy', 'numba', 'sklearn', 'pandas', 'matplotlib', 'typer'}"
    code = f"import sys, pianobench; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", pianobench.__all__)
def test_public_name(name: str) -> None:
    assert name in dir(pianobench)
    assert getattr(pianobench, name) is not None


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pianobench.nothing  # noqa: B018


def test_pickle_through_a_spawned_worker() -> None:
    from pianobench.problems import L2

    sent = L2(0.5)
    assert type(sent).__module__.startswith("pianobench.problems")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        received = pool.apply(copy.copy, (sent,))
    assert type(received) is type(sent)
    assert received == sent


def test_editable_install_is_a_path_to_src(root: Path) -> None:
    """A path entry, not an import hook with a list of modules: what is added to a folder imports at once."""
    distribution = importlib.metadata.distribution("pianobench")
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    assert origin["dir_info"] == {"editable": True}
    assert Path(unquote(urlsplit(origin["url"]).path)) == root
    (path_file,) = [Path(str(f.locate())) for f in distribution.files or [] if f.suffix == ".pth"]
    assert path_file.read_text(encoding="utf-8").split() == [str(root / "src")]
    assert list(pianobench.__path__) == [str(root / "src" / "pianobench"), str(root)]


def test_links_for_type_checkers(root: Path) -> None:
    links = root / "tests" / "typings" / "pianobench"
    targets = {path.name: path for path in (root / "src" / "pianobench").iterdir() if path.is_file()}
    targets |= {folder: root / folder for folder in FOLDERS}
    assert {path.name for path in links.iterdir()} == set(targets)
    for name, path in targets.items():
        assert (links / name).is_symlink()
        assert not os.path.isabs(os.readlink(links / name))
        assert (links / name).resolve(strict=True) == path


def test_configuration_names_the_folders(root: Path) -> None:
    configuration = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert configuration["mypy"]["mypy_path"] == "tests/typings"
    assert configuration["mypy"]["packages"] == ["pianobench"]
    wheel = configuration["hatch"]["build"]["targets"]["wheel"]
    expected = {"src/pianobench": "pianobench"} | {folder: f"pianobench/{folder}" for folder in FOLDERS}
    assert wheel["sources"] == expected
    assert sorted(wheel["only-include"]) == sorted(expected)
