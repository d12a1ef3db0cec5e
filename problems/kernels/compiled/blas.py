"""Matrix products inside compiled loops: SciPy's BLAS through its address, added to what is there, the GIL released.

The address is an argument, so that compiled code can be cached. Matrices are those of Fortran: column by column.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from pianobench.problems.kernels.compiled.jit import cgutils, intrinsic, types

NO = ord("N")


@cache
def gemm_address(dtype: np.dtype[Any]) -> int:
    """Address of gemm for float32 or float64."""
    from scipy.linalg import cython_blas

    table: dict[str, Any] = dict(cython_blas.__pyx_capi__)
    capsule = table[{"f": "sgemm", "d": "dgemm"}[np.dtype(dtype).char]]
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer(capsule, name(capsule)))


@intrinsic  # type: ignore[untyped-decorator]
def start(typing_context: Any, array: Any, offset: Any) -> Any:
    """Pointer to an entry of a contiguous array, by its place in memory."""
    del typing_context, offset

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        return builder.gep(data, [values[1]])

    return types.CPointer(array.dtype)(array, types.intp), code


@intrinsic  # type: ignore[untyped-decorator]
def later(typing_context: Any, pointer: Any, offset: Any) -> Any:
    """Pointer to an entry so many numbers on."""
    del typing_context, offset

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del context, signature
        return builder.gep(values[0], [values[1]])

    return pointer(pointer, types.intp), code


@intrinsic  # type: ignore[untyped-decorator]
def read(typing_context: Any, pointer: Any) -> Any:
    """The number that a pointer points to."""
    del typing_context

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del context, signature
        return builder.load(values[0])

    return pointer.dtype(pointer), code


@intrinsic  # type: ignore[untyped-decorator]
def gemm(
    typing_context: Any, address: Any, turn_a: Any, turn_b: Any, rows: Any, columns: Any, inner: Any, a: Any, lda: Any,
    b: Any, ldb: Any, keep: Any, c: Any, ldc: Any,
) -> Any:  # fmt: skip
    """``C = op(A) op(B) + keep C``, op(A) (rows, inner) and op(B) (inner, columns); pointers as `start` gives them."""
    del typing_context, turn_a, turn_b, rows, columns, inner, lda, ldb, keep, ldc, b, address
    number, whole = a.dtype, types.intp
    arguments = (whole,) * 6 + (a, whole, a, whole, number, c, whole)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del signature
        real = context.get_data_type(number)
        byte, integer = ir.IntType(8), ir.IntType(32)
        address, turn_a, turn_b, rows, columns, inner, a, lda, b, ldb, keep, c, ldc = values

        def slot(value: Any, kind: Any) -> Any:
            place = cgutils.alloca_once(builder, kind)
            builder.store(builder.trunc(value, kind) if kind in (byte, integer) else value, place)
            return place

        one = ir.Constant(real, 1.0)
        given = [
            slot(turn_a, byte), slot(turn_b, byte), slot(rows, integer), slot(columns, integer), slot(inner, integer),
            slot(one, real), a, slot(lda, integer), b, slot(ldb, integer), slot(keep, real), c, slot(ldc, integer),
        ]  # fmt: skip
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in given])
        builder.call(builder.inttoptr(address, kind.as_pointer()), given)
        return context.get_dummy_value()

    return types.void(*arguments), code
