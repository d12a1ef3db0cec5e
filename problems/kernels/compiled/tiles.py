"""``G += Z V`` of a small block from registers, or ``G += Z V+`` and ``H += Z V-``, V+ and V- its parts by sign.

A tile is a few rows of Z by a few vectors of columns of V. Its sums stay in registers while the rows of V go by: each
costs its load, or that and its two parts, and for each row of Z a number that is multiplied with all. BLAS copies what
is not small to its own order, and would want the parts by sign written out. Vectors are as wide as the processor's
registers; LLVM makes them for any.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from pianobench.problems.kernels.compiled.jit import FAST, intrinsic, types

HEIGHT = 6  # rows of Z in a tile, at most: 24 sums in 32 registers, or 12 in 16
_INDEX = ir.IntType(64)


def _registers(context: Any) -> tuple[int, int]:
    """Bytes of a vector register of the processor that code is made for, and vectors of columns in a tile of parts."""
    triple, _, features = context.codegen().magic_tuple()
    if "+avx512f" in features:
        return 64, 2
    arm = triple.startswith(("aarch64", "arm64"))
    return (32, 1) if "+avx," in features + "," else (16, 2 if arm else 1)


@intrinsic  # type: ignore[untyped-decorator]
def tile_shape(typing_context: Any, number: Any) -> Any:
    """Numbers of this type in a vector; vectors in a tile of V's parts, of which one of V has twice as many."""
    del typing_context

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del values
        width, vectors = _registers(context)
        shape = _INDEX(width * 8 // signature.args[0].bitwidth), _INDEX(vectors)
        return context.make_tuple(builder, signature.return_type, shape)

    return types.UniTuple(types.intp, 2)(number), code


@intrinsic  # type: ignore[untyped-decorator]
def add_tile(
    typing_context: Any, height: Any, vectors: Any, rows: Any, z: Any, ldz: Any, v: Any, ldv: Any, g: Any, ldg: Any
) -> Any:
    """One tile of ``G += Z V``: z, v and g point to its first row of Z, column of V and entry of G.

    `height` is 1 to HEIGHT, `vectors` at most what `tile_shape` says, and V has at least one of its `rows`; the next
    row of Z, V or G is `ldz`, `ldv` or `ldg` numbers on.
    """
    del typing_context, height, vectors, rows, ldz, v, ldv, g, ldg
    whole = types.intp

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        *given, g, ldg = values
        _one_of(context, builder, signature.args[3].dtype, False, *given, (g,), ldg)
        return context.get_dummy_value()

    return types.void(whole, whole, whole, z, whole, z, whole, z, whole), code


@intrinsic  # type: ignore[untyped-decorator]
def add_signed_tile(
    typing_context: Any, height: Any, vectors: Any, rows: Any, z: Any, ldz: Any, v: Any, ldv: Any, g: Any, h: Any,
    ldg: Any,
) -> Any:  # fmt: skip
    """One tile of ``G += Z V+`` and ``H += Z V-``, likewise."""
    del typing_context, height, vectors, rows, ldz, v, ldv, g, h, ldg
    whole = types.intp

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        *given, g, h, ldg = values
        _one_of(context, builder, signature.args[3].dtype, True, *given, (g, h), ldg)
        return context.get_dummy_value()

    return types.void(whole, whole, whole, z, whole, z, whole, z, z, whole), code


def _one_of(context: Any, builder: Any, number: Any, signed: bool, height: Any, vectors: Any, *given: Any) -> None:
    """A tile of each height and width, of which the one that is asked for runs."""
    width, most = _registers(context)
    size = number.bitwidth // 8
    kind = ir.VectorType(context.get_data_type(number), width // size)
    done = builder.append_basic_block("done")
    switch = builder.switch(builder.add(builder.mul(vectors, _INDEX(HEIGHT + 1)), height), done)
    for k in range(1, (1 if signed else 2) * most + 1):
        for i in range(1, HEIGHT + 1):
            block = builder.append_basic_block(f"tile{i}by{k}")
            switch.add_case(_INDEX(k * (HEIGHT + 1) + i), block)
            builder.position_at_end(block)
            _tile(builder, i, k, kind, size, signed, *given)
            builder.branch(done)
    builder.position_at_end(done)


def _tile(
    builder: Any, height: int, vectors: int, kind: Any, size: int, signed: bool, rows: Any, z: Any, ldz: Any, v: Any,
    ldv: Any, outs: Any, ldg: Any,
) -> None:  # fmt: skip
    """The loop over the rows of V with all sums in registers, and what adds them to `outs`."""
    zero, undefined, lanes = ir.Constant(kind, [0.0] * kind.count), ir.Constant(kind, ir.Undefined), kind.count
    short, flags = ir.IntType(32), tuple(FAST)
    first_lane = ir.Constant(ir.VectorType(short, lanes), [0] * lanes)

    def vector(pointer: Any, k: int) -> Any:
        return builder.bitcast(builder.gep(pointer, [_INDEX(k * lanes)]), kind.as_pointer())

    before, loop, after = builder.block, builder.append_basic_block("rows"), builder.append_basic_block("sums")
    numbers = [builder.gep(z, [builder.mul(ldz, _INDEX(i))]) for i in range(height)]
    builder.branch(loop)
    builder.position_at_end(loop)
    j, line = builder.phi(_INDEX), builder.phi(v.type)
    j.add_incoming(_INDEX(0), before)
    line.add_incoming(v, before)
    sums = [builder.phi(kind) for _ in range(len(outs) * height * vectors)]
    parts: list[Any] = []
    for k in range(vectors):
        x = builder.load(vector(line, k), align=size)
        parts += [builder.select(builder.fcmp_ordered(sign, x, zero), x, zero) for sign in "><"] if signed else [x]
    totals: list[Any] = []
    for i in range(height):
        one = builder.insert_element(undefined, builder.load(builder.gep(numbers[i], [j])), short(0))
        same = builder.shuffle_vector(one, undefined, first_lane)
        for part in parts:
            product = builder.fmul(same, part, flags=flags)
            totals.append(builder.fadd(sums[len(totals)], product, flags=flags))
    for old, new in zip(sums, totals, strict=True):
        old.add_incoming(zero, before)
        old.add_incoming(new, loop)
    next_j = builder.add(j, _INDEX(1))
    j.add_incoming(next_j, loop)
    line.add_incoming(builder.gep(line, [ldv]), loop)
    builder.cbranch(builder.icmp_signed("<", next_j, rows), loop, after)
    builder.position_at_end(after)
    for i in range(height):
        for k in range(vectors):
            for side, out in enumerate(outs):  # the second has the sign of V- still to change
                place = vector(builder.gep(out, [builder.mul(ldg, _INDEX(i))]), k)
                add = builder.fsub if side else builder.fadd
                new = add(builder.load(place, align=size), totals[(i * vectors + k) * len(outs) + side])
                builder.store(new, place, align=size)
