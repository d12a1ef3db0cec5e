"""Generators: the same bytes everywhere and in blocks of any size, the distribution that each family promises."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tracemalloc
from dataclasses import fields, replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse
from scipy.special import softmax

from pianobench.datasets import generated
from pianobench.datasets.dataset import checksum
from pianobench.datasets.generators import FAMILIES, Generator, Truth, UnusableParameter, parse, streams

SOFTMAX = [family for family in FAMILIES if family != "separable"]


def made(family: str, text: str = "") -> tuple[Any, np.ndarray, Generator]:
    generator = generated.generator(family, text)
    data = generator.dataset()
    return dense(data.X), data.y, generator


def dense(X: Any) -> np.ndarray:
    return X.toarray() if issparse(X) else X


def joined(blocks: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([dense(X) for X, _ in blocks]), np.concatenate([y for _, y in blocks])


def test_random_words_are_those_of_philox() -> None:
    """The first words of Random123's known answers, for key and counter 0."""
    words = np.random.Philox(key=0, counter=2**256 - 1).random_raw(4)
    assert [f"{word:016x}" for word in words.tolist()] == [
        "16554d9eca36314c",
        "db20fe9d672d0fdc",
        "d7e772cee186176b",
        "7e68b68aec7ba23b",
    ]


def test_near_normal_values_are_sums_of_twelve_integers() -> None:
    words = streams.stream("any").random_raw(3 * 100).reshape(3, 100)
    integers = [word >> np.uint64(shift) & np.uint64(0xFFFF) for word in words for shift in (0, 16, 32, 48)]
    expected = (np.sum(integers, axis=0).astype(float) - 6 * 65535) / 65536
    np.testing.assert_array_equal(streams.near_normal(streams.stream("any"), 100), expected)


@pytest.mark.parametrize("entry", list(generated.entries()), ids=lambda entry: entry.name)
def test_the_registry_tells_the_truth_about_the_defaults(entry: Any) -> None:
    data = entry.load()
    assert data.checksum == entry.checksum, "other bytes are another version, and stored results are out of date"
    assert (data.name, data.n, data.d, data.m) == (entry.name, entry.n, entry.d, entry.m)
    assert (data.description, data.field, data.origin) == (entry.description, entry.field, entry.origin)
    assert data.licence == entry.licence
    assert data.origin.endswith("version 1")
    assert data.classes == tuple(map(str, range(data.m)))
    assert data.X.dtype == np.float64
    assert data.y.dtype == np.int64
    assert data.y.min() >= 0
    assert data.y.max() < data.m
    if issparse(data.X):
        assert data.X.format == "csr"
        assert data.X.indices.dtype == data.X.indptr.dtype == np.int32
        assert data.X.has_canonical_format
        assert data.X.data.all()
    else:
        assert data.X.flags.c_contiguous


PROGRAM = """
from pianobench.datasets import generated
for entry in generated.entries():
    print(entry.name, generated.load(entry.name).checksum)
    large = generated.load(entry.name, "n=300,d=120,m=30,seed=1")
    print(large.name, large.checksum)
"""


@pytest.fixture(scope="module")
def sums() -> str:
    return sums_under({})


def sums_under(variables: dict[str, str]) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]  # NumPy warns of features that a machine has not
    done = subprocess.run(command, env=environment | variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_sums_hold_on_a_plain_processor_and_with_other_threads(sums: str) -> None:
    """Kernels of NumPy and OpenBLAS for the oldest processors that they support, where the names are known to them."""
    from numpy._core._multiarray_umath import __cpu_dispatch__

    plain = {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__)}
    assert sums.count("\n") == 2 * len(FAMILIES)
    assert sums_under(plain | {"OPENBLAS_NUM_THREADS": "1"}) == sums
    assert sums_under({"OPENBLAS_NUM_THREADS": "2"}) == sums


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=8)
@given(rows=st.integers(20, 3000), start=st.integers(0, 2100), n=st.integers(1, 2100))
def test_blocks_of_any_size_from_any_row_are_rows_of_a_larger_set(family: str, rows: int, start: int, n: int) -> None:
    large = generated.generator(family, "n=2100,d=70")
    blocks = list(replace(large, n=n).blocks(rows, min(start, n)))
    assert [len(y) for _, y in blocks[:-1]] == [rows] * (len(blocks) - 1)
    whole = large.dataset()
    X, y = joined(blocks) if start < n else (whole.X[:0], whole.y[:0])
    rows_there = slice(min(start, n), n)
    np.testing.assert_array_equal(dense(X), dense(whole.X[rows_there]))
    np.testing.assert_array_equal(y, whole.y[rows_there])


def test_a_sparse_set_is_the_sparse_set_of_its_blocks() -> None:
    text = FAMILIES["sparse_text"](n=3000)
    X, y = next(text.blocks(rows=3000))  # of three chunks
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert checksum(X, y) == text.dataset().checksum


@pytest.mark.parametrize("family", FAMILIES)
def test_memory_does_not_grow_with_the_number_of_rows(family: str) -> None:
    generator = FAMILIES[family](n=10**12)
    next(generator.blocks(rows=1))  # imports, and what is kept for all chunks
    tracemalloc.start()
    for X, y in islice(generator.blocks(rows=1000, start=10**11), 4):
        assert X.shape == (1000, generator.d)
        assert y.shape == (1000,)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 2**20


def test_rows_depend_on_seed_family_and_chunk() -> None:
    X = generated.load("dense", "n=2048,d=64,m=2").X
    assert not np.isin(X[:1024, :4].ravel(), X[1024:, :4].ravel()).all()
    for other in (generated.load("dense", "d=64,m=2,seed=1"), generated.load("many_classes", "d=64,m=2")):
        assert abs(np.corrcoef(X[:1000].ravel(), other.X[:1000].ravel())[0, 1]) < 0.02
    assert abs(np.corrcoef(X[:1024].ravel(), X[1024:].ravel())[0, 1]) < 0.02
    truths = [generated.generator("dense", f"seed={seed}").truth().W for seed in (0, 0, 1)]
    np.testing.assert_array_equal(truths[0], truths[1])
    assert abs(np.corrcoef(truths[0].ravel(), truths[2].ravel())[0, 1]) < 0.3


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
        assert (np.diff(truth.support) > 0).all()
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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("denze", r"no family of generators is called 'denze': did you mean dense\? there are correlated, "),
        ("dense:sed=3", r"dense has no parameter 'sed': did you mean seed\? it has n, d, m, seed, signal, imbalance$"),
        ("dense:rho=0", r"dense has no parameter 'rho': it has n"),
        ("dense:n", r"'n' is no parameter: write name=value, as n=1000"),
        ("dense:n=5,", r"'' is no parameter"),
        ("dense:n=5,n=5", r"n is given twice"),
        ("dense:n=0", r"^n = 0: a whole number from 1 to 1e\+12 is expected, for example n=2000$"),
        ("dense:n=1.5", r"n = 1\.5: a whole number"),
        ("dense:n=1e999999999", r"n = 1E\+999999999: a whole number"),
        ("dense:n=nan", r"n = nan: a whole number"),
        ("dense:n=inf", r"n = Infinity: a whole number"),
        ("dense:n=many", r"n = many: a whole number"),
        ("dense:m=1", r"m = 1: a whole number from 2"),
        ("dense:seed=-1", r"seed = -1: a whole number from 0"),
        ("dense:signal=-1", r"signal = -1\.0: a number from 0 to 1000 is expected, for example signal=2$"),
        ("dense:signal=nan", r"signal = nan: a number"),
        ("correlated:rho=1.1", r"rho = 1\.1: a number from -1 to 1"),
        ("planted_sparse:d=5", r"k = 10: .*d = 5 at most: take k=5"),
        ("separable:d=2", r"d = 2: at least 3 features are expected for m = 5 classes: take d=3"),
        ("dense:d=1e7,m=1e6", r"W would have 1\.0e\+13 entries, and 1e\+09 at most .*take fewer"),
        ("dense:n=1e12", r"dense:n=1000000000000 would take 3\.73e\+05 GiB .* smaller n or d, or read it by blocks"),
        ("sparse_text:n=1e12", r"would take 6\.71e\+05 GiB"),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_remedy(name: str, message: str) -> None:
    family, _, text = name.partition(":")
    with pytest.raises(UnusableParameter, match=message) as caught:
        generated.load(family, text)
    assert "\n" not in str(caught.value)


def test_values_of_a_wrong_type_are_refused_and_numbers_brought_to_the_declared_one() -> None:
    for wrong in (True, "7", 7.5, None):
        with pytest.raises(UnusableParameter, match=f"n = {wrong}: a whole number"):
            FAMILIES["dense"](n=wrong)
    with pytest.raises(UnusableParameter, match="rows = 0, start = 0: blocks of 1 row"):
        FAMILIES["dense"]().blocks(0)
    with pytest.raises(UnusableParameter, match=r"start = 9: .* between 0 and 5"):
        FAMILIES["dense"](n=5).blocks(1, 9)
    generator = FAMILIES["dense"](n=np.int32(7), signal=3)
    assert [type(value) for value in vars(generator).values()] == [int, int, int, int, float, float]


@given(st.sampled_from(sorted(FAMILIES)), st.data())
def test_a_name_is_read_as_the_generator_that_has_it(family: str, data: st.DataObject) -> None:
    values = {}
    for one in fields(FAMILIES[family]):
        least, most = one.metadata["least"], one.metadata["most"]
        of_kind = st.integers(least, most) if isinstance(one.default, int) else st.floats(least, most)
        if one.name not in ("d", "m", "k"):
            values[one.name] = data.draw(st.just(one.default) | of_kind)
    generator = FAMILIES[family](**values)
    again, _, text = generator.name.partition(":")
    assert again == family
    assert FAMILIES[family](**parse(FAMILIES[family], text)) == generator
    assert pickle.loads(pickle.dumps(generator)) == generator


def test_names_hold_what_differs_in_one_order() -> None:
    assert generated.generator("dense", " seed = 3, n=1e3,signal=2.0").name == "dense:n=1000,seed=3"
    assert generated.load("dense", "m=3,signal=0.5,d=4,n=9").name == "dense:n=9,d=4,m=3,signal=0.5"
