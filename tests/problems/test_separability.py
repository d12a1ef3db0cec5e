"""Whether a minimiser exists without a penalty, on data whose answer is known; and no bound above 0 where it is 0."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from pianobench.problems import L2, Problem, certificate, separability

line = np.array([0.0, 1.0, 2.0, 3.0])
RNG = np.random.default_rng(0)
NOISY = {"X": RNG.normal(size=(60, 2)), "y": RNG.integers(0, 3, 60)}

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "two sides of 0": ({"X": [[1.0], [-1.0]], "y": [0, 1], "fit_intercept": False}, "complete"),
    "one side of 0": ({"X": [[1.0], [2.0]], "y": [0, 1], "fit_intercept": False}, "none"),
    "one side of 0, intercept": ({"X": [[1.0], [2.0]], "y": [0, 1]}, "complete"),
    "a row at 0": ({"X": [[0.0], [1.0], [-1.0]], "y": [0, 0, 1], "fit_intercept": False}, "quasi"),
    "a threshold": ({"X": line[:, None], "y": [0, 0, 1, 1]}, "complete"),
    "a shared value": ({"X": line[[0, 1, 1, 2], None], "y": [0, 0, 1, 1]}, "quasi"),
    "an overlap": ({"X": line[:, None], "y": [0, 1, 0, 1]}, "none"),
    "the same rows": ({"X": np.ones((4, 1)), "y": [0, 1, 0, 1]}, "none"),
    "all columns 0, no intercept": ({"X": np.zeros((4, 1)), "y": [0, 1, 0, 1], "fit_intercept": False}, "none"),
    "three classes in a row": ({"X": line[[0, 1, 2], None], "y": [0, 1, 2]}, "complete"),
    "three, two of them mixed": ({"X": [[-3.0], [0.0], [1.0], [0.5]], "y": [0, 1, 1, 2]}, "quasi"),
    "noise": (NOISY, "none"),
    "noise, sparse": (NOISY | {"X": sp.csr_array(NOISY["X"])}, "none"),
    "more columns than rows": ({"X": RNG.normal(size=(6, 9)), "y": [0, 1, 2, 0, 1, 2]}, "complete"),
    "one class only": ({"X": line[:, None], "y": [0, 0, 0, 0], "classes": [0, 1]}, "complete"),
    "an absent class, intercept": (NOISY | {"classes": [0, 1, 2, 3]}, "quasi"),
    "an absent class, no intercept": (NOISY | {"classes": [0, 1, 2, 3], "fit_intercept": False}, "none"),
    "an absent class, one-sided": (
        {"X": 1.0 + line[:, None], "y": [0, 1, 0, 1], "classes": [0, 1, 2], "fit_intercept": False},
        "quasi",
    ),
    "overlap of weight 0": ({"X": line[:, None], "y": [0, 1, 0, 1], "sample_weight": [1, 0, 1, 1]}, "complete"),
    "a penalty has no say": ({"X": line[:, None], "y": [0, 0, 1, 1], "penalty": L2(1.0)}, "complete"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_known_answers(name: str, scale: float) -> None:
    arguments, expected = CASES[name]
    X = arguments["X"]
    problem = Problem(**(arguments | {"X": X * scale if sp.issparse(X) else np.asarray(X) * scale}))
    assert separability(problem) == expected
    assert separability(problem.restrict(np.ones((problem.p, problem.m), bool))) == expected


@pytest.mark.parametrize("name", [name for name, (_, expected) in CASES.items() if expected == "complete"])
def test_nothing_is_certified_where_the_infimum_is_0(name: str) -> None:
    problem = Problem(**CASES[name][0]).with_penalty(None)
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 1.0, 10.0, 100.0):
        W = scale * rng.normal(size=(problem.p, problem.m))
        proof = certificate(problem, W)
        assert proof.lower <= 1e-13 * problem.value(np.zeros_like(W))
        assert proof.gap == 1.0 or proof.objective == 0.0
    for _ in range(10):  # along the gradient F falls towards 0
        W = W - problem.smooth(W)[1] / problem.n
        assert certificate(problem, W).lower == 0.0


@pytest.mark.parametrize("overlap", [1e-2, 1e-4, -1e-4, -1e-2])
def test_nearly_separable(overlap: float) -> None:
    X = np.array([[-1.0], [overlap], [0.0], [1.0]])
    assert separability(Problem(X, [0, 0, 1, 1])) == ("none" if overlap > 0 else "complete")


def test_weights_held_at_0_separate_nothing() -> None:
    problem = Problem(np.column_stack([line, [0.0, 1.0, 0.0, 1.0]]), [0, 0, 1, 1])
    active = np.ones((3, 2), bool)
    active[0] = False
    assert separability(problem) == "complete"
    assert separability(problem.restrict(active)) == "none"
    three = Problem(line[:3, None], [0, 1, 2])
    first = np.array([[True, False, False]] * 2)  # the weights of one class: it alone can be told apart
    assert separability(three) == "complete"
    assert separability(three.restrict(first)) == "quasi"
    assert separability(Problem(np.column_stack([line, line]), [0, 0, 1, 1]).restrict(active)) == "complete"


def test_a_large_program_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["pianobench.problems.separability"], "LARGEST", 100)
    assert separability(Problem(**NOISY)) == "unknown"
