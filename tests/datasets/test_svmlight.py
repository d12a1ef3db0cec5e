"""svmlight and libffm: read to the same bits as Python's own numbers, or refused with the line and a remedy."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris

from pianobench.datasets import reading
from pianobench.datasets.readers import packed, svmlight
from pianobench.datasets.readers.parsed import Parsed, Unreadable


def saved(folder: Path, text: str | bytes, name: str = "a.svm") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parsed(folder: Path, *texts: str | bytes, **options: Any) -> Parsed:
    return svmlight.read([saved(folder, text, f"{i}.svm") for i, text in enumerate(texts)], **options)


def refused(folder: Path, *texts: str | bytes, **options: Any) -> str:
    with pytest.raises(Unreadable) as caught:
        parsed(folder, *texts, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_data_set_of_scikit_learn_also_packed(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, str(tmp_path / "iris.svm"), zero_based=False)
    data = reading.read(tmp_path / "iris.svm", dense=False)
    np.testing.assert_array_equal(data.X.toarray(), X)
    np.testing.assert_array_equal(data.y, y)
    assert data.classes == ("0", "1", "2")
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int32
    content = (tmp_path / "iris.svm").read_bytes()
    for name, pack in (("p.svmlight.gz", gzip.compress), ("p.libsvm.bz2", bz2.compress)):
        assert reading.read(saved(tmp_path, pack(content), name), dense=False).checksum == data.checksum


@pytest.mark.parametrize(
    "text",
    [
        "2 1:0.5 3:1\n-1 2:-4\n",
        "2 1:0.5 3:1\n-1 2:-4",
        "2.0 1:+.5 3:1. \r\n-1e0\t2:-40E-1\t\r\n",
        "\n# a comment 9:9\n  +2  1:5e-1   3:1 # id 7:7\n\n-1 2:-4#\n\n",
        "\ufeff2 3:1 1:0.5\n-1 2:-4 1:0 3:-0.0\n",
        "2 01:0.5 0000000000003:1\f\n-1 2:-4\v\n",
    ],
)
def test_the_same_rows_however_they_are_written(tmp_path: Path, text: str) -> None:
    found = parsed(tmp_path, text)
    np.testing.assert_array_equal(found.X.toarray(), [[0.5, 0, 1], [0, -4, 0]])
    np.testing.assert_array_equal(found.y, [2, -1])
    assert found.X.nnz == 3, "zeros are not stored"
    assert found.sizes == (2,)
    assert (found.y.dtype, found.X.dtype) == (np.int64, np.float64)
    assert ("rows whose indices were sorted: 2" in found.notes) == ("3:1 1:" in text)


def test_rows_of_zeros_count_and_so_do_their_indices(tmp_path: Path) -> None:
    found = parsed(tmp_path, "1\n2 4:0\n1 2:1\n2 #\n")
    np.testing.assert_array_equal(found.X.toarray(), [[0] * 4, [0] * 4, [0, 1, 0, 0], [0] * 4])
    assert parsed(tmp_path, "1\n2\n", n_features=3).X.shape == (2, 3)


def test_columns_are_those_of_all_files(tmp_path: Path) -> None:
    train, test = "1 1:5\n2 2:6\n", "1 4:7\n"
    found = parsed(tmp_path, train, test)
    np.testing.assert_array_equal(found.X.toarray(), [[5, 0, 0, 0], [0, 6, 0, 0], [0, 0, 0, 7]])
    assert found.sizes == (2, 1)
    assert found.notes == ("columns numbered from 1 (no index 0 occurs)",)
    found = parsed(tmp_path, train, "1 0:7\n")
    np.testing.assert_array_equal(found.X.toarray(), [[0, 5, 0], [0, 0, 6], [7, 0, 0]])
    assert found.notes == ("columns numbered from 0 (index 0 occurs)",)
    found = parsed(tmp_path, train, test, base=0, n_features=9)
    assert (found.X.shape, found.X.indices.tolist(), found.notes) == ((3, 9), [1, 2, 4], ())
    assert parsed(tmp_path, train, base=1, n_features=2).X.shape == (2, 2)
    assert parsed(tmp_path, train, n_features=2).X.shape == (2, 2)


def test_libffm_has_the_indices_as_columns(tmp_path: Path) -> None:
    found = parsed(tmp_path, "1 0:3:0.5 1:2:2 2:3:0.25 \n0 7:0:1\n", fields=True)
    np.testing.assert_array_equal(found.X.toarray(), [[0, 0, 2, 0.75], [1, 0, 0, 0]])
    assert found.notes[1:] == ("rows with an index in several fields, its values added: 1",)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hello world", "'hello' is not a label, which is a whole number: lines like '2 1:0.5 7:1'"),
        ("1:2 2:3", "it begins with '1:2' and has no label: lines like"),
        ("1,3,7 1:2", "'1,3,7' are several labels, as in multi-label data, or cells of a table: keep one"),
        ("0.5 1:2", r"label '0.5' is not a whole number below 2\^53: give classes"),
        ("1e300 1:2", r"label '1e300' is not a whole number below"),
        ("nan 1:2", "'nan' is not a label"),
        ("1_0 1:2", "'1_0' is not a label"),
        ("+-1 1:2", r"'\+-1' is not a label"),
        ("1 qid:3 1:2", "'qid:3' marks data for ranking: .* cut the qid out"),
        ("0 0 0 2  1 2", "'0' has no colon: lines like"),
        ("1 1:2 3", "'3' has no colon"),
        ("1 1:2:3", "'1:2:3' is of libffm, field:index:value: give the option fields=true"),
        ("1 1:2:3:4", "'1:2:3:4' is not index:value"),
        ("1 1: 2:3", "the value of '1:' is not a finite decimal"),
        ("1 1 :2", "'1' has no colon"),
        ("1 :2", "'' in ':2' is not a whole number from 0 to 2147483646"),
        ("1 -1:2", "'-1' in '-1:2' is not a whole number"),
        ("1 1.0:2", "'1.0' in '1.0:2' is not a whole number"),
        ("1 1e2:2", "'1e2' in '1e2:2' is not a whole number"),
        ("1 2147483647:2", "'2147483647' in .* is not a whole number from 0 to 2147483646"),
        ("1 99999999999999999999:2", "'9{20}' in .* is not a whole number from 0 to"),
        ("1 1:nan", "the value of '1:nan' is not a finite decimal number: mend the line or drop it"),
        *(
            (f"1 1:{value}", "the value of .* is not a finite decimal number")
            for value in ("inf", "-Infinity", "0x1p3", "1_0", "1e999", ".", "1e", "--1", "1e5.0", "1,5", "１")
        ),
        ("1 2:1 1:1 2:1", "index 2 occurs again in '2:1': keep one of the two, or their sum"),
        ("1 2:1 2:0", "index 2 occurs again"),
        ("1 " + "x" * 99, r"'x{40}\.\.\.' has no colon"),
        (b"1 \x00\xff:2", r"'\\x00\\xff' in '\\x00\\xff:2' is not a whole number"),
    ],
)
def test_a_wrong_line_is_named_with_what_is_wrong(tmp_path: Path, line: str | bytes, message: str) -> None:
    good = "1 1:2\n2 3:4 # fine\n\n"
    text = good.encode() + (line.encode() if isinstance(line, str) else line) + b"\n" + good.encode()
    with pytest.raises(reading.UnusableFile, match=rf"^b\.svm: line 4: {message}") as caught:
        reading.read([saved(tmp_path, good), saved(tmp_path, text, "b.svm")])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 3:2", "'3:2' is not field:index:value, as the option fields=true reads"),
        ("1 1:3:2 1:3:4", "index 3 occurs again in '1:3:4'"),
        ("1 x:3:2", "'x' in 'x:3:2' is not a whole number"),
        ("1 4000000000:3:2", "'4000000000' in '4000000000:3:2' is not a whole number"),
        ("1 1:3:2:5", "'1:3:2:5' is not field:index:value"),
        ("1 1:3:2 5", "'5' has no colon"),
    ],
)
def test_a_wrong_line_of_libffm(tmp_path: Path, line: str, message: str) -> None:
    assert refused(tmp_path, f"1 0:3:1 1:4:1\n{line}\n", fields=True).startswith(f"line 2: {message}")


def test_columns_that_do_not_fit_are_refused_with_the_line(tmp_path: Path) -> None:
    one, zero = "1 1:5\n2 3:6\n", "1 1:5\n2 3:6\n3 0:1\n"
    assert "line 2: index 3 is beyond n_features=2: give a larger" in refused(tmp_path, one, n_features=2)
    assert "line 2: index 3 is beyond n_features=3 with base=0:" in refused(tmp_path, one, base=0, n_features=3)
    assert "line 2: index 3 is beyond n_features=3 with base=0:" in refused(tmp_path, zero, n_features=3)
    assert "line 3: index 0 occurs, and base=1 numbers columns from 1: give base=0" in refused(tmp_path, zero, base=1)
    for name, value in (("base", 2), ("base", True), ("n_features", 0), ("n_features", 2.0), ("fields", "yes")):
        assert refused(tmp_path, one, **{name: value}).startswith(f"{name}={value!r}: ")


def test_an_option_of_another_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(reading.UnusableFile, match=r"svmlight has no option 'target': it has base, n_features, fields"):
        reading.read(saved(tmp_path, "1 1:2\n"), target="y")


def test_files_without_rows_or_entries_are_refused(tmp_path: Path) -> None:
    for text in ("", "\n\n", "# nothing\n", "\ufeff"):
        assert refused(tmp_path, "1 1:1\n", text).startswith("it has no rows: lines like")
    assert refused(tmp_path, "1\n2\n").startswith("no row has an entry:")


def test_blocks_change_neither_rows_nor_numbers_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"{i % 3} {i + 1}:{i / 7} # {i}\n\n" for i in range(50))
    whole = parsed(tmp_path, text)
    wrong = text.replace(f"36:{35 / 7}", "36:x").replace("# 3\n", "# " + "x" * 40 + "\n")
    for size in (64, 7, 1):
        monkeypatch.setattr(svmlight, "_BLOCK", size)
        found = parsed(tmp_path, text)
        assert (found.X != whole.X).nnz == 0
        np.testing.assert_array_equal(found.y, whole.y)
        assert refused(tmp_path, wrong).startswith("line 71: ")
    assert refused(tmp_path, "1 1:1\n\ufeff1 1:1\n").startswith("line 2: "), "a mark of byte order begins a file"
    monkeypatch.setattr(svmlight, "LINE", 64)
    assert refused(tmp_path, text + "1 " + "1" * 99).startswith("line 101: it goes on for more than")


def test_damaged_and_overfull_packed_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = gzip.compress(b"1 1:2\n2 2:3\n" * 1000)
    with pytest.raises(reading.UnusableFile, match=r"^a\.svm\.gz: its packed bytes are damaged"):
        reading.read(saved(tmp_path, whole[:-20], "a.svm.gz"))
    monkeypatch.setattr(packed, "FREE", 1000)
    monkeypatch.setattr(packed, "RATIO", 2)
    with pytest.raises(reading.UnusableFile, match=r"^a\.svm\.gz: it unpacks to more than"):
        reading.read(saved(tmp_path, whole, "a.svm.gz"))


SHARED: dict[str, tuple[list[str], dict[str, Any], tuple[int, int, int, int]]] = {
    "letter": (["letter.scale.bz2", "letter.scale.t.bz2"], {}, (20000, 16, 26, 320000)),
    "pendigits": (["pendigits.bz2", "pendigits.t.bz2"], {}, (10992, 16, 10, 153308)),
    "dna": (["dna.scale.tr.bz2", "dna.scale.val.bz2", "dna.scale.t.bz2"], {}, (3186, 180, 3, 144902)),
    "sector": (["sector.scale.bz2", "sector.t.scale.bz2"], {}, (9619, 55197, 105, 1569904)),
    "agaricus": (["agaricus_train.txt.gz", "agaricus_test.txt.gz"], {}, (8124, 126, 2, 178728)),
    "news20_bydate": (["news20.train.svm.bz2", "news20.test.svm.bz2"], {}, (18846, 130107, 20, 2895521)),
    "ipinyou_tiny": (["train.fm.txt.gz", "test.fm.txt.gz"], {"base": 0}, (47923, 133465, 2, 766768)),
    "criteo_ffm": (["small_train.txt.gz", "small_test.txt.gz"], {"fields": True}, (400, 9991, 2, 7004)),
}


@pytest.mark.parametrize("name", SHARED)
def test_real_data_have_the_sizes_that_are_known_of_them(shared_data: Path, name: str) -> None:
    files, options, sizes = SHARED[name]
    data = reading.read(
        [shared_data / name / file for file in files], form="svmlight", dense=False, cache=False, **options
    )
    assert (data.n, data.d, data.m, data.X.nnz) == sizes


def test_the_older_form_of_sector_is_refused(shared_data: Path) -> None:
    with pytest.raises(
        reading.UnusableFile, match=r"^sector\.bz2: line 1: '0' has no colon: lines like '2 1:0\.5 7:1'"
    ):
        reading.read(shared_data / "sector" / "sector.bz2", form="svmlight")
