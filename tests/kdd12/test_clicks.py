"""Generated clicks: the same rows in any blocks, and each cause of a click where it was planted and nowhere else."""

from __future__ import annotations

import hashlib
import tracemalloc
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pianobench.datasets.generators import UnusableParameter
from pianobench.datasets.kdd12 import effects
from pianobench.datasets.kdd12.clicks import CHUNK, COUNTS, STRENGTHS, Clicks
from pianobench.datasets.kdd12.layout import COLUMNS, IDS, Log, Some, joined

ROWS = 3 * CHUNK + 5
FIRST = "16768d2b7575d19b67602f3b786300a4"


def log_of(**parameters: float) -> tuple[Clicks, Log]:
    clicks = Clicks(**{"rows": ROWS, "test": 0, **parameters})  # type: ignore[arg-type]
    return clicks, joined(clicks.blocks())


@pytest.fixture(scope="module")
def plain() -> tuple[Clicks, Log]:
    return log_of()


def test_the_first_rows_are_those_of_every_machine(plain: tuple[Clicks, Log]) -> None:
    content = plain[1].values[:, :5000].astype("<u8").tobytes()
    assert hashlib.sha256(content).hexdigest()[:32] == FIRST, "other rows are another version"


@settings(max_examples=15)
@given(st.integers(1000, 40_000), st.integers(0, ROWS), st.integers(1, ROWS))
def test_blocks_of_any_size_and_fewer_rows_are_the_same_rows(
    plain: tuple[Clicks, Log], block: int, start: int, rows: int
) -> None:
    made = Clicks(rows=rows, test=0)
    start = min(start, rows)
    blocks = list(made.blocks(block, start))
    assert [len(log) for log in blocks[:-1]] == [block] * (len(blocks) - 1)
    np.testing.assert_array_equal(joined(blocks).values, plain[1].values[:, start:rows])
    some = joined(Some(plain[0], start, rows).blocks())
    np.testing.assert_array_equal(some.values, plain[1].values[:, start:rows])


def test_memory_does_not_grow_with_the_rows() -> None:
    clicks = Clicks(rows=10**12)
    next(clicks.blocks())
    tracemalloc.start()
    try:
        for _ in islice(clicks.blocks(start=10**11), 6):
            pass
        assert tracemalloc.get_traced_memory()[1] < 80 * 8 * CHUNK
    finally:
        tracemalloc.stop()


def test_rows_have_the_layout_and_long_tails(plain: tuple[Clicks, Log]) -> None:
    _, log = plain
    assert (log.clicks <= log.views).all()
    assert (log.views >= 1).all()
    assert ((log["position"] >= 1) & (log["position"] <= log["depth"]) & (log["depth"] <= 3)).all()
    assert 1.55 < log.views.mean() < 1.75
    assert log.views.max() > 50
    assert (log["display_url"] > 2**63).mean() == pytest.approx(0.5, abs=0.1)
    assert (log["user"] == 0).mean() == pytest.approx(0.24, abs=0.01)
    for kind in IDS:
        counts = np.sort(np.unique_counts(log[kind]).counts)[::-1]
        assert len(counts) <= COUNTS[kind]
        assert counts[: len(counts) // 100].sum() > 0.08 * ROWS, kind  # a hundredth of them has many rows,
        assert np.median(counts) <= 10, kind  # and half of them few
    # An advertisement has one advertiser.
    assert len(np.unique(log.values[[COLUMNS.index("ad"), COLUMNS.index("advertiser")]], axis=1).T) == len(
        np.unique(log["ad"])
    )


@pytest.mark.parametrize("rate", [0.01, 0.04, 0.3])
def test_the_click_rate_is_about_that_asked_for(rate: float) -> None:
    _, log = log_of(rate=rate, seed=2)
    assert log.clicks.sum() / log.views.sum() == pytest.approx(rate, rel=0.08)


def test_clicks_follow_the_logits() -> None:
    """Sums of residuals times causes have mean 0 and a known variance; a cause that is left out shows."""
    clicks, log = log_of(interaction=0.7)
    p = 1 / (1 + np.exp(-clicks.logits(log)))
    causes = {kind: effects.effect(log[kind], clicks._salt(kind)) for kind in STRENGTHS}
    pairs = effects.pair(log["query"], log["ad"])
    causes |= {"all": np.ones(ROWS), "interaction": effects.effect(pairs, clicks._salt("interaction"))}
    square = (log.clicks - log.views * p) ** 2 / (log.views * p * (1 - p))
    assert square[log.views > 1].mean() == pytest.approx(1, abs=0.15), "views of a row are not on their own"
    without = 1 / (1 + np.exp(-np.full(ROWS, clicks._base)))
    still = Clicks(rows=ROWS, test=0)
    added = (clicks.logits(log) - clicks._base) - (still.logits(log) - still._base)
    np.testing.assert_allclose(added, 0.7 * effects.effect(pairs, clicks._salt("interaction")), atol=1e-12)
    for name, cause in causes.items():
        assert abs(_score(cause, log, p)) < 4.5, name
        if name != "all":
            assert _score(cause, log, without) > 5, name


def _score(cause: np.ndarray, log: Log, p: np.ndarray) -> float:
    return float(cause @ (log.clicks - log.views * p) / np.sqrt((cause**2) @ (log.views * p * (1 - p))))


def test_effects_are_near_normal_and_independent() -> None:
    ids = np.arange(200_000, dtype=np.uint64)
    first, second = (effects.effect(ids, effects.salt(name)) for name in "ab")
    for one in (first, second):
        assert abs(one.mean()) < 0.01
        assert abs(one.var() - 1) < 0.01
        assert abs((one**4).mean() - 2.7) < 0.03
    assert abs(np.mean(first * second)) < 0.01
    assert abs(np.mean(first[1:] * first[:-1])) < 0.01


def test_switches_that_are_off_change_nothing_and_on_they_do(plain: tuple[Clicks, Log]) -> None:
    _, log = plain
    shown = [name != "click" for name in COLUMNS]
    for changed in ({"interaction": 1.0}, {"drift": 1.0}, {"flipped": 1}):
        _, other = log_of(**changed)
        np.testing.assert_array_equal(other.values[shown], log.values[shown])
        assert (other.clicks != log.clicks).mean() > 0.005
    assert (log_of(seed=1)[1].values != log.values).any(axis=0).mean() > 0.99


def test_flipped_clicks_are_in_one_tenth(plain: tuple[Clicks, Log]) -> None:
    _, log = plain
    _, flipped = log_of(flipped=1)
    wrong = slice(ROWS // 2, ROWS // 2 + ROWS // 10)
    np.testing.assert_array_equal(flipped.clicks[wrong], (log.views - log.clicks)[wrong])
    kept = np.ones(ROWS, bool)
    kept[wrong] = False
    np.testing.assert_array_equal(flipped.clicks[kept], log.clicks[kept])


def test_drift_turns_effects_and_keeps_their_spread() -> None:
    clicks, log = log_of(drift=1.0)
    still = Clicks(rows=ROWS, test=0)
    begin, end = (clicks.logits(log, first) for first in (0, 10**9))
    assert np.corrcoef(begin[:100], still.logits(log)[:100])[0, 1] > 0.999
    assert end.std() == pytest.approx(still.logits(log).std(), rel=0.15)
    assert 0.6 < np.corrcoef(end, still.logits(log))[0, 1] < 0.95


def test_training_rows_come_first_and_values_are_checked() -> None:
    clicks = Clicks(rows=100, test=0.5)
    assert (clicks.test_rows, clicks.total, len(joined(clicks.blocks()))) == (50, 150, 150)
    with pytest.raises(UnusableParameter, match=r"rate = 2: a number from 0\.001 to 0\.9"):
        Clicks(rate=2)
