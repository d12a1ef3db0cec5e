"""The command line for tests: in this process, which saves its imports, or in one of its own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from pianobench.experiments.cli import main

Done = subprocess.CompletedProcess[str]


def here(*words: str, cwd: Path) -> Done:
    """The command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.dict(os.environ),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "argv", ["pianobench", *words])
        try:
            code = main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def process(*words: str, cwd: Path, **variables: str) -> Done:
    """The command in a process of its own, nobody at its terminal."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "pianobench", *words],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
