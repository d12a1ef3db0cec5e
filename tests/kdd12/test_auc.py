"""Area under the ROC curve: against scikit-learn, and its standard error against all pairs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from pianobench.datasets.kdd12.auc import auc

ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=25).filter(
    lambda rows: sum(p for _, p, _ in rows) > 0 < sum(n for _, _, n in rows)
)


@given(ROWS)
def test_the_area_is_exact_with_ties_and_that_of_scikit_learn(rows: list[tuple[int, int, int]]) -> None:
    scores, p, n = np.array(rows).T
    pairs = [(a, b, pa * nb) for a, pa, _ in rows for b, _, nb in rows]
    exact = sum(Fraction(weight, 1 + (a == b)) for a, b, weight in pairs if a >= b) / sum(w for *_, w in pairs)
    found = auc(scores / 7.0, p, n)
    assert found.area == float(exact)
    assert (found.positives, found.negatives) == (p.sum(), n.sum())
    labels, weights = np.repeat([1, 0], len(rows)), np.concatenate([p, n])
    theirs = roc_auc_score(labels, np.concatenate([scores, scores]), sample_weight=weights)
    assert found.area == pytest.approx(theirs, rel=0, abs=1e-14)
    assert auc(scores, p * 0.5, n * 0.25).area == pytest.approx(theirs, rel=0, abs=1e-14)


@given(ROWS.filter(lambda rows: sum(p for _, p, _ in rows) > 1 < sum(n for _, _, n in rows)))
def test_the_error_is_that_of_all_pairs(rows: list[tuple[int, int, int]]) -> None:
    """Structural components of each view [DDC88], counted one by one."""
    scores, p, n = np.array(rows).T
    above, below = np.repeat(scores, p), np.repeat(scores, n)
    wins = (above[:, None] > below) + 0.5 * (above[:, None] == below)
    variance = wins.mean(axis=1).var(ddof=1) / len(above) + wins.mean(axis=0).var(ddof=1) / len(below)
    assert auc(scores, p, n).error == pytest.approx(np.sqrt(variance), rel=1e-9, abs=1e-9)


def test_the_error_is_the_spread_of_areas_over_samples() -> None:
    rng = np.random.default_rng(0)
    y = rng.random((400, 500)) < 0.2
    found = [auc(rng.normal(size=500) + row, row, ~row) for row in y]
    spread = np.std([one.area for one in found])
    assert np.mean([one.error for one in found]) == pytest.approx(spread, rel=0.12)


def test_large_counts_neither_overflow_nor_lose_digits() -> None:
    scores, counts = np.arange(4), np.array([10**9, 3, 10**8, 10**9])
    small = auc(scores, counts, counts[::-1])
    assert small.area == float(Fraction(_twice(counts, counts[::-1]), 2 * int(counts.sum()) ** 2))
    for factor in (3, 10**6):
        large = auc(scores, counts * factor, counts[::-1] * factor)
        assert large.area == pytest.approx(small.area, rel=1e-15)


def _twice(p: np.ndarray, n: np.ndarray) -> int:
    return sum(int(a) * int(b) * (1 + (i > j)) for i, a in enumerate(p) for j, b in enumerate(n) if i >= j)


@pytest.mark.parametrize(
    ("scores", "p", "n", "message"),
    [
        ([0.1, np.nan], [1, 0], [0, 1], "the score of row 1 is nan"),
        ([0.1, 0.2], [0, 0], [1, 1], "0 positives and 2 negatives"),
        ([0.1, 0.2], [1, -1], [1, 1], "positives is -1 in row 1"),
        ([0.1, 0.2], [1, 1], [1.0, np.inf], "negatives is inf in row 1"),
        ([0.1, 0.2], [1, 1, 1], [1, 1], r"positives has shape \(3,\)"),
        ([0.1, 0.2], ["a", "b"], [1, 1], "positives has type <U1"),
        ([], [], [], "there are no rows"),
    ],
)
def test_what_has_no_area_says_why(scores: list[float], p: list[float], n: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        auc(np.array(scores, float), p if p else np.zeros(0, int), n if n else np.zeros(0, int))
