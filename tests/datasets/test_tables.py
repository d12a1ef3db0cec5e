"""Tables as people have them, in text and in Parquet: read to the same arrays, or refused in one line."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from sklearn.datasets import load_iris

from pianobench.datasets import reading
from pianobench.datasets.dataset import Dataset
from pianobench.datasets.readers import delimited, tables

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
MIXED = "size,colour,fast,y\n1,red,true,a\n2.5,blue,FALSE,b\n-3,red,True,a\n"

IDS = "a,y\n" + "".join(f"id{i},{i % 2}\n" for i in range(120))


def lines(mark: str, first: bool = False) -> str:
    rows = [[str(v) for v in row] for row in X]
    cells = [[name, *row] if first else [*row, name] for row, name in zip(rows, NAMES, strict=True)]
    return "\n".join(mark.join(row) for row in cells) + "\n"


def read(tmp_path: Path, *texts: str | bytes, name: str = "a.csv", **options: Any) -> Dataset:
    paths = []
    for number, text in enumerate(texts):
        paths.append(tmp_path / (f"{number}{name}" if number else name))
        paths[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
    return reading.read(paths, cache=False, **options)


def refused(tmp_path: Path, message: str, *texts: str | bytes, **options: Any) -> None:
    with pytest.raises(reading.UnusableFile, match=message) as caught:
        read(tmp_path, *texts, **options)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows in each block, so that small files have many."""
    monkeypatch.setattr(delimited, "BLOCK", 64)
    monkeypatch.setattr(delimited, "_ROOM", 1)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", " ", "  \t "])
@pytest.mark.parametrize("head", ["", "a{0}b{0}c{0}d{0}species\n", "0{0}1{0}2{0}3{0}target\n"])
def test_any_separator_with_a_header_or_none(tmp_path: Path, mark: str, head: str) -> None:
    data = read(tmp_path, head.format(mark) + lines(mark))
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)
    assert data.classes == ("setosa", "versicolor", "virginica")
    assert data.features == tuple(head.format(" ").split()[:-1])
    assert data.preprocessing == "none"


@pytest.mark.parametrize("target", ["species", 0, "0", -5], ids=repr)
def test_the_target_by_name_or_position(tmp_path: Path, target: Any) -> None:
    data = read(tmp_path, "species,a,b,c,d\n" + lines(",", first=True), target=target)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)


@pytest.mark.parametrize(("ending", "packed"), [(".bz2", bz2.compress), (".gz", gzip.compress)], ids=["bz2", "gz"])
@pytest.mark.parametrize("head", ["", "a,b,c,d,y\n"])
def test_packed_tables_and_a_mark_of_byte_order(tmp_path: Path, ending: str, packed: Any, head: str) -> None:
    data = read(tmp_path, packed(b"\xef\xbb\xbf" + (head + lines(",")).encode()), name=f"iris.csv{ending}")
    np.testing.assert_array_equal(data.X, X)


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\r\n1,2,0\r\n3,4,1\r\n",
        "a,b,y\n1,2,0\n3,4,1",
        "\n\na,b,y\n\n1,2,0\n  \n3,4,1\n\n",
        "a , b,y\n 1,2 ,0\n+3,  4, 1 \n",
        'a,b,"y"\n"1","2",0\n3, "4",1\n',
        "a,b,y,\n1,2,0,\n3,4,1,\n",
        "a,b,y\n1,2,0,\n3,4,1,\n",
        "1,2,0,\n3,4,1,\n",
        "a,b,y\n1,2,0.0\n3,4,1e0\n",
        "a;b;y\n1;2;0\n3;4;1\n",
        "# by hand\na,b,y\n1,2,0\n3,4,1\n",
    ],
)
def test_the_same_numbers_however_they_are_written(tmp_path: Path, text: str) -> None:
    data = read(tmp_path, text, skip_rows=[1] if text.startswith("#") else [])
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])
    assert data.classes == ("0", "1")


def test_separators_in_quotes_are_not_counted(tmp_path: Path) -> None:
    assert read(tmp_path, '"a;b;c",1,0\n"d;e;f",2,1\n').features == ("0=a;b;c", "0=d;e;f", "1")


def test_lines_that_are_left_out(tmp_path: Path) -> None:
    data = read(tmp_path, "a,b,y\n8,8,8\n1,2,0\n9,9,9\n3,4,1\n", skip_rows=[4, 2])
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])


def test_cells_in_quotes_hold_separators_line_ends_and_quotes(tmp_path: Path) -> None:
    data = read(tmp_path, 'a,b,y\n1,"red, or ""rose""",x\n2,"two\nlines","y, z"\n3,plain,x\n')
    assert data.features == ("a", "b=plain", 'b=red, or "rose"', "b=two\nlines")
    assert data.classes == ("x", "y, z")


CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**6), 10**6).map(str),
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=["Cs", "Cc"]), max_size=5),
    st.sampled_from(['"', "a\nb", " , ", "'", "x" * 300, '""', ";"]),
)


@pytest.mark.usefixtures("small_blocks")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(2, 5).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1)),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_MINIMAL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_arrow_and_rows_one_by_one_give_the_cells_that_were_written(
    tmp_path: Path, table: list[list[str]], separator: str, quoting: Any, end: str
) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=end).writerows(
        [["h"] * len(table[0]), *table]
    )
    path = tmp_path / "any.csv"
    path.write_bytes(text.getvalue().encode())
    columns = range(len(table[0]))
    file = delimited.Delimited(path, separator, True, frozenset(), tuple(map(str, columns)), len(columns))
    batches = [[column.to_pylist() for column in batch] for batch in file.batches(columns, frozenset())]
    expected = [[cell.strip() for cell in row] for row in table]
    assert [[cell.strip() for cell in row] for batch in batches for row in zip(*batch, strict=True)] == expected
    assert [[cell.strip() for cell in row] for _, row in file.rows()][1:] == expected


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=8))
@example([5e-324, 1.7976931348623157e308, 0.1, 1 / 3, 2.2250738585072011e-308, -0.0])
def test_numbers_keep_every_bit(tmp_path: Path, values: list[float]) -> None:
    data = read(tmp_path, "a,y\n" + "".join(f"{value!r},{i % 2}\n" for i, value in enumerate(values)))
    assert data.X[:, 0].tobytes() == np.array(values).tobytes()


def test_texts_are_one_hot_and_truth_is_a_number(tmp_path: Path) -> None:
    data = read(tmp_path, MIXED)
    assert data.features == ("size", "colour=blue", "colour=red", "fast")
    np.testing.assert_array_equal(data.X, [[1, 0, 1, 1], [2.5, 1, 0, 0], [-3, 0, 1, 1]])
    assert data.preprocessing == "one-hot: 1 columns into 2"
    assert read(tmp_path, MIXED, categories=["size", "y"]).features[:3] == ("size=-3", "size=1", "size=2.5")
    assert read(tmp_path, MIXED, categories=["fast"]).features[3:] == ("fast=FALSE", "fast=True", "fast=true")
    assert read(tmp_path, IDS, categories=["a"]).d == 120
    assert read(tmp_path, MIXED, drop=["colour"]).features == ("size", "fast")
    assert read(tmp_path, MIXED, columns=[2]).features == ("fast",)


def test_a_wide_table_of_few_entries_is_sparse_and_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    codes, values = rng.integers(0, 90, 200), rng.integers(0, 3, 200)
    text = "c,a,b,y\n" + "".join(f"k{c:02},{v},{v * 2.5},{v}\n" for c, v in zip(codes, values, strict=True))
    data = read(tmp_path, text)
    kinds = np.unique(codes)
    expected = np.column_stack([codes[:, None] == kinds, values, 2.5 * values])
    assert isinstance(data.X, sp.csr_array)
    assert (data.X.indices.dtype, data.X.has_canonical_format) == (np.int32, True)
    np.testing.assert_array_equal(data.X.toarray(), expected)
    assert data.X.nnz == np.count_nonzero(expected)
    assert data.features == (*(f"c=k{k:02}" for k in kinds), "a", "b")
    wide = "".join("0," * 99 + f"{i},{i}\n" for i in range(3))
    for missing in ("error", "drop"):
        assert isinstance(read(tmp_path, wide, missing=missing).X, np.ndarray), "numbers stay dense"


def test_parts_share_columns_categories_and_classes(tmp_path: Path) -> None:
    data = read(tmp_path, MIXED, "y,colour,fast,size\nc,green,true,7\na,red,false,8\n")
    assert data.features == ("size", "colour=blue", "colour=green", "colour=red", "fast")
    np.testing.assert_array_equal(data.X[3:], [[7, 0, 1, 0, 1], [8, 0, 0, 1, 0]])
    assert (data.classes, data.parts) == (("a", "b", "c"), (("train", 3), ("test", 2)))


@pytest.mark.usefixtures("small_blocks")
def test_a_text_far_below_numbers_makes_categories_of_them_all(tmp_path: Path) -> None:
    codes = ["1"] * 40 + ["x"] * 60
    data = read(tmp_path, "a,b,y\n" + "".join(f"{i},{code},{i % 2}\n" for i, code in enumerate(codes)))
    assert data.features == ("a", "b=1", "b=x")
    np.testing.assert_array_equal(data.X[:, 0], np.arange(100))
    np.testing.assert_array_equal(data.X[:, 2], np.array(codes) == "x")


@pytest.mark.usefixtures("small_blocks")
def test_a_cell_may_be_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = csv.field_size_limit()
    data = read(tmp_path, "a,b,y\n" + f"1,{'x' * 200_000},0\n" + "2,z,1\n" * 30)
    assert data.features == ("a", "b=" + "x" * 200_000, "b=z")
    monkeypatch.setattr(delimited, "CELL", 1000)
    refused(tmp_path, "line 3: it is not a table .*quote not closed", 'a,b,y\n1,2,0\n3,"' + "x" * 2000)
    assert csv.field_size_limit() == limit


@pytest.mark.usefixtures("small_blocks")
def test_a_block_may_end_within_a_cell(tmp_path: Path) -> None:
    before = "y,a\n" + "0,p\n1,p\n" * 5
    assert len(before) < 64 - len('1,"first\n')
    data = read(tmp_path, before + '1,"first\n' + "second" * 9 + '"\n0,p\n', target=0)
    assert data.features == ("a=first\n" + "second" * 9, "a=p")


@pytest.mark.usefixtures("small_blocks")
def test_where_arrow_stops_the_rows_go_on(tmp_path: Path) -> None:
    rows = [f"{i},{i + 0.5},{i % 2}" for i in range(50)]
    rows[30] = '30, "30.5",0'
    rows[40] += "\n   "
    data = read(tmp_path, "a,b,y\n" + "\n".join(rows))
    np.testing.assert_array_equal(data.X, np.column_stack([np.arange(50), np.arange(50) + 0.5]))
    rows[45] = "1,2"
    refused(tmp_path, r"a\.csv: line 48: it has 2 cells, and the header has 3", "a,b,y\n" + "\n".join(rows))


def test_ids_that_are_categories_never_pass_through_floats(tmp_path: Path) -> None:
    text = "id,a,y\n9007199254740993,1,0\n9007199254740992,2,1\n1.4202400320782e+19,3,0\n9007199254740993,4,1\n"
    data = read(tmp_path, text, categories=["id"])
    assert data.features[:3] == ("id=9007199254740992", "id=9007199254740993", "id=1.4202400320782e+19")
    np.testing.assert_array_equal(data.X[:, 1], [1, 0, 0, 1])
    assert read(tmp_path, text).preprocessing == "whole numbers beyond 2^53 rounded in column 'id'"


HOLES = "a,colour,y\n1,red,0\n?,blue,1\n 3, NA ,0\n5,none,1\n"


def test_missing_cells_are_counted_and_the_choices_named(tmp_path: Path) -> None:
    refused(
        tmp_path, r"a\.csv: line 3: column 'a' .* first of 2 in 2 columns and 2 rows: .*'drop'.*'mean'.*'cat", HOLES
    )


@pytest.mark.parametrize(
    ("missing", "X", "notes"),
    [
        ("drop", [[1, 0, 1], [5, 1, 0]], "2 rows with missing cells dropped; one-hot: 1 columns into 2"),
        (
            "mean",
            [[1, 0, 0, 1], [3, 1, 0, 0], [3, 0, 0, 0], [5, 0, 1, 0]],
            "1 missing numbers in 1 columns by the column's mean; 1 missing categories in 1 columns all zeros; "
            "one-hot: 1 columns into 3",
        ),
        (
            "category",
            [[1, 0, 0, 1, 0], [3, 1, 0, 0, 0], [3, 0, 0, 0, 1], [5, 0, 1, 0, 0]],
            "1 missing numbers in 1 columns by the column's mean; 1 missing categories in 1 columns a category of "
            "their own; one-hot: 1 columns into 4",
        ),
    ],
)
def test_missing_cells_as_their_owner_says(tmp_path: Path, missing: str, X: Any, notes: str) -> None:
    data = read(tmp_path, HOLES, missing=missing)
    np.testing.assert_array_equal(data.X, X)
    assert data.preprocessing == notes


def test_means_are_of_the_first_part_alone(tmp_path: Path) -> None:
    data = read(tmp_path, "a,b,y\n1,1,0\n3,1,1\n", "a,b,y\n,1,0\n90,1,1\n", missing="mean")
    np.testing.assert_array_equal(data.X[:, 0], [1, 3, 2, 90])
    assert data.preprocessing == "1 missing numbers in 1 columns by the column's mean over a.csv"
    refused(tmp_path, "column 'a' is empty", "a,b,y\n,1,0\n,1,1\n", "a,b,y\n9,1,0\n", missing="mean")


def test_dropped_rows_leave_their_parts_and_categories(tmp_path: Path) -> None:
    parts = "a,c,y\n1,p,0\n2,q,\n3,r,1\n", "a,c,y\nNaN,s,1\n4,p,0\n"
    data = read(tmp_path, *parts, missing="drop")
    assert data.features == ("a", "c=p", "c=r")
    assert data.parts == (("train", 2), ("test", 1))
    np.testing.assert_array_equal(data.X[:, 0], [1, 3, 4])
    np.testing.assert_array_equal(data.y, [0, 1, 0])
    refused(tmp_path, "1a.csv: each row has a missing cell", parts[0], "a,c,y\n,p,0\n", missing="drop")


def test_further_texts_that_mean_missing(tmp_path: Path) -> None:
    data = read(tmp_path, "a,y\n -999,0\n2,1\n4,1\n", missing_values="-999", missing="mean")
    np.testing.assert_array_equal(data.X[:, 0], [3, 2, 4])


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("10 2 1 2", ("1", "2", "10")),
        ("1.0 2.0 -1.0 2.0", ("-1", "1", "2")),
        ("True False True True", ("False", "True")),
        ("10 2 b 2", ("10", "2", "b")),
        ("9223372036854775808 9223372036854775809 1 1", ("1", "9223372036854775808", "9223372036854775809")),
    ],
)
def test_labels_are_whole_numbers_or_texts(tmp_path: Path, text: str, classes: tuple[str, ...]) -> None:
    labels = text.split()
    data = read(tmp_path, "a,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    assert data.classes == classes
    assert [float(data.classes[c]) if "." in text else data.classes[c] for c in data.y] == [
        float(v) if "." in text else v for v in labels
    ]


def test_a_header_that_cannot_be_told_is_a_note(tmp_path: Path) -> None:
    text = "shape,class\nround,a\nflat,b\nround,a\n"
    assert "first line taken for data" in read(tmp_path, text).preprocessing
    for options in ({"header": True}, {"target": "class"}):
        assert read(tmp_path, text, **options).features == ("shape=flat", "shape=round")
    assert read(tmp_path, "1,2\n3,4\n5,6\n", header=True).features == ("1",)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "it is empty"),
        ("a,b,y\n", {"header": True}, "it has no row below the header"),
        ("a,b,y\n1,2,0\n3,4\n", {}, "line 3: it has 2 cells, and the header has 3"),
        ('a,b,y\n"1\n",2,0\n3,4,5,6\n', {}, "line 4: it has 4 cells, and the header has 3: .*row names"),
        ('a,b,y\n1,2,0\n"3\n4",5\n', {}, "line 3: it has 2 cells, and the header has 3: give all rows as many"),
        ("a,b\n1,2,0\n3,4,1\n", {}, "line 2: it has 3 cells, and the header has 2"),
        ("a,b,y\n1,2,0,4\n3,4,1\n", {}, "line 2: it has 4 cells"),
        ('a,b,y\n1,2,0\n3,"4,1\n5,6,7\n', {}, "line 3: .* is a quote not closed"),
        ("a,b,y\n1,2,0\n3,4,\n", {}, "line 3: column 'y' has no label here, and in 1 rows"),
        (
            "a,b,y\n1,2,0\n3,4,1\n",
            {"target": "Y"},
            "no column is called 'Y': did you mean 'y'.* one of a, b, y, or a pos",
        ),
        ("a,b,y\n1,2,0\n3,4,1\n", {"target": 3}, "no column is called 3.* 0 to 2"),
        ("a,b,y\n1,2,0\n3,4,1\n", {"drop": ["z"]}, "no column is called 'z': .* drop"),
        ("a,b,y\n1,2,0\n3,4,1\n", {"drop": [0], "columns": [1]}, "both columns and drop"),
        ("a,b,y\n1,2,0\n3,4,1\n", {"drop": ["a"], "categories": ["a"]}, "categories names 'a', which is left out"),
        ("a,b,y\n1,2,0\n3,4,1\n", {"separator": "::"}, "separator is '::': one character .*comma"),
        ("1,5;2,5;0\n3,5;4,5;1\n", {}, "line 1: column '0' has '1,5': write numbers"),
        ("a,b,y\n1,2,0\n3,4,1\n", {"skip_rows": [0]}, r"skip_rows is \[0\]"),
        ("a,b,y\n1,2,0\n3,4,1\n", {"missing": "zero"}, "missing is 'zero': error, drop, mean, category"),
        ("a,b,y\n1,2,0\n3,4,1\n", {"skip_rows": "2"}, "skip_rows is .'2'"),
        ("a,b,y\n1,2,0\n3,4,1\n", {"target": ["a"]}, r"no column is called \['a'\]"),
        ("a,b,y\n1,2,0\n3,4,1\n", {"header": "no"}, "header is 'no': true or false"),
        ("a\n1\n2\n", {}, "it has one column"),
        (",a,y\n0,1,0\n1,2,1\n", {}, r"column 0 has no name .*drop = \[0\].*index=False"),
        ("a,a,y\n0,1,0\n1,2,1\n", {}, r"two columns are called 'a': .*header = false and skip_rows = \[1\]"),
        ("a,b,y\n1,2,0.5\n3,4,1\n", {}, "has '0.5': class labels are expected.* quantity"),
        ("a,b,y\n1,2,0\ninf,4,1\n", {}, "line 3: column 'a' has inf, infinite"),
        ("a,b,y\n1,2,0\n3,-1e999,1\n", {}, "line 3: column 'b' has -inf, infinite"),
        ("a;b;y\n1,5;2;0\n3;4,5;1\n", {}, "line 2: column 'a' has '1,5': write numbers with a decimal point"),
        ("a;b;y\n1,5;2,5;p\n3,5;4,5;q\n", {}, "line 2: column 'a' has '1,5': write numbers with a decimal point"),
        ('a,y\n"1,234",0\n5,1\n', {}, "line 2: column 'a' has '1,234': .* no mark of thousands"),
        ("a,y\n1,0\n2,1\n\n3,0\nunknown,1\n", {}, "line 6: column 'a' has 'unknown' among numbers: .*missing_values"),
        ("a,b,y\n1,1:0.5,0\n2,1:0.25,1\n", {}, "as svmlight has"),
        (IDS, {}, "'a' has 120 different texts in 120 rows"),
        ("a,b,y\n" + "1,p,0\n" * 30 + "3,q\0,1\n", {}, "line 32: it has a NUL character"),
        (b"a,b,y\n1,2,0\n3,\xe9,1\n", {}, "line 3: it is not UTF-8 text: save it as UTF-8"),
        (b"\xff\xfea\0,\0y\0", {}, "line 1: it is not UTF-8 .*iconv -f utf-16 "),
    ],
)
def test_what_cannot_be_used_is_one_line_with_the_remedy(
    tmp_path: Path, text: str | bytes, options: dict[str, Any], message: str
) -> None:
    refused(tmp_path, r"^a\.csv: .*" + message, text, **options)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("a,y\n1,0\n", "1a.csv: it has no column 'b', and a.csv has"),
        ("a,b,c,y\n1,2,3,0\n", "1a.csv: it has a column 'c', and a.csv has not"),
        ("a,b,y\n1,2,0\n3,4\n", "1a.csv: line 3: it has 2 cells"),
        ("a,b,y\n3,inf,4\n1,2,0\n", "1a.csv: line 2: column 'b' has inf"),
    ],
)
def test_what_is_wrong_with_a_second_file_is_said_of_it(tmp_path: Path, second: str, message: str) -> None:
    refused(tmp_path, message, "a,b,y\n1,2,0\n3,4,1\n", second)
    assert read(tmp_path, "a,b,y\n1,2,0\n3,4,1\n", "a,b,c,y\n1,2,3,0\n", drop=["c"]).d == 2


def test_damaged_packing(tmp_path: Path) -> None:
    whole = gzip.compress(("a,b,c,d,y\n" + lines(",")).encode())
    refused(tmp_path, "its packed bytes are damaged", whole[:-30], name="a.csv.gz")
    refused(tmp_path, "its packed bytes are damaged", "a,b,y\n1,2,0\n", name="a.csv.gz")


def table_in_parquet(**columns: Any) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer, row_group_size=2)
    return buffer.getvalue()


def test_parquet_is_read_by_the_types_of_its_columns(tmp_path: Path) -> None:
    content = table_in_parquet(
        **{"sepal.length": pa.array([1, 2, 3], pa.int8())},
        half=pa.array([0.5, 1.5, -2], pa.float16()),
        truth=[True, False, True],
        code=["7", "8", "7"],
        colour=pa.array(["red", "blue", "red"]).dictionary_encode(),
        price=pa.array([1, 2, 3], pa.decimal128(5, 2)),
        key=pa.array([2**53 + 1, 2**53, 2**53 + 1], pa.uint64()),
        y=[3, 1, 3],
        __index_level_0__=[5, 6, 7],
    )
    data = read(tmp_path, content, name="a.parquet", categories=["key"])
    assert data.features == (
        *("sepal.length", "half", "truth", "code=7", "code=8", "colour=blue", "colour=red", "price"),
        *("key=9007199254740992", "key=9007199254740993"),
    )
    np.testing.assert_array_equal(
        data.X, [[1, 0.5, 1, 1, 0, 0, 1, 1, 0, 1], [2, 1.5, 0, 0, 1, 1, 0, 2, 1, 0], [3, -2, 1, 1, 0, 0, 1, 3, 0, 1]]
    )
    assert data.classes == ("1", "3")
    assert data.preprocessing == "row index of pandas left out; one-hot: 3 columns into 6"
    flags = read(tmp_path, table_in_parquet(a=[1, 2], y=[True, False]), name="a.parquet")
    assert flags.classes == ("False", "True")
    np.testing.assert_array_equal(flags.y, [1, 0])


def test_parquet_and_text_are_the_same(tmp_path: Path) -> None:
    text = read(tmp_path, "a,c,y\n1,p,0\n,q,1\n3,,0\n", missing="category")
    content = table_in_parquet(a=[1, None, 3], c=["p", "q", None], y=[0, 1, 0])
    data = read(tmp_path, content, name="a.parquet", missing="category")
    assert (data.checksum, data.features) == (text.checksum, text.features)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"a": pa.array([0, 1], pa.timestamp("s")), "y": [0, 1]}, {}, "'a' is of type timestamp.*seconds or days"),
        ({"a": [[1, 2], [3, 4]], "y": [0, 1]}, {}, "'a' is of type list.*each element as a column"),
        ({"a": [{"b": 1}, {"b": 2}], "y": [0, 1]}, {}, "'a' is of type struct.*each field as a column"),
        ({"a": [b"x", b"y"], "y": [0, 1]}, {}, "'a' is of type binary.*drop"),
        ({"a": [1.0, None], "y": [0, 1]}, {}, "row 1, from 0: column 'a' has a missing cell"),
        ({"a": [1.0, np.inf], "y": [0, 1]}, {}, "row 1, from 0: column 'a' has inf"),
        ({"a": [1, 2], "y": [0.5, 1]}, {}, "has '0.5': class labels"),
        ({"a": [1, 2], "y": [0, 1]}, {"separator": ","}, "Parquet has names and no lines"),
    ],
)
def test_parquet_that_cannot_be_used(tmp_path: Path, columns: Any, options: Any, message: str) -> None:
    refused(tmp_path, r"^a\.parquet: .*" + message, table_in_parquet(**columns), name="a.parquet", **options)


def test_parquet_that_unpacks_to_far_more_than_its_size(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    parquet.write_table(pa.table({"a": np.zeros(10**7), "y": np.zeros(10**7)}), buffer)
    refused(tmp_path, "unpacks to 152 MiB, over 300 times its size", buffer.getvalue(), name="a.parquet")


def test_damaged_parquet(tmp_path: Path) -> None:
    whole = table_in_parquet(a=[1.0, 2, 3], y=[0, 1, 0])
    text = table_in_parquet(a=["green", "blue"], y=[0, 1])
    no_utf8 = text.replace(b"green", b"gr\xff\xffn"), whole.replace(b"\x18\x01y", b"\x18\x01\xff")
    for content in (b"", b"PAR1", whole[:-9], whole[40:], b"x" * 60 + whole[60:], *no_utf8):
        refused(tmp_path, "a.parquet: it is not Parquet, or damaged", content, name="a.parquet")


def test_the_shared_tables_have_the_sizes_that_are_known(shared_data: Path) -> None:
    def size(name: str, **options: Any) -> tuple[int, int, int]:
        data = reading.read(shared_data / name, cache=False, **options)
        return data.n, data.d, data.m

    soybean = "soybean/soybean.csv.gz"
    assert size(soybean, categories=list(range(35)), missing="category") == (683, 133, 19)
    assert size(soybean, categories=list(range(35)), missing="mean") == (683, 99, 19)
    criteo = {"target": "Label", "drop": ["Id"], "missing": "mean", "categories": [f"C{i}" for i in range(1, 27)]}
    assert size("criteo_tiny/train.tiny.csv.gz", **criteo) == (1999, 13 + 13079, 2)
    fields = list(range(2, 12))
    kdd = "kdd12_click_small/training_layout.txt.gz"
    assert size(kdd, target=0, drop=[1], categories=fields) == (39948, 160606, 2)
    orange = {"skip_rows": [2, 3], "header": True, "target": "type"}
    assert size("collagen_ftir/collagen.csv.gz", **orange) == (731, 234, 4)


def test_memory_stays_near_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "BLOCK", 1 << 17)
    (tmp_path / "a.csv").write_text(("0.5," * 50 + "0\n" + "1.5," * 50 + "1\n") * 10_000)
    tracemalloc.start()
    try:
        X = tables.read([tmp_path / "a.csv"]).X
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert X.shape == (20_000, 50)
    assert peak < 1.25 * X.nbytes + 20 * delimited.BLOCK, "room to grow by a quarter, and some blocks"
