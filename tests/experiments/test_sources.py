"""Import closures and their hashes, on a small tree with a planted edit in each file."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pianobench
from pianobench.experiments import cells, sources

TREE = {
    "algorithms/__init__.py": "from pianobench.algorithms.one import One\nfrom pianobench.algorithms.two import Two\n",
    "algorithms/one.py": "import numpy\nfrom .shared import line\nfrom pianobench.problems import Problem\n",
    "algorithms/two.py": "def late():\n    from pianobench.algorithms import shared\n",
    "algorithms/shared.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pianobench.plots import look\nline = 1\n"
    ),
    "problems/__init__.py": "from pianobench.problems.problem import Problem\n",
    "problems/problem.py": "class Problem: ...\n",
    "plots/__init__.py": "look = 1\n",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(pianobench, "__path__", [str(tmp_path)])
    sources.source.cache_clear()
    yield tmp_path
    sources.source.cache_clear()


@pytest.mark.usefixtures("tree")
def test_closure_follows_all_kinds_of_imports() -> None:
    assert sorted(sources.closure(["pianobench.algorithms.one"])) == [
        "pianobench.algorithms.one",
        "pianobench.algorithms.shared",
        "pianobench.problems",
        "pianobench.problems.problem",
    ]
    assert sorted(sources.closure(["pianobench.algorithms.two"])) == [
        "pianobench.algorithms.shared",
        "pianobench.algorithms.two",
    ]


@pytest.mark.usefixtures("tree")
def test_closure_stops_at_patterns() -> None:
    closed = sources.closure(["pianobench.algorithms.one"], stop=["pianobench.problems*"])
    assert sorted(closed) == ["pianobench.algorithms.one", "pianobench.algorithms.shared"]


@pytest.mark.parametrize(
    ("edited", "changes"),
    [
        ("algorithms/one.py", True),
        ("algorithms/shared.py", True),
        ("problems/problem.py", True),
        ("algorithms/two.py", False),
        ("algorithms/__init__.py", False),
        ("plots/__init__.py", False),
    ],
)
def test_an_edit_changes_the_digest_where_it_must(tree: Path, edited: str, changes: bool) -> None:
    before = sources.digest(sources.closure(["pianobench.algorithms.one"]))
    path = tree / edited
    path.write_text(path.read_text() + "# edited\n")
    assert (sources.digest(sources.closure(["pianobench.algorithms.one"])) != before) == changes


def test_line_ends_do_not_count(tree: Path) -> None:
    before = sources.digest(sources.closure(["pianobench.algorithms.one"]))
    path = tree / "algorithms/one.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert sources.digest(sources.closure(["pianobench.algorithms.one"])) == before


@pytest.mark.usefixtures("tree")
def test_modules_below_lists_all() -> None:
    assert sources.modules_below("pianobench.problems") == ("pianobench.problems", "pianobench.problems.problem")
    with pytest.raises(ValueError, match="not a package"):
        sources.modules_below("pianobench.absent")


def test_every_module_that_measures_exists_and_no_table_or_solver_is_among_them() -> None:
    measuring = sources.closure(cells.MEASURING, stop=cells.NO_SAY)
    assert set(cells.MEASURING) <= set(measuring)
    assert not [name for name in measuring if ".plots" in name or ".results" in name or ".cli" in name]
    assert not [name for name in measuring if name.endswith((".piano", ".lbfgs", ".registry"))]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A user's solver with files beside it."""
    texts = {
        "mine.py": "import numpy as np, torch.nn\nimport helper\nfrom pack.part import thing\nimport mine\n",
        "helper.py": "import json\nfrom deeper import x\nfrom pianobench.algorithms import State\n",
        "deeper.py": "x = 1\n",
        "pack/__init__.py": "",
        "pack/part.py": "thing = 1\n",
        "unused.py": "import nothing_like_it\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "mine.py"


def test_the_files_beside_a_users_solver_count_if_it_imports_them(own: Path) -> None:
    found = sources.beside(own)
    assert sorted(found) == ["deeper.py", "helper.py", "mine.py", "pack/__init__.py", "pack/part.py"]
    assert sources.outside(found) == {"numpy", "torch"}


def test_a_helper_that_is_no_python_is_named(own: Path) -> None:
    (own.parent / "helper.py").write_text("def")
    with pytest.raises(SyntaxError) as caught:
        sources.beside(own)
    assert caught.value.filename == "helper.py"


@pytest.fixture
def real_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """A copy of the package's own sources, and the function that digests what a PIANO cell depends on."""
    for folder in ("algorithms", "problems", "experiments", "results", "plots", "datasets"):
        origin = sources.source(f"pianobench.{folder}")
        assert origin is not None
        shutil.copytree(origin.parent, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "runs"))
    monkeypatch.setattr(pianobench, "__path__", [str(tmp_path)])

    def digest() -> str:
        solver = sources.closure(["pianobench.algorithms.piano"], stop=cells.NO_SAY)
        return sources.digest(solver | sources.closure(cells.MEASURING, stop=cells.NO_SAY))

    sources.source.cache_clear()
    yield digest
    sources.source.cache_clear()


@pytest.mark.parametrize(
    ("edited", "changes"),
    [
        ("algorithms/piano.py", True),
        ("algorithms/loop.py", True),
        ("problems/kernels/softmax.py", True),
        ("experiments/measure.py", True),
        ("algorithms/lbfgs.py", False),
        ("algorithms/registry.py", False),
        ("plots/convergence.py", False),
        ("plots/style.py", False),
        ("results/store.py", False),
        ("experiments/cli/show.py", False),
        ("experiments/suite.py", False),
    ],
)
def test_an_edit_of_the_real_sources_changes_a_piano_cell_where_it_must(
    real_tree: Callable[[], str], tmp_path: Path, edited: str, changes: bool
) -> None:
    before = real_tree()
    path = tmp_path / edited
    path.write_text(path.read_text("utf-8") + "\n# edited\n", "utf-8")
    assert (real_tree() != before) == changes
