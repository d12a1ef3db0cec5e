"""Documents: tf-idf by its formula, the first part alone decides, and each layout or what is wrong with it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pianobench.datasets import reading
from pianobench.datasets.dataset import Dataset

TRAIN = [("Sun and sun and rain", "b"), ("rain, rain", "a"), ("Snow", "b"), ("I", "c")]
TEST = [("sun or snow", "a"), ("hail", "c")]


def read(tmp_path: Path, *texts: str | bytes, name: str, **options: Any) -> Dataset:
    paths = []
    for number, text in enumerate(texts):
        paths.append(tmp_path / (f"{number}{name}" if number else name))
        paths[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
    return reading.read(paths, cache=False, form="texts", **options)


def refused(tmp_path: Path, message: str, *texts: str | bytes, **options: Any) -> None:
    with pytest.raises(reading.UnusableFile, match=message) as caught:
        read(tmp_path, *texts, **options)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def tsv(pairs: list[tuple[str, str]]) -> str:
    return "".join(f"{label}\t{text}\n" for text, label in pairs)


def by_the_formula(train: list[str], texts: list[str]) -> tuple[list[str], np.ndarray]:
    """tf-idf word by word."""
    words = [re.findall(r"\w\w+", text.lower()) for text in train]
    vocabulary = sorted({word for found in words for word in found})
    weights = [1 + np.log((1 + len(train)) / (1 + sum(word in found for found in words))) for word in vocabulary]
    rows = []
    for text in texts:
        found = re.findall(r"\w\w+", text.lower())
        row = np.array([found.count(word) * weight for word, weight in zip(vocabulary, weights, strict=True)])
        rows.append(row / (np.linalg.norm(row) or 1))
    return vocabulary, np.array(rows)


def test_rows_are_the_formula_with_the_words_of_the_first_part(tmp_path: Path) -> None:
    data = read(tmp_path, tsv(TRAIN), tsv(TEST), name="a.txt")
    vocabulary, expected = by_the_formula([text for text, _ in TRAIN], [text for text, _ in TRAIN + TEST])
    assert list(data.features) == vocabulary == ["and", "rain", "snow", "sun"]
    np.testing.assert_allclose(data.X.toarray(), expected, rtol=1e-15)
    assert isinstance(data.X, sp.csr_array)
    assert (data.X.dtype, data.X.indices.dtype, data.X.indptr.dtype) == (np.float64, np.int32, np.int32)
    assert (data.classes, data.y.tolist()) == (("a", "b", "c"), [1, 0, 1, 2, 0, 2])
    assert data.parts == (("train", 4), ("test", 2))
    expected_note = "tf-idf, vocabulary of 4 words of the first part; 2 documents without such a word are rows of zeros"
    assert data.preprocessing == expected_note


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("ab cé_1,", min_size=1, max_size=20), min_size=2, max_size=6))
def test_any_documents_are_as_the_formula_says_and_twice_the_same(tmp_path: Path, texts: list[str]) -> None:
    pairs = [{"text": text, "label": i % 2} for i, text in enumerate([*texts, "ab"])]
    found = [read(tmp_path, json.dumps(pairs), name="a.json") for _ in range(2)]
    vocabulary, expected = by_the_formula([*texts, "ab"], [*texts, "ab"])
    assert list(found[0].features) == vocabulary
    np.testing.assert_allclose(found[0].X.toarray(), expected, rtol=1e-14)
    assert found[0].checksum == found[1].checksum


LAYOUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "tsv": (tsv(TRAIN), {}),
    "named.tsv": ("label\ttext\n" + tsv(TRAIN), {}),
    "txt": (
        "text first\n" + "".join(f"{t}\t{y}\r\n" for t, y in TRAIN).replace(", ", "\t").rstrip(),
        {"target": 1, "header": True},
    ),
    "csv": ('label,text\nb,"Sun and\nsun and rain"\na,"rain, rain"\nb,Snow\nc,I\n', {}),
    "ssv": ('"Sun and sun and rain";b\n"rain; rain";a\nSnow;b\nI;c', {"layout": "csv", "text": 0, "target": 1}),
    "json": (json.dumps(TRAIN), {}),
    "jsonl": ("\n".join(json.dumps({"y": y, "t": t, "n": 1}) for t, y in TRAIN), {"text": "t", "target": "y"}),
    "ndjson": ("\n\n".join(json.dumps([y, t]) for t, y in TRAIN), {"text": 1, "target": 0}),
}


@pytest.mark.parametrize("name", list(LAYOUTS))
def test_all_layouts_give_the_same(tmp_path: Path, name: str) -> None:
    text, options = LAYOUTS[name]
    data = read(tmp_path, b"\xef\xbb\xbf" + text.encode(), name=f"a.{name}", **options)
    same = read(tmp_path, tsv(TRAIN), name="same.tsv")
    assert (data.checksum, data.classes, data.features) == (same.checksum, same.classes, same.features)


def test_parts_that_one_file_holds(tmp_path: Path) -> None:
    content = json.dumps({"oos": [["what", "none"]], "test": TEST, "train": TRAIN})
    data = read(tmp_path, content, name="a.json", parts_in_file=["train", "test"])
    assert data.parts == (("train", 4), ("test", 2))
    assert data.checksum == read(tmp_path, tsv(TRAIN), tsv(TEST), name="a.tsv").checksum
    refused(tmp_path, "holds oos, test, train: name those to read in parts_in_file", content, name="a.json")


def test_fewer_words_and_capitals(tmp_path: Path) -> None:
    text = tsv(TRAIN)
    assert read(tmp_path, text, name="a.tsv", min_df=2).features == ("rain",)
    assert read(tmp_path, text, name="a.tsv", min_df=0.5).features == ("rain",)
    assert read(tmp_path, text, name="a.tsv", max_features=1).features == ("rain",)
    data = read(tmp_path, text, name="a.tsv", lowercase=False)
    assert data.features == ("Snow", "Sun", "and", "rain", "sun")
    assert "capitals kept" in data.preprocessing


@pytest.mark.parametrize("labels", [["2", "10", "2"], [2, 10, 2], [True, False, True]])
def test_labels_are_whole_numbers_or_texts(tmp_path: Path, labels: list[Any]) -> None:
    data = read(tmp_path, json.dumps([["some words", label] for label in labels]), name="a.json")
    assert data.classes == (("False", "True") if labels[0] is True else ("2", "10"))
    assert [data.classes[code] for code in data.y] == [str(label) for label in labels]


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.tsv", "a\tsome words\nb no tab\n", {}, "line 2: it begins 'b no tab' and has no tab"),
        ("a.tsv", "a\tsome words\n \tmore words\n", {}, "line 2: its label is ''"),
        ("a.tsv", "a\tsome words\nb\t.\n", {"target": "y"}, "lines are label TAB text"),
        ("a.tsv", b"a\tsome words\nb\t\xe9\n", {}, "line 2: it is not UTF-8"),
        ("a.tsv", "", {}, "it has no document"),
        ("a.tsv", "a\t.\nb\t?\n", {}, "no word is left"),
        ("a.tsv", "a\tword\nb\tword\n", {"min_df": 3}, "no word is left"),
        ("a.tsv", "a\tword\nb\tword\n", {"min_df": 0}, "min_df is 0"),
        ("a.tsv", "a\tword\nb\tword\n", {"min_df": "2"}, "min_df is '2'"),
        ("a.tsv", "a\tword\nb\tword\n", {"lowercase": "no"}, "lowercase is 'no'"),
        ("a.tsv", "a\tword\nb\tword\n", {"max_features": 0}, "max_features is 0"),
        ("a.tsv", "a\tword\nb\tword\n", {"parts_in_file": ["a"]}, "parts_in_file is for JSON"),
        ("a.xyz", "a\tword\nb\tword\n", {}, "layout is None: give one of tsv, csv, json, jsonl"),
        ("a.csv", "text,y\nsome words,a\nmore words,\n", {}, "line 3: its label is ''"),
        ("a.csv", "txt,y\nsome words,a\n", {}, "no column is called 'text': .*give text one of"),
        ("a.csv", "text,y\nsome words,a\nmore, words,b\n", {}, "line 3: it has 3 cells"),
        ("a.csv", "text,y\nsome words,a\n", {"target": 0}, "text and target are both column 'text'"),
        ("a.csv", "text\nsome words\n", {}, "text and target are both column"),
        ("a.jsonl", '["some words", 1]\n["a]\n', {}, "line 2: it is not JSON"),
        ("a.jsonl", '{"text": "some words", "y": 1}\n', {}, "line 1: it has no field 'label', it has text, y"),
        ("a.jsonl", '{"text": "some words", "label": NaN}', {}, "line 1: .*NaN is no value of JSON"),
        ("a.jsonl", '{"text": "a", "text": "b", "label": 1}', {}, "line 1: .*'text' stands twice"),
        ("a.jsonl", '["some words", 1.5]\n', {}, "line 1: its label is '1.5': a text or a whole number"),
        ("a.jsonl", '["some words", "\\ud800"]\n', {}, "line 1: its label is"),
        ("a.jsonl", '["some words"]\n', {}, "line 1: it is a list of 1: text = 0 and target = 1"),
        ("a.jsonl", "[7, 1]\n", {}, "line 1: its text is '7'"),
        ("a.jsonl", "[7, 1]\n", {"header": True}, "JSON has no header"),
        ("a.json", '["a b", "c d"]', {}, "item 0, from 0: it is 'a b': an object with text and label"),
        ("a.json", '[["a b", 1], {"text": "a"}]', {}, "item 1, from 0: it has no field 'label'"),
        ("a.json", '{"train": 5}', {"parts_in_file": ["train"]}, "train is no list"),
        (
            "a.json",
            '{"train": [["a", null]]}',
            {"parts_in_file": ["train"]},
            "train item 0, from 0: its label is 'None'",
        ),
        ("a.json", '{"train": []}', {"parts_in_file": ["test"]}, "it has no part 'test', it holds train"),
        ("a.json", "[]", {"parts_in_file": ["test"]}, "it is no object: leave parts_in_file out"),
        ("a.json", "[" * 200_000, {}, "it is nested too deep"),
        ("a.json", '{"a":' * 200_000, {}, "it is nested too deep"),
        ("a.json", "[" + "9" * 10_000 + "]", {}, "it is not JSON .*limit"),
        ("a.json", "", {}, "it is not JSON"),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value)[:40],
)
def test_what_cannot_be_used_is_one_line_with_the_remedy(
    tmp_path: Path, name: str, text: str | bytes, options: dict[str, Any], message: str
) -> None:
    refused(tmp_path, f"^{name}: .*" + message, text, name=name, **options)


def test_what_is_wrong_with_a_second_file_is_said_of_it(tmp_path: Path) -> None:
    refused(tmp_path, r"1a\.tsv: line 1: it begins", tsv(TRAIN), "word\n", name="a.tsv")
    refused(tmp_path, r"1a\.tsv: it has no document", tsv(TRAIN), "", name="a.tsv")
    refused(tmp_path, "give one file", "[]", "[]", name="a.json", parts_in_file=["a"])


def test_the_shared_texts_have_the_sizes_that_are_known(shared_data: Path) -> None:
    clinc = reading.read(
        shared_data / "clinc150/data_full.json.gz", cache=False, parts_in_file=["train", "val", "test"]
    )
    assert (clinc.parts, clinc.d, clinc.m) == ((("train", 15000), ("val", 3000), ("test", 4500)), 5026, 150)
    files = [shared_data / "banking77" / f"{part}.csv.gz" for part in ("train", "test")]
    banking = reading.read(files, cache=False, form="texts")
    assert (banking.parts, banking.d, banking.m) == ((("train", 10003), ("test", 3080)), 2320, 77)
    files = [shared_data / "reuters_r8" / f"{part}.txt.gz" for part in ("train", "test")]
    reuters = reading.read(files, cache=False, form="texts")
    assert (reuters.parts, reuters.d, reuters.m) == ((("train", 5485), ("test", 2189)), 19956, 8)
