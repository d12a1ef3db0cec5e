"""Every mistake in a configuration is one line with the key's path, its value and the remedy, and exit code 2."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from commands import here

GOOD = """
title = "Test"
seeds = [0]
threads = [1]
[budget]
seconds = 1
[[problems]]
datasets = ["iris"]
penalty = "l2"
lam = [1.0]
[[solvers]]
key = "piano"
"""
TABLE = 'datasets = ["iris"]\npenalty = "l2"\nlam = [1.0]'

MISTAKES = [
    # keys
    ("seconds = 1", "second = 1", "budget.second = 1: there is no such key; did you mean seconds?"),
    ("seconds = 1", "seconds = 1\nlimit = 1", "budget.limit = 1: there is no such key; known here: seconds, steps,"),
    ("[budget]", "[buget]", "buget = {'seconds': 1}: there is no such key; did you mean budget?"),
    (
        "lam = [1.0]",
        "lambda = [1.0]\nlam = [1.0]",
        "problems[0].lambda = [1.0]: there is no such key; did you mean lam",
    ),
    ('key = "piano"', 'kee = "piano"', "solvers[0].kee = 'piano': there is no such key; did you mean key?"),
    ('title = "Test"', "", "title is missing: add title = 'My experiment'"),
    ("[budget]\nseconds = 1", "", "budget is missing: add [budget] and its keys below"),
    ('[[solvers]]\nkey = "piano"', "", "solvers is missing: add [[solvers]] and its keys below"),
    ('penalty = "l2"', "", "problems[0].penalty is missing: add penalty = 'l2'"),
    ('key = "piano"', "", "solvers[0].key is missing: add key = 'piano'"),
    # types
    ('title = "Test"', "title = 3", "title = 3: it should be a valid string: write a text in quotes"),
    (
        "seconds = 1",
        'seconds = "1"',
        "budget.seconds = '1': it should be a valid number: write a number, without quotes",
    ),
    ("seconds = 1", "seconds = true", "budget.seconds = true: it should be a valid number"),
    ("seconds = 1", "seconds = 1\nsteps = 1.5", "budget.steps = 1.5: it should be a valid integer"),
    ("seconds = 1", "seconds = [1]", "budget.seconds = [1]: it should be a valid number"),
    ("seeds = [0]", "seeds = 0", "seeds = 0: it should be a list: write seeds = [0]"),
    ("seeds = [0]", "seeds = [0.5]", "seeds[0] = 0.5: it should be a valid integer"),
    (
        'datasets = ["iris"]',
        'datasets = "iris"',
        "problems[0].datasets = 'iris': it should be a list: write datasets = ['",
    ),
    ("lam = [1.0]", "lam = 1.0", "problems[0].lam = 1.0: it should be a list: write lam = [1.0]"),
    ("lam = [1.0]", 'lam = ["a"]', "problems[0].lam[0] = 'a': it should be a valid number"),
    (
        "lam = [1.0]",
        "lam = [1.0]\nintercept = 1",
        "problems[0].intercept = 1: it should be a valid boolean: write true",
    ),
    (
        "[[solvers]]",
        "[solvers]",
        "solvers = {'key': 'piano'}: it should be a list of tables: write [[solvers]] with two",
    ),
    ("[[problems]]", "[problems]", "it should be a list of tables: write [[problems]] with two brackets"),
    ("[budget]", "[[budget]]", "budget = [{'seconds': 1}]: it should be a table: write [budget] and its keys below"),
    (
        'key = "piano"',
        'key = "piano"\nparams = 3',
        "solvers[0].params = 3: it should be a table: write params = { name",
    ),
    (
        'key = "piano"',
        'key = "piano"\nparams = {cap = [1]}',
        "solvers[0].params.cap = [1]: a parameter is a number, a text",
    ),
    # values
    ("seconds = 1", "seconds = 0", "budget.seconds = 0: it should be greater than 0: write a larger number"),
    ("seconds = 1", "seconds = -5", "budget.seconds = -5: it should be greater than 0"),
    ("seconds = 1", "seconds = inf", "budget.seconds = inf: it should be a finite number"),
    ("seconds = 1", "seconds = 1\nmemory_gib = 0", "budget.memory_gib = 0: it should be greater than 0"),
    ("seeds = [0]", "seeds = [-1]", "seeds[0] = -1: it should be greater than or equal to 0"),
    ("seeds = [0]", "seeds = []", "seeds = []: it should have an entry"),
    ("seeds = [0]", "tolerance = 2", "tolerance = 2: it should be less than 1: write a smaller number"),
    ("threads = [1]", "threads = [0]", "threads[0] = 0: it should be greater than or equal to 1"),
    ("threads = [1]", "threads = [100000]", "threads = 100000: this machine offers"),
    ("lam = [1.0]", "lam = [-1.0]", "problems[0].lam[0] = -1.0: it should be greater than 0"),
    ('"l2"', '"l3"', "problems[0].penalty = 'l3': it should be 'none', 'l1', 'l2', 'l0' or 'elasticnet'"),
    ("seeds = [0]", 'tier = "big"', "tier = 'big': it should be 'smoke', 'laptop' or 'full'"),
    (
        TABLE,
        f'{TABLE}\nconditioning = "center"',
        "problems[0].conditioning = 'center': it should be 'none', 'scale' or",
    ),
    (f"[[problems]]\n{TABLE}", "", "problems is missing: add [[problems]] and its keys below"),
    # what does not fit together
    ("lam = [1.0]", "", "problems[0]: penalty = 'l2' needs either lam = [..] or lam_factor = [..]"),
    ("lam = [1.0]", "lam = []", "problems[0]: penalty = 'l2' needs either lam = [..] or lam_factor = [..]"),
    (TABLE, f"{TABLE}\nlam_factor = [0.1]", "problems[0]: lam and lam_factor are both given: remove one"),
    ('"l2"', '"none"', "problems[0]: penalty = 'none' has no strength: remove lam and lam_factor"),
    ('"l2"', '"elasticnet"', "problems[0]: penalty = 'elasticnet' needs ridge = .."),
    (
        TABLE,
        f"{TABLE}\nridge = 1.0",
        "problems[0]: ridge = 1: ridge, the strength of l2, belongs to penalty = 'elasticnet'",
    ),
    ('datasets = ["iris"]', "", 'problems[0]: there is no data: add datasets = ["iris"], or data = "my.npz"'),
    (TABLE, f'{TABLE}\ndata = "my.npz"', "problems[0]: datasets and data are both given: remove one"),
    ("seeds = [0]", "seeds = [0, 0]", "the cell iris/l2:1/piano/seed0/threads1 is asked for twice; remove one"),
    # names
    ('"iris"', '"irsi"', "problems[0].datasets[0] = 'irsi': no data set is called 'irsi': did you mean iris?"),
    (
        '"iris"',
        '"iris", "zzz"',
        "problems[0].datasets[1] = 'zzz': no data set is called 'zzz': `pianobench datasets` lists",
    ),
    (
        '"iris"',
        '"good.npz"',
        "problems[0].datasets[0] = 'good.npz': no data set is called 'good.npz': a file of your own is data",
    ),
    (
        '"piano"',
        '"pianoo"',
        "solvers[0].key = 'pianoo': there is no such solver; did you mean 'piano'? the solvers are",
    ),
    (
        '"piano"',
        '"my.py"',
        "solvers[0].key = 'my.py': there is no such solver; a class of a file is meant by 'my.py:Class'",
    ),
    ('"piano"', '"no.py:X"', "solvers[0].key = 'no.py:X': there is no file no.py: a path is relative to"),
    ('"piano"', '"my.py:Mien"', "solvers[0].key = 'my.py:Mien': my.py has no class 'Mien'; it has Mine"),
    ('"piano"', '"broken.py:Mine"', "solvers[0].key = 'broken.py:Mine': broken.py, line 2: SyntaxError: "),
    ('"piano"', '"raises.py:Mine"', "solvers[0].key = 'raises.py:Mine': raises.py, line 3: ZeroDivisionError: "),
    (
        '"piano"',
        '"piano"\nparams = {capp = 1.0}',
        "solvers[0].params.capp = 1.0: Piano has no parameter 'capp': did you mean",
    ),
    (
        '"piano"',
        '"piano"\nparams = {cap = "1"}',
        "solvers[0].params.cap = '1': Piano.cap should be a number, like its def",
    ),
    ('"piano"', '"piano"\nparams = {cap = true}', "solvers[0].params.cap = True: Piano.cap should be a number"),
    (
        '"piano"',
        '"lbfgs"\nparams = {memory_pairs = 2.5}',
        "solvers[0].params.memory_pairs = 2.5: Lbfgs.memory_pairs should",
    ),
    ('"piano"', '"my.py:Mine"', "solvers[0].params.rate: Mine needs the parameter rate, which has no default"),
    (
        '"piano"',
        '"my.py:Mine"\nparams = {rate = -1}',
        "solvers[0].key = 'my.py:Mine': Mine cannot be made: ValueError: rate",
    ),
    # files
    (
        'datasets = ["iris"]',
        'data = "no.npz"',
        "problems[0].data = 'no.npz': there is no such file: a path is relative",
    ),
    ('datasets = ["iris"]', 'data = "text.npz"', "problems[0].data = 'text.npz': text.npz: it is not an npz file"),
    ('datasets = ["iris"]', 'data = "my.py"', "problems[0].data = 'my.py': my.py: the ending tells the form, and .npz"),
    ('title = "Test"', "title = Test", "is not TOML: Invalid value (at line 2, column 9); texts are in quotes"),
    ('title = "Test"', 'title = "Test', "is not TOML: "),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mistakes")
    (path / "text.npz").write_text("no npz")
    np.savez(path / "good.npz", X=np.eye(4), y=[0, 1, 0, 1])
    (path / "my.py").write_text(
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\nclass Mine:\n    rate: float\n"
        "    def __post_init__(self):\n        if self.rate < 0:\n            raise ValueError('rate is negative')\n"
    )
    (path / "broken.py").write_text("class Mine:\n    def f(:\n")
    (path / "raises.py").write_text("class Mine:\n    pass\nx = 1 / 0\n")
    return path


@pytest.mark.parametrize(("old", "new", "line"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_one_line(folder: Path, old: str, new: str, line: str) -> None:
    assert GOOD.count(old) >= 1
    (folder / "mine.toml").write_text(GOOD.replace(old, new, 1))
    done = here("run", "mine.toml", "--dry-run", cwd=folder)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("pianobench: mine.toml"), done.stderr
    assert line in done.stderr
    assert str(folder) not in done.stderr


def test_the_same_file_without_a_mistake_is_taken(folder: Path) -> None:
    (folder / "mine.toml").write_text(GOOD)
    done = here("run", "mine.toml", "--dry-run", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_all_mistakes_are_said_at_once(folder: Path) -> None:
    (folder / "mine.toml").write_text(GOOD.replace("seconds = 1", "second = 1\nsteps = 0").replace('"l2"', '"l3"'))
    lines = here("run", "mine.toml", "--dry-run", cwd=folder).stderr.splitlines()
    assert [line.split(" = ")[0] for line in lines] == [
        "pianobench: mine.toml: budget.steps",
        "pianobench: mine.toml: budget.second",
        "pianobench: mine.toml: problems[0].penalty",
    ]


def test_more_threads_than_cores_warn(folder: Path) -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    (folder / "mine.toml").write_text(GOOD.replace("threads = [1]", f"threads = [1, {cores + 1}]"))
    done = here("run", "mine.toml", "--dry-run", cwd=folder)
    assert done.returncode == 0
    assert done.stderr.startswith(
        f"pianobench: warning: mine.toml: threads = {cores + 1}: this machine offers {cores} cores"
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("absent.toml", None, "there is no file absent.toml: `pianobench init-config` writes one"),
        ("notes.txt", b"", "notes.txt does not end in .toml: rename it"),
        ("smoky", None, "no configuration is called 'smoky': give the path of a .toml file; did you mean smoke?"),
        ("latin.toml", 'title = "é"'.encode("latin-1"), "latin.toml is not UTF-8 text"),
        ("empty.toml", b"", "empty.toml: title is missing"),
    ],
)
def test_a_file_that_cannot_be_read(folder: Path, name: str, content: bytes | None, line: str) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    done = here("run", name, cwd=folder)
    assert done.returncode == 2
    assert line in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--data", "no.npz"], "--data no.npz: there is no such file; a path is relative to the working folder"),
        (["--data", "text.npz"], "--data text.npz: text.npz: it is not an npz file"),
        (["--solver", "pianoo"], "--solver pianoo: there is no such solver; did you mean 'piano'?"),
        (["--solver", "no.py:X"], "--solver no.py:X: there is no file no.py"),
        (["--solver", "my.py:Mine(rate)"], "--solver my.py:Mine(rate): (rate) is not name=value, ..."),
        (["--solver", "my.py:Mine(rate=1"], "--solver my.py:Mine(rate=1: a key, file.py:Class or either with"),
        (["--solver", "my.py:Mine"], "--solver my.py:Mine: Mine needs the parameter rate"),
    ],
)
def test_mistakes_on_the_command_line(folder: Path, words: list[str], line: str) -> None:
    done = here("run", "smoke", "--dry-run", *words, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert line in done.stderr
