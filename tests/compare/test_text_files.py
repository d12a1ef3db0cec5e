"""CSV as the user has them: read to the same arrays, or refused in one line with a remedy."""

import bz2
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from pianobench.datasets import reading

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def lines(mark: str, first: bool = False) -> str:
    rows = [[str(v) for v in row] for row in X]
    cells = [[name, *row] if first else [*row, name] for row, name in zip(rows, NAMES, strict=True)]
    return "\n".join(mark.join(row) for row in cells) + "\n"


@pytest.mark.parametrize("mark", [",", ";", "\t", " "])
@pytest.mark.parametrize("head", ["", "a{0}b{0}c{0}d{0}species\n", "0{0}1{0}2{0}3{0}target\n"])
def test_tables_with_any_mark_and_with_a_header_or_none(tmp_path: Path, mark: str, head: str) -> None:
    (tmp_path / "iris.csv").write_text(head.format(mark) + lines(mark))
    data = reading.read(tmp_path / "iris.csv")
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)
    assert data.classes == ("setosa", "versicolor", "virginica")


def test_the_target_by_name_or_by_number(tmp_path: Path) -> None:
    (tmp_path / "named.csv").write_text("species,a,b,c,d\n" + lines(",", first=True))
    (tmp_path / "bare.csv").write_text(lines(",", first=True))
    for name, target in (("named.csv", "species"), ("bare.csv", "0")):
        data = reading.read(tmp_path / name, target=target)
        np.testing.assert_array_equal(data.X, X)
        np.testing.assert_array_equal(data.y, Y)


def test_packed_tables_and_a_mark_of_byte_order(tmp_path: Path) -> None:
    (tmp_path / "iris.csv.bz2").write_bytes(bz2.compress(b"\xef\xbb\xbfa,b,c,d,y\n" + lines(",").encode()))
    np.testing.assert_array_equal(reading.read(tmp_path / "iris.csv.bz2").X, X)
    (tmp_path / "bare.csv").write_bytes(b"\xef\xbb\xbf" + lines(",").encode())
    np.testing.assert_array_equal(reading.read(tmp_path / "bare.csv").X, X)


@pytest.mark.parametrize(
    ("name", "text", "target", "message"),
    [
        ("a.csv", "", None, "it is not a table"),
        ("a.csv", "a,b,y\n1,2,0\n3,4\n", None, "column 'y' has no label in row 1: drop"),
        ("a.csv", "a,b\n1,2,0\n3,4,1\n", None, "lines of equally many cells"),
        ("a.csv", "a,b,y\n1,2,0,4\n3,4,1\n", None, "lines of equally many cells"),
        ("a.csv", "a,colour,y\n1,red,0\n2,blue,1\n", None, "'colour' holds 'red', .* one-hot; if it is the target"),
        ("a.csv", "a,b,y\n1,2,0\n3,4,1\n", "Y", "no column is called 'Y': give --target one of a, b, y"),
        ("a.csv", "a\n1\n2\n", None, "it has one column"),
        ("a.csv", ",a,y\n0,1,0\n1,2,1\n", None, r"column 0 has no name .*index=False"),
        ("a.csv", "a,b,y\n1,,0\n3,4,1\n", None, "not finite, first in row 0, column 1"),
        ("a.csv", "a,b,y\n1,2,0.5\n3,4,1\n", None, "y has values that are not whole"),
        ("a.csv", b"\xff\xfe\x00a", None, "it is not a table .*UTF-8"),
        ("a.csv.gz", "a,b,y\n1,2,0\n", None, "it is not a table .*[Nn]ot a gzip"),
    ],
)
@pytest.mark.filterwarnings("ignore")  # as for a user: a warning of pandas is no exception then
def test_what_cannot_be_used_is_one_line_with_the_remedy(
    tmp_path: Path, name: str, text: str | bytes, target: str | None, message: str
) -> None:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(reading.UnusableFile, match=message) as caught:
        reading.read(tmp_path / name, target=target)
    assert str(caught.value).startswith(name)
    assert "\n" not in str(caught.value)
