"""What is fetched is checked, kept with a receipt, and refused when it changes; what is not stays as it was."""

from __future__ import annotations

import bz2
import hashlib
import json
import shutil
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
from local_server import Answer, Server, serving
from scipy.sparse import csr_array

from pianobench.datasets import Dataset, MissingData, fetched
from pianobench.datasets.catalogue import FOLDER
from pianobench.datasets.fetching import described, download, libsvm, openml, receipts
from pianobench.datasets.fetching.connection import Unreachable
from pianobench.datasets.fetching.fetch import Outcome
from pianobench.datasets.fetching.fetch import fetch as bring
from pianobench.datasets.fetching.unzip import unzip
from pianobench.datasets.fetching.wanted import ByHand, FetchError
from pianobench.datasets.readers import forms, packed
from pianobench.datasets.reading import UnusableFile

TRAIN = b"1 1:0.5 10:-1\n2 2:1.5\n3 1:1\n"
TEST = b"2 9:1\n11 1:2\n"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    """In place of LIBSVM's and OpenML's; proxies are not asked."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("PIANOBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(libsvm, "BASE", f"{running.url}/")
    monkeypatch.setattr(openml, "API", f"{running.url}/api")
    monkeypatch.setattr(download, "WAITS", (0.0,))
    monkeypatch.setattr(download.download, "__kwdefaults__", {**download.download.__kwdefaults__, "waits": (0.0,)})
    running.answers.clear()
    running.says("/vowel", TRAIN)
    running.says("/vowel.t", TEST)
    return running


def fetch(name: str, **more: Any) -> Outcome:
    return bring(name, watch=lambda *_: None, **more)


def left(name: str) -> set[str]:
    place = receipts.folder(name)
    return {str(path.relative_to(place)) for path in place.rglob("*")} if place.is_dir() else set()


def entry(name: str) -> Any:
    return next((one for one in fetched.entries() if one.name == name), None)


def test_a_set_of_libsvm_is_fetched_read_and_known(server: Server) -> None:
    before = entry("libsvm/vowel")
    assert (before.n, before.m, before.missing) == (990, 11, "`pianobench fetch libsvm/vowel` brings it")
    with pytest.raises(MissingData, match="`pianobench fetch libsvm/vowel` brings it"):
        before.load()
    outcome = fetch("libsvm/vowel")
    assert (outcome.status, outcome.trouble) == ("fetched", None)
    assert "states (990, 10, 11) samples, columns and classes, and it has (5, 10, 4)" in outcome.notes[1]
    assert "nobody states its checksums" in outcome.notes[0]
    assert left("libsvm/vowel") == {"vowel", "vowel.t", "receipt.json"}
    receipt = json.loads((receipts.folder("libsvm/vowel") / "receipt.json").read_text())
    assert receipt["files"][1] == {
        "name": "vowel.t",
        "url": f"{server.url}/vowel.t",
        "bytes": len(TEST),
        "sha256": hashlib.sha256(TEST).hexdigest(),
    }
    after = entry("libsvm/vowel")
    data = after.load()
    assert (after.n, after.d, after.m, after.nnz, after.missing) == (5, 10, 4, 6, None)
    assert after.checksum == data.checksum
    assert (data.name, data.parts, data.classes) == (
        "libsvm/vowel",
        (("train", 3), ("test", 2)),
        ("1", "2", "3", "11"),
    )
    assert data.licence.startswith("LIBSVM's page states none")
    server.asked.clear()
    assert fetch("libsvm/vowel").status == "here"
    assert server.asked == []


def test_a_file_that_is_damaged_here_is_refused_and_fetched_anew(server: Server) -> None:
    fetch("libsvm/vowel")
    path = receipts.folder("libsvm/vowel") / "vowel.t"
    for damage in (lambda: path.write_bytes(TEST[:-1] + b" "), path.unlink):
        damage()
        with pytest.raises(UnusableFile, match=r"vowel.t of libsvm/vowel .* `pianobench fetch libsvm/vowel` fetches"):
            fetched.read("libsvm/vowel")
        server.asked.clear()
        assert fetch("libsvm/vowel").status == "fetched"
        assert server.paths == ["/vowel.t"]
        assert fetched.read("libsvm/vowel").n == 5
    receipt = receipts.load("libsvm/vowel")
    assert receipt is not None
    assert [got.url for got in receipt.files] == [f"{server.url}/vowel", f"{server.url}/vowel.t"]


def test_other_bytes_than_the_first_time_are_refused_until_they_are_accepted(server: Server) -> None:
    fetch("libsvm/vowel")
    server.says("/vowel.t", Answer(TEST * 2, mark='"2"'))
    sums = [hashlib.sha256(bytes_).hexdigest() for bytes_ in (TEST * 2, TEST)]
    with pytest.raises(FetchError, match=f"{sums[0]}, and {sums[1]} is expected.*--accept-changed` takes"):
        fetch("libsvm/vowel", anew=True)
    assert left("libsvm/vowel") >= {"vowel", "vowel.t", "receipt.json"}
    assert fetched.read("libsvm/vowel").n == 5
    outcome = fetch("libsvm/vowel", accept_changed=True)
    assert (outcome.status, outcome.receipt.n) == ("fetched", 7)
    assert left("libsvm/vowel") == {"vowel", "vowel.t", "receipt.json"}


@pytest.mark.usefixtures("server")
def test_a_checksum_of_the_catalogue_holds_whatever_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(described.catalogue.tables("fetched")["libsvm/vowel"]["files"], "vowel", "0" * 64)
    for accept in (False, True):
        with pytest.raises(FetchError, match=r"and 0{64} is expected. They are not kept.*try again later"):
            fetch("libsvm/vowel", accept_changed=accept)
    assert left("libsvm/vowel") == set()
    receipts.folder("libsvm/vowel").joinpath("vowel").write_bytes(TRAIN)
    with pytest.raises(FetchError, match=r"vowel has SHA256 \w+, and 0{64} is expected: replace it or delete it$"):
        fetch("libsvm/vowel")
    assert left("libsvm/vowel") == {"vowel"}, "the user's file stays"


def test_all_files_or_none(server: Server) -> None:
    server.says("/vowel.t", Answer(TEST, cut=4), Answer(status=503))
    with pytest.raises(Unreachable, match=r"answers 503.*\nBy hand: put .*/vowel and .*/vowel.t\ninto .*libsvm/vowel"):
        fetch("libsvm/vowel")
    assert left("libsvm/vowel") == {"incoming", *(f"incoming/vowel{end}" for end in ("", ".t.part", ".t.part.json"))}
    assert entry("libsvm/vowel").missing
    server.says("/vowel.t", TEST)
    assert fetch("libsvm/vowel").status == "fetched"
    assert (server.paths, server.asked[0][1]["Range"]) == (["/vowel.t"], "bytes=4-")


def test_files_put_there_by_hand_are_taken(server: Server) -> None:
    server.answers.clear()
    with pytest.raises(FetchError, match=r"/vowel: the server answers 404"):
        fetch("libsvm/vowel")
    place = receipts.folder("libsvm/vowel")
    (place / "vowel").write_bytes(TRAIN)
    (place / "vowel.t").write_bytes(TEST)
    outcome = fetch("libsvm/vowel")
    assert (outcome.status, outcome.receipt.n, outcome.receipt.files[0].url) == ("found", 5, "")
    assert left("libsvm/vowel") == {"vowel", "vowel.t", "receipt.json"}


def test_two_at_once_do_not_disturb_each_other(server: Server) -> None:
    server.says("/vowel", Answer(TRAIN, pause=0.005))
    told, outcomes = [], []
    threads = [
        threading.Thread(target=lambda: outcomes.append(fetch("libsvm/vowel", waiting=lambda: told.append(1))))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcome.status for outcome in outcomes) == ["fetched", "here"]
    assert (len(told), server.paths) == (1, ["/vowel", "/vowel.t"])


def test_what_cannot_be_read_is_said_and_kept(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE", 1 << 16)
    server.says("/usps.bz2", bz2.compress(TRAIN * 100_000))
    server.says("/usps.t.bz2", bz2.compress(TEST))
    outcome = fetch("libsvm/usps")
    assert "over 300 times its size, as no data does" in str(outcome.trouble)
    assert outcome.receipt.n is None
    assert left("libsvm/usps") == {"usps.bz2", "usps.t.bz2", "receipt.json"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "libsvm/vowel"}', '{"files": [{"name": "../x"}]}'])
@pytest.mark.usefixtures("server")
def test_a_damaged_receipt_is_none(text: str) -> None:
    fetch("libsvm/vowel")
    (receipts.folder("libsvm/vowel") / "receipt.json").write_text(text)
    assert entry("libsvm/vowel").missing
    assert fetch("libsvm/vowel").status == "found"


@pytest.mark.usefixtures("server")
def test_a_receipt_names_no_file_elsewhere() -> None:
    path = receipts.folder("libsvm/vowel") / "receipt.json"
    fetch("libsvm/vowel")
    path.write_text(path.read_text().replace('"vowel.t"', '"../vowel.t"'))
    assert receipts.load("libsvm/vowel") is None


@pytest.mark.parametrize("name", ["letter", "libsvm", "libsvm/", "libsvm/../x", "openml/.x", "other/a", "openml/a/b"])
@pytest.mark.usefixtures("server")
def test_names_are_source_and_key(name: str) -> None:
    with pytest.raises(FetchError, match="SOURCE/NAME is expected"):
        fetch(name)
    assert fetched.remedy(name) is None


@pytest.mark.usefixtures("server")
def test_unknown_keys_give_near_ones(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"libsvm/lettre is not known: did you mean libsvm/letter"):
        fetch("libsvm/lettre")
    assert not (tmp_path / "cache").exists()
    assert fetched.remedy("libsvm/lettre") is None
    assert fetched.remedy("openml/40996") == "`pianobench fetch openml/40996` brings it"


ARFF = (
    b"@relation r\n@attribute id numeric\n@attribute x numeric\n@attribute kind {a,b}\n@data\n1,0.5,a\n2,1.5,b\n3,2,a\n"
)


def describe(server: Server, number: int = 61, **more: Any) -> None:
    about = {
        "id": str(number),
        "name": "flowers",
        "version": "1",
        "format": "ARFF",
        "licence": "Public",
        "url": f"{server.url}/data/{number}/flowers.arff",
        "default_target_attribute": "kind",
        "row_id_attribute": "id",
        "md5_checksum": hashlib.md5(ARFF).hexdigest(),
        "status": "active",
    }
    server.says(f"/data/{number}/flowers.arff", ARFF)
    server.says(f"/api/data/{number}", json.dumps({"data_set_description": {**about, **more}}).encode())


def test_a_set_of_openml_by_number(server: Server) -> None:
    describe(server)
    assert entry("openml/61") is None
    outcome = fetch("openml/61")
    assert (outcome.status, outcome.trouble, outcome.notes) == ("fetched", None, ())
    assert left("openml/61") == {"61.arff", "description.json", "receipt.json"}
    data = entry("openml/61").load()
    assert (data.n, data.d, data.classes, data.name) == (3, 1, ("a", "b"), "openml/61")
    assert (data.licence, data.origin) == ("Public", "OpenML 61")


def test_a_set_of_openml_by_name(server: Server) -> None:
    describe(server, 7, status="in_preparation")
    found = {"data": {"dataset": [{"did": 9}, {"did": 7}]}}
    server.says("/api/data/list/data_name/flowers/status/active", json.dumps(found).encode())
    outcome = fetch("openml/flowers")
    assert outcome.notes == (
        "OpenML calls it number 7, and has 1 more of this name: 9",
        "OpenML lists it as in_preparation",
    )
    assert fetched.read("openml/flowers").n == 3
    server.says("/api/data/list/data_name/trees/status/active", Answer(status=412))
    with pytest.raises(FetchError, match="no active data set that is called trees; other versions go by their number"):
        fetch("openml/trees")
    server.says("/api/data/list/data_name/trees/status/active", b'{"data": {"dataset": []}}')
    with pytest.raises(FetchError, match="no active data set that is called trees"):
        fetch("openml/trees")
    server.says("/api/data/8", Answer(status=412))
    with pytest.raises(FetchError, match="OpenML has no data set with number 8"):
        fetch("openml/8")
    assert not receipts.folder("openml/trees").exists()
    assert not receipts.folder("openml/8").exists()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"md5_checksum": "0" * 32}, r"has MD5 \w+, and 0{32} is expected. They are not kept.* try again later"),
        ({"default_target_attribute": None}, "names no target"),
        ({"default_target_attribute": "kind,x"}, "names several targets, kind,x"),
        ({"format": "Parquet"}, "only ARFF files of OpenML are read"),
        ({"id": "62"}, "describes number 62: delete it and try again"),
        ({"id": "x"}, "is no description of OpenML's: delete it and try again"),
        ({"url": "file:///etc/passwd"}, "is not an address of https or http"),
    ],
)
def test_what_openml_says_is_checked(server: Server, more: dict[str, Any], why: str) -> None:
    describe(server, **more)
    with pytest.raises(FetchError, match=why):
        fetch("openml/61")
    assert left("openml/61") <= {"description.json"}


def test_openml_without_a_network(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(server)
    body = server.answers["/api/data/61"][0].body
    monkeypatch.setattr(openml, "API", "http://127.0.0.1:1/api")
    with pytest.raises(
        Unreachable, match=r"(?s)Nothing was changed.*By hand: save http://127.0.0.1:1/api/data/61 as .*61.arff"
    ):
        fetch("openml/61")
    with pytest.raises(Unreachable, match="look its number up"):
        fetch("openml/flowers")
    place = receipts.folder("openml/61")
    (place / "description.json").write_bytes(body)
    (place / "61.arff").write_bytes(ARFF)
    assert fetch("openml/61").status == "found"
    (place / "receipt.json").unlink()
    (place / "61.arff").write_bytes(ARFF + b"4,1,a\n")
    with pytest.raises(FetchError, match=r"has MD5 .* is expected: replace it or delete it"):
        fetch("openml/61")


def test_old_addresses_of_openml_are_asked_over_https(server: Server, tmp_path: Path) -> None:
    describe(server, url="http://www.openml.org/data/download/61/iris.arff")
    (tmp_path / "description.json").write_bytes(server.answers["/api/data/61"][0].body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openml, "API", "https://www.openml.org/api/v1/json")
        wanted = openml.wanted("61", tmp_path, anew=False)
    assert wanted.files[0].url == "https://www.openml.org/data/download/61/iris.arff"


def bunches(monkeypatch: pytest.MonkeyPatch, **fetchers: Any) -> None:
    import sklearn.datasets

    for name, function in fetchers.items():
        monkeypatch.setattr(sklearn.datasets, f"fetch_{name}", function)


@pytest.mark.usefixtures("server")
def test_sets_of_scikit_learn_become_npz(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    X = np.arange(12.0).reshape(4, 3)

    def covtype(data_home: str) -> Any:
        Path(data_home, "left.pkl").write_bytes(b"a pickle")
        print("downloading")
        return SimpleNamespace(data=X, target=np.array([3, 1, 3, 7]))

    def newsgroups(subset: str, **_: str) -> Any:
        rows = slice(0, 2) if subset == "train" else slice(2, 4)
        return SimpleNamespace(data=csr_array(X[rows]), target=np.array([0, 1]), target_names=["alt", "sci"])

    def rcv1(**_: str) -> Any:
        # Columns: CCAT, a topic below, GCAT. The second row has two of the uppermost, the third none.
        marks = csr_array(np.array([[1, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]]))
        return SimpleNamespace(data=csr_array(X), target=marks, target_names=np.array(["CCAT", "C15", "GCAT"], object))

    bunches(monkeypatch, covtype=covtype, **{"20newsgroups_vectorized": newsgroups}, rcv1=rcv1)
    outcome = fetch("sklearn/covtype")
    assert capsys.readouterr().out == "", "standard output may be JSON"
    assert outcome.notes[0] == "scikit-learn has fetched it and compared its own checksums; it resumes nothing"
    assert left("sklearn/covtype") == {"data.npz", "receipt.json"}
    found = fetched.read("sklearn/covtype")
    np.testing.assert_array_equal(found.X, X)
    assert found.classes == ("1", "3", "7")
    fetch("sklearn/20newsgroups_vectorized")
    news = fetched.read("sklearn/20newsgroups_vectorized")
    assert (news.classes, news.parts) == (("alt", "sci"), (("train", 2), ("test", 2)))
    assert entry("sklearn/rcv1") is None
    fetch("sklearn/rcv1")
    texts = entry("sklearn/rcv1").load()
    np.testing.assert_array_equal(texts.X.toarray(), X[[0, 3, 0, 3]])
    assert (texts.classes, texts.y.tolist()) == (("CCAT", "GCAT"), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            URLError("Name or service not known"),
            r"cannot reach the data: Name or service not known. Nothing was",
        ),
        (OSError("the file has an SHA256 checksum"), "scikit-learn refuses what it has fetched: the file has"),
    ],
)
@pytest.mark.usefixtures("server")
def test_scikit_learn_fails(monkeypatch: pytest.MonkeyPatch, error: Exception, why: str) -> None:
    def fails(**_: str) -> None:
        raise error

    bunches(monkeypatch, covtype=fails)
    with pytest.raises(FetchError, match=why):
        fetch("sklearn/covtype")
    assert left("sklearn/covtype") == set()


@pytest.mark.usefixtures("server")
def test_kaggles_sets_are_brought_by_hand() -> None:
    place = receipts.folder("kaggle/avazu")
    with pytest.raises(ByHand, match=r"wants an account") as told:
        fetch("kaggle/avazu")
    assert f"Put train.gz into {place}" in str(told.value)
    (place / "train.gz").write_bytes(b"1")
    outcome = fetch("kaggle/avazu")
    assert (outcome.status, outcome.receipt.files[0].bytes) == ("found", 1)
    (place / "train.gz").write_bytes(b"2")
    with pytest.raises(FetchError, match=r"train.gz has SHA256 .*, or take it with --accept-changed"):
        fetch("kaggle/avazu")
    assert fetch("kaggle/avazu", accept_changed=True).status == "found"


@pytest.mark.usefixtures("server")
def test_kaggles_archives_are_unpacked() -> None:
    place = receipts.folder("kaggle/kddcup2012-track2")
    place.mkdir(parents=True)
    names = list(described.described("kaggle", "kddcup2012-track2")["files"])
    with zipfile.ZipFile(place / "inner.zip", "w") as inner:
        for name in [*names, "more.txt"]:
            inner.writestr(f"track2/{name}", name)
    with zipfile.ZipFile(place / "kddcup2012-track2.zip", "w") as outer:
        outer.write(place / "inner.zip", "track2.zip")
    (place / "inner.zip").unlink()
    assert fetch("kaggle/kddcup2012-track2").status == "found"
    assert left("kaggle/kddcup2012-track2") == {*names, "receipt.json", "kddcup2012-track2.zip", "track2.zip"}
    assert (place / names[0]).read_text() == names[0]


def archive(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for member, content in members:
            made.writestr(member, content)
    return path


def test_an_archive_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    link = zipfile.ZipInfo("train.txt")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    locked = archive(tmp_path / "locked.zip", ("train.txt", b"1"))
    locked.write_bytes(
        locked.read_bytes().replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")
    )
    broken = tmp_path / "broken.zip"
    with zipfile.ZipFile(broken, "w") as stored:
        stored.writestr("train.txt", b"1" * 999)
    broken.write_bytes(broken.read_bytes().replace(b"11", b"12", 1))
    (tmp_path / "none.zip").write_bytes(b"no archive")
    for path, why in (
        (archive(tmp_path / "out.zip", ("../train.txt", b"1")), "a way out of its folder"),
        (archive(tmp_path / "link.zip", (link, b"/etc/passwd")), "a link"),
        (archive(tmp_path / "twice.zip", ("a/train.txt", b"1"), ("b/train.txt", b"2")), "more than once"),
        (archive(tmp_path / "bomb.zip", ("train.txt", bytes(80 << 20))), "over 300 times its size"),
        (locked, "wants a password"),
        (broken, "is damaged or no zip archive"),
        (tmp_path / "none.zip", "is damaged or no zip archive"),
    ):
        with pytest.raises(FetchError, match=why):
            unzip(path, ["train.txt"], inside)
    assert list(inside.iterdir()) == []
    path = archive(tmp_path / "good.zip", ("/deep/train.txt", b"1"), ("/etc/other.txt", b"2"))
    assert unzip(path, ["train.txt", "test.txt"], inside) == ["train.txt"]
    assert [one.name for one in inside.iterdir()] == ["train.txt"]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 26))
    with pytest.raises(FetchError, match="more than the disk has free"):
        unzip(path, ["train.txt"], inside)


def test_the_catalogue_is_whole() -> None:
    tables = tomllib.loads((FOLDER / "fetched.toml").read_text("utf-8"))
    for name in tables:
        facts = described.described(*receipts.split(name))
        assert all(isinstance(facts[text], str) for text in ("description", "field", "origin", "licence")), name
        assert {"n", "d", "m"} <= set(facts) or name.startswith("kaggle/") or name == "sklearn/rcv1", name
        assert facts.get("form") in (*forms.FORMS, None), name
        assert len(facts.get("parts", ())) == (len(facts["files"]) if len(facts["files"]) == 2 else 0), name
        files = [Path(file).name for file in facts["files"]]
        assert len(set(files)) == len(files), name


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("key", ["letter", "pendigits", "sector"])
def test_sizes_of_the_catalogue_are_those_of_the_files(shared_data: Path, key: str) -> None:
    place = receipts.folder(f"libsvm/{key}")
    place.mkdir(parents=True)
    for file in (Path(path).name for path in described.described("libsvm", key)["files"]):
        packed_file = shared_data / key / f"{file.removesuffix('.bz2')}.bz2"
        content = packed_file.read_bytes()
        (place / file).write_bytes(content if file.endswith(".bz2") else bz2.decompress(content))
    outcome = fetch(f"libsvm/{key}")
    assert (outcome.status, outcome.trouble, len(outcome.notes)) == ("found", None, 1)


@pytest.mark.network
def test_the_smallest_set_really(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIANOBENCH_CACHE", str(tmp_path))
    outcome = fetch("libsvm/iris")
    assert (outcome.status, outcome.trouble) == ("fetched", None)
    data: Dataset = fetched.read("libsvm/iris")
    assert (data.n, data.d, data.m) == (150, 4, 3)
