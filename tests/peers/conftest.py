"""Which black boxes the tests run, and the problems that have known optima."""

import platform
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from pianobench.algorithms.peers import PEERS

# Where the lock file installs them; elsewhere there may be no wheel, and they are not built for a test.
COMMON = sys.platform == "linux" and platform.machine() == "x86_64"
LOCKED = {"cyanure": COMMON and sys.version_info < (3, 13), "vowpalwabbit": COMMON, "scikit-learn": True}


@pytest.fixture(autouse=True)
def _library(request: pytest.FixtureRequest) -> None:
    """A test with a `key` skips where that library cannot be had, and fails where it should have been."""
    key = request.node.callspec.params.get("key") if hasattr(request.node, "callspec") else None
    trouble = PEERS[key].available() if key in PEERS else None
    if trouble is not None:
        library = PEERS[key].library
        if LOCKED[library]:
            pytest.fail(trouble)
        pytest.skip(f"{library} has no wheel for this Python or machine")


@pytest.fixture(scope="session")
def digits() -> tuple[np.ndarray, np.ndarray]:
    """X (1797, 64) with values in [0, 1], and labels."""
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(scope="session")
def three_or_eight(digits: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The rows of two digits."""
    X, y = digits
    return X[np.isin(y, [3, 8])], y[np.isin(y, [3, 8])]
