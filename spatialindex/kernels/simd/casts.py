"""Preparing a cast, and when eight lanes are met by a moving box, as LLVM vector IR.

`plain` and `rounding` say the same in loops; what is meant stands there.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from spatialindex.kernels.simd.rounding import LANES, LARGEST, LATER, NEAR, REACH, SOONER, STEPS
from spatialindex.kernels.simd.vectors import (
    bit_mask,
    block_floats,
    constant_floats,
    larger,
    query_floats,
    rounded_down,
    smaller,
    splat,
    store_floats,
)

__all__ = ["aim_along", "cast8", "cast_keys8"]

_F32, _I32, _I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_FLOATS, _INTS, _LONGS = (ir.VectorType(kind, LANES) for kind in (_F32, _I32, _I64))


@intrinsic
def aim_along(typingctx, q, exact, row, last, dim):
    """Prepare `q` of `local_query` for `cast8`, a box cast up to a time, all axes at once.

    Row `row` of float64 `exact` begins with the box and its motion in a unit of time.
    """

    def generate(context, builder, signature, args):
        query_type, exact_type, dim = signature.args[0], signature.args[1], signature.args[4]
        ndim = len(dim)
        wide, narrow = ir.VectorType(ir.DoubleType(), ndim), ir.VectorType(_F32, ndim)
        array = context.make_array(exact_type)(context, builder, args[1])
        start = builder.mul(args[2], builder.extract_value(array.shape, 1))
        floats = context.make_array(query_type)(context, builder, args[0]).data

        def doubles(place):
            at = builder.gep(array.data, [builder.add(start, ir.Constant(_I64, place))])
            return builder.load(builder.bitcast(at, wide.as_pointer()), align=8)

        def absolute(vector, name):
            kind = vector.type
            function = ir.FunctionType(kind, [kind])
            return builder.call(
                cgutils.get_or_insert_function(builder.module, function, f"llvm.fabs.{name}"),
                [vector],
            )

        def up(vector):
            return builder.fneg(rounded_down(builder, builder.fneg(vector))[0])

        def write(place, vector):
            at = builder.gep(floats, [ir.Constant(_I32, place)])
            builder.store(vector, builder.bitcast(at, vector.type.as_pointer()), align=4)

        motion = doubles(2 * ndim)
        is_back = builder.fcmp_ordered("<", motion, ir.Constant(wide, [0.0] * ndim))
        # without motion infinite, which is rounded to what `aim_along` of `rounding` has then
        ones = ir.Constant(wide, [1.0] * ndim)
        inverse = builder.fdiv(ones, absolute(motion, f"v{ndim}f64"))
        slowest, fastest = up(inverse), rounded_down(builder, inverse)[0]
        lower, upper = rounded_down(builder, doubles(0))[0], up(doubles(ndim))
        near = builder.select(is_back, lower, upper)
        far = builder.select(is_back, upper, lower)
        is_far_off = builder.fcmp_ordered(
            ">", absolute(near, f"v{ndim}f32"), ir.Constant(narrow, [float(NEAR)] * ndim)
        )
        fastest = builder.select(is_far_off, ir.Constant(narrow, [0.0] * ndim), fastest)
        write(0, near)
        write(3, far)
        write(6, builder.select(is_back, builder.fneg(fastest), fastest))
        write(9, builder.select(is_back, builder.fneg(slowest), slowest))
        alone = ir.Constant(ir.VectorType(ir.DoubleType(), 1), ir.Undefined)
        write(REACH, up(builder.insert_element(alone, args[3], ir.Constant(_I32, 0))))
        return context.get_dummy_value()

    return types.void(q, exact, types.intp, types.float64, dim), generate


def _constant(kind, value):
    """Repeat an integer in all lanes."""
    return ir.Constant(kind, [value] * LANES)


def _times(context, builder, signature, args, place):
    """Return when the lanes of a block are met at the earliest, and the mask of those in time.

    Arguments begin with bounds; the block, the query and at last the dimensions follow, the block
    at a place.
    """
    ndim = len(signature.args[-1])
    floats = block_floats(context, builder, signature.args[0], args[0], args[place], ndim)
    load = query_floats(context, builder, signature.args[place + 1], args[place + 1])

    def row(number):
        start = builder.gep(floats, [number])
        return builder.load(builder.bitcast(start, _FLOATS.as_pointer()), align=4)

    first, last = constant_floats(0.0), constant_floats(np.inf)
    for d in range(ndim):
        slowest = load(9 + d)
        # of the other row of the axis where the motion goes back, by the sign bit
        is_back = builder.lshr(builder.bitcast(slowest, _I32), ir.Constant(_I32, 31))
        swap = builder.mul(builder.zext(is_back, _I64), ir.Constant(_I64, LANES * ndim))
        near = builder.add(ir.Constant(_I64, LANES * d), swap)
        far = builder.sub(ir.Constant(_I64, LANES * (ndim + d)), swap)
        enter = builder.fsub(row(near), splat(builder, load(d)))
        enter = builder.fmul(enter, splat(builder, load(6 + d)))
        leave = builder.fsub(row(far), splat(builder, load(3 + d)))
        leave = builder.fmul(leave, splat(builder, slowest))
        first = larger(builder, enter, first)
        last = smaller(builder, leave, last)
    first = smaller(builder, first, constant_floats(LARGEST))
    first = builder.fsub(builder.fmul(first, constant_floats(SOONER)), constant_floats(STEPS))
    last = builder.fadd(builder.fmul(last, constant_floats(LATER)), constant_floats(STEPS))
    last = smaller(builder, last, splat(builder, load(REACH)))
    in_use = row(ir.Constant(_I64, 0))
    met = builder.fcmp_ordered("<=", first, last)
    return first, bit_mask(builder, builder.and_(met, builder.fcmp_ordered("ord", in_use, in_use)))


@intrinsic
def cast8(typingctx, bounds, block, q, out, dim):
    """Mask of the lanes of a block that a moving box may meet in time, see `aim_along`.

    Writes to float32 `out` when each of them is met at the earliest, by `decide.cast_time` of
    any box in the lane.
    """

    def generate(context, builder, signature, args):
        first, mask = _times(context, builder, signature, args, 1)
        store_floats(context, builder, signature.args[3], args[3], first)
        return mask

    return types.uint64(bounds, types.intp, q, out, dim), generate


@intrinsic
def cast_keys8(typingctx, bounds, items, block, q, mark, keys, dim):
    """Mask of the lanes of a block that a moving box may meet in time, as `cast8`.

    Writes to int64 `keys` when and what: above, the bits of the time, of which the last is `mark`,
    0 or 1; below, the 32 bits of the item of the lane.
    """

    def generate(context, builder, signature, args):
        first, mask = _times(context, builder, signature, args, 2)
        times = builder.bitcast(larger(builder, first, constant_floats(0.0)), _INTS)
        times = builder.and_(times, _constant(_INTS, 0x7FFFFFFE))
        above = builder.shl(builder.zext(times, _LONGS), _constant(_LONGS, 32))
        marks = splat(builder, builder.shl(args[4], ir.Constant(_I64, 32)))
        array = context.make_array(signature.args[1])(context, builder, args[1])
        numbers = builder.gep(builder.bitcast(array.data, _INTS.as_pointer()), [args[2]])
        below = builder.zext(builder.load(numbers, align=4), _LONGS)
        found = builder.or_(builder.or_(above, marks), below)
        out = context.make_array(signature.args[5])(context, builder, args[5]).data
        builder.store(found, builder.bitcast(out, _LONGS.as_pointer()), align=8)
        return mask

    return types.uint64(bounds, items, types.intp, q, types.int64, keys, dim), generate
