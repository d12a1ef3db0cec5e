"""What all tests share: threads, Hypothesis profiles, the shared data, and the rule on skips."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CI = os.environ.get("CI") == "true"

# The cores are shared out among the xdist workers. Too late once numpy, scipy or numba is imported, and wrong in the
# process that starts the workers, since they inherit its variables.
CORES = os.cpu_count() or 1
THREADS = max(1, CORES // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
if "PYTEST_XDIST_WORKER" in os.environ or CORES == 1:
    os.environ.setdefault("OMP_NUM_THREADS", str(THREADS))
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(THREADS))
    # The size of Numba's pool: two at least, so that a test may ask for a second thread.
    os.environ.setdefault("NUMBA_NUM_THREADS", str(max(2, THREADS)))

from hypothesis import settings  # noqa: E402  (after the variables: it may import numpy)

# No deadline: a first call compiles kernels.
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if CI else "dev")


@pytest.fixture(autouse=True)
def _numba_threads() -> None:
    """Each test starts with its worker's share of threads, whatever the test before it set."""
    numba = sys.modules.get("numba")
    if numba is not None:
        numba.set_num_threads(min(THREADS, numba.config.NUMBA_NUM_THREADS))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real data beside the repository, too large or not ours to commit."""
    path = Path(os.environ.get("PIANOBENCH_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip("shared data absent: set PIANOBENCH_SHARED_DATA to their folder")
    return path


class SkipRule:
    """In CI a skip fails unless tests/allowed_skips.txt lists its reason: what CI lacks must be installed."""

    def __init__(self, allowed: set[str]) -> None:
        self.allowed = allowed
        self.refused: list[str] = []

    def see(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        if reason not in self.allowed:
            self.refused.append(f"{report.nodeid}: {reason}")

    pytest_runtest_logreport = see
    pytest_collectreport = see

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.refused and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.refused:
            terminalreporter.section("skips that tests/allowed_skips.txt does not list", red=True)
            for line in self.refused:
                terminalreporter.line(line)


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")  # the controller sees the workers' reports
    if CI and not is_worker:
        lines = (ROOT / "tests" / "allowed_skips.txt").read_text(encoding="utf-8").splitlines()
        allowed = {line.strip() for line in lines if line.strip() and not line.startswith("#")}
        config.pluginmanager.register(SkipRule(allowed), "skip-rule")
