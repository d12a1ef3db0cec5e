"""Generators: labels follow the true model, and features the distribution that each family promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import issparse
from scipy.special import softmax

from pianobench.datasets import generated
from pianobench.datasets.generators import FAMILIES, Generator, Truth

SOFTMAX = [family for family in FAMILIES if family != "separable"]


def made(family: str, text: str = "") -> tuple[np.ndarray, np.ndarray, Any]:
    generator: Generator = generated.generator(family, text)
    data = generator.dataset()
    return data.X.toarray() if issparse(data.X) else data.X, data.y, generator


# The score test: at the true model each sum of (feature × residual) has mean 0 and a known variance.
def score(X: np.ndarray, y: np.ndarray, truth: Truth) -> np.ndarray:
    """Standardised sums, shape (d + 1, m), of the features and of a column of ones; infinite entries of none."""
    P = softmax(X @ truth.W + truth.intercept, axis=1)
    residual = np.eye(P.shape[1])[y] - P
    features = np.column_stack([X - X.mean(axis=0), np.ones(len(X))])
    variance = (features**2).T @ (P * (1 - P))
    return (features.T @ residual) / np.sqrt(variance, where=variance > 0, out=np.full_like(variance, np.inf))


@pytest.mark.parametrize("text", ["", "signal=0.3,imbalance=1", "signal=0", "m=2,signal=8"])
@pytest.mark.parametrize("family", SOFTMAX)
def test_labels_follow_the_softmax_of_the_true_model(family: str, text: str) -> None:
    size = "n=6000,d=60,m=4" if "m=" not in text else "n=6000,d=60"
    if family == "sparse_text":
        size += ",length=6"  # short: labels of long documents are certain, and no test of a probability
    X, y, generator = made(family, f"{size},{text}".rstrip(","))
    truth = generator.truth()
    assert truth.W.shape == (60, generator.m)
    assert truth.intercept.shape == (generator.m,)
    found = score(X, y, truth)
    assert np.abs(found).max() < 5
    assert (found**2).mean() < 1.4
    none = Truth(truth.W * 0, np.log(np.bincount(y, minlength=generator.m) / len(y)))
    if text == "signal=0":
        assert not truth.W.any()
        assert not len(truth.support)
        assert (score(X, y, none) ** 2).mean() < 1.4
    else:
        assert (score(X, y, none) ** 2).mean() > 1.8, "X has no effect"


def test_signal_is_the_spread_of_the_logits_of_a_family_whose_columns_are_standardised() -> None:
    for family in set(SOFTMAX) - {"sparse_text"}:
        X, _, generator = made(family, "d=300,m=20,signal=3")
        truth = generator.truth()
        assert 2.6 < (X @ truth.W + truth.intercept).std() < 3.6, family


def test_class_sizes_follow_a_power_law() -> None:
    for family in SOFTMAX:
        _, y, _ = made(family, "n=20000,m=50,signal=0,imbalance=1.5,d=10")
        expected = np.arange(1, 51) ** -1.5
        expected *= 20000 / expected.sum()
        assert (np.abs(np.bincount(y, minlength=50) - expected) < 5 * np.sqrt(expected)).all(), family


def test_a_class_without_a_sample_keeps_its_code() -> None:
    for family in FAMILIES:
        data = generated.load(family, "n=3,m=1000,d=12")
        assert data.m == 1000
        assert data.y.shape == (3,)


def test_dense_columns_are_near_normal_and_independent() -> None:
    X, _, _ = made("dense", "n=40000,d=10")
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.025)
    np.testing.assert_allclose(np.cov(X.T), np.eye(10), atol=0.035)
    assert abs((X**4).mean() - 2.9) < 0.04
    assert abs((X**3).mean()) < 0.03
    assert abs((np.abs(X) < 1.959964).mean() - 0.95) < 0.002


def test_nonnegative_columns_are_half_normal() -> None:
    X, _, _ = made("nonnegative", "n=20000")
    assert X.min() >= 0
    assert abs(X.mean() - np.sqrt(2 / np.pi)) < 0.01


@pytest.mark.parametrize("mean", [0.01, 1, 300])
def test_counts_are_poisson(mean: float) -> None:
    X, _, generator = made("counts", f"n=20000,d=16,mean={mean}")
    rates = generator.rates
    assert np.isclose(rates.mean(), mean)
    assert X.min() >= 0
    np.testing.assert_array_equal(X, np.round(X))
    assert (np.abs(X.mean(axis=0) - rates) < 5 * np.sqrt(rates / 20000)).all()
    # The variance of a sample variance of Poisson counts is (μ + 2μ²)/n.
    assert (np.abs(X.var(axis=0) - rates) < 5 * np.sqrt((rates + 2 * rates**2) / 20000)).all()
    assert (np.abs((X == 0).mean(axis=0) - np.exp(-rates)) < 0.02).all()


@pytest.mark.parametrize("rho", [-0.7, 0.0, 0.9, 1.0])
def test_correlation_falls_geometrically_with_the_distance_of_columns(rho: float) -> None:
    X, _, _ = made("correlated", f"n=20000,d=8,rho={rho}")
    distance = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    np.testing.assert_allclose(np.cov(X.T), rho**distance, atol=0.04)


def test_planted_features_are_as_many_as_asked_and_equally_strong() -> None:
    for k, m in ((1, 2), (10, 5), (200, 3)):
        truth = FAMILIES["planted_sparse"](k=k, m=m, signal=2.0).truth()
        assert len(truth.support) == k
        assert k == 200 or truth.support[-1] >= k, "the first k"
        np.testing.assert_allclose(truth.W[truth.support].mean(axis=1), 0, atol=1e-12)
        np.testing.assert_allclose(truth.W[truth.support].std(axis=1), 2 / np.sqrt(k))


@pytest.mark.parametrize("text", ["", "d=3,m=8", "d=1,m=2,margin=3", "m=300,margin=2", "margin=0"])
def test_the_true_weights_separate_the_classes_with_the_margin(text: str) -> None:
    X, y, generator = made("separable", text)
    scores = X @ generator.truth().W
    own = scores[np.arange(len(y)), y].copy()
    scores[np.arange(len(y)), y] = -np.inf
    lead = (own - scores.max(axis=1)).min()
    assert generator.margin * (1 - 1e-12) <= lead <= generator.margin + 0.05
    assert len(np.unique(y)) > 0.8 * generator.m
    np.testing.assert_array_equal(X * 2**16, np.round(X * 2**16))


def test_scales_span_the_decades_asked_for() -> None:
    X, _, generator = made("ill_scaled", "decades=12")
    assert (generator.scales[0], generator.scales[-1]) == (2.0**-20, 2.0**20)
    assert (np.diff(generator.scales) >= 0).all()
    np.testing.assert_allclose(X.std(axis=0) / generator.scales, 1, atol=0.08)
    for text in ("decades=0", "d=1"):
        assert np.isfinite(made("ill_scaled", text)[0]).all()
    assert np.isfinite(generated.generator("ill_scaled", "decades=200").truth().W).all()


def test_shifted_columns_have_their_mean() -> None:
    X, _, _ = made("shifted", "shift=-1e6")
    np.testing.assert_allclose(X.mean(axis=0), -1e6, atol=0.12)
    np.testing.assert_allclose(X.std(axis=0), 1, atol=0.08)


def test_words_follow_the_law_of_zipf_and_documents_have_the_mean_length() -> None:
    X, _, _ = made("sparse_text", "n=5000,signal=0,length=40")
    lengths = X.sum(axis=1)
    assert lengths.min() >= 1
    assert abs(lengths.mean() - 40) < 3
    assert 0.8 < lengths.std() / 40 < 1.2
    frequencies = np.sort(X.sum(axis=0))[::-1][:300]
    slope = np.polyfit(np.log(np.arange(1, 301)), np.log(frequencies), 1)[0]
    assert abs(slope + 1) < 0.05
    assert np.argsort(X.sum(axis=0))[::-1][:10].max() > 1000, "the columns are in the order of the frequencies"


def test_words_of_the_topic_are_more_frequent_in_its_documents() -> None:
    X, y, generator = made("sparse_text", "n=4000,signal=5")
    W = generator.truth().W
    topic = np.where(np.ptp(W, axis=1) > 1, W.argmax(axis=1), -1)
    assert (topic == -1).sum() == 100
    for k in range(5):
        own, other = (X[rows][:, topic == k].sum() / X[rows].sum() for rows in (y == k, y != k))
        odds = (own / (1 - own)) / (other / (1 - other))
        assert 6 < odds < 6 * 1.8  # above 6, as other classes' own topics push this one back


@pytest.mark.parametrize("text", ["d=1,m=2", "d=3,m=9,n=50", "length=1,n=50", "length=70000,n=3,d=9", "signal=1000"])
def test_texts_of_extreme_shape(text: str) -> None:
    generator = generated.generator("sparse_text", text)
    X = generator.dataset().X
    assert X.has_canonical_format
    assert X.sum(axis=1).min() >= 1
    assert np.isfinite(generator.truth().W).all()
