"""`pianobench stream` on clicks: files and generators, features of the first batch, broken lines, bounded memory."""

import gzip

import numpy as np
from streamed_logs import clicks, kept, put, same, stream

from pianobench.datasets.kdd12.clicks import Clicks
from pianobench.datasets.kdd12.features import Features, recipe
from pianobench.datasets.kdd12.layout import Some, joined
from pianobench.datasets.streamed.clicks import ClickSource


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


def test_the_first_batch_is_encoded_out_of_fold_and_later_ones_by_it():
    made = Clicks(rows=900, test=0.0, rate=0.3)
    features, log = Features(Some(made, 0, 300), recipe(1)), joined(made.blocks())
    batches = list(ClickSource(made, 900).batches(300))
    assert [one.rows for one in batches] == [300, 300, 300]
    for number, one in enumerate(batches):
        rows = log.rows(slice(300 * number, 300 * number + 300))
        columns = features.columns(rows, first=None if number else 0)
        there = np.stack([rows.views > rows.clicks, rows.clicks > 0], axis=1)
        np.testing.assert_array_equal(one.X.indices.reshape(-1, 17), columns[np.nonzero(there)[0]])
        np.testing.assert_array_equal(one.y, np.nonzero(there)[1])
        assert one.weight.sum() == rows.views.sum()
        assert one.weight[one.y == 1].sum() == rows.clicks.sum()


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
