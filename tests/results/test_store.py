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
    return {"key": "k", "status": "converged", "steps": 3, "gap": 1e-7, "schema": SCHEMA_VERSION, **changes}


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


def test_run_name_is_fit_for_a_folder() -> None:
    assert run_name("smoke", "2026-01-02T03:04:05Z") == "smoke-20260102T030405Z"
