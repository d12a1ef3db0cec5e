"""Test workers together use no more threads than there are cores."""

import os

import pytest


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="not in a test worker")
def test_workers_share_the_cores() -> None:
    import numba
    import scipy.linalg  # noqa: F401  (loads its own OpenBLAS)
    from threadpoolctl import threadpool_info

    share = max(1, (os.cpu_count() or 1) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))
    blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert blas
    assert max(blas) <= share
    assert numba.config.NUMBA_NUM_THREADS >= 2
