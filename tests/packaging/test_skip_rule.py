"""CI fails on a skip that tests/allowed_skips.txt does not list; elsewhere a skip is a skip."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPS = """
import pytest

def test_passes(): pass

@pytest.mark.xfail(reason="expected", strict=True)
def test_expected_failure(): assert False

{mark}
def test_skips(): pass
"""
UNLISTED = "@pytest.mark.skip(reason='the tool is absent')"
MODULE = "pytest.skip('the tool is absent', allow_module_level=True)"


@pytest.mark.parametrize(
    ("ci", "mark", "workers", "code"),
    [
        ("true", UNLISTED, 1, 1),
        ("true", MODULE, 0, 1),
        ("true", "", 0, 0),
        ("false", UNLISTED, 0, 0),
    ],
    ids=["worker", "module", "none", "not-ci"],
)
def test_unlisted_skip(root: Path, tmp_path: Path, ci: str, mark: str, workers: int, code: int) -> None:
    (tmp_path / "test_skips.py").write_text(SKIPS.format(mark=mark), encoding="utf-8")
    # The rule is in a conftest of another folder, so it is loaded by name.
    environment = {**os.environ, "CI": ci, "PYTHONPATH": str(root / "tests")}
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-n", str(workers), "test_skips.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("test_skips.py::test_skips: the tool is absent" in done.stdout) == (code == 1 and mark == UNLISTED)
