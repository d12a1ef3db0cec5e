"""A download is whole, right and of one version, or nothing: whatever the server does."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib import request

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from local_server import Answer, Server, serving

from pianobench.datasets.fetching import connection
from pianobench.datasets.fetching.connection import Unreachable
from pianobench.datasets.fetching.download import WrongBytes, download
from pianobench.datasets.fetching.wanted import FetchError

BODY = bytes(range(256)) * 4
OTHER = BODY[::-1]
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return running


def get(url: str, path: Path, **more: Any) -> str:
    return download(url, path, **{"timeout": 2.0, "waits": (0.0, 0.0), **more})


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_comes_whole(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    path = tmp_path / "new" / "data"
    found = get(server.says("/a", BODY), path, sha256=SHA256.upper(), progress=lambda *told: seen.append(told))
    assert (found, path.read_bytes(), left(path.parent)) == (SHA256, BODY, ["data"])
    assert seen[-1] == (len(BODY), len(BODY))
    assert get(server.says("/empty", b""), path) == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize("code", [403, 404, 410])
def test_what_the_server_has_not_is_not_asked_for_again(server: Server, tmp_path: Path, code: int) -> None:
    url = server.says("/a", Answer(status=code))
    with pytest.raises(FetchError, match=rf"/a: the server answers {code}"):
        get(url, tmp_path / "data")
    assert (len(server.asked), left(tmp_path)) == (1, [])


def test_a_busy_server_is_asked_again_and_not_for_ever(server: Server, tmp_path: Path) -> None:
    get(server.says("/a", Answer(status=500), Answer(status=429), Answer(BODY)), tmp_path / "data", sha256=SHA256)
    url = server.says("/b", Answer(status=503))
    with pytest.raises(Unreachable, match=r"answers 503 .*tries: 3"):
        get(url, tmp_path / "other")
    assert len(server.asked) == 3
    assert left(tmp_path) == ["data"]


@pytest.mark.parametrize("date", ["", "Tue, 01 Dec 2026 10:00:00 GMT"])
def test_it_goes_on_where_it_was_cut_off(server: Server, tmp_path: Path, date: str) -> None:
    mark = 'W/"1"' if date else '"1"'  # a weak mark may be of other bytes
    url = server.says("/a", Answer(BODY, mark=mark, date=date, cut=600), Answer(BODY, mark=mark, date=date))
    get(url, tmp_path / "data", sha256=SHA256)
    asked = server.asked[1][1]
    assert (asked["Range"], asked["If-Range"]) == ("bytes=600-", date or '"1"')


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (Answer(OTHER, cut=600), Answer(BODY, mark='"2"')),
        (Answer(OTHER, cut=600), Answer(BODY, mark='"2"', ranges="always")),
        (Answer(OTHER + b"more", cut=600), Answer(BODY, ranges="always")),
        (Answer(OTHER, cut=600), Answer(BODY, ranges="ignored")),
        (Answer(OTHER, cut=600, mark=""), Answer(BODY, mark="", ranges="always")),
        (Answer(OTHER, cut=600, mark='W/"1"'), Answer(BODY, mark='W/"1"', ranges="always")),
        (Answer(OTHER * 2, cut=len(BODY) + 9), Answer(status=416, headers={"Content-Range": f"bytes */{len(BODY)}"})),
    ],
)
def test_versions_are_never_mixed(server: Server, tmp_path: Path, first: Answer, then: Answer) -> None:
    get(server.says("/a", first, then, Answer(BODY, mark='"2"', ranges="always")), tmp_path / "data", sha256=SHA256)
    assert left(tmp_path) == ["data"]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.builds(
            lambda body, cut, ranges, mark: Answer(body, mark=f'"{body[0]}"' if mark else "", cut=cut, ranges=ranges),
            st.sampled_from([BODY, OTHER]),
            st.integers(0, len(BODY)),
            st.sampled_from(["right", "ignored", "always"]),
            st.booleans(),
        ),
        max_size=5,
    )
)
def test_the_result_is_one_version_whatever_happens(server: Server, tmp_path: Path, answers: list[Answer]) -> None:
    get(server.says("/a", *answers, Answer(BODY, mark=f'"{BODY[0]}"')), tmp_path / "data", waits=[0.0] * 6)
    assert (tmp_path / "data").read_bytes() in (BODY, OTHER)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(BODY, pause=0.02), "bytes a second"),
        (Answer(BODY, pause=9.0), "no answer in time"),
        (Answer(BODY, length=len(BODY) + 1), "cut off after 1024 of 1025 bytes"),
    ],
)
def test_who_is_too_slow_or_promises_too_much_is_left(server: Server, tmp_path: Path, answer: Answer, why: str) -> None:
    url = server.says("/a", answer)
    with pytest.raises(Unreachable, match=why):
        get(url, tmp_path / "data", timeout=0.2, window=0.1, slowest=1000.0, waits=[])
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("sums", [{"sha256": "0" * 64}, {"md5": "0" * 32}, {"sha256": SHA256, "md5": "0" * 32}])
def test_wrong_bytes_are_not_kept(server: Server, tmp_path: Path, sums: dict[str, str]) -> None:
    (tmp_path / "data").write_bytes(b"before")
    url = server.says("/a", BODY)
    with pytest.raises(WrongBytes, match=r"/a has (SHA-256|MD5) \w+, and 0+ is expected"):
        get(url, tmp_path / "data", **sums)
    assert (left(tmp_path), (tmp_path / "data").read_bytes()) == (["data"], b"before")


@pytest.mark.parametrize(
    ("length", "why"), [(None, "has 0.00102 MB, more than the 0.0005 MB"), (-1, "goes on beyond 0.0005 MB, the most")]
)
def test_what_is_too_long_is_refused(server: Server, tmp_path: Path, length: int | None, why: str) -> None:
    url = server.says("/a", Answer(BODY, length=length))
    with pytest.raises(FetchError, match=why):
        get(url, tmp_path / "data", most_bytes=500)
    assert left(tmp_path) == []


def test_a_disk_that_is_too_full_is_seen_before(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9**9, 9**9, 1 << 26))  # type: ignore[attr-defined]
    url = server.says("/a", BODY)
    with pytest.raises(FetchError, match=r"the disk of .* has 67.1 MB free"):
        get(url, tmp_path / "data")
    assert left(tmp_path) == []


def test_redirections_are_followed_but_not_in_a_circle_nor_out_of_https(server: Server, tmp_path: Path) -> None:
    server.says("/b", BODY)
    get(server.says("/a", Answer(status=302, headers={"Location": "/b"})), tmp_path / "data", sha256=SHA256)
    url = server.says("/c", Answer(status=302, headers={"Location": "/c"}))
    with pytest.raises(FetchError, match="redirects without end"):
        get(url, tmp_path / "data")
    (tmp_path / "secret").write_bytes(b"secret")
    for target in (f"file://{tmp_path}/secret", "ftp://127.0.0.1/secret"):
        url = server.says("/d", Answer(status=302, headers={"Location": target}))
        with pytest.raises(FetchError, match="redirects"):
            get(url, tmp_path / "data")
    with pytest.raises(FetchError, match=r"redirects to http://b, which nobody protects: refused"):
        connection.Redirects().redirect_request(
            request.Request("https://a"),
            None,
            302,
            "",
            None,
            "http://b",  # type: ignore[arg-type]
        )
    with pytest.raises(FetchError, match="is not an address of https or http"):
        get(f"file://{tmp_path}/secret", tmp_path / "data")
    assert (tmp_path / "data").read_bytes() == BODY


def test_certificates_are_checked() -> None:
    context = next(h for h in connection.opener().handlers if isinstance(h, request.HTTPSHandler))._context  # type: ignore[attr-defined]
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname


def test_an_interruption_leaves_what_the_next_run_goes_on_from(server: Server, tmp_path: Path) -> None:
    big = BODY * 200
    url = server.says("/a", big)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get(url, tmp_path / "data", progress=stop)
    assert left(tmp_path) == ["data.part", "data.part.json"]
    have = (tmp_path / "data.part").stat().st_size
    get(url, tmp_path / "data", sha256=hashlib.sha256(big).hexdigest())
    assert server.asked[1][1]["Range"] == f"bytes={have}-"
    assert 0 < have < len(big)
    assert left(tmp_path) == ["data"]


def test_a_part_of_another_address_or_with_a_damaged_note_is_not_gone_on_from(server: Server, tmp_path: Path) -> None:
    elsewhere = json.dumps({"url": "http://elsewhere", "mark": '"1"', "total": len(BODY)})
    for note in (elsewhere, "{", "[]", ""):
        (tmp_path / "data.part").write_bytes(b"other")
        (tmp_path / "data.part.json").write_text(note)
        get(server.says("/a", BODY), tmp_path / "data", sha256=SHA256)
        assert left(tmp_path) == ["data"]


def test_a_whole_part_needs_no_server(server: Server, tmp_path: Path) -> None:
    url = server.says("/a", Answer(status=404))
    (tmp_path / "data.part").write_bytes(BODY)
    (tmp_path / "data.part.json").write_text(json.dumps({"url": url, "mark": '"1"', "total": len(BODY)}))
    get(url, tmp_path / "data", sha256=SHA256)
    assert (server.asked, left(tmp_path)) == ([], ["data"])


@pytest.mark.usefixtures("server")
def test_no_network_is_one_try_and_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(Unreachable, match=r"127.0.0.1 cannot be reached: Connection refused"):
        get(f"http://127.0.0.1:{port}/a", tmp_path / "data", waits=[60.0])

    def nobody(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    with pytest.raises(Unreachable, match=r"data.example cannot be reached: Name or service not known"):
        get("https://data.example/a", tmp_path / "data", waits=[60.0])
    assert left(tmp_path) == []


def test_the_proxy_is_asked_and_may_refuse(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.setenv("https_proxy", server.url)
    server.says("http://data.example/a", BODY)
    get("http://data.example/a", tmp_path / "data", sha256=SHA256)
    server.says("http://data.example/b", Answer(status=407))
    with pytest.raises(Unreachable, match="the proxy wants an account"):
        get("http://data.example/b", tmp_path / "data")
    with pytest.raises(Unreachable, match=r"data.example cannot be reached: Tunnel connection failed: 501"):
        get("https://data.example/a", tmp_path / "data")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    get(server.says("/direct", BODY), tmp_path / "data", sha256=SHA256)
    assert server.paths == ["/direct"]
