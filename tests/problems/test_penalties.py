"""Penalties and their proximal points, against a search over all candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pianobench.problems import L0, L1, L2, ElasticNet, Penalty

strengths = st.sampled_from([0.0, 1e-8, 0.3, 1.0, 50.0])
numbers = st.floats(-100, 100) | st.sampled_from([0.0, 0.3, -0.3, 1.0, 1e-300])


@given(numbers, strengths, strengths, st.sampled_from([1e-3, 0.5, 1.0, 20.0]))
def test_prox_is_the_minimiser(v: float, l1: float, l0: float, step: float) -> None:
    pen = Penalty(l1=l1, l0=l0)

    def cost(u: float) -> float:
        return step * (l1 * abs(u) + l0 * (u != 0)) + 0.5 * (u - v) ** 2

    u = float(pen.prox(np.array([[v]]), step)[0, 0])
    candidates = [0.0, v, v - step * l1, v + step * l1, *np.linspace(-abs(v), abs(v), 41)]
    best = min(cost(c) for c in candidates)
    assert cost(u) <= best + 1e-12 * (1 + best)
    assert u * v >= 0
    assert abs(u) <= abs(v)


def test_prox_of_l0_takes_zero_at_a_tie() -> None:
    V = np.array([[2.0, -2.0, np.nextafter(2, 3), np.nextafter(2, 1), 0.0]])
    assert L0(2.0).prox(V, 1.0).tolist() == [[0.0, 0.0, V[0, 2], 0.0, 0.0]]


def test_the_quadratic_part_is_smooth_and_no_matter_of_the_prox() -> None:
    V = np.array([[3.0, -1.0]])
    assert (L2(9.0).prox(V, 5.0) == V).all()
    assert (ElasticNet(1.0, 9.0).prox(V, 0.5) == L1(1.0).prox(V, 0.5)).all()


@pytest.mark.parametrize("pen", [L1(2.0), L2(2.0), L0(2.0), ElasticNet(2.0, 3.0)])
def test_rescaled_weights_have_the_same_penalty(pen: Penalty) -> None:
    unit = np.array([1e-3, 1.0, 7.0, np.inf])
    W = np.random.default_rng(0).normal(size=(4, 3))
    W[0, 0] = 0.0
    scaled = pen.by_row(unit)
    assert scaled.value(W) == pytest.approx(pen.value(W[:3] / unit[:3, None]), rel=1e-14)
    assert scaled.value(W) == scaled.quadratic(W) + scaled.nonsmooth(W)
    assert (scaled.prox(W, 0.7)[3] == W[3]).all()
    rows = np.array([2, 0])
    assert scaled.block(rows).value(W[rows]) == pytest.approx(pen.value(W[rows] / unit[rows, None]), rel=1e-14)
    assert pen.block(rows) == pen
    assert scaled.kind == pen.kind


KINDS = {"none": Penalty(), "l1": L1(1), "l2": L2(1), "l0": L0(1), "elasticnet": ElasticNet(1, 1)}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str) -> None:
    assert KINDS[kind].kind == kind
    assert KINDS[kind].prox(np.ones((1, 2), np.float32), 0.5).dtype == np.float32


def test_values() -> None:
    W = np.array([[1.0, -2.0], [0.0, 3.0]])
    assert [L1(2).value(W), L2(2).value(W), L0(2).value(W), ElasticNet(1, 2).value(W)] == [12.0, 14.0, 6.0, 20.0]
    assert L2(1.0).value(np.full((1, 1), 1e200)) == np.inf  # and no warning


BAD: list[Any] = [0, -1.0, np.nan, np.inf, None, "strong", [1.0, 2.0]]


@pytest.mark.parametrize("value", BAD)
def test_a_strength_is_a_positive_number(value: Any) -> None:
    for make, name in ((L1, "lam"), (L2, "lam"), (L0, "lam")):
        with pytest.raises(ValueError, match=rf"{name}=.*finite number above 0; for no penalty give penalty=None"):
            make(value)
    with pytest.raises(ValueError, match="l2="):
        ElasticNet(1.0, value)
    with pytest.raises(ValueError, match="l1="):
        ElasticNet(value, 1.0)
