"""What the guide shows can be typed as it stands."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "guide.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)


def test_from_a_raw_file_to_a_saved_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "datasets" / "bundled" / "hpc_jobs.csv.gz", tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[0], "guide.md", "exec"), {})
    told = capsys.readouterr().out
    used, size = map(int, re.findall(r"(\d+) of (\d+) weights", told)[0])
    assert 0 < used < 0.8 * size  # sparse
    assert "converged - relative gap" in told
    fitted, calibrated = map(float, re.findall(r"log loss ([\d.]+)", told))
    assert max(fitted, calibrated) < 0.8  # 1.13 without any weight
    factor = float(re.findall(r"weights times ([\d.]+)", told)[0])
    assert 1.0 < factor < 1.3  # and calibrated: it was a little timid
    assert (tmp_path / "jobs.npz").is_file()


def test_the_strengths_are_those_told() -> None:
    lines = [line for line in BLOCKS[1].splitlines() if "#" in line]
    names: dict[str, object] = {}
    exec(BLOCKS[1].splitlines()[0], names)
    assert len(lines) == 3
    for line in lines:
        call, told = re.match(r"(.*\))  # (\([^)]*\))", line).groups()  # type: ignore[union-attr]
        assert eval(call, names) == pytest.approx(eval(told))
