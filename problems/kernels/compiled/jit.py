"""The one way in which functions are compiled here, and what of Numba that needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba.core.cgutils
import numba.extending
from numba import njit

# Contraction to fused multiply-add is safe; nothing that reorders sums or forgets NaN and infinity is allowed.
FAST = {"contract"}

# Numba's own types are of its compiler, not of what the compiled functions take.
intrinsic: Any = numba.extending.intrinsic
overload: Any = numba.extending.overload
types: Any = numba.types
cgutils: Any = numba.core.cgutils

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Without the GIL, division by zero as NumPy has it, kept on disk for the next process."""
    return cast(Function, njit(nogil=True, error_model="numpy", cache=True, fastmath=FAST)(function))
