"""When one method counts as faster: single runs by a factor and milliseconds, repeats by a bootstrap interval."""

import math

import numpy as np
import pytest

from pianobench.results import judging
from pianobench.results.judging import Times, faster

NEVER = math.inf


def times(*seconds: float, least: tuple[float, ...] | None = None) -> Times:
    return Times(seconds, least or seconds)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1.0, 1.51, True),
        (1.0, 1.49, False),  # within the factor
        (0.001, 0.009, False),  # nine times, but eight milliseconds
        (0.001, 0.0111, True),
        (1.51, 1.0, False),  # the other way round
        (1.0, 1.0, False),
    ],
)
def test_single_runs_need_a_factor_and_milliseconds(one: float, other: float, expected: bool) -> None:
    assert faster(times(one), times(other)) is expected


def test_a_run_out_of_time_counts_as_what_it_was_given() -> None:
    assert faster(times(1.0), times(NEVER, least=(5.0,)))
    assert not faster(times(4.0), times(NEVER, least=(5.0,))), "at 5 s of budget it may have been about to arrive"
    assert not faster(times(NEVER, least=(5.0,)), times(NEVER, least=(9.0,)))


def test_a_run_that_gave_up_is_behind_all_that_arrived() -> None:
    assert faster(times(4.9), times(NEVER))
    assert not faster(times(NEVER), times(NEVER))


def test_five_repeats_decide_what_one_cannot() -> None:
    quick, slow = (1.0, 1.01, 1.02, 0.99, 0.98), (1.2, 1.22, 1.19, 1.21, 1.2)
    assert not faster(times(quick[0]), times(slow[0]))
    assert faster(times(*quick), times(*slow))
    assert not faster(times(*slow), times(*quick))
    assert not faster(times(*quick[:4]), times(*slow[:4])), "four are too few"


def test_a_clear_difference_below_the_margin_is_undecided() -> None:
    quick, slow = np.linspace(1.0, 1.001, 9), np.linspace(1.09, 1.091, 9)
    assert not faster(times(*quick), times(*slow))
    assert faster(times(*quick), times(*(slow + 0.02)))


def test_noise_that_overlaps_is_undecided() -> None:
    assert not faster(times(1.0, 1.1, 1.2, 3.0, 3.2), times(1.9, 2.0, 2.1, 1.05, 3.0))


def test_equal_methods_are_seldom_told_apart() -> None:
    rng = np.random.default_rng(3)
    wrong = sum(faster(times(*a), times(*b)) for a, b in rng.lognormal(0.0, 0.2, (400, 2, 5)))
    assert wrong <= 400 * 0.05


def test_a_method_that_arrives_in_some_repeats_is_not_faster_than_the_interval_allows() -> None:
    now_and_then = Times((1.0, 1.0, 1.0, NEVER, NEVER), (1.0, 1.0, 1.0, 5.0, 5.0))
    assert now_and_then.median == 1.0
    assert not faster(now_and_then, times(*[3.0] * 5))
    assert now_and_then.interval() == (1.0, NEVER)


def test_intervals() -> None:
    assert times(2.0).interval() == (2.0, 2.0)
    assert times(2.0, 1.0, 4.0).interval() == (1.0, 4.0)
    low, high = times(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0).interval()
    assert 1.0 <= low < 4.0 < high <= 7.0
    assert times(1.0, 2.0, 3.0, NEVER).median == 2.5
    assert times(1.0, NEVER).median == NEVER


def test_judging_twice_gives_the_same() -> None:
    a, b = (1.0, 1.3, 0.9, 1.1, 1.2), (1.4, 1.5, 1.2, 1.6, 1.3)
    assert faster(times(*a), times(*b)) == faster(times(*a), times(*b))
    assert times(*a).interval() == times(*a).interval()
    assert judging.DRAWS >= 1000
