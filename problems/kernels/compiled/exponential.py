"""Exponential and log1p that LLVM vectorises: range reduction and a polynomial, no branch, no call.

exp: x = k log 2 + r, |r| <= log(2)/2, a polynomial that interpolates exp at Chebyshev nodes (relative error 4e-18 at
degree 11, 3e-9 in float32 at degree 6), and 2^k put together from bits, in two factors so that subnormal results are
rounded and not lost. log1p: log(1 + x) by s = f/(2 + f) and a polynomial in s^2 [the series of atanh], plus what 1 + x
lost by rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from pianobench.problems.kernels.compiled.jit import FAST, compiled, intrinsic, overload, types

_INF = float("inf")
_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_SHIFT = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number, in the low bits
_E = (
    1.0, 1.0, 0.5000000000000019, 0.1666666666666668, 0.04166666666648809, 0.008333333333319601,
    0.0013888888952315137, 0.00019841269890047392, 2.4801485481939763e-05, 2.7557240918280047e-06,
    2.763263978288121e-07, 2.5110037716573578e-08,
)  # fmt: skip
_E0, _E1, _E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11 = _E
_LOG2E_32, _LN2_HIGH_32, _LN2_LOW_32, _SHIFT_32 = 1.44269504, 0.693359375, -2.12194440e-4, 12582912.0
_F0, _F1, _F2, _F3, _F4, _F5, _F6 = (
    1.0, 1.0000000377164298, 0.5000000047118027, 0.16666415513693908, 0.04166635289557692, 0.008375126478033599,
    0.0013941108533739813,
)  # fmt: skip
_L1, _L2, _L3, _L4, _L5, _L6, _L7 = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)  # fmt: skip


@intrinsic  # type: ignore[untyped-decorator]
def _bits(typing_context: Any, x: Any) -> Any:
    """The bits of a float as a whole number of the same width."""
    del typing_context
    whole = types.int64 if x == types.float64 else types.int32

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del context, signature
        return builder.bitcast(values[0], ir.IntType(whole.bitwidth))

    return whole(x), code


@intrinsic  # type: ignore[untyped-decorator]
def _from_bits(typing_context: Any, k: Any) -> Any:
    """The float of the same width that has these bits."""
    del typing_context
    number, kind = (types.float64, ir.DoubleType()) if k == types.int64 else (types.float32, ir.FloatType())

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del context, signature
        return builder.bitcast(values[0], kind)

    return number(k), code


def exp(x: Any) -> Any:
    """exp(x) for x <= 0 of either width, NaN for NaN. Compiled as below; this is what it is without the compiler."""
    return np.exp(x)


def exp_of_either_sign(x: Any) -> Any:
    """exp(x) in float64 for any x, inf from where it overflows; likewise."""
    return np.exp(np.float64(x))


def log1p(x: Any) -> Any:
    """log(1 + x) in float64 for x >= 0 of either width, inf for inf, NaN for NaN; likewise."""
    return np.log1p(np.float64(x))


@overload(exp, jit_options={"fastmath": FAST}, inline="always")  # type: ignore[untyped-decorator]
def _exp(x: Any) -> Any:
    if x == types.float64:

        def exp64(x: Any) -> Any:
            x = -746.0 if x < -746.0 else x
            shifted = x * _LOG2E + _SHIFT
            k = _bits(shifted) - _bits(_SHIFT)
            whole = shifted - _SHIFT
            r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
            p = _E11 * r + _E10
            p = p * r + _E9
            p = p * r + _E8
            p = p * r + _E7
            p = p * r + _E6
            p = p * r + _E5
            p = p * r + _E4
            p = p * r + _E3
            p = p * r + _E2
            p = p * r + _E1
            p = p * r + _E0
            half = k >> 1
            return (p * _from_bits((half + 1023) << 52)) * _from_bits((k - half + 1023) << 52)

        return exp64

    one = np.float32
    log2e, shift, high, low, least = one(_LOG2E_32), one(_SHIFT_32), one(_LN2_HIGH_32), one(_LN2_LOW_32), one(-104.0)
    f0, f1, f2, f3, f4, f5, f6 = (one(c) for c in (_F0, _F1, _F2, _F3, _F4, _F5, _F6))

    def exp32(x: Any) -> Any:
        x = least if x < least else x
        shifted = x * log2e + shift
        k = _bits(shifted) - _bits(shift)
        whole = shifted - shift
        r = (x - whole * high) - whole * low
        p = f6 * r + f5
        p = p * r + f4
        p = p * r + f3
        p = p * r + f2
        p = p * r + f1
        p = p * r + f0
        half = types.int32(k >> types.int32(1))
        rest = types.int32(k - half)
        left = _from_bits(types.int32((half + types.int32(127)) << types.int32(23)))
        return (p * left) * _from_bits(types.int32((rest + types.int32(127)) << types.int32(23)))

    return exp32


@overload(exp_of_either_sign, jit_options={"fastmath": FAST}, inline="always")  # type: ignore[untyped-decorator]
def _exp_of_either_sign(x: Any) -> Any:
    del x

    def either64(x: Any) -> Any:
        return exp(710.0 if x > 710.0 else x)  # where the two factors of 2^k still are numbers

    return either64


@overload(log1p, jit_options={"fastmath": FAST}, inline="always")  # type: ignore[untyped-decorator]
def _log1p(x: Any) -> Any:
    del x  # either width: the sum of a sample's loss is taken in float64

    def log1p64(x: Any) -> Any:
        x = types.float64(x)
        u = 1.0 + x
        lost = (x - (u - 1.0)) / u
        bits = _bits(u)
        # u = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2)
        k = (bits - 4604544271217802189 + 4607182418800017408 >> 52) - 1023
        f = _from_bits(bits - (k << 52)) - 1.0
        s = f / (2.0 + f)
        z = s * s
        w = z * (_L1 + z * (_L2 + z * (_L3 + z * (_L4 + z * (_L5 + z * (_L6 + z * _L7))))))
        half = 0.5 * f * f
        whole = types.float64(k)
        found = whole * _LN2_HIGH - ((half - (s * (half + w) + (whole * _LN2_LOW + lost))) - f)
        return found if x < _INF else x

    return log1p64


@compiled
def exponentials(x: Any, out: Any) -> None:
    """Element-wise `exp`, to be measured and tested."""
    for i in range(x.size):
        out[i] = exp(x[i])


@compiled
def logarithms(x: Any, out: Any) -> None:
    """Element-wise `log1p`, to be measured and tested."""
    for i in range(x.size):
        out[i] = log1p(x[i])
