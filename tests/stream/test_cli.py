"""`pianobench stream`: what it says and keeps, and how it goes on."""

import gzip
import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from streamed_logs import SIZE, SMALL, kept, put, same, stream, text_of
from typer.main import get_command

from pianobench import StreamingLogisticRegression
from pianobench.algorithms.stream import STREAMS, archive
from pianobench.datasets.readers.svmlight import read
from pianobench.datasets.streamed import lines
from pianobench.experiments.cli.app import app

# what is said ---------------------------------------------------------------------------------------------------------


def test_a_line_a_batch_and_the_totals(tmp_path):
    put(tmp_path / "a.svm", text_of(6))
    said = stream(tmp_path, "a.svm", *SMALL).splitlines()
    assert [line.partition(":")[0] for line in said[:6]] == [f"batch {number}" for number in range(1, 7)]
    assert "60 rows, the first model: " in said[0]
    assert all(
        word in said[4] for word in ("300 rows", "error 0.", "log loss", "AUC 0.", "rise", "trained on 57 new + ")
    )
    assert said[2].endswith("  kept")
    assert said[6] == "6 batches, 360 rows."
    assert ", 5) and kept" in said[7]  # the batch whose law has turned
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


def test_an_interrupt_keeps_what_is_done(tmp_path, monkeypatch):
    put(tmp_path / "a.svm", text_of(4))
    stream(tmp_path, "a.svm", *SMALL, "--state", "whole")
    real, calls = archive.write, []

    def interrupted(*words):
        calls.append(words)
        if len(calls) == 3:
            raise KeyboardInterrupt
        real(*words)

    with monkeypatch.context() as patch:
        patch.setattr(archive, "write", interrupted)
        said = stream(tmp_path, "a.svm", *SMALL, code=130)
    assert "stopped after batch 2; the same command goes on from there" in said
    stream(tmp_path, "a.svm", *SMALL)
    assert same(tmp_path / "a.svm.stream", tmp_path / "whole")


# options --------------------------------------------------------------------------------------------------------------


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
