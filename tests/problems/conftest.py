"""Workers that all tests of this folder share: a process takes a second to start."""

from collections.abc import Iterator

import pytest
from remote import Workers


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    with Workers(2) as started:
        yield started
