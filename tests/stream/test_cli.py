"""`pianobench stream`: what it says and keeps, how it goes on, and what it does with bad logs and wrong states."""

import gzip
import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from commands import here
from typer.main import get_command

from pianobench import StreamingLogisticRegression
from pianobench.algorithms.stream import STREAMS, archive
from pianobench.datasets.kdd12.clicks import Clicks
from pianobench.datasets.kdd12.writing import write
from pianobench.datasets.readers.svmlight import read
from pianobench.datasets.streamed import lines
from pianobench.experiments.cli.app import app

FORM, SIZE = "pianobench stream", 60
SMALL = ("--batch-rows", str(SIZE), "--rows", "150", "--kept", "100")


def text_of(batches, seed=0, d=4, turned=4):
    """Lines of an svmlight log whose law turns after so many batches."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(batches):
        X = rng.normal(size=(SIZE, d)).round(3)
        sign = 3 if number < turned else -3
        for x, y in zip(X, sign * X[:, 0] + rng.logistic(size=SIZE) > 0, strict=True):
            found.append(f"{int(y)} " + " ".join(f"{i}:{v}" for i, v in enumerate(x, 1)))
    return found


def put(path, rows, end="\n"):
    path.write_text("\n".join(rows) + end, "utf-8")
    return path


def stream(folder, *words, code=0):
    done = here("stream", *map(str, words), cwd=folder)
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def kept(path):
    return archive.read(path, FORM, 1)


def same(first, second):
    """Whether two states have the same arrays, to the bit."""
    (_, a), (_, b) = kept(first), kept(second)
    return a.keys() == b.keys() and all(a[name].tobytes() == b[name].tobytes() for name in a)


def clicks(folder, rows=1200, **more):
    return write(Clicks(rows=rows, test=0.0, rate=0.3, **more), folder, tables=False)[0]


# what is said ---------------------------------------------------------------------------------------------------------


def test_a_line_a_batch_and_the_totals(tmp_path):
    put(tmp_path / "a.svm", text_of(6))
    said = stream(tmp_path, "a.svm", *SMALL).splitlines()
    assert [line.partition(":")[0] for line in said[:6]] == [f"batch {number}" for number in range(1, 7)]
    assert "60 rows, the first model: " in said[0]
    assert all(
        word in said[4] for word in ("300 rows", "error 0.", "log loss", "AUC 0.", "rise", "trained on 60 new + ")
    )
    assert "kept" in said[1]
    assert said[6] == "6 batches, 360 rows."
    assert "batch 5" in said[7]
    assert "the same command goes on" in said[-1]


def test_json_has_a_line_a_batch_and_the_totals(tmp_path):
    put(tmp_path / "a.svm", text_of(6))
    *batches, last = map(json.loads, stream(tmp_path, "a.svm", *SMALL, "--json").splitlines())
    totals = last["totals"]
    assert [one["rows_so_far"] for one in batches] == [60, 120, 180, 240, 300, 360]
    assert batches[0]["error"] is None
    assert batches[4]["error"] > 0.5 > batches[3]["error"]
    assert batches[4]["auc"] < 0.5 < batches[3]["auc"]
    assert totals["error"] == pytest.approx(np.mean([one["error"] for one in batches[1:]]))
    assert totals["log_loss"] == pytest.approx(np.mean([one["log_loss"] for one in batches[1:]]))
    assert totals["mean_auc"] == pytest.approx(np.mean([one["auc"] for one in batches[1:]]))
    assert totals["trained_again"] == [one["batch"] for one in batches[1:] if one["updated"]]
    assert 5 in totals["trained_again"]
    assert stream(tmp_path, "a.svm", *SMALL, "--quiet").count("\n") == 1


def test_the_class_does_the_same(tmp_path):
    path = put(tmp_path / "a.svm", text_of(6))
    stream(tmp_path, "a.svm", *SMALL, "--lam", "0.5", "--seed", "3", "--threads", "1")
    _, arrays = kept(tmp_path / "a.svm.stream")
    data = read([path])
    X = sp.csr_array(sp.hstack([sp.csr_array((len(data.y), 1)), data.X]))  # the column of index 0
    model = StreamingLogisticRegression(rows=150, kept=100, lam=0.5, random_state=3)
    for start in range(0, len(data.y), SIZE):
        model.partial_fit(X[start : start + SIZE], data.y[start : start + SIZE], classes=[0, 1])
    np.testing.assert_array_equal(arrays["state/W"], np.vstack([model.coef_.T, model.intercept_]))
    np.testing.assert_array_equal(arrays["state/past"], np.stack(list(model.records_.values()), axis=1))


@pytest.mark.parametrize("method", ["sa-lbfgs", "online", "subsample-warm", "keep", "full-warm"])
def test_every_kind_of_method(tmp_path, method):
    put(tmp_path / "a.svm", text_of(3))
    size = () if method == "full-warm" else ("--kept", "100")
    found = json.loads(stream(tmp_path, "a.svm", "--method", method, "--batch-rows", SIZE, *size, "--json", "-q"))
    assert found["totals"]["error"] < 0.4


def test_l1_leaves_weights_out(tmp_path):
    put(tmp_path / "a.svm", text_of(2))
    stream(tmp_path, "a.svm", *SMALL, "--penalty", "l1", "--lam", "5")
    W = kept(tmp_path / "a.svm.stream")[1]["state/W"]
    assert W[1].any()
    assert not W[2:-1].any()


# going on -------------------------------------------------------------------------------------------------------------


def test_a_log_that_grows(tmp_path):
    rows = text_of(7)
    put(tmp_path / "all.svm", rows)
    stream(tmp_path, "all.svm", *SMALL)
    put(tmp_path / "a.svm", rows[: 4 * SIZE])
    stream(tmp_path, "a.svm", *SMALL)
    before = (tmp_path / "a.svm.stream").read_bytes()
    assert "nothing new: all of a.svm was read before, 240 rows in 4 batches" in stream(tmp_path, "a.svm", *SMALL)
    assert (tmp_path / "a.svm.stream").read_bytes() == before
    put(tmp_path / "a.svm", rows)
    said = stream(tmp_path, "a.svm", *SMALL)
    assert said.startswith("batch 5: 300 rows")
    assert "7 batches, 3 of them new, 420 rows" in said
    assert same(tmp_path / "a.svm.stream", tmp_path / "all.svm.stream")


def test_places_far_into_a_log(tmp_path, monkeypatch):
    """Prints of 64 bytes in place of a MiB: the place is then beyond both of them, as it is in large logs."""
    monkeypatch.setattr(lines, "MIB", 64)
    rows = text_of(4)
    put(tmp_path / "all.svm", rows)
    stream(tmp_path, "all.svm", *SMALL)
    for name in ("a.svm", "a.svm.gz"):
        for end in (2, 4):
            content = "\n".join(rows[: end * SIZE]) + "\n"
            (tmp_path / name).write_bytes(gzip.compress(content.encode()) if name.endswith("gz") else content.encode())
            stream(tmp_path, name, *SMALL)
        assert same(tmp_path / f"{name}.stream", tmp_path / "all.svm.stream")


def test_a_last_line_without_an_end_waits(tmp_path):
    rows = text_of(2)
    put(tmp_path / "all.svm", rows)
    stream(tmp_path, "all.svm", *SMALL)
    put(tmp_path / "a.svm", [*rows[:SIZE], rows[SIZE][:-2]], end="")
    said = stream(tmp_path, "a.svm", *SMALL)
    assert "1 batch, 60 rows." in said
    assert f"line 61 has no end yet ({len(rows[SIZE]) - 2} bytes) and is left for the next run" in said
    put(tmp_path / "a.svm", rows)
    stream(tmp_path, "a.svm", *SMALL)
    assert same(tmp_path / "a.svm.stream", tmp_path / "all.svm.stream")
    with gzip.open(tmp_path / "b.svm.gz", "wt") as file:
        file.write("\n".join(rows))
    assert "no end" not in stream(tmp_path, "b.svm.gz", *SMALL)
    assert same(tmp_path / "b.svm.gz.stream", tmp_path / "all.svm.stream")
    assert "nothing new" in stream(tmp_path, "b.svm.gz", *SMALL)


def test_the_last_batch_is_what_is_left(tmp_path):
    put(tmp_path / "a.svm", text_of(2)[:-13])
    assert "batch 2: 107 rows" in stream(tmp_path, "a.svm", *SMALL)


def test_comments_and_windows_line_ends(tmp_path):
    rows = text_of(2)
    put(tmp_path / "a.svm", rows)
    (tmp_path / "b.svm").write_bytes(b"\xef\xbb\xbf# a log\r\n\r\n" + "\r\n".join(rows).encode() + b"\r\n")
    for name in ("a.svm", "b.svm"):
        stream(tmp_path, name, *SMALL)
    assert same(tmp_path / "a.svm.stream", tmp_path / "b.svm.stream")


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


def test_a_packed_log_that_is_damaged(tmp_path):
    content = gzip.compress("\n".join(text_of(3)).encode())
    (tmp_path / "a.svm.gz").write_bytes(content[: len(content) // 2])
    assert "its packed bytes are damaged" in stream(tmp_path, "a.svm.gz", *SMALL, code=2)


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    put(tmp_path / "a.svm", text_of(1))

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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--method", "sa-lbfg"), "did you mean 'sa-lbfgs'"),
        (("--method", "online", "--penalty", "l1"), "online takes 'l2'"),
        (("--method", "full-warm", "--kept", "5"), "full-warm trains on all rows; give --kept all"),
        (("--batch-rows", "0"), "--batch-rows 0: a whole number of rows"),
        (("--rows", "-1"), "--rows -1: a whole number of rows"),
        (("--kept", "some"), "--kept some: a whole number of rows, or all"),
        (("--lam", "0"), "--lam 0: a finite number above 0"),
        (("--penalty", "l0"), "--penalty l0: l2 or l1"),
        (("--tol", "1"), "--tol 1: a relative gap"),
        (("--model", "3"), "--model 3: 1 or 2"),
        (("--format", "csv"), "there is no form 'csv' of logs"),
        (("--classes", "a,b"), "--classes a,b: whole numbers"),
        (("--classes", "1"), "--classes 1: two at least"),
        (("--tolerated", "2"), "--tolerated 2: a share"),
        (("--seed", "-1"), "--seed -1: a whole number"),
    ],
)
def test_mistakes_in_options(tmp_path, words, said):
    put(tmp_path / "a.svm", text_of(1))
    assert said in stream(tmp_path, "a.svm", *words, code=2)


# clicks ---------------------------------------------------------------------------------------------------------------


def test_clicks_of_a_file_packed_and_generated(tmp_path):
    path = clicks(tmp_path)
    words = ("--batch-rows", 300, "--kept", 200, "--rows", 400, "--model", 2)
    said = stream(tmp_path, path.name, *words)
    assert "batch 4: 1,200 rows" in said
    assert "AUC 0." in said
    (tmp_path / "b.gz").write_bytes(gzip.compress(path.read_bytes()))
    stream(tmp_path, "b.gz", *words)
    stream(tmp_path, "kdd12:rows=1200,test=0,rate=0.3", *words)
    own = tmp_path / "training.txt.stream"
    assert same(own, tmp_path / "b.gz.stream")
    assert same(own, tmp_path / "kdd12-rows=1200,test=0,rate=0.3.stream")
    assert "nothing new" in stream(tmp_path, "kdd12:rows=1200,test=0,rate=0.3", *words)
    other = "kdd12:rows=1300,test=0,rate=0.3"
    found = stream(tmp_path, other, *words, "--state", "kdd12-rows=1200,test=0,rate=0.3.stream", code=2)
    assert "is the state of another log" in found


def test_old_rows_are_bounded(tmp_path):
    path = clicks(tmp_path)
    stream(tmp_path, path.name, "--batch-rows", 200, "--kept", 150, "--rows", 100)
    arrays = kept(tmp_path / "training.txt.stream")[1]
    assert arrays["log/sizes"].sum() == 150
    assert arrays["log/keys"].size == 150
    assert arrays["log/facts"][1] > 1200  # rows of clicks and of views without one, all counted
    assert len(arrays["log/codes"]) <= 150 + 2 * 200


def test_features_are_learned_on_the_first_batch_alone_and_stay(tmp_path):
    rows = clicks(tmp_path).read_text().splitlines()
    states = []
    for later in (rows[300:900], rows[600:1200]):
        put(tmp_path / "a.txt", rows[:300])
        stream(tmp_path, "a.txt", "--batch-rows", 300, "--state", "s")
        states.append((tmp_path / "s.tables").read_bytes())
        put(tmp_path / "a.txt", rows[:300] + later)
        stream(tmp_path, "a.txt", "--batch-rows", 300, "--state", "s")
        states.append((tmp_path / "s.tables").read_bytes())
        (tmp_path / "s").unlink()
    assert len(set(states)) == 1


def test_broken_lines_of_clicks(tmp_path):
    rows = clicks(tmp_path).read_text().splitlines()
    words = ("--batch-rows", 300, "--tolerated", "0.01")
    broken = [*rows[:100], "1\t2\tthree", *rows[100:700], "5\t1" + rows[700][3:], *rows[700:]]
    put(tmp_path / "a.txt", rows)
    stream(tmp_path, "a.txt", *words)
    put(tmp_path / "b.txt", broken)
    said = stream(tmp_path, "b.txt", *words)
    assert "b.txt: 1200 rows read, 2 lines left out: 1 x 3 columns where 12 are expected (first: line 101)" in said
    assert "1 x more clicks than impressions (first: line 702)" in said
    assert same(tmp_path / "a.txt.stream", tmp_path / "b.txt.stream")
    assert "2 lines left out" in stream(tmp_path, "b.txt", *words)
    put(tmp_path / "c.txt", [*rows[:700], *["nothing"] * 20, *rows[700:]])
    said = stream(tmp_path, "c.txt", *words, code=2)
    assert "batch 3: c.txt: 900 rows read, 20 lines left out" in said
    assert "batches 1 to 2 are kept in c.txt.stream" in said
    put(tmp_path / "c.txt", rows)
    stream(tmp_path, "c.txt", *words)
    assert same(tmp_path / "a.txt.stream", tmp_path / "c.txt.stream")


def test_a_first_batch_that_nothing_can_be_learned_on(tmp_path):
    rows = ["0\t" + row.partition("\t")[2] for row in clicks(tmp_path).read_text().splitlines()]
    put(tmp_path / "a.txt", rows)
    said = stream(tmp_path, "a.txt", code=2)
    assert "batch 1: a.txt: the 1200 training rows have" in said
    assert "none of them is clicked" in said


def test_tables_that_are_missing_or_others(tmp_path):
    path = clicks(tmp_path)
    stream(tmp_path, path.name, "--batch-rows", 600)
    tables = tmp_path / "training.txt.stream.tables"
    whole = tables.read_bytes()
    tables.write_bytes(whole[:-1])
    assert "is not as it was written: put it back" in stream(tmp_path, path.name, "--batch-rows", 600, code=2)
    tables.unlink()
    assert "is missing: put it back" in stream(tmp_path, path.name, "--batch-rows", 600, code=2)
    tables.write_bytes(whole)
    assert "nothing new" in stream(tmp_path, path.name, "--batch-rows", 600)


def test_classes_are_for_svmlight(tmp_path):
    assert "a log of clicks has its own" in stream(tmp_path, "kdd12:rows=10", "--classes", "0,1", code=2)
    assert "kdd12 has no parameter 'row'" in stream(tmp_path, "kdd12:row=10", code=2)


# docs -----------------------------------------------------------------------------------------------------------------


def test_the_docs_have_the_options_and_the_methods_and_their_example_runs(tmp_path, monkeypatch):
    text = (Path(__file__).resolve().parents[2] / "docs" / "stream.md").read_text("utf-8")
    table = "".join(line for line in text.splitlines() if line.startswith("| `--"))
    declared = {word for parameter in get_command(app).commands["stream"].params for word in parameter.opts}
    assert set(re.findall(r"`(--[a-z-]+)`", table)) == {word for word in declared if word.startswith("--")}
    assert set(re.findall(r"`([a-z0-9-]+)`", "".join(re.findall(r"^\| (`.*?) \|", text, re.M)))) >= set(STREAMS)
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    with redirect_stdout(io.StringIO()) as said:
        exec(example, {})
    assert [line.split()[0] for line in said.getvalue().splitlines()] == ["1.0", "0.0", "1.0", "0.0"]
