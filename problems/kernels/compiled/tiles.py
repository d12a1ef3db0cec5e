"""``G += Z V+`` and ``H += Z V-`` of a small block from registers, V+ and V- the positive and negative parts of V.

A tile is a few classes by one or two vectors of columns. Its sums stay in registers while the rows of the block go by:
a row costs a load of V, its two parts, and for each class a number of Z that is multiplied with both. BLAS would want
the parts written out. Vectors are as wide as the processor's registers; LLVM makes them for any.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from pianobench.problems.kernels.compiled.jit import FAST, intrinsic, types

CLASSES = 6  # of a tile, at most: 24 sums in 32 registers, or 12 in 16
_INDEX = ir.IntType(64)


def _registers(context: Any) -> tuple[int, int]:
    """Bytes of a vector register of the processor that code is made for, and vectors of columns in a tile."""
    triple, _, features = context.codegen().magic_tuple()
    if "+avx512f" in features:
        return 64, 2
    arm = triple.startswith(("aarch64", "arm64"))
    return (32, 1) if "+avx," in features + "," else (16, 2 if arm else 1)


@intrinsic  # type: ignore[untyped-decorator]
def tile_shape(typing_context: Any, number: Any) -> Any:
    """Numbers of this type in a vector, and vectors in a tile."""
    del typing_context

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del values
        width, vectors = _registers(context)
        shape = _INDEX(width * 8 // signature.args[0].bitwidth), _INDEX(vectors)
        return context.make_tuple(builder, signature.return_type, shape)

    return types.UniTuple(types.intp, 2)(number), code


@intrinsic  # type: ignore[untyped-decorator]
def add_signed_tile(
    typing_context: Any, classes: Any, vectors: Any, rows: Any, z: Any, ldz: Any, v: Any, ldv: Any, g: Any, h: Any,
    ldg: Any,
) -> Any:  # fmt: skip
    """One tile: z points to its first class's numbers (rows,), v to its first column, g and h to their entry.

    There are 1 to CLASSES classes and at least one row; the next class is `ldz` or `ldg` on, the next row `ldv`.
    """
    del typing_context, classes, vectors, rows, ldz, v, ldv, g, h, ldg
    whole = types.intp

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        classes, vectors, *given = values
        number, size = context.get_data_type(signature.args[3].dtype), signature.args[3].dtype.bitwidth // 8
        width, most = _registers(context)
        done, other = builder.append_basic_block("done"), builder.append_basic_block("other")
        case = builder.add(builder.mul(vectors, _INDEX(CLASSES + 1)), classes)
        switch = builder.switch(case, other)
        with builder.goto_block(other):
            builder.branch(done)
        for k in range(1, most + 1):
            for i in range(1, CLASSES + 1):
                block = builder.append_basic_block(f"tile{i}by{k}")
                switch.add_case(_INDEX(k * (CLASSES + 1) + i), block)
                builder.position_at_end(block)
                _tile(builder, i, k, ir.VectorType(number, width // size), size, *given)
                builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return types.void(whole, whole, whole, z, whole, z, whole, z, z, whole), code


def _tile(
    builder: Any, classes: int, vectors: int, kind: Any, size: int, rows: Any, z: Any, ldz: Any, v: Any, ldv: Any,
    g: Any, h: Any, ldg: Any,
) -> None:  # fmt: skip
    """The loop over the rows with all sums in registers, and what adds them to g and h."""
    zero, undefined, lanes = ir.Constant(kind, [0.0] * kind.count), ir.Constant(kind, ir.Undefined), kind.count
    short, flags = ir.IntType(32), tuple(FAST)
    first_lane = ir.Constant(ir.VectorType(short, lanes), [0] * lanes)

    def vector(pointer: Any, k: int) -> Any:
        return builder.bitcast(builder.gep(pointer, [_INDEX(k * lanes)]), kind.as_pointer())

    before, loop, after = builder.block, builder.append_basic_block("rows"), builder.append_basic_block("sums")
    numbers = [builder.gep(z, [builder.mul(ldz, _INDEX(i))]) for i in range(classes)]
    builder.branch(loop)
    builder.position_at_end(loop)
    j, line = builder.phi(_INDEX), builder.phi(v.type)
    j.add_incoming(_INDEX(0), before)
    line.add_incoming(v, before)
    sums = [builder.phi(kind) for _ in range(2 * classes * vectors)]
    parts = []
    for k in range(vectors):
        x = builder.load(vector(line, k), align=size)
        parts += [builder.select(builder.fcmp_ordered(sign, x, zero), x, zero) for sign in "><"]
    totals: list[Any] = []
    for i in range(classes):
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
    for i in range(classes):
        for k in range(vectors):
            for side, out in enumerate((g, h)):  # h has the sign of V- still to change
                place = vector(builder.gep(out, [builder.mul(ldg, _INDEX(i))]), k)
                add = builder.fsub if side else builder.fadd
                new = add(builder.load(place, align=size), totals[(i * vectors + k) * 2 + side])
                builder.store(new, place, align=size)
