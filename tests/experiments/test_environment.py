"""The environment of a measuring process: every pool alike, and no compiled kernel from other sources."""

from pathlib import Path

import pytest

import pianobench
from pianobench.experiments import environment, sources


def test_every_thread_pool_is_told_the_same_number() -> None:
    variables = environment.for_cell(3, "a mark")
    told = {name for name, value in variables.items() if value == "3" and name.endswith("_NUM_THREADS")}
    assert told >= {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"}


def test_the_cache_folder_follows_the_users_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIANOBENCH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "elsewhere")
    assert environment.cache_folder() == Path("elsewhere", "pianobench")
    monkeypatch.setenv("PIANOBENCH_CACHE", "mine")
    assert environment.cache_folder() == Path("mine")


@pytest.mark.parametrize(
    ("edited", "changes"), [("problems/kernel.py", True), ("problems/plain.py", False), ("plots/kernel.py", False)]
)
def test_an_edited_kernel_gets_a_cache_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edited: str, changes: bool
) -> None:
    for name in ("problems/__init__", "algorithms/__init__", "problems/kernel", "problems/plain", "plots/kernel"):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("import numba\n" if name.endswith("kernel") else "")
    monkeypatch.setattr(pianobench, "__path__", [str(tmp_path)])

    def folder() -> Path:
        sources.source.cache_clear()
        environment.compiled_kernels.cache_clear()
        return environment.compiled_kernels()

    try:
        before = folder()
        (tmp_path / edited).write_text((tmp_path / edited).read_text() + "# edited\n")
        assert (folder() != before) == changes
    finally:
        sources.source.cache_clear()
        environment.compiled_kernels.cache_clear()
