"""ARFF and KEEL: every way to write a row gives the same numbers, and what is refused says the line and the remedy."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from pianobench.datasets import reading
from pianobench.datasets.dataset import Dataset
from pianobench.datasets.readers import arff_rows

NUMBERS = "@relation r\n@attribute a numeric\n@attribute b real\n@attribute c {x,y}\n@data\n"
COLOURS = "@relation r\n@attribute n integer\n@attribute colour {red,'light green',blue}\n@attribute c {x,y}\n@data\n"


def read(folder: Path, *texts: str, ending: str = ".arff", **options: Any) -> Dataset:
    paths = [folder / f"f{i}{ending}" for i in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    return reading.read(paths, cache=False, **options)


def dense(data: Dataset) -> np.ndarray:
    return data.X.toarray() if sparse.issparse(data.X) else data.X


def labels(data: Dataset) -> list[str]:
    return [data.classes[code] for code in data.y]


@pytest.mark.parametrize(
    "rows",
    [
        "1,2,x\n-3.5e1,.25,y\n",
        "1,2,x\r\n-3.5e1,.25,y",
        "% first\n1 , 2, x % one\n\n'-3.5e1',\".25\",'y'\n  % last",
        "1\t2\tx\n-35 ,\t+0.25\t y\n",
        "{0 1, 1 2}\n{0 -35,1 .25 , 2 y} % note\n",
        "{0 1,1 2,2 'x'}\n { 1 \"0.25\", 0 -35, 2 y }\n",
    ],
)
def test_one_table_in_every_way_of_writing(tmp_path: Path, rows: str) -> None:
    data = read(tmp_path, NUMBERS + rows)
    assert_array_equal(dense(data), [[1, 2], [-35, 0.25]])
    assert labels(data) == ["x", "y"]
    assert (data.features, data.n, data.m) == (("a", "b"), 2, 2)
    assert data.preprocessing == "none" or data.preprocessing.startswith("made dense")


@pytest.mark.parametrize(
    "rows", ["1,red,x\n0,'light green',y\n2,blue,x\n", "{0 1}\n{1 'light green',2 y}\n{0 2,1 blue}\n"]
)
def test_categories_are_one_hot_and_absent_ones_of_sparse_rows_are_the_first(tmp_path: Path, rows: str) -> None:
    data = read(tmp_path, COLOURS + rows)
    assert data.features == ("n", "colour=red", "colour=light green", "colour=blue")
    assert_array_equal(dense(data), [[1, 1, 0, 0], [0, 0, 1, 0], [2, 0, 0, 1]])
    assert labels(data) == ["x", "y", "x"]
    assert "1 nominal attribute one-hot, two columns for a binary one" in data.preprocessing
    assert sparse.issparse(data.X) == rows.startswith("{") == ("leave out" in data.preprocessing)


def test_names_and_values_in_quotes_with_escapes(tmp_path: Path) -> None:
    text = (
        "@RELATION 'my % set'\n@Attribute 'it\\'s {a}' REAL\n@attribute \"two, words\" {'a,b', \"c'd\", 'e\\\\'}\n"
        "@ATTRIBUTE Class{'p % q', r} % labels\n@DATA\n1,'a,b','p % q'\n2,\"c'd\",r\n3,'e\\\\',r\n"
    )
    data = read(tmp_path, text)
    assert data.features == ("it's {a}", "two, words=a,b", "two, words=c'd", "two, words=e\\")
    assert_array_equal(data.X, np.hstack([[[1.0], [2], [3]], np.eye(3)]))
    assert labels(data) == ["p % q", "r", "r"]


def test_many_categories_are_stored_as_csr(tmp_path: Path) -> None:
    values = [f"v{i}" for i in range(70)]
    text = f"@attribute k {{{','.join(values)}}}\n@attribute n real\n@attribute c {{x,y}}\n@data\n"
    data = read(tmp_path, text + "".join(f"{v},{i},{'xy'[i % 2]}\n" for i, v in enumerate(values)))
    assert sparse.issparse(data.X)
    assert_array_equal(data.X.toarray(), np.hstack([np.eye(70), np.arange(70.0)[:, None]]))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[Any]], list[str]]:
    """Kinds, cells and labels: numbers, and texts that need quotes."""
    kinds = draw(st.lists(st.sampled_from(["numeric", "nominal"]), min_size=1, max_size=4))
    number = st.sampled_from([0.0, 0.0, 1.0]) | st.floats(allow_nan=False, allow_infinity=False, width=64)
    cell = {"numeric": number, "nominal": st.sampled_from(["a", "b c", "d'e", "%", "?", "\\", "{0 1}", "é,"])}
    rows = draw(st.lists(st.tuples(*(cell[kind] for kind in kinds)), min_size=2, max_size=6))
    y = draw(st.lists(st.sampled_from(["p", "q r"]), min_size=len(rows) - 2, max_size=len(rows) - 2))
    return kinds, [list(row) for row in rows], ["p", "q r", *y]


def quoted(text: Any) -> str:
    return repr(text) if isinstance(text, float) else "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables())
def test_what_is_written_comes_back_dense_and_sparse(tmp_path: Path, table: Any) -> None:
    kinds, rows, y = table
    columns = [list(dict.fromkeys(column)) for column in zip(*rows, strict=True)]
    declared = [
        "numeric" if kind == "numeric" else "{" + ",".join(map(quoted, values)) + "}"
        for kind, values in zip(kinds, columns, strict=True)
    ]
    head = "".join(f"@attribute 'a {i}' {kind}\n" for i, kind in enumerate(declared))
    head += "@attribute class {'q r',p}\n@data\n"
    expected = np.hstack(
        [
            [[row[j]] for row in rows]
            if kind == "numeric"
            else [[float(row[j] == value) for value in columns[j]] for row in rows]
            for j, kind in enumerate(kinds)
        ]
    )
    lines = [[*map(quoted, row), quoted(label)] for row, label in zip(rows, y, strict=True)]
    zero = [quoted(0.0) if kind == "numeric" else quoted(columns[j][0]) for j, kind in enumerate(kinds)] + ["'q r'"]
    entry = [[f"{j} {cell}" for j, cell in enumerate(line) if cell != zero[j]] for line in lines]
    for text in ("\n".join(map(",".join, lines)), "\n".join("{" + ", ".join(one) + "}" for one in entry)):
        data = read(tmp_path, head + text)
        assert_array_equal(dense(data), expected)
        assert labels(data) == y


@pytest.mark.parametrize("kind", ["plain", "nominal", "missing", "quoted", "sparse", "late"])
def test_blocks_of_plain_rows_are_as_those_read_value_by_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{a!r},{b!r},{'xy'[i % 2]}" for i, (a, b) in enumerate(rng.normal(size=(40, 2)).tolist())]
    head = NUMBERS
    if kind == "nominal":
        head, rows = COLOURS, [f"{i},  {['red', 'blue'][i % 3 % 2]}, {'xy'[i % 2]}" for i in range(40)]
    elif kind == "missing":
        rows[7] = "?, 1,x"
    elif kind == "quoted":
        rows[30] = "'1',1,'x'"
    elif kind == "sparse":
        head = COLOURS
        rows = [f"{{0 {i}, 1 {['blue', 'red'][i % 3 % 2]}}}" if i % 4 else "{2 y}" for i in range(40)]
    options = {"missing": "drop"} if kind == "missing" else {}
    monkeypatch.setattr(arff_rows, "BLOCK", 100)
    by_block = read(tmp_path, head + "\n".join(rows), **options)
    monkeypatch.setattr(arff_rows, "plain", lambda *_: None)
    by_value = read(tmp_path, head + "\n".join(rows), **options)
    assert by_block.checksum == by_value.checksum
    assert by_block.n == (39 if kind == "missing" else 40)
    if kind == "late":
        for bad in ("1,x", "1,2,3,x", "1,z,x", "1,nan,x", "1,1e999,x", "1,2,z", "1,,x"):
            monkeypatch.undo()
            monkeypatch.setattr(arff_rows, "BLOCK", 100)
            with pytest.raises(reading.UnusableFile, match="line 36: "):
                read(tmp_path, head + "\n".join([*rows[:30], bad, *rows[30:]]))


def test_missing_values(tmp_path: Path) -> None:
    one = COLOURS + "1,red,x\n?,blue,y\n4,?,x\n"
    two = COLOURS + "?,red,y\n100,red,y\n"
    with pytest.raises(
        reading.UnusableFile, match=r"f0\.arff: line 7: the value of 'n' is missing: .*\"drop\".*\"mean\""
    ):
        read(tmp_path, one)
    dropped = read(tmp_path, one, COLOURS + "?,red,x\n3,blue,y\n", missing="drop")
    assert_array_equal(dropped.X[:, 0], [1, 3])
    assert "3 rows with missing values left out" in dropped.preprocessing
    for rows in (one, one.replace("1,red,x\n?,blue,y\n4,?,x", "{0 1}\n{0 ?,1 blue,2 y}\n{0 4,1 ?}")):
        second = two if rows is one else two.replace("?,red,y\n100,red,y", "{0 ?, 2 y}\n{0 100,2 y}")
        data = read(tmp_path, rows, second, missing="mean")
        # of the first file alone: (1 + 4) / 2; no colour where it is missing
        assert_array_equal(dense(data)[:, 0], [1, 2.5, 4, 2.5, 100])
        assert_array_equal(dense(data)[2, 1:], [0, 0, 0])
        assert "missing values of 1 columns filled by the mean of the first file" in data.preprocessing
    with pytest.raises(reading.UnusableFile, match="column 'n' has no value in the first file"):
        read(tmp_path, COLOURS + "?,red,x\n?,red,y\n", missing="mean")
    with pytest.raises(reading.UnusableFile, match="line 6: the label, 'c', is missing"):
        read(tmp_path, COLOURS + "1,red,?\n", missing="mean")


def test_files_share_attributes_and_unite_categories(tmp_path: Path) -> None:
    other = COLOURS.replace("{red,'light green',blue}", "{black,red}").replace("{x,y}", "{y,z}")
    data = read(tmp_path, COLOURS + "1,red,x\n2,blue,y\n", other + "3,black,z\n")
    assert data.features == ("n", "colour=red", "colour=light green", "colour=blue", "colour=black")
    assert_array_equal(data.X, [[1, 1, 0, 0, 0], [2, 0, 0, 1, 0], [3, 0, 0, 0, 1]])
    assert (labels(data), data.parts) == (["x", "y", "z"], (("train", 2), ("test", 1)))
    with pytest.raises(
        reading.UnusableFile, match=r"f1.arff: attribute 2 is 'b' \(numeric\), and 'colour' \(nominal\) in f0"
    ):
        read(tmp_path, COLOURS + "1,red,x\n", NUMBERS.replace(" a ", " n ") + "1,1,x\n")


def test_absent_categories_of_the_second_file_are_its_own_first(tmp_path: Path) -> None:
    other = COLOURS.replace("{red,'light green',blue}", "{blue,red}").replace("{x,y}", "{y,x}")
    data = read(tmp_path, COLOURS + "{0 1}\n", other + "{0 2}\n{1 red,2 x}\n")
    assert_array_equal(dense(data), [[1, 1, 0, 0], [2, 0, 0, 1], [0, 1, 0, 0]])
    assert labels(data) == ["x", "y", "x"]


def test_which_attribute_is_the_target(tmp_path: Path) -> None:
    head = "@attribute id string\n@attribute Label {10,9}\n@attribute w numeric\n@attribute k {u,v}\n@data\n"
    text = head + "a b,10,1,u\nc,9,2,v\n"
    with pytest.raises(reading.UnusableFile, match=r"'id' is of type string.*drop = \['id'\]"):
        read(tmp_path, text)
    data = read(tmp_path, text, drop=["id"])
    assert (data.classes, data.features) == (("9", "10"), ("w", "k=u", "k=v"))
    assert "labels from Label" in data.preprocessing
    for target in ("k", 3, -1, "3"):
        assert read(tmp_path, text, drop=["id", "Label"], target=target).classes == ("u", "v")
    assert read(tmp_path, text, target="id", drop=["k"]).classes == ("a b", "c")
    assert read(tmp_path, text, target="w", drop=["id"]).classes == ("1", "2")


def test_hierarchical_labels_are_the_leaves(tmp_path: Path) -> None:
    head = "@attribute a numeric\n@attribute class hierarchical 1,2,1/1,1/10\n@data\n"
    data = read(tmp_path, head + "1,1@1/1\n2,1@1/10\n3,2\n")
    assert labels(data) == ["1/1", "1/10", "2"]
    assert "labels are the leaves of their paths" in data.preprocessing
    with pytest.raises(reading.UnusableFile, match="line 4: '1@2' names classes that lie on no one path"):
        read(tmp_path, head + "1,1@2\n2,2\n")


KEEL = (
    "@relation k\n@attribute A real [0.0, 1.0]\n@attribute B integer[0,9]\n@attribute C {a, b}\n"
    "@attribute Class {1, 2}\n@inputs A, B\n@outputs Class\n@data\n0.5, 3, a, 2\n0.25, 4, b, 1\n<null>, 4, b, 1\n"
)


def test_keel(tmp_path: Path) -> None:
    data = read(tmp_path, KEEL, ending=".dat", missing="drop")
    assert_array_equal(data.X, [[0.5, 3], [0.25, 4]])
    assert (data.classes, data.features, labels(data)) == (("1", "2"), ("A", "B"), ["2", "1"])
    assert "the 2 attributes of @inputs alone" in data.preprocessing
    bare = read(tmp_path, "1, 2.5, 10\n3, 4, 9\n", ending=".dat")
    assert_array_equal(bare.X, [[1, 2.5], [3, 4]])
    assert (bare.classes, bare.features, labels(bare)) == (("9", "10"), (), ["10", "9"])
    assert read(tmp_path, "b,2.5\na,4\n", ending=".dat", target=0).classes == ("a", "b")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (KEEL.replace("@outputs Class", "@outputs Class, C"), {}, "several labels .* name one as target"),
        (KEEL.replace("@inputs A", "@inputs Z"), {}, "no attribute is called 'Z': give @inputs one of 'A'"),
        ("1,2,x\n", {"target": "name"}, "it has no header, so target is a position from 0 to 2, not 'name'"),
        ("1,2,x\n", {"target": 3}, "from 0 to 2, not 3"),
        ("1,,x\n", {}, "line 1: value 2 is empty"),
        ("\n% nothing\n", {}, "it is empty"),
    ],
)
def test_keel_refuses(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(reading.UnusableFile, match=message):
        read(tmp_path, text, ending=".dat", **options)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "no line @data: is it cut off"),
        ("a,b\n1,2\n", {}, "line 1: 'a,b' stands before @data"),
        ("@attribute\n@data\n", {}, "line 1: @attribute '' has no name"),
        ("@attribute a\n@data\n", {}, "line 1: attribute 'a' has type '': numeric, real"),
        ("@attribute a nominal\n@data\n", {}, "line 1: attribute 'a' has type 'nominal'"),
        ("@attribute a numeric {3}\n@data\n", {}, r"'\{3\}' after the type of 'a' is not read"),
        ("@attribute a {x,y\n@data\n", {}, "the values of 'a' have no closing brace"),
        ("@attribute a {x,y,x}\n@data\n", {}, "the values of 'a' hold 'x' twice"),
        ("@attribute a real\n@attribute a real\n@data\n", {}, "line 2: a second attribute is called 'a'"),
        ("@attribute a relational\n@data\n", {}, "'a' is relational"),
        ("@attribute a date 'yyyy'\n@attribute c {x}\n@data\n", {}, "'a' is of type date"),
        ("@attribute c date\n@data\n", {}, "the target 'c' is a date"),
        ("@relation 'm: -C 2'\n@attribute c {x}\n@data\n", {}, "several labels for each row"),
        ("@data\n1\n", {}, "declares no attributes"),
        ("@attribute c {x}\n@data\nx\n", {}, "no attribute is left"),
        (NUMBERS + "1,2\n", {}, "line 6: it has 2 values, and 3 attributes are declared"),
        (NUMBERS + "1,2,x,y\n", {}, "line 6: it has 4 values, and 3"),
        ("@attribute a real\n@attribute s string\n@data\n1,x\n2,   ?\n", {}, "line 5: the value of 's' is missing"),
        (NUMBERS + "1,2,x\n1,a,x\n", {}, "line 7: 'a' is not a number, and 'b' is numeric"),
        (NUMBERS + "1,1_0,x\n", {}, "line 6: '1_0' is not a number"),
        (NUMBERS + "1,٣,x\n", {}, "line 6: '٣' is not a number"),
        (NUMBERS + "1,inf,x\n", {}, "line 6: 'inf' is not a number"),
        (NUMBERS + "1,1e999,x\n", {}, "line 6: '1e999' of 'b' is beyond"),
        (NUMBERS + "1,2,z\n", {}, "line 6: 'z' is not among the values declared for 'c'"),
        (NUMBERS + "1,2,x,\n", {}, "line 6: value 4 is empty"),
        (NUMBERS + "1,2,x,{5}\n", {}, "line 6: .*weight of a row"),
        (NUMBERS + "{0 1}, {5}\n", {}, "line 6: .*weights are not read"),
        (NUMBERS + "1,50%,x\n", {}, "line 6: value 2 has a % in it"),
        (NUMBERS + "1,2,'x\n", {}, 'line 6: value 3 begins "\'x": quotes around'),
        (NUMBERS + "1,2,x'y'\n", {}, "line 6: value 3 begins"),
        (NUMBERS + "{0 1 2}\n", {}, "line 6: .* is no entry of a sparse row"),
        (NUMBERS + "{0 1\n", {}, "line 6: .* is no entry of a sparse row"),
        (NUMBERS + "{3 1}\n", {}, "line 6: position 3 is beyond the 3 attributes"),
        (NUMBERS + "{0 1,0 2}\n", {}, "line 6: position 0 is there twice"),
        (NUMBERS + "{0 1}\n1,2,x\n", {}, "line 7: sparse and dense rows are mixed"),
        (NUMBERS + "1,2,x\n{0 1}\n", {}, "line 7: sparse and dense rows are mixed"),
        (NUMBERS + "1,2\0,x\n", {}, "line 6: it has a NUL"),
        (NUMBERS, {}, "it gives no row, it ends after the header"),
        (NUMBERS + "1,?,x\n?,1,y\n", {"missing": "drop"}, "it gives no row, each has a missing value"),
        (
            NUMBERS,
            {"target": "z"},
            "no attribute is called 'z': give target one of 'a', 'b', 'c', or a pos",
        ),
        (NUMBERS, {"target": 7}, "no attribute is called 7"),
        (NUMBERS, {"target": 1.5}, "no attribute is called 1.5"),
        (NUMBERS, {"drop": ["z"]}, "no attribute is called 'z': give drop"),
        (NUMBERS, {"drop": ["a", "b"]}, "no attribute is left as a feature"),
        (NUMBERS, {"missing": "zero"}, "missing is 'zero': error, drop, mean are the choices"),
        ("@attribute a real\n@attribute s string\n@data\n{0 1}\n", {}, "line 4: it has no value of the target 's'"),
        ("@attribute a real\n@attribute s string\n@data\n1,%s\n" % ("x" * 201), {}, "longer than 200 characters"),
    ],
)
def test_what_is_refused_says_the_line_and_the_remedy(
    tmp_path: Path, text: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(reading.UnusableFile, match=message) as caught:
        read(tmp_path, text, **options)
    assert str(caught.value).startswith("f0.arff: ")
    assert "\n" not in str(caught.value)


def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "f.arff").write_bytes(NUMBERS.encode() + b"1,2,\xe9\n")
    with pytest.raises(reading.UnusableFile, match="line 6: byte 5 is not UTF-8: save the file as UTF-8"):
        reading.read(tmp_path / "f.arff")


def test_few_bytes_that_stand_for_many_entries_are_refused(tmp_path: Path) -> None:
    head = "".join(f"@attribute a{i} {{0,1}}\n" for i in range(5000)) + "@attribute c {x,y}\n@data\n"
    with pytest.raises(reading.UnusableFile, match="far more than its bytes: drop nominal attributes"):
        read(tmp_path, head + "{}\n" * 5000)


@pytest.mark.parametrize(
    ("files", "shape", "classes"),
    [
        (["segment/segment.dat.gz"], (2310, 19), [str(i) for i in range(1, 8)]),
        (["movement_libras/movement_libras.dat.gz"], (360, 90), [str(i) for i in range(1, 16)]),
        (["texture/texture.dat.gz"], (5500, 40), ["2", "3", "4", "6", "7", "8", "9", "10", "12", "13", "14"]),
    ],
)
def test_real_keel_files(shared_data: Path, files: list[str], shape: tuple[int, int], classes: list[str]) -> None:
    data = reading.read([shared_data / file for file in files], cache=False)
    assert (data.X.shape, list(data.classes)) == (shape, classes)
    with gzip.open(shared_data / files[0], "rt") as stream:
        rows = [line.split(",") for line in stream]
    assert_array_equal(data.X, np.array([row[:-1] for row in rows], float))
    assert labels(data) == [row[-1].strip() for row in rows]


def test_real_hierarchical_labels(shared_data: Path) -> None:
    folder = shared_data / "clef_imclef07a"
    data = reading.read([folder / f"ImCLEF07A_{part}.arff.gz" for part in ("Train", "Test")], cache=False)
    assert (data.X.shape, data.m, data.parts) == ((11006, 80), 63, (("train", 10000), ("test", 1006)))
    counts = np.bincount(data.y)
    assert (counts.min(), counts.max()) == (11, 4222)
