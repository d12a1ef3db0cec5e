"""Generators: the same bytes everywhere and in blocks of any size, parameters, names and refusals."""

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
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse

from pianobench.datasets import generated
from pianobench.datasets.dataset import checksum
from pianobench.datasets.generators import FAMILIES, UnusableParameter, parse, streams


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
    raw, expected = streams.stream("any"), []
    for batch in (4096, 904):
        words = raw.random_raw(3 * batch).reshape(3, batch)
        integers = [word >> np.uint64(shift) & np.uint64(0xFFFF) for word in words for shift in (0, 16, 32, 48)]
        expected.extend((np.sum(integers, axis=0).astype(float) - 6 * 65535) / 65536)
    np.testing.assert_array_equal(streams.near_normal(streams.stream("any"), 5000), expected)


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
@example(rows=937, start=0, n=2100)  # a chunk of most families, and one row more
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
