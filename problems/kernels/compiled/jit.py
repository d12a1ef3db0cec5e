"""The one way in which functions are compiled here, and what of Numba that needs."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba.core.cgutils
import numba.extending
from numba import njit

from pianobench.datasets.places import compiled_kernels

# Contraction to fused multiply-add is safe; nothing that reorders sums or forgets NaN and infinity is allowed.
FAST = {"contract"}

# Numba's own types are of its compiler, not of what the compiled functions take.
intrinsic: Any = numba.extending.intrinsic
overload: Any = numba.extending.overload
types: Any = numba.types
config: Any = numba.config
cgutils: Any = numba.core.cgutils

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Without the GIL, division by zero as NumPy has it, kept on disk for the next process."""
    folder = compiled_kernels()
    # Numba asks for its folder when it decorates; set for good it would be that of the user's own functions too.
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        kept = _writable(folder)
        return cast(Function, njit(nogil=True, error_model="numpy", cache=kept, fastmath=FAST)(function))
    finally:
        config.CACHE_DIR = before


@cache
def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError as error:
        what = f"{folder} cannot be written to ({error.strerror}): every process compiles its kernels anew"
        warnings.warn(f"{what}; set PIANOBENCH_CACHE to a folder that can", RuntimeWarning, stacklevel=2)
        return False
