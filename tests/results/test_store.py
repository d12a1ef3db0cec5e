"""The store: nothing is overwritten, nothing is half written, and what was finished is found again."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pianobench.results import Store, StoreError, load
from pianobench.results.schema import CURVES, FAILED, FINISHED, ROWS, SCHEMA_VERSION, STATUSES, frame
from pianobench.results.store import run_name, write_atomically

MANIFEST: dict[str, Any] = {"experiment": "test", "title": "Test"}


def row(**changes: Any) -> dict[str, Any]:
    return {
        "key": "k",
        "status": "converged",
        "steps": 3,
        "gap": 1e-7,
        "schema": SCHEMA_VERSION,
        "checkpoints": 0,
        **changes,
    }


def test_every_status_is_finished_or_failed() -> None:
    assert set(STATUSES) == FINISHED | FAILED
    assert not FINISHED & FAILED


@pytest.mark.parametrize("columns", [ROWS, CURVES])
def test_columns_are_named_once_and_explained(columns: Any) -> None:
    names = [column.name for column in columns]
    assert len(set(names)) == len(names)
    assert all(column.meaning for column in columns)


def test_frame_has_all_columns_with_their_types() -> None:
    table = frame([row(), {"key": "other"}], ROWS)
    assert {c.name: c.dtype for c in ROWS} == {name: str(kind) for name, kind in table.dtypes.items()}
    assert table["steps"].isna().tolist() == [False, True]
    assert frame([], CURVES).empty


def test_frame_drops_nothing_in_silence() -> None:
    with pytest.raises(ValueError, match="not in the schema: gapp"):
        frame([row(gapp=1.0)], ROWS)


def test_tables_come_back_as_they_went(tmp_path: Path) -> None:
    points = [{"key": "k", "step": i, "gap": 10.0**-i, "nnz": i} for i in range(4)]
    folder = Store(tmp_path).save_run("test-1", [row()], points, MANIFEST, "title = 'Test'\n")
    for tables in (load(folder), load("test-1", tmp_path), load("latest", tmp_path)):
        assert tables.manifest == {"schema": SCHEMA_VERSION, **MANIFEST}
        assert tables.rows.equals(frame([row()], ROWS))
        assert tables.curves.equals(frame(points, CURVES))
    assert (folder / "config.toml").read_text("utf-8") == "title = 'Test'\n"


def test_a_run_never_overwrites_another(tmp_path: Path) -> None:
    store = Store(tmp_path)
    folders = [store.save_run("same", [row(steps=i)], [], MANIFEST, "") for i in range(3)]
    assert [f.name for f in folders] == ["same", "same-2", "same-3"]
    assert [int(load(f).rows["steps"][0]) for f in folders] == [0, 1, 2]


def test_a_missing_run_names_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no run yet"):
        load("latest", tmp_path)
    Store(tmp_path).save_run("smoke-1", [row()], [], MANIFEST, "")
    with pytest.raises(StoreError, match=r"no run 'smok'.*smoke-1"):
        load("smok", tmp_path)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    folder = Store(tmp_path).save_run("old", [row()], [], MANIFEST, "")
    (folder / "manifest.json").write_text(json.dumps({"schema": 0}))
    with pytest.raises(StoreError, match="schema 0"):
        load(folder)


def test_only_a_finished_cell_is_found_and_the_newest_first(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.finished("k") is None
    store.new_attempt("k")  # a killed suite left it without a row
    assert store.finished("k") is None
    store.new_attempt("k").write("row", row(status="crashed"))
    assert store.finished("k") is None
    store.new_attempt("k").write("row", row(steps=1))
    newest = store.new_attempt("k")
    newest.write("row", row(steps=2))
    store.new_attempt("k").write("row", row(status="error"))
    store.new_attempt("k").write("row", row(steps=9, schema=SCHEMA_VERSION - 1))
    assert store.finished("k") == newest
    assert store.history("k") == (
        "001 cut off with its suite, 002 crashed, 003 converged, 004 converged, 005 error, 006 converged"
    )
    assert store.history("another") is None


def test_attempts_are_counted_and_not_sorted_as_words(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for number in (999, 1000):
        (tmp_path / "cells" / "k" / f"{number:03d}").mkdir(parents=True)
    assert store.new_attempt("k").folder.name == "1001"
    assert [attempt.folder.name for attempt in store.attempts("k")] == ["999", "1000", "1001"]


@pytest.mark.parametrize("name", ["rows.parquet", "curves.parquet", "manifest.json"])
def test_a_half_written_table_is_said_to_be_damaged(tmp_path: Path, name: str) -> None:
    folder = Store(tmp_path).save_run("test", [row()], [{"key": "k", "step": 0}], MANIFEST, "")
    (folder / name).write_bytes((folder / name).read_bytes()[:-20])
    with pytest.raises(StoreError, match=f"test/{name} is damaged: .*its cells are kept and will be reused"):
        load(folder)


def test_a_run_without_a_manifest_is_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (store.save_run("cut", [row()], [], MANIFEST, "") / "manifest.json").unlink()
    assert store.runs() == []


def test_a_row_that_fits_no_table_leaves_no_half_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not in the schema"):
        Store(tmp_path / "store").save_run("test", [row(gapp=1.0)], [], MANIFEST, "")
    assert not (tmp_path / "store").exists()


def test_the_last_words_of_a_long_log_are_its_last_line(tmp_path: Path) -> None:
    attempt = Store(tmp_path).new_attempt("k")
    with attempt.open_log() as log:
        assert attempt.last_words() == ""
        log.write(b"x" * 10_000_000 + b"\nthe last \xff words\n\n")
    assert attempt.last_words() == "the last \ufffd words"


def test_two_stores_on_one_folder_get_different_attempts(tmp_path: Path) -> None:
    one, other = Store(tmp_path), Store(tmp_path)
    attempts = [store.new_attempt("k") for store in (one, other, one)]
    assert [a.folder.name for a in attempts] == ["001", "002", "003"]


def test_a_torn_last_line_is_dropped_and_another_torn_line_is_not(tmp_path: Path) -> None:
    attempt = Store(tmp_path).new_attempt("k")
    assert attempt.curve() == []
    with attempt.open_curve() as stream:
        stream.write('{"step": 0}\n{"step": 1}\n{"ste')
    assert attempt.curve() == [{"step": 0}, {"step": 1}]
    with attempt.open_curve() as stream:
        stream.write("\n")
    with pytest.raises(StoreError, match="line 3: not JSON"):
        attempt.curve()


def test_a_checkpoint_is_on_disk_as_soon_as_it_is_written(tmp_path: Path) -> None:
    attempt = Store(tmp_path).new_attempt("k")
    with attempt.open_curve() as stream:
        stream.write('{"step": 0}\n')
        assert attempt.curve() == [{"step": 0}], "a kill would lose it"


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def fail(_descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path], "the part that was written is gone"


def test_run_name_is_fit_for_a_folder() -> None:
    assert run_name("smoke", "2026-01-02T03:04:05Z") == "smoke-20260102T030405Z"
