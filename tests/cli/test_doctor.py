"""`doctor`: what it looks at is there and true; what is wrong is said in plain words; it never hangs or dies."""

from __future__ import annotations

import copy
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import Done, process

from pianobench.experiments import floor, health
from pianobench.experiments.cli import doctor


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("doctor")
    run = path / "results" / "runs"
    (run / "one").mkdir(parents=True)
    (run / "one" / "manifest.json").write_text("{}")
    (run / "cells" / "ab").mkdir(parents=True)
    return path


@pytest.fixture(scope="module")
def done(place: Path) -> Done:
    return process("doctor", "--json", cwd=place, OMP_NUM_THREADS="2", PIANOBENCH_CACHE=str(place / "cache"))


@pytest.fixture
def facts(done: Done) -> dict[str, Any]:
    return copy.deepcopy(json.loads(done.stdout))


def test_a_sound_machine_is_exit_code_zero(done: Done, facts: dict[str, Any]) -> None:
    assert done.returncode == 0, facts["broken"]
    assert facts["broken"] == []
    assert list(facts) == [
        "software",
        "machine",
        "variables",
        "blas",
        "numba",
        "cache",
        "results",
        "shared_data",
        "libraries",
        "warnings",
        "broken",
    ]


def test_the_facts_are_those_of_this_machine(facts: dict[str, Any], place: Path) -> None:
    import numba

    machine = facts["machine"]
    assert machine["cores_logical"] == os.cpu_count()
    assert 1 <= machine["cores_usable"] <= machine["cores_logical"]
    assert 0 < machine["memory_available_bytes"] < machine["memory_bytes"]
    assert facts["software"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert facts["variables"]["OMP_NUM_THREADS"] == "2"
    assert facts["numba"]["version"] == numba.__version__
    assert facts["numba"]["layer"] in ("omp", "tbb", "workqueue")
    assert (facts["results"]["runs"], facts["results"]["cells"], facts["results"]["bytes"]) == (1, 1, 2)
    assert facts["cache"]["folder"] == str(place / "cache")
    files = [pool["file"] for pool in facts["blas"] if pool["user_api"] == "blas"]
    assert len(files) >= 2, "NumPy and SciPy bring one each"
    assert not any("/" in file for file in files)


def test_required_libraries_and_those_of_each_extra_are_listed(facts: dict[str, Any]) -> None:
    by_extra: dict[str | None, set[str]] = {}
    for one in facts["libraries"]:
        by_extra.setdefault(one["extra"], set()).add(one["name"])
        assert (one["version"] is None) == (one["remedy"] is not None)
    assert by_extra[None] >= {"numpy", "scipy", "numba", "pydantic"}
    assert by_extra["peers"] >= {"cyanure"}
    assert by_extra["bench"] == {"asv"}
    assert "all" not in by_extra


def test_it_writes_nothing(done: Done, place: Path) -> None:
    assert done.returncode == 0
    assert {p.name for p in place.rglob("*")} == {"results", "runs", "one", "manifest.json", "cells", "ab"}


def test_text_fits_a_hundred_columns_and_says_all(place: Path) -> None:
    done = process("doctor", cwd=place, OPENBLAS_CORETYPE="Haswell", PIANOBENCH_CACHE=str(place / "cache"))
    assert done.returncode == 0
    assert max(len(line.rstrip()) for line in done.stdout.splitlines()) <= 100
    for name in ("pianobench", "python", "cores", "memory", "BLAS", "numba", "cache", "results", "disk", "required"):
        assert f"\n{name} " in f"\n{done.stdout}"
    assert "warning" in done.stdout
    assert "OPENBLAS_CORETYPE is Haswell" in done.stdout
    assert done.stdout.rstrip().endswith("Nothing is broken.")


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        ({"variables": {"OPENBLAS_CORETYPE": "Zen"}}, "OPENBLAS_CORETYPE is Zen"),
        ({"variables": {"NUMBA_NUM_THREADS": "9"}}, "NUMBA_NUM_THREADS is 9 and 4 cores may be used"),
        ({"variables": {"NUMBA_DISABLE_JIT": "1"}}, "NUMBA_DISABLE_JIT is set"),
        ({"machine": {"cores_quota": 1.5}}, "4 cores are seen and time for 1.5 is allowed: use --threads 1"),
        ({"machine": {"load": 7.5}}, "the machine is noisy: 7.5 processes want to run on 4 cores"),
        ({"results": {"free_bytes": 1_900_000_000}}, "only 1.9 GB of disk are free"),
        ({"shared_data": {"folder": "nowhere", "exists": False}}, "PIANOBENCH_SHARED_DATA names nowhere"),
    ],
)
def test_what_can_spoil_a_measurement_is_a_warning(
    facts: dict[str, Any], change: dict[str, dict[str, Any]], warning: str
) -> None:
    quiet = {"cores_usable": 4, "cores_quota": None, "load": 0.5}
    facts = {**facts, "machine": {**facts["machine"], **quiet}, "variables": {"OMP_NUM_THREADS": "4"}}
    facts["results"]["free_bytes"] = 10**11
    facts["shared_data"] = {"folder": None, "exists": False, "sets": 0}
    assert health.warnings(facts) == []
    for section, values in change.items():
        facts[section] = {**facts[section], **values}
    (said,) = health.warnings(facts)
    assert said.startswith(warning)


def test_what_makes_runs_fail_is_broken(facts: dict[str, Any]) -> None:
    facts["libraries"][0] = {"name": "numpy", "extra": None, "version": None, "remedy": "pip install 'numpy>=2.2'"}
    facts["blas"] = []
    facts["results"]["error"] = "cannot be written to"
    said = health.broken(facts)
    assert len(said) == 3
    assert "numpy is missing and required: pip install 'numpy>=2.2'" in said


def test_something_broken_is_exit_code_one(place: Path) -> None:
    (place / "file").write_text("")
    done = process("doctor", "--out", "file/runs", cwd=place, PIANOBENCH_CACHE=str(place / "cache"))
    (place / "file").unlink()
    assert done.returncode == 1
    assert "broken" in done.stdout
    assert "cannot be written to" in done.stdout


@pytest.mark.parametrize(
    ("probe", "error"),
    [
        ("import time; time.sleep(60)", "a trivial parallel loop has not ended within 0.5 s"),
        ("import os; os.abort()", "a trivial parallel loop fails: exit code -6"),
        ("raise ImportError('no layer')", "a trivial parallel loop fails: ImportError: no layer"),
        ("print('{\"right\": false}')", "a trivial parallel loop gives a wrong sum"),
    ],
)
def test_a_numba_that_hangs_or_dies_does_not_take_the_doctor_along(probe: str, error: str) -> None:
    seconds = 0.5 if "sleep" in probe else 30
    assert health._numba(probe, seconds)["error"] == error


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu.max": "garbage"}, None),
        ({}, None),
    ],
)
def test_the_quota_of_a_control_group(tmp_path: Path, files: dict[str, str], quota: float | None) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert health.cgroup_quota(tmp_path) == quota


def test_missing_optional_libraries_come_with_what_installs_them(facts: dict[str, Any]) -> None:
    facts["libraries"] = [
        {"name": "numpy", "extra": None, "version": "2.4", "remedy": None},
        {"name": "asv", "extra": "bench", "version": None, "remedy": "pip install 'pianobench[bench]'"},
    ]
    text = dict(doctor.lines(facts))
    assert text["required"] == "numpy 2.4"
    assert text["extra bench"] == "missing: asv (pip install 'pianobench[bench]')"


def test_kernels_against_what_the_machine_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "DENSE": ((300, 5, 3),), "SPARSE": (300, 40, 3, 0.05), "SECONDS": 0.0, "QUIET": 0.0, "SIDE": 64,
        "STREAM": 1 << 16,
    }.items():  # fmt: skip
        monkeypatch.setattr(floor, name, value)
    first = {"first": 2.0, "warm": 0.5}
    monkeypatch.setattr(floor, "first_calls", lambda _folder: first)
    found = json.loads(json.dumps(floor.examine()))
    counts = sorted({1, health.environment.available_cores()})
    assert [rate["threads"] for rate in found["rates"]] == counts
    assert all(rate[name] > 1e6 for rate in found["rates"] for name in ("bytes", "float64", "float32"))
    assert len(found["kernels"]) == 2 * 3 * len(counts)
    assert {row["layout"] for row in found["kernels"]} == {"dense", "csr"}
    for row in found["kernels"]:
        assert min(row["milliseconds"], row["times_floor"], row["times_numpy"], row["declared_gigaflops"]) > 0
    assert found["first_calls"] == {"compiled": 2.0, "from_cache": 2.0, "warm": 0.5}
    text = doctor.floor_lines(found)
    assert max(map(len, text)) <= 112
    assert sum(line.endswith(" sparse") for line in text) == 3 * len(counts)


def test_a_floor_is_the_larger_of_two_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floor, "seconds", lambda _call: 1.0)
    monkeypatch.setattr(floor, "QUIET", 0.0)
    problem = floor.dense(100, 5, 3)
    for rate, least in (({"float64": 1e3, "bytes": 1e9}, 6.0), ({"float64": 1e9, "bytes": 8e2}, 5.0)):
        smooth, moments, _ = floor.of_problem(problem, {1: rate})
        assert smooth["times_floor"] == pytest.approx(1 / least)
        assert moments["times_floor"] == pytest.approx(1 / (9.0 if least == 6.0 else 5.0))
        assert smooth["declared_gigaflops"] == pytest.approx(1e-9 * problem.prices.smooth.flops)
