"""From options to a plan: the cells, what is held out, and options that cannot be used."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from pianobench.algorithms import SOLVERS
from pianobench.datasets import load
from pianobench.experiments import compare, compare_data
from pianobench.experiments.compare import Options
from pianobench.experiments.compare_data import Held
from pianobench.experiments.mistakes import UserMistake

IRIS = load("iris")


def test_by_default_two_penalties_three_strengths_and_all_methods() -> None:
    cells = compare.plan(Held(IRIS), Options()).cells
    strengths = {f"{penalty}:{factor:g}max" for penalty in ("l1", "l2") for factor in (0.3, 0.03, 0.003)}
    assert {cell.problem.title for cell in cells} == strengths
    assert {cell.solver for cell in cells} >= set(SOLVERS)
    assert len(cells) == 6 * len(compare.default_solvers())
    assert {(cell.tier, cell.threads, cell.tolerance, cell.max_seconds) for cell in cells} == {
        ("compare", 1, 1e-6, 5.0)
    }


def test_repeats_are_runs_of_their_own_in_an_order_of_their_own() -> None:
    options = Options(penalties=("l2",), lam=(1.0,), repeats=6, seed=4)
    cells = compare.plan(Held(IRIS), options).cells
    blocks = [[cell.solver for cell in cells if cell.seed == seed] for seed in range(4, 10)]
    assert all(sorted(block) == sorted(compare.default_solvers()) for block in blocks)
    assert len({tuple(block) for block in blocks}) > 1
    assert len({cell.key for cell in cells}) == len(cells)
    assert [cell.seed for cell in cells] == sorted(cell.seed for cell in cells), "repeat by repeat"
    assert compare.plan(Held(IRIS), options).cells == cells


def test_a_held_out_set_is_part_of_the_key() -> None:
    options = Options(solvers=("lbfgs",))
    plain = compare.plan(Held(IRIS), options).cells
    tested = compare.plan(Held(IRIS, load("iris")), options).cells
    assert plain[0].test is None
    assert tested[0].test == IRIS.checksum
    assert plain[0].key != tested[0].key
    assert "test" not in plain[0].key_parts


def test_peers_stand_beside_on_the_same_problems_and_alone() -> None:
    options = Options(solvers=("lbfgs", "sklearn-saga-best"), repeats=2, seed=1)
    cells = compare.plan(Held(IRIS), options).cells
    boxes = [cell for cell in cells if cell.black_box]
    ours = [cell for cell in cells if not cell.black_box]
    assert [(c.problem, c.seed) for c in sorted(boxes, key=str)] == [(c.problem, c.seed) for c in sorted(ours, key=str)]
    assert {c.solver_title for c in boxes} == {"scikit-learn saga"}
    assert not {c.key for c in boxes} & {c.key for c in ours}
    alone = compare.plan(Held(IRIS), replace(options, solvers=("sklearn-saga-best",))).cells
    assert {c.key for c in alone} == {c.key for c in boxes}


def test_parameters_and_doubled_solvers() -> None:
    options = Options(penalties=("l2",), lam=(1.0,), solvers=("lbfgs", "lbfgs(memory_pairs=3)", "lbfgs"))
    cells = compare.plan(Held(IRIS), options).cells
    assert {cell.params for cell in cells} == {"{}", '{"memory_pairs": 3}'}
    assert len(cells) == 2


def test_the_stored_configuration_is_toml_that_says_what_ran() -> None:
    import tomllib

    held = compare_data.split(IRIS, 0.25, seed=0)
    plan = compare.plan(held, Options(solvers=("lbfgs(memory_pairs=3)",), penalties=("l2", "none"), seed=2))
    content = tomllib.loads(plan.config_text)
    assert content["seeds"] == [2]
    assert content["solvers"] == [{"key": "lbfgs", "params": {"memory_pairs": 3}}]
    assert [p["penalty"] for p in content["problems"]] == ["l2", "none"]
    assert "held-out part of a stratified split, share 0.25, seed 0" in plan.config_text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"penalties": ("l3",)}, "penalty = 'l3': one of l1, l2, none"),
        ({"lam": (0.0,)}, "lam = 0: a number above 0"),
        ({"lam_factors": (0.1, float("nan"))}, "lam-factor = nan"),
        ({"tolerance": 1.0}, "tol = 1: a relative gap between 0 and 1"),
        ({"seconds": 0.0}, "budget = 0: seconds above 0"),
        ({"repeats": 0}, "repeats = 0: 1 or more"),
        ({"threads": 4096}, "threads = 4096: this machine offers"),
        ({"seed": -1}, "seed = -1"),
        ({"conditioning": "center"}, "conditioning = 'center': one of none, scale, centre"),
        ({"conditioning": "centre+scale", "intercept": False}, "needs an intercept and dense"),
        ({"solvers": ("lbgfs",)}, "^solver 'lbgfs': .*did you mean 'lbfgs'"),
        ({"solvers": ("piano", "lbfgs(memory=3)")}, "^solver 'lbfgs': Lbfgs has no parameter 'memory'"),
        ({"solvers": ("sklearn-saga(toll=1.0)",)}, "solver 'sklearn-saga' has no parameter 'toll'"),
        ({"solvers": ("lbfgs(memory=)",)}, "solver 'lbfgs"),
        ({"solvers": ("nowhere.py:Class",)}, "there is no file nowhere.py"),
    ],
)
def test_an_option_that_cannot_be_used_is_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserMistake, match=message.replace("(", r"\(").replace(")", r"\)")) as caught:
        compare.plan(Held(IRIS), replace(Options(), **changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_split_holds_out_a_share_of_each_class(sparse: bool) -> None:
    whole = replace(IRIS, X=sp.csr_array(IRIS.X)) if sparse else IRIS
    held = compare_data.split(whole, 0.2, seed=3)
    assert held.test is not None
    assert np.bincount(held.test.y).tolist() == [10, 10, 10]
    assert held.train.n + held.test.n == IRIS.n
    dense = [d.X.toarray() if sparse else d.X for d in (held.train, held.test)]
    np.testing.assert_array_equal(np.sort(np.vstack(dense), axis=0), np.sort(IRIS.X, axis=0))
    again, other = compare_data.split(whole, 0.2, seed=3), compare_data.split(whole, 0.2, seed=4)
    assert held.test.checksum == again.test.checksum  # type: ignore[union-attr]
    assert held.test.checksum != other.test.checksum  # type: ignore[union-attr]


def test_a_split_leaves_each_class_a_sample_to_learn_from() -> None:
    few = replace(IRIS, X=IRIS.X[[0, 50, 51, 100, 101]], y=IRIS.y[[0, 50, 51, 100, 101]])
    held = compare_data.split(few, 0.9, seed=0)
    assert np.bincount(held.train.y).tolist() == [1, 1, 1]
    for share in (0.0, 1.0, 1e-9):
        with pytest.raises(UserMistake, match="split"):
            compare_data.split(few, share, seed=0)


def test_held_out_classes_are_matched_by_name() -> None:
    train = compare_data.from_arrays(IRIS.X, np.array(["c", "a", "b"])[IRIS.y])
    test = compare_data.from_arrays(IRIS.X[40:60], np.array(["c", "a"])[IRIS.y[40:60]])
    held = compare_data.with_test(train, test)
    assert held.test is not None
    np.testing.assert_array_equal(held.test.y, train.y[40:60])
    strange = compare_data.from_arrays(IRIS.X[40:60], np.array(["c", "d"])[IRIS.y[40:60]], name="other")
    with pytest.raises(UserMistake, match="other has the class 'd', which data lacks: its classes are 'a', 'b', 'c'"):
        compare_data.with_test(train, strange)


def test_a_sparse_test_set_may_lack_the_last_columns_and_no_others() -> None:
    train = compare_data.from_arrays(sp.csr_array(IRIS.X), IRIS.y)
    part = compare_data.from_arrays(sp.csr_array(IRIS.X[:, :3]), IRIS.y)
    held = compare_data.with_test(train, part)
    assert held.test is not None
    assert held.test.X.shape == (150, 4)
    assert part.X.shape == (150, 3), "the set given stays as it is"
    with pytest.raises(UserMistake, match="3 features and data 4"):
        compare_data.with_test(train, compare_data.from_arrays(IRIS.X[:, :3], IRIS.y))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (IRIS.X[:, 0], IRIS.y, "a matrix"),
        (IRIS.X, IRIS.y[:-1], "150 rows and y 149"),
        (np.where(IRIS.X > 7, np.nan, IRIS.X), IRIS.y, "holds nan at row"),
        (IRIS.X, np.zeros(150, int), "one class"),
    ],
)
def test_arrays_that_cannot_be_used(X: Any, y: Any, message: str) -> None:
    with pytest.raises(UserMistake, match=message):
        compare_data.from_arrays(X, y)


def test_data_by_name_by_file_or_not_at_all(tmp_path: Path) -> None:
    assert compare_data.named("iris").checksum == IRIS.checksum
    np.savez(tmp_path / "mine.npz", X=IRIS.X, y=IRIS.y)
    assert compare_data.named(str(tmp_path / "mine.npz")).checksum == IRIS.checksum
    with pytest.raises(UserMistake, match=r"did you mean iris\? .*; or give the path of a file \(\.npz, \.svm"):
        compare_data.named("irsi")
    with pytest.raises(UserMistake, match=r"there is no file absent\.csv$"):
        compare_data.named("absent.csv")
    with pytest.raises(UserMistake, match=r"target=y is for files, and iris is a data set by name"):
        compare_data.named("iris", {"target": "y"})


def test_a_file_of_held_out_samples_is_read_together_with_the_other(tmp_path: Path) -> None:
    """One-sided columns of zeros, labels that only one of them has: the two share columns and classes."""
    (tmp_path / "a.svm").write_text("0 1:1\n1 2:1\n2 1:2\n")
    (tmp_path / "b.svm").write_text("2 1:1\n1 3:4\n")
    held = compare_data.of_options(str(tmp_path / "a.svm"), {}, test=tmp_path / "b.svm")
    assert held.test is not None
    assert (held.train.name, held.train.X.shape, held.train.y.tolist()) == ("a.svm", (3, 3), [0, 1, 2])
    np.testing.assert_array_equal(held.test.X.toarray(), [[1, 0, 0], [0, 0, 4]])
    assert held.test.y.tolist() == [2, 1]
    (tmp_path / "b.svm").write_text("3 1:1\n1 3:4\n")
    lacks = r"a\.svm:test has the class '3', which a\.svm:train lacks: its classes are '0', '1', '2';"
    with pytest.raises(UserMistake, match=lacks):
        compare_data.of_options(str(tmp_path / "a.svm"), {}, test=tmp_path / "b.svm")


def test_a_file_of_held_out_samples_counts_also_beside_a_set_that_its_origin_splits(tmp_path: Path) -> None:
    np.savez(tmp_path / "b.npz", X=np.ones((2, 2308)), y=np.array(["BL", "RMS"]))
    held = compare_data.of_options("khan_srbct", {}, test=tmp_path / "b.npz")
    assert held.test is not None
    assert (held.train.n, held.test.n, held.test.y.tolist()) == (83, 2, [0, 3])


def test_samples_that_the_origin_holds_out_are_held_out() -> None:
    whole = replace(IRIS, parts=(("train", 120), ("val", 10), ("test", 20)), y=np.tile([0, 1, 2], 50))
    held = compare_data.parts(whole)
    assert held.test is not None
    np.testing.assert_array_equal(held.train.X, IRIS.X[:120])
    np.testing.assert_array_equal(held.test.X, IRIS.X[130:])
    assert (held.train.name, held.test.name, held.train.classes) == ("iris", "iris-held-out", IRIS.classes)
    assert compare_data.parts(IRIS).test is None
