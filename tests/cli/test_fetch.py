"""`fetch`: says what it does, ends with the right code, and helps where there is no network."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Done, here, process
from local_server import Answer, Server, serving

from pianobench.datasets.fetching import download, libsvm, openml
from pianobench.experiments.cli import fetch

GLASS = b"1 1:0.5 9:-1\n2 2:1.5\n7 1:1\n"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("PIANOBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(download.download.__kwdefaults__, "waits", (0.0,))
    with serving() as running:
        monkeypatch.setattr(libsvm, "BASE", f"{running.url}/")
        running.says("/glass.scale", GLASS)
        yield running


def run(place: Path, *words: str) -> Done:
    return here("fetch", *words, cwd=place)


def test_it_fetches_once_and_says_what(server: Server, tmp_path: Path) -> None:
    done = run(tmp_path, "libsvm/glass")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"libsvm/glass: fetched, {len(GLASS)} bytes, n=3 d=9 m=3"
    assert lines[1] == f"  {tmp_path}/cache/fetched/libsvm/glass: glass.scale"
    assert "nobody states its checksums" in lines[2]
    again = run(tmp_path, "libsvm/glass", "libsvm/glass")
    assert again.stdout.count("libsvm/glass: is here since 20") == 1
    assert server.paths == ["/glass.scale"]
    assert run(tmp_path, "libsvm/glass", "--force").stdout.startswith("libsvm/glass: fetched")
    assert len(server.asked) == 2


def test_changed_bytes_need_consent(server: Server, tmp_path: Path) -> None:
    run(tmp_path, "libsvm/glass")
    server.says("/glass.scale", GLASS + b"1 1:1\n")
    refused = run(tmp_path, "libsvm/glass", "--force")
    assert refused.returncode == 2
    assert "`pianobench fetch libsvm/glass --accept-changed` takes the new bytes" in refused.stderr
    accepted = run(tmp_path, "libsvm/glass", "--accept-changed")
    assert (accepted.returncode, "n=4" in accepted.stdout) == (0, True)


@pytest.mark.usefixtures("server")
def test_one_that_fails_does_not_keep_the_others(tmp_path: Path) -> None:
    done = run(tmp_path, "libsvm/lettre", "libsvm/wine", "libsvm/glass", "--json")
    facts = json.loads(done.stdout)
    assert [one["status"] for one in facts] == ["failed", "failed", "fetched"]
    assert (facts[2]["n"], facts[2]["files"][0]["bytes"], facts[2]["error"]) == (3, len(GLASS), None)
    assert done.returncode == 2
    assert [line[:26] for line in done.stderr.splitlines()] == [
        "pianobench: libsvm/lettre ",
        "pianobench: libsvm/wine: h",
    ]


def test_without_a_network_it_says_how_by_hand(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libsvm, "BASE", "http://127.0.0.1:1/multiclass/")
    monkeypatch.setattr(openml, "API", "http://127.0.0.1:1/api")
    done = run(tmp_path, "libsvm/glass")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "pianobench: libsvm/glass: 127.0.0.1 cannot be reached: Connection refused. Nothing was changed; "
        "what has come of a file is gone on from.",
        "pianobench: By hand: put http://127.0.0.1:1/multiclass/glass.scale",
        f"pianobench: into {tmp_path}/cache/fetched/libsvm/glass and run this again: it checks what is there.",
        "pianobench: Data that need no network: `pianobench datasets` says which are here, and --data FILE takes your "
        "own.",
    ]
    (tmp_path / "cache" / "fetched" / "libsvm" / "glass" / "glass.scale").write_bytes(GLASS)
    assert run(tmp_path, "libsvm/glass").stdout.startswith("libsvm/glass: found in its folder, ")
    assert run(tmp_path, "openml/61").returncode == 2
    assert server.asked == []


def test_files_that_cannot_be_read_are_said(server: Server, tmp_path: Path) -> None:
    server.says("/glass.scale", b"no data\n")
    done = run(tmp_path, "libsvm/glass")
    assert done.returncode == 0
    assert "The files are right, but cannot be read as they are: glass.scale: line 1" in done.stdout


@pytest.mark.usefixtures("server")
def test_kaggles_sets_come_with_instructions(tmp_path: Path) -> None:
    done = run(tmp_path, "kaggle/criteo")
    assert done.returncode == 2
    assert "45,840,617 rows" in done.stderr
    assert f"2. Put train.txt into {tmp_path}/cache/fetched/kaggle/criteo\n" in done.stderr
    (tmp_path / "cache" / "fetched" / "kaggle" / "criteo" / "train.txt").write_bytes(b"1")
    done = run(tmp_path, "kaggle/criteo")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "kaggle/criteo: found in its folder, 1 bytes")


def test_the_list_says_what_is_here(server: Server, tmp_path: Path) -> None:
    run(tmp_path, "libsvm/glass")
    table = run(tmp_path).stdout
    assert "libsvm/letter" in table
    facts = {one["name"]: one for one in json.loads(run(tmp_path, "--list", "--json").stdout)}
    assert (facts["libsvm/letter"]["n"], facts["libsvm/letter"]["fetched"]) == (20000, None)
    assert (facts["libsvm/glass"]["n"], facts["libsvm/glass"]["bytes"]) == (3, len(GLASS))
    assert len(server.asked) == 1


def test_an_interruption_is_one_and_is_gone_on_from(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("time.sleep", stop)
        server.says("/glass.scale", Answer(GLASS, cut=5))
        done = run(tmp_path, "libsvm/glass")
    assert done.returncode == 130
    assert "the same command goes on with what has come of a file" in done.stderr
    server.says("/glass.scale", GLASS)
    assert run(tmp_path, "libsvm/glass").returncode == 0
    assert server.asked[0][1]["Range"] == "bytes=5-"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("quiet", "shown"), [(False, True), (True, False)])
def test_a_terminal_sees_a_bar(monkeypatch: pytest.MonkeyPatch, quiet: bool, shown: bool) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with fetch._progress(quiet) as watch:
        watch("glass.scale", 50, None)
        watch("glass.scale", 100, 100)
    assert ("glass.scale" in sys.stderr.getvalue()) == shown  # type: ignore[attr-defined]


def test_help_needs_no_numpy(tmp_path: Path) -> None:
    code = "import sys; from pianobench.experiments.cli import app; print('numpy' in sys.modules, 'ssl' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
    assert "libsvm/letter" in process("fetch", "--help", cwd=tmp_path).stdout
