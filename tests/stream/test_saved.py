"""The state in its file: the same bits back, nothing lost by a kill, nothing taken that is damaged."""

import json
import os
import signal
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pianobench.algorithms.stream import archive
from pianobench.algorithms.stream.contract import RECORD
from pianobench.datasets.kdd12.clicks import Clicks
from pianobench.datasets.kdd12.writing import write

FORM = "pianobench stream"
ARRAYS = {
    "ones": np.ones((5, 3)),
    "zeros of two signs": np.array([0.0, -0.0]),
    "not numbers": np.array([np.nan, np.nan, 1.0]),
    "one": np.array([7]),
    "scalar": np.array(2.5),
    "none": np.zeros((0, 4), np.float32),
    "narrow": np.arange(300),
    "wide": np.array([0, 2**63 + 5], np.uint64),
    "negative": np.array([-3, 4]),
    "float32": np.array([0.1, 0.2], np.float32),
    "turned": np.arange(6.0).reshape(2, 3).T,
    "truths": np.array([True, False]),
}


def rows_of(path, batches, n=80, d=4, seed=0):
    """An svmlight log whose law turns after half of the batches."""
    rng = np.random.default_rng(seed)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(batches):
            X = rng.normal(size=(n, d)).round(3)
            sign = 3 if number < batches // 2 else -3
            for x, y in zip(X, sign * X[:, 0] + rng.logistic(size=n) > 0, strict=True):
                file.write(f"{int(y)} " + " ".join(f"{i}:{v}" for i, v in enumerate(x, 1)) + "\n")


def test_arrays_come_back_to_the_bit(tmp_path):
    path = tmp_path / "a"
    archive.write(path, FORM, 1, {"rows": 3}, ARRAYS)
    facts, found = archive.read(path, FORM, 1)
    assert facts == {"rows": 3}
    assert found.keys() == ARRAYS.keys()
    for name, values in ARRAYS.items():
        assert (found[name].dtype, found[name].shape) == (values.dtype, values.shape), name
        assert found[name].tobytes() == values.tobytes(), name


def test_constant_and_small_numbers_take_little_room(tmp_path):
    archive.write(tmp_path / "a", FORM, 1, {}, {"ones": np.ones(10**6), "indices": np.arange(10**6) % 937})
    assert os.path.getsize(tmp_path / "a") < 2.1e6


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    archive.write(path, FORM, 1, {"n": 1}, {})

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        archive.write(path, FORM, 1, {"n": 2}, {"x": np.arange(1000)})
    assert archive.read(path, FORM, 1)[0] == {"n": 1}
    assert os.listdir(tmp_path) == ["a"]


def test_leavings_of_the_dead_are_removed_and_of_the_living_not(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    for name in (f".a.{child.pid}.part", f".a.{os.getpid()}.part", f".ab.{child.pid}.part"):
        (tmp_path / name).write_bytes(b"half")
    archive.clear(tmp_path / "a")
    assert sorted(os.listdir(tmp_path)) == sorted([f".a.{os.getpid()}.part", f".ab.{child.pid}.part"])


def test_damage_is_seen(tmp_path):
    """Cut anywhere or with a byte changed anywhere, a file is refused or has what was written."""
    path = tmp_path / "a"
    arrays = {"x": np.arange(400.0), "y": np.ones(5), "z": np.arange(9)}
    archive.write(path, FORM, 1, {"a": 1}, arrays)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    seen = []
    for place in [*range(0, 120), *range(len(whole) - 120, len(whole)), *rng.integers(len(whole), size=60)]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        for content in (bytes(damaged), whole[:place]):
            path.write_bytes(content)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    facts, found = archive.read(path, FORM, 1)
                except archive.UnusableArchive as error:
                    seen.append(str(error))
                    continue
            assert facts == {"a": 1}
            assert all(np.array_equal(found[name], values) for name, values in arrays.items())
    assert len(seen) > 450
    assert all(str(path) in message and "\n" not in message for message in seen)


@pytest.mark.parametrize(
    ("form", "version", "message"), [(FORM, 2, "install a newer one"), ("another", 1, "is no pianobench stream file")]
)
def test_another_form_and_a_later_version_are_refused(tmp_path, form, version, message):
    archive.write(tmp_path / "a", form, version, {}, {})
    with pytest.raises(archive.UnusableArchive, match=message):
        archive.read(tmp_path / "a", FORM, 1)


def test_nothing_in_a_file_is_executed(tmp_path):
    with zipfile.ZipFile(tmp_path / "a", "w") as file, file.open(archive.HEAD + ".npy", "w") as member:
        np.lib.format.write_array(member, np.array([print], object), allow_pickle=True)
    with pytest.raises(archive.UnusableArchive, match="Object arrays cannot be loaded"):
        archive.read(tmp_path / "a", FORM, 1)


@pytest.mark.parametrize("form", ["svmlight", "kdd12"])
def test_a_kill_at_any_moment_changes_nothing(tmp_path, form):
    """Killed twelve times on its way, the stream ends with the bits of one that was never stopped."""
    if form == "svmlight":
        log, size = tmp_path / "log.svm", 80
        rows_of(log, 14)
    else:
        (log,), size = write(Clicks(rows=2800, test=0.0, rate=0.3, flipped=1), tmp_path, tables=False), 200
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    script = Path(__file__).with_name("killed.py")
    options = ["--batch-rows", str(size), "--rows", "150", "--kept", "100"]
    done = subprocess.run(
        [sys.executable, "-P", str(script), str(log), str(whole), str(broken), *options],
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    assert not done.returncode, done.stderr
    ends = json.loads(done.stdout)
    assert ends == [signal.SIGKILL] * 12 + [0], done.stderr
    (facts, arrays), (again, found) = (archive.read(path, FORM, 1) for path in (whole, broken))
    assert facts.pop("place") == again.pop("place")
    for one in (facts, again):
        one.pop("tables")
    assert facts == again
    assert arrays["state/t"] == 14
    assert arrays["state/past"][:, RECORD.index("updated")].sum() > 1  # some trained again
    for name, values in arrays.items():
        assert values.tobytes() == found[name].tobytes(), name
    left = {path.name for path in tmp_path.iterdir()} - {log.name, "whole", "broken", "whole.tables", "broken.tables"}
    assert not left
    if form == "kdd12":
        assert (tmp_path / "whole.tables").read_bytes() == (tmp_path / "broken.tables").read_bytes()
