"""Configurations: what is wrong with one is said in a line with the key, the value and the remedy."""

from pathlib import Path

import pytest

from pianobench import datasets
from pianobench.algorithms import SOLVERS
from pianobench.algorithms.peers.registry import PEERS
from pianobench.experiments import config
from pianobench.experiments.mistakes import UserMistake

NOT_EVERYWHERE = {  # of the folder of real sets beside the checkout
    *("letter", "usps", "fashion_mnist_t10k", "clef_imclef07a", "satimage", "shuttle", "phoneme", "khan_srbct"),
    *("nci60", "news20_bydate", "sector", "clinc150", "banking77", "pendigits", "vowel", "segment", "vehicle"),
    *("texture", "dna", "mnist_5k", "movement_libras", "collagen_ftir", "soybean", "golub", "reuters_r8"),
    *("primary_cancers_mirna", "agaricus", "criteo_tiny"),
}
GOOD = """
title = "Test"
tier = "smoke"
[budget]
seconds = 1
[[problems]]
datasets = ["iris"]
penalty = "l2"
lam = [1.0]
[[solvers]]
key = "piano"
"""


def read(tmp_path: Path, text: str) -> config.Config:
    path = tmp_path / "mine.toml"
    path.write_text(text, "utf-8")
    return config.read(path)


def test_defaults_are_those_of_the_papers(tmp_path: Path) -> None:
    read_config = read(tmp_path, GOOD)
    assert read_config.tolerance == 1e-6
    assert read_config.problems[0].conditioning == "none"
    assert read_config.problems[0].intercept
    assert read_config.budget.seconds == 1.0


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("lam =", "lamda =", "problems[0].lamda = [1.0]: there is no such key; did you mean lam?"),
        ("seconds = 1", "second = 1", "budget.second = 1: there is no such key; did you mean seconds?"),
        ("seconds = 1", "", "budget.seconds is missing: add seconds = 10.0"),
        ('tier = "smoke"', 'tier = "huge"', "tier = 'huge': it should be 'smoke', 'laptop' or 'full'"),
        ("seconds = 1", "seconds = -1", "budget.seconds = -1: it should be greater than 0"),
        ("seconds = 1", "seconds = nan", "budget.seconds = nan: it should be a finite number"),
        ("[1.0]", "[0.0]", "problems[0].lam[0] = 0.0: it should be greater than 0"),
        ("[1.0]", '["1"]', "problems[0].lam[0] = '1': it should be a valid number"),
        ("lam = [1.0]", "", "problems[0]: penalty = 'l2' needs either lam = [..] or lam_factor = [..]"),
        ('"l2"', '"none"', "problems[0]: penalty = 'none' has no strength: remove lam and lam_factor"),
        ('"l2"', '"elasticnet"', "problems[0]: penalty = 'elasticnet' needs ridge = .., the strength of its"),
        ('datasets = ["iris"]', "datasets = []", "problems[0].datasets = []: it should have an entry"),
        ('title = "Test"', 'title = "Test"\ncode = "x"', "code = 'x': there is no such key; known here: title, tier"),
        ('title = "Test"', "title =", "mine.toml is not TOML"),
        ('key = "piano"', 'key = "piano"\nparams = {a = [1]}', "solvers[0].params.a"),
    ],
)
def test_a_mistake_is_one_line_with_key_value_and_remedy(tmp_path: Path, old: str, new: str, line: str) -> None:
    assert old in GOOD
    with pytest.raises(UserMistake) as caught:
        read(tmp_path, GOOD.replace(old, new))
    lines = str(caught.value).splitlines()
    assert any(line in each for each in lines), lines
    assert all(each.startswith("mine.toml") for each in lines)
    assert "pydantic" not in str(caught.value)


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UserMistake) as caught:
        read(tmp_path, GOOD.replace("seconds = 1", "seconds = 0").replace('"l2"', '"l3"'))
    assert len(str(caught.value).splitlines()) == 2


def test_near_names_of_configurations_are_offered(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="did you mean smoke"):
        config.locate("smok")
    with pytest.raises(UserMistake, match="there is no file"):
        config.locate(str(tmp_path / "absent.toml"))


@pytest.mark.parametrize("name", config.shipped())
def test_shipped_configurations_are_good(name: str) -> None:
    shipped = config.read(config.locate(name))
    named = {d.removesuffix(":standardised") for grid in shipped.problems for d in grid.datasets}
    assert named <= set(datasets.names()) | NOT_EVERYWHERE
    assert {choice.key for choice in shipped.solvers} <= set(SOLVERS) | set(PEERS)
    assert {grid.conditioning for grid in shipped.problems} == {"none"}, "centring changes PIANO"
