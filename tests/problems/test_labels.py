"""Labels of every kind to codes and back, without loss; what is no label is refused with the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from pianobench.problems import Problem
from pianobench.problems.labels import encode

BIG = 2**53  # from here on float64 merges neighbours

KEPT: dict[str, Any] = {
    "strings": np.array(["cat", "ant", "cat"]),
    "bytes": np.array([b"cat", b"ant", b"cat"]),
    "whole floats": np.array([2.0, -1.0, 2.0]),
    "float32": np.array([2.0, -1.0], np.float32),
    "gaps and signs": np.array([7, -3, 1000, 7], np.int16),
    "booleans": np.array([True, False]),
    "uint64, neighbours": np.array([2**63 + 1, 2**63, 2**64 - 1], np.uint64),
    "int64, neighbours": np.array([BIG + 1, BIG, -BIG - 1]),
    "one column": np.array([[3], [1], [3]]),
}
CONVERTED: dict[str, tuple[Any, np.dtype[Any]]] = {
    "list of integers": ([5, 3, 5], np.dtype(np.int64)),
    "list of integers and whole floats": ([BIG + 1, 3.0, BIG], np.dtype(np.int64)),
    "objects above int64": (np.array([2**63 + 1, 2**63], object), np.dtype(np.uint64)),
    "objects, strings": (np.array(["b", "a"], object), np.dtype("U1")),
    "a zero at the end": (["a\0", "a"], np.dtype(object)),
    "categories, one unused": (pd.Categorical(["u", "v"], categories=["w", "v", "u"]), np.dtype("U1")),
    "categories of integers": (pd.Categorical([30, 4], categories=[30, 9, 4]), np.dtype(np.int64)),
    "series": (pd.Series([4, 9], index=["x", "y"]), np.dtype(np.int64)),
    "series of strings": (pd.Series(["p", "q"]), np.dtype("U1")),
    "nullable integers": (pd.Series([4, 9], dtype="Int64"), np.dtype(np.int64)),
    "nullable booleans": (pd.Series([True, False], dtype="boolean"), np.dtype(bool)),
    "nullable strings": (pd.Series(["p", "q"], dtype="string"), np.dtype("U1")),
    "NumPy's strings": (np.array(["p", "qq"], np.dtypes.StringDType()), np.dtype("U2")),
}


@pytest.mark.parametrize("name", KEPT)
def test_dtype_is_kept(name: str) -> None:
    y = KEPT[name]
    codes, classes = encode(y)
    assert classes.dtype == y.dtype
    assert (classes[codes] == y.ravel()).all()
    assert (classes[1:] > classes[:-1]).all()
    assert set(codes) == set(range(classes.size))


@pytest.mark.parametrize("name", CONVERTED)
def test_kind_is_kept(name: str) -> None:
    y, dtype = CONVERTED[name]
    codes, classes = encode(y)
    assert classes.dtype == dtype
    assert classes[codes].tolist() == list(y)
    assert len(set(classes.tolist())) == classes.size == len(set(y))


labels = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.integers(0, 2**64 - 1)),
    st.lists(st.text()),
    st.lists(st.binary()),
    npst.arrays(st.sampled_from([np.int8, np.uint8, np.int64, np.uint64, "U3", bool]), st.integers(2, 9)),
)


@given(labels)
def test_decoding_gives_the_labels_back(y: Any) -> None:
    listed = y.tolist() if isinstance(y, np.ndarray) else y
    if len(set(listed)) < 2:
        return
    codes, classes = encode(y)
    assert classes[codes].tolist() == listed
    assert classes.size == len(set(listed))
    again, _ = encode(y, classes[::-1].copy())
    assert (again == codes).all()


MASKED = np.ma.masked_array([1, 2, 3], [False, True, False])
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "none": ([1, None], None, r"y holds None at row 1: drop rows without a label"),
    "NaN": (np.array([0, 1, np.nan]), None, r"y holds nan at row 2: drop"),
    "NaN among strings": (["a", float("nan")], None, r"nan at row 1: drop"),
    "infinite": ([0.0, np.inf], None, r"inf at row 1"),
    "pandas' NA": ([1, pd.NA], None, r"<NA> at row 1: drop"),
    "missing nullable integer": (pd.Series([1, None], dtype="Int64"), None, r"(<NA>|nan) at row 1: drop"),
    "missing category": (pd.Categorical(["a", None]), None, r"nan at row 1: drop"),
    "masked": (MASKED, None, r"masked labels: drop"),
    "one-hot": (np.eye(3), None, r"shape \(3, 3\): .* argmax"),
    "scalar": (3, None, r"shape \(\)"),
    "regression": ([1.5, 2.0], None, r"1.5 at row 0, which is not whole: .* bin a continuous target"),
    "regression among integers": ([1, 2, 0.5], None, r"0.5 at row 2, which is not whole"),
    "mixed": ([1, "a"], None, r"mixes int and str: .* as strings"),
    "booleans and integers": ([True, 2], None, r"mixes bool and int"),
    "bytes and strings": (["a", b"a"], None, r"mixes bytes and str"),
    "complex": (np.array([1j, 2]), None, r"dtype complex128: .* as strings"),
    "dates": (np.array(["2020-01-01"], "M8[D]"), None, r"dtype datetime64.* as strings"),
    "objects": ([(1,), {2}], None, r"holds a tuple at row 0: .* as strings"),
    "arrays": (np.array([[1], [2, 3]], object), None, r"holds a list at row 0"),
    "beyond 64 bits": ([2**64, 1], None, r"beyond 64 bits \(1 .. 18446744073709551616\): give them as strings"),
    "both ends of 64 bits": ([2**63, -1], None, r"beyond 64 bits"),
    "one class": ([4, 4], None, r"y holds the one class 4; at least 2 .* give classes"),
    "no row": ([], None, r"y holds no label"),
    "one class given": ([4], [4], r"classes holds the one class 4"),
    "a class twice": ([1, 2], [1, 2, 1], r"classes holds a label twice: 3 given, 2 different"),
    "unknown": ([1, 5], [1, 2], r"y holds 5, which is not among the 2 classes given: add it"),
    "unknown string": (["b"], ["a", "c"], r"y holds 'b', which"),
    "unknown neighbour": ([BIG + 1], [float(BIG), 0.0], r"y holds 9007199254740993, which"),
    "unknown float": (np.array([1e300]), [0, 1], r"y holds 1e\+300, which"),
    "sign lost in uint64": (np.array([-1]), np.array([2**64 - 1, 0], np.uint64), r"y holds -1, which"),
    "other kind": ([1, 2], ["1", "2"], r"y holds numbers and classes strings: .* same kind"),
    "classes not whole": ([1], [1, 2.5], r"classes holds 2.5 at row 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_label_is_refused(name: str) -> None:
    y, classes, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        encode(y, classes)


GIVEN: dict[str, tuple[Any, Any, list[int], list[Any]]] = {
    "any order, one absent": ([3, 1, 3], [3, 2, 1], [2, 0, 2], [1, 2, 3]),
    "strings of other lengths": (["b"], ["a", "bbb", "b"], [1], ["a", "b", "bbb"]),
    "integers among floats": ([3, 1], [3.0, 1.0], [1, 0], [1.0, 3.0]),
    "floats among integers": (np.array([-1.0, 2.0**62]), [2**62, -1], [0, 1], [-1, 2**62]),
    "integers among uint64": ([1, 2], np.array([1, 2, 2**63], np.uint64), [0, 1], [1, 2, 2**63]),
    "uint64 among integers": (np.array([5], np.uint64), [-5, 5], [1], [-5, 5]),
    "large uint64 among floats": (np.array([2**63], np.uint64), [2.0**63, -1.0], [1], [-1.0, 2.0**63]),
    "one class of two": ([0, 0], [0, 1], [0, 0], [0, 1]),
    "no row": (np.array([]), [0, 1], [], [0, 1]),
    "a series": (pd.Series(["x"]), pd.Series(["y", "x"]), [0], ["x", "y"]),
}


@pytest.mark.parametrize("name", GIVEN)
def test_classes_given(name: str) -> None:
    y, classes, expected, known = GIVEN[name]
    codes, found = encode(y, classes)
    assert codes.tolist() == expected
    assert found.tolist() == known


def test_a_problem_decodes() -> None:
    problem = Problem(np.eye(3), ["b", "a", "b"])
    assert problem.decode(np.array([1, 0, 1])).tolist() == ["b", "a", "b"]
    assert problem.m == 2
