"""Vector instructions: eight boxes tested at once. The only file with intrinsics.

Boxes lie in *blocks* of eight lanes, ``bounds[block, row, lane]`` in float32 with the rows lower
x, y[, z], upper x, y[, z], rounded outward. One test of a block gives a bit mask, lane 0 in bit 0::

    lanes of a block, x axis:   [0,1] [2,3] [4,5] [6,7] empty empty empty empty
    overlap8 with [2.5, 4.0] -> 0b00000110   (lanes 1 and 2)

An empty lane holds NaN and meets nothing, not even an infinite query, so no count of lanes is
needed.

`overlap8` is a *maybe*: a box can be a rounding step smaller than its lane. `inside8`, the test
against a query made smaller by `grown32` and `shrunk32`, is a *surely*; only lanes that are maybe
and not surely need the exact float64 boxes. A lower bound that is off by its rounding still lies
below the query's upper bound when it lies below that bound less a margin, rounding being monotone.

Written as LLVM vector IR, which any CPU runs. Each has a plain equivalent of the same meaning, used
when compilation is off or bounds are checked.
"""

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from spatialindex.kernels.jit import PLAIN, kernel

__all__ = [
    "LANES",
    "down32",
    "grown32",
    "inside8",
    "local_floats",
    "local_ints",
    "lowest_bit",
    "overlap8",
    "shrunk32",
    "up32",
]

LANES = 8
"""Boxes a block: eight float32 fill one 256-bit register."""

_F32_MAX = 3.4028234663852886e38
# a little more than half a step, relative: subtracted, it rounds to the next float32 below
_HALF_STEP = np.float32(2.0**-24 * (1 + 2.0**-20))
_SUBNORMAL = np.float32(1.5e-45)
# at least four steps: two lanes, each up to two steps off (at a power of two), and the sum's own
_MARGIN = np.float32(2.0**-21)
_TINY = np.float32(1.2e-44)


@kernel
def down32(x):
    """Return a float32 at most the float64 `x`, and `x` itself where that is a float32."""
    if x < -_F32_MAX:
        return np.float32(-np.inf)
    f = np.float32(min(x, _F32_MAX))
    step = abs(f) * _HALF_STEP + _SUBNORMAL
    return np.float32(f - step) if np.float64(f) > x else f


@kernel
def up32(x):
    """Return a float32 at least the float64 `x`, and `x` itself where that is a float32."""
    return -down32(-x)


@kernel
def grown32(x):
    """Return a float32 so far above `x` that no rounding of bounds makes up for it."""
    return np.float32(x + (abs(x) * _MARGIN + _TINY))


@kernel
def shrunk32(x):
    """Return a float32 so far below `x` that no rounding of bounds makes up for it."""
    return np.float32(x - (abs(x) * _MARGIN + _TINY))


@intrinsic
def _stack_floats(typingctx):
    """Eight float32 on the stack of the calling function, as an array."""
    return types.Array(types.float32, 1, "C")(), _stack_array(ir.FloatType(), 4)


@intrinsic
def _stack_ints(typingctx):
    """Eight int64 on the stack of the calling function, as an array."""
    return types.Array(types.int64, 1, "C")(), _stack_array(ir.IntType(64), 8)


def _stack_array(element, size):
    """Make the code of an array of eight elements that lives as long as the calling function."""

    def generate(context, builder, signature, args):
        data = cgutils.alloca_once(builder, element, size=ir.Constant(ir.IntType(64), LANES))
        array = context.make_array(signature.return_type)(context, builder)
        length = context.get_constant(types.intp, LANES)
        stride = context.get_constant(types.intp, size)
        populate_array(
            array,
            data=data,
            shape=cgutils.pack_array(builder, [length]),
            strides=cgutils.pack_array(builder, [stride]),
            itemsize=stride,
            meminfo=None,
        )
        return array._getvalue()

    return generate


if config.DISABLE_JIT:

    def local_floats():
        """Return scratch for eight float32."""
        return np.empty(LANES, np.float32)

    def local_ints():
        """Return scratch for eight int64."""
        return np.empty(LANES, np.int64)

else:
    # intrinsics put their code into the caller, whose stack it is; a function would return
    local_floats, local_ints = _stack_floats, _stack_ints


if PLAIN:

    @kernel
    def overlap8(bounds, block, q, dim):
        """Mask of the lanes of a block that meet the box `q`, float32 ``(2*ndim,)``."""
        ndim = len(dim)
        mask = np.uint32(0)
        for lane in range(LANES):
            ok = True
            for d in range(ndim):
                ok &= bounds[block, d, lane] <= q[ndim + d]
                ok &= q[d] <= bounds[block, ndim + d, lane]
            if ok:
                mask = np.uint32(mask | np.uint32(1 << lane))
        return mask

    @kernel
    def inside8(bounds, block, q, dim):
        """Mask of the lanes of a block that meet the interior of the box `q`."""
        ndim = len(dim)
        mask = np.uint32(0)
        for lane in range(LANES):
            ok = True
            for d in range(ndim):
                ok &= bounds[block, d, lane] < q[ndim + d]
                ok &= q[d] < bounds[block, ndim + d, lane]
            if ok:
                mask = np.uint32(mask | np.uint32(1 << lane))
        return mask

    @kernel
    def lowest_bit(mask):
        """Return the position of the lowest set bit of a mask that is not zero."""
        position = 0
        while not (mask >> np.uint32(position)) & np.uint32(1):
            position += 1
        return position

else:

    def _block_test(operator):
        """Make the code of a test of one block against a box with a comparison operator."""

        def generate(context, builder, signature, args):
            bounds_type, _, query_type, dim = signature.args
            ndim = len(dim)
            bounds = context.make_array(bounds_type)(context, builder, args[0])
            query = context.make_array(query_type)(context, builder, args[2])
            f32, i32 = ir.FloatType(), ir.IntType(32)
            vector = ir.VectorType(f32, LANES)
            index = builder.mul(args[1], ir.Constant(args[1].type, 2 * ndim * LANES))
            rows = builder.bitcast(builder.gep(bounds.data, [index]), vector.as_pointer())
            undefined = ir.Constant(vector, ir.Undefined)
            zeros = ir.Constant(ir.VectorType(i32, LANES), [0] * LANES)

            def splat(number):
                value = builder.load(builder.gep(query.data, [ir.Constant(i32, number)]))
                one = builder.insert_element(undefined, value, ir.Constant(i32, 0))
                return builder.shuffle_vector(one, undefined, zeros)

            def row(number):
                return builder.load(builder.gep(rows, [ir.Constant(i32, number)]), align=4)

            result = None
            for d in range(ndim):
                for test in (
                    builder.fcmp_ordered(operator, row(d), splat(ndim + d)),
                    builder.fcmp_ordered(operator, splat(d), row(ndim + d)),
                ):
                    result = test if result is None else builder.and_(result, test)
            return builder.zext(builder.bitcast(result, ir.IntType(LANES)), i32)

        return generate

    @intrinsic
    def overlap8(typingctx, bounds, block, q, dim):
        """Mask of the lanes of a block that meet the box `q`, float32 ``(2*ndim,)``."""
        return types.uint32(bounds, types.intp, q, dim), _block_test("<=")

    @intrinsic
    def inside8(typingctx, bounds, block, q, dim):
        """Mask of the lanes of a block that meet the interior of the box `q`."""
        return types.uint32(bounds, types.intp, q, dim), _block_test("<")

    @intrinsic
    def lowest_bit(typingctx, mask):
        """Return the position of the lowest set bit of a mask that is not zero."""

        def generate(context, builder, signature, args):
            count = builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))
            return builder.zext(count, ir.IntType(64))

        return types.int64(types.uint32), generate
