"""Environment of the processes that measure: threads, and a cache for what solvers of others compile."""

import os

from pianobench.datasets.places import compiled_kernels
from pianobench.experiments.guard import MARK

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
# Settings of the libraries that decide kernels and threads, whatever their names.
_LIBRARIES = ("BLIS_", "GOMP_", "KMP_", "MKL_", "NPY_", "NUMBA_", "OMP_", "OPENBLAS_", "VECLIB_")


def for_cell(threads: int, mark: str) -> dict[str, str]:
    """Environment variables of a process that may use `threads` threads, everywhere alike.

    The libraries read most of these when they are imported: a process cannot set them for itself. The mark
    is that of the suite's guard.
    """
    return {
        **os.environ,
        **dict.fromkeys(_THREAD_VARIABLES, str(threads)),
        MARK: mark,
        "OMP_DYNAMIC": "FALSE",
        "MKL_DYNAMIC": "FALSE",
        "PYTHONHASHSEED": "0",
        "PYTHONFAULTHANDLER": "1",
        "PYTHONUNBUFFERED": "1",
        "NUMBA_CACHE_DIR": str(compiled_kernels()),
    }


def settings() -> dict[str, str]:
    """The user's environment variables that can change a number or a time, for the key and the manifest.

    What every cell gets from `for_cell` is left out: the threads are in the key by themselves, the folder of
    compiled kernels is named by their sources.
    """
    ours = {*_THREAD_VARIABLES, "OMP_DYNAMIC", "MKL_DYNAMIC", "NUMBA_CACHE_DIR"}
    # scikit-learn sets these when it is imported: a key may not depend on who has asked for data before.
    ours |= {"KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"}
    return {k: v for k, v in sorted(os.environ.items()) if k.startswith(_LIBRARIES) and k not in ours}


def available_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
