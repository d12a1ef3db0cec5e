"""`clean`: says, asks, deletes what the store and the cache have made, and nothing else."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import Done, here, process

from pianobench.datasets.fetching import lock
from pianobench.experiments.cli import clean

OLD = time.time() - 10 * clean.DAY
RUN, CELL, ARRAYS, STATE = "smoke-20260101T000000Z", "ab" * 16, "cd" * 8, "ef" * 8


def write(path: Path, size: int = 100) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store and a cache as runs leave them, with things of others beside, all ten days old."""
    store = tmp_path / "results" / "runs"
    for name in (
        f"{RUN}/manifest.json",
        f"{RUN}/rows.parquet",
        f"{RUN}-2/manifest.json",
        f"cells/{CELL}/001/row.json",
        f"data/{ARRAYS}/X.npy",
        "thesis/chapter.tex",
        "notes-20260101T000000Z/notes.txt",
        "cells/README",
        "data/mine/X.npy",
        "../reference/smoke-20260101T000000Z/manifest.json",
        "../../mine.npz",
        "../../cache/other/file",
        "../../cache/numba/mine/file",
        f"../../cache/numba/{STATE}/kernel.nbc",
        f"../../cache/parsed/{CELL}.json",
        f"../../cache/parsed/{ARRAYS}/X.npy",
        "../../cache/parsed/mine/X.npy",
        "../../cache/parsed/mine.json",
        "../../cache/fetched/libsvm/letter/receipt.json",
        "../../cache/fetched/libsvm/letter/letter.scale",
        "../../cache/fetched/libsvm/usps/incoming/usps.bz2.part",
        "../../cache/fetched/libsvm/usps/usps.t.bz2",
        "../../cache/fetched/mine/letter/receipt.json",
    ):
        write(store / name)
    for path in tmp_path.rglob("*"):
        os.utime(path, (OLD, OLD))
    monkeypatch.setenv("PIANOBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path


def files(place: Path) -> set[str]:
    return {str(p.relative_to(place)) for p in place.rglob("*") if not p.is_dir()}


def gone(place: Path, before: set[str]) -> set[str]:
    return {re.sub(r"^results/runs/", "", name) for name in before - files(place)}


def run(place: Path, *words: str) -> Done:
    return here("clean", *words, cwd=place)


def test_without_options_it_says_what_each_would_free_and_deletes_nothing(place: Path) -> None:
    before = files(place)
    done = run(place)
    assert done.returncode == 0
    assert [line.split()[:4] for line in done.stdout.splitlines()[:5]] == [
        ["runs", "2", "300", "bytes"],
        ["cells", "1", "100", "bytes"],
        ["arrays", "1", "100", "bytes"],
        ["cache", "3", "300", "bytes"],
        ["fetched", "2", "300", "bytes"],
    ]
    assert "Nothing is deleted" in done.stdout
    assert files(place) == before


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (
            "--runs",
            {f"{RUN}/manifest.json", f"{RUN}/rows.parquet", f"{RUN}-2/manifest.json", f"cells/{CELL}/001/row.json"},
        ),
        ("--data", {f"data/{ARRAYS}/X.npy"}),
        (
            "--cache",
            {
                f"cache/numba/{STATE}/kernel.nbc",
                f"cache/parsed/{CELL}.json",
                f"cache/parsed/{ARRAYS}/X.npy",
            },
        ),
        (
            "--fetched",
            {
                "cache/fetched/libsvm/letter/receipt.json",
                "cache/fetched/libsvm/letter/letter.scale",
                "cache/fetched/libsvm/usps/incoming/usps.bz2.part",
            },
        ),
    ],
)
def test_each_option_deletes_its_own_and_nothing_of_others(place: Path, option: str, expected: set[str]) -> None:
    before = files(place)
    done = run(place, option, "--yes")
    assert done.returncode == 0, done.stderr
    assert gone(place, before) == expected
    assert "deleted." in done.stdout
    assert run(place, option, "--yes").stdout.endswith("There is nothing to delete.\n")


def test_dry_run_names_each_and_deletes_nothing(place: Path) -> None:
    before = files(place)
    done = run(place, "--runs", "--cache", "--data", "--dry-run", "--yes")
    named = re.findall(r"^would delete (\S+)", done.stdout, re.M)
    assert {Path(name).name for name in named} == {RUN, f"{RUN}-2", CELL, ARRAYS, STATE, f"{CELL}.json"}
    assert "800 bytes would be" in done.stdout
    assert files(place) == before


def test_where_nobody_can_be_asked_it_refuses_without_yes(place: Path) -> None:
    before = files(place)
    done = process("clean", "--runs", cwd=place)
    assert done.returncode == 2
    assert done.stderr == "pianobench: nobody can be asked here: say --yes to delete these, or --dry-run to see each\n"
    assert files(place) == before


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_on_a_terminal_it_asks(place: Path, answer: str, code: int) -> None:
    before = files(place)
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pianobench", "clean", "--data"],
        cwd=place,
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=60,
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == code, done.stderr
    assert "Delete these, 100 bytes?" in done.stdout
    assert gone(place, before) == ({f"data/{ARRAYS}/X.npy"} if answer == "y" else set())


def test_older_than_leaves_what_was_written_to_since(place: Path) -> None:
    before = files(place)
    (place / "results" / "runs" / RUN / "rows.parquet").write_bytes(b"new")
    assert run(place, "--runs", "--older-than", "11", "--yes").stdout == "There is nothing to delete.\n"
    run(place, "--runs", "--older-than", "9", "--yes")
    assert gone(place, before) == {f"{RUN}-2/manifest.json", f"cells/{CELL}/001/row.json"}


def test_a_cell_that_may_be_at_work_stays_and_its_arrays_with_it(place: Path) -> None:
    before = files(place)
    write(place / "results" / "runs" / "cells" / CELL / "002" / "curve.jsonl")
    done = run(place, "--runs", "--data", "--yes")
    assert "may be at work, since they have no row yet: 1." in done.stdout
    assert gone(place, before) == {f"{RUN}/manifest.json", f"{RUN}/rows.parquet", f"{RUN}-2/manifest.json"}
    for path in (place / "results" / "runs" / "cells").rglob("*"):
        os.utime(path, (OLD, OLD))
    run(place, "--runs", "--data", "--yes")
    assert not (place / "results" / "runs" / "cells" / CELL).exists()


def test_what_is_being_fetched_stays(place: Path) -> None:
    before = files(place)
    with lock.alone(place / "cache" / "fetched" / "libsvm" / "letter"):
        run(place, "--fetched", "--yes")
    assert gone(place, before) == {"cache/fetched/libsvm/usps/incoming/usps.bz2.part"}


def test_links_are_not_followed(place: Path) -> None:
    store = place / "results" / "runs"
    write(place / "elsewhere" / "manifest.json")
    write(store / RUN / "inside.txt")
    (store / "linked-20260101T000000Z").symlink_to(place / "elsewhere", target_is_directory=True)
    (store / RUN / "link").symlink_to(place / "elsewhere", target_is_directory=True)
    (place / "cache" / "parsed" / f"{STATE}.json").symlink_to(place / "elsewhere" / "manifest.json")
    (place / "cache" / "fetched" / "libsvm" / "linked").symlink_to(place / "elsewhere", target_is_directory=True)
    write(place / "elsewhere" / "receipt.json")
    run(place, "--runs", "--cache", "--fetched", "--yes")
    assert (place / "elsewhere" / "receipt.json").is_file()
    assert (place / "cache" / "parsed" / f"{STATE}.json").is_symlink()
    assert (place / "elsewhere" / "manifest.json").is_file()
    assert (store / "linked-20260101T000000Z").is_symlink()
    assert not (store / RUN).exists()


@pytest.mark.parametrize("out", ["results/reference", "results/reference/smoke-20260101T000000Z", "results"])
def test_reference_results_are_never_deleted(place: Path, out: str) -> None:
    before = files(place)
    done = run(place, "--out", out, "--runs", "--data", "--yes")
    assert gone(place, before) == set()
    if out != "results":  # whose runs are a level below
        assert done.returncode == 2
        assert "the reference results are never deleted" in done.stderr


def test_sizes_are_for_people() -> None:
    assert [clean.readable(n) for n in (0, 999, 1000, 12_345_678, 5 * 10**12)] == [
        "0 bytes",
        "999 bytes",
        "1 kB",
        "12.3 MB",
        "5000 GB",
    ]
