"""`pianobench stream` on logs that are broken and with states that do not fit: clear words, nothing lost."""

import gzip
import json
import os

import pytest
from streamed_logs import FORM, SIZE, SMALL, kept, put, same, stream, text_of

from pianobench.algorithms.stream import archive
from pianobench.datasets.streamed import lines

# bad logs -------------------------------------------------------------------------------------------------------------


def test_a_broken_row_in_batch_7(tmp_path):
    rows = text_of(9)
    put(tmp_path / "clean.svm", rows)
    stream(tmp_path, "clean.svm", *SMALL)
    put(tmp_path / "a.svm", [*rows[:400], "1 2:oops", *rows[401:]])
    said = stream(tmp_path, "a.svm", *SMALL, code=2)
    assert "batch 7: a.svm: line 401: the value of '2:oops' is not a finite decimal number" in said
    assert "batches 1 to 6 are kept in a.svm.stream: mend the log from batch 7 on" in said
    put(tmp_path / "a.svm", rows)
    assert stream(tmp_path, "a.svm", *SMALL).startswith("batch 7: 420 rows")
    assert same(tmp_path / "a.svm.stream", tmp_path / "clean.svm.stream")


def test_labels(tmp_path):
    rows = text_of(3)
    zeros = [row for row in rows if row.startswith("0")]
    put(tmp_path / "one.svm", zeros[:SIZE] + rows)
    assert "the 60 rows of the first batch all have the label 0" in stream(tmp_path, "one.svm", *SMALL, code=2)
    stream(tmp_path, "one.svm", *SMALL, "--classes", "0,1")
    put(tmp_path / "later.svm", [*rows[:SIZE], *zeros[:SIZE], *rows[SIZE:]])
    *batches, _ = map(json.loads, stream(tmp_path, "later.svm", *SMALL, "--json").splitlines())
    assert [one["auc"] is None for one in batches] == [True, True, False, False]
    put(tmp_path / "strange.svm", [*rows[:70], "# one of another class", "", f"2{rows[70][1:]}", *rows[71:]])
    said = stream(tmp_path, "strange.svm", *SMALL, code=2)
    assert "batch 2: strange.svm: line 73: label 2 is none of the classes 0, 1" in said
    assert "batch 1 is kept" in said


def test_features_never_seen(tmp_path):
    rows = text_of(4)
    rows[SIZE] += " 9:1.5"
    rows[2 * SIZE : 3 * SIZE] = [row.split()[0] + " 30:1" for row in rows[2 * SIZE : 3 * SIZE]]
    put(tmp_path / "a.svm", rows)
    stream(tmp_path, "a.svm", *SMALL, "--method", "subsample-warm")
    W = kept(tmp_path / "a.svm.stream")[1]["state/W"]
    assert W.shape == (32, 2)
    assert W[9].any()
    assert not W[10:30].any()


def test_an_index_beyond_memory(tmp_path):
    rows = text_of(2)
    put(tmp_path / "a.svm", [*rows[:70], "1 2147483646:1", *rows[71:]])
    said = stream(tmp_path, "a.svm", *SMALL, code=2)
    assert "batch 2: 2147483647 columns and 2 classes would take" in said
    assert "batch 1 is kept" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "a.log has no rows yet"),
        (b"\n# nothing\n\n", "a.log has no rows yet"),
        (b"1 1:2", "line 1 has no end yet"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "line 1: "),
        (b"Once upon a time\n", "line 1: 'Once' is not a label"),
        (b"age,job,label\n31,2,0\n", "line 1: "),
        (b"1\n0\n1\n", "no row of the first batch has an entry"),
    ],
)
def test_what_is_no_log(tmp_path, content, said):
    (tmp_path / "a.log").write_bytes(content)
    found = stream(tmp_path, "a.log", code=2)
    assert said in found
    assert not (tmp_path / "a.log.stream").exists()


def test_what_is_not_there(tmp_path):
    (tmp_path / "folder").mkdir()
    assert "there is no file missing.svm" in stream(tmp_path, "missing.svm", code=2)
    assert "it is a folder" in stream(tmp_path, "folder", code=2)
    put(tmp_path / "a.svm", text_of(1))
    assert "there is no folder" in stream(tmp_path, "a.svm", "--state", "nowhere/s", code=2)
    assert "it is a folder; give a file in it" in stream(tmp_path, "a.svm", "--state", "folder", code=2)
    assert "it is the log itself" in stream(tmp_path, "a.svm", "--state", "./a.svm", code=2)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert "it is a pipe or a device" in stream(tmp_path, "pipe", code=2)


def test_a_packed_log_that_is_damaged(tmp_path):
    content = gzip.compress("\n".join(text_of(3)).encode())
    (tmp_path / "a.svm.gz").write_bytes(content[: len(content) // 2])
    assert "its packed bytes are damaged" in stream(tmp_path, "a.svm.gz", *SMALL, code=2)


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    put(tmp_path / "a.svm", text_of(1))
    with monkeypatch.context() as patch:
        patch.setattr("pianobench.experiments.streaming.training.advance", None)  # it is seen before any training
        said = stream(tmp_path, "a.svm", *SMALL, "--state", "s" * 250, code=2)
    assert "(File name too long): give --state FILE in a folder" in said

    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(archive.os, "replace", refuse)
    said = stream(tmp_path, "a.svm", *SMALL, code=2)
    assert "cannot be written to a.svm.stream (Read-only file system): give --state FILE" in said


# wrong states ---------------------------------------------------------------------------------------------------------


def turned(row):
    """The row with the other label."""
    return ("1" if row[0] == "0" else "0") + row[1:]


def test_the_state_of_another_log(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MIB", 4000)
    rows = text_of(4)
    put(tmp_path / "a.svm", rows)
    stream(tmp_path, "a.svm", *SMALL)
    for other, said in [
        ([turned(rows[0]), *rows[1:]], "its beginning differs"),
        ([*rows[:-1], turned(rows[-1])], "what stands before byte"),
        (rows[:200], "has fewer bytes of text than the"),
    ]:
        put(tmp_path / "a.svm", other)
        found = stream(tmp_path, "a.svm", *SMALL, code=2)
        assert "a.svm.stream is the state of another log: a.svm" in found
        assert said in found
        assert "another --state to begin anew" in found


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--lam", "2", "--lam was 1 and is 2 now"),
        ("--method", "keep", "--method was sa-lbfgs-repaired and is keep now"),
        ("--batch-rows", "70", "--batch-rows was 60 and is 70 now"),
        ("--kept", "all", "--kept was 100 and is all now"),
        ("--seed", "5", "--seed was 0 and is 5 now"),
        ("--penalty", "l1", "--penalty was l2 and is l1 now"),
    ],
)
def test_the_state_of_other_options(tmp_path, option, value, said):
    put(tmp_path / "a.svm", text_of(1))
    stream(tmp_path, "a.svm", *SMALL)
    assert said in stream(tmp_path, "a.svm", *SMALL, option, value, code=2)


def test_a_state_that_is_later_damaged_or_none(tmp_path):
    put(tmp_path / "a.svm", text_of(1))
    stream(tmp_path, "a.svm", *SMALL)
    path = tmp_path / "a.svm.stream"
    whole, (facts, arrays) = path.read_bytes(), kept(path)
    archive.write(path, FORM, 2, facts, arrays)
    assert "install a newer one: give another --state, or delete it" in stream(tmp_path, "a.svm", *SMALL, code=2)
    for content in (whole[: len(whole) // 2], b"", b"something else"):
        path.write_bytes(content)
        found = stream(tmp_path, "a.svm", *SMALL, code=2)
        assert "a.svm.stream is no pianobench stream file, or damaged" in found
    for name in ("state/W", "log/codes", "areas"):
        archive.write(path, FORM, 1, facts, {key: values for key, values in arrays.items() if key != name})
        assert "a.svm.stream is damaged" in stream(tmp_path, "a.svm", *SMALL, code=2)
    archive.write(path, FORM, 1, facts, {**arrays, "state/W": arrays["state/W"][1:]})
    assert "a.svm.stream is damaged (W has shape" in stream(tmp_path, "a.svm", *SMALL, code=2)
