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
    "overlap8x8",
    "prefetch",
    "shrunk32",
    "surely_meet",
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


@kernel
def surely_meet(bounds, a, i, b, j, dim):
    """Tell if lane `i` of block `a` and `j` of block `b` meet whatever rounding hides."""
    ndim = len(dim)
    ok = True
    for d in range(ndim):
        ok &= grown32(bounds[a, d, i]) < bounds[b, ndim + d, j]
        ok &= grown32(bounds[b, d, j]) < bounds[a, ndim + d, i]
    return ok


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


@intrinsic
def _prefetch(typingctx, array, row):
    """Ask for the cache line in which a row of a C-contiguous 2-D array begins."""

    def generate(context, builder, signature, args):
        made = context.make_array(signature.args[0])(context, builder, args[0])
        stride = builder.extract_value(made.strides, 0)
        byte = ir.IntType(8)
        data = builder.bitcast(made.data, byte.as_pointer())
        at = builder.gep(data, [builder.mul(args[1], stride)])
        i32 = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte.as_pointer(), i32, i32, i32]),
            "llvm.prefetch.p0",
        )
        # for reading, to be kept in all caches, data not code
        builder.call(function, [at, ir.Constant(i32, 0), ir.Constant(i32, 3), ir.Constant(i32, 1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


if config.DISABLE_JIT:

    def prefetch(array, row):
        """Do nothing: there is no waiting for memory to speak of."""

    def local_floats():
        """Return scratch for eight float32."""
        return np.empty(LANES, np.float32)

    def local_ints():
        """Return scratch for eight int64."""
        return np.empty(LANES, np.int64)

else:
    # intrinsics put their code into the caller, whose stack it is; a function would return
    local_floats, local_ints, prefetch = _stack_floats, _stack_ints, _prefetch


if PLAIN:

    @kernel
    def overlap8(bounds, block, q, dim):
        """Mask of the lanes of a block that meet the box `q`, float32 ``(2*ndim,)``."""
        ndim = len(dim)
        mask = np.uint64(0)
        for lane in range(LANES):
            ok = True
            for d in range(ndim):
                ok &= bounds[block, d, lane] <= q[ndim + d]
                ok &= q[d] <= bounds[block, ndim + d, lane]
            if ok:
                mask |= np.uint64(1 << lane)
        return mask

    @kernel
    def inside8(bounds, block, q, dim):
        """Mask of the lanes of a block that meet the interior of the box `q`."""
        ndim = len(dim)
        mask = np.uint64(0)
        for lane in range(LANES):
            ok = True
            for d in range(ndim):
                ok &= bounds[block, d, lane] < q[ndim + d]
                ok &= q[d] < bounds[block, ndim + d, lane]
            if ok:
                mask |= np.uint64(1 << lane)
        return mask

    @kernel
    def overlap8x8(bounds, a, b, dim):
        """Mask of the lanes of block `b` that meet each lane of block `a`: 8 bits a lane of `a`."""
        ndim = len(dim)
        word = np.uint64(0)
        for i in range(LANES):
            for j in range(LANES):
                ok = True
                for d in range(ndim):
                    ok &= bounds[a, d, i] <= bounds[b, ndim + d, j]
                    ok &= bounds[b, d, j] <= bounds[a, ndim + d, i]
                if ok:
                    word |= np.uint64(1) << np.uint64(LANES * i + j)
        return word

    @kernel
    def lowest_bit(mask):
        """Return the position of the lowest set bit of a uint64 that is not zero."""
        position = 0
        while not (mask >> np.uint64(position)) & np.uint64(1):
            position += 1
        return position

else:
    _F32, _I32, _I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
    _VECTOR = ir.VectorType(_F32, LANES)

    def _splat(builder, value):
        """Repeat a float in all lanes."""
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
        one = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
        return builder.shuffle_vector(one, undefined, zeros)

    def _block_rows(context, builder, bounds_type, bounds, block, ndim):
        """Return the pointer to a block's floats and its rows as vectors."""
        array = context.make_array(bounds_type)(context, builder, bounds)
        index = builder.mul(block, ir.Constant(block.type, 2 * ndim * LANES))
        floats = builder.gep(array.data, [index])
        vectors = builder.bitcast(floats, _VECTOR.as_pointer())
        rows = [
            builder.load(builder.gep(vectors, [ir.Constant(_I32, row)]), align=4)
            for row in range(2 * ndim)
        ]
        return floats, rows

    def _test_rows(builder, operator, rows, query):
        """Compare the rows of a block with the floats of a box; returns an 8-bit mask."""
        ndim = len(rows) // 2
        result = None
        for d in range(ndim):
            for test in (
                builder.fcmp_ordered(operator, rows[d], _splat(builder, query[ndim + d])),
                builder.fcmp_ordered(operator, _splat(builder, query[d]), rows[ndim + d]),
            ):
                result = test if result is None else builder.and_(result, test)
        return builder.bitcast(result, ir.IntType(LANES))

    def _block_test(operator):
        """Make the code of a test of one block against a box with a comparison operator."""

        def generate(context, builder, signature, args):
            bounds_type, _, query_type, dim = signature.args
            _, rows = _block_rows(context, builder, bounds_type, args[0], args[1], len(dim))
            array = context.make_array(query_type)(context, builder, args[2])
            query = [
                builder.load(builder.gep(array.data, [ir.Constant(_I32, row)]))
                for row in range(2 * len(dim))
            ]
            return builder.zext(_test_rows(builder, operator, rows, query), _I64)

        return generate

    @intrinsic
    def overlap8(typingctx, bounds, block, q, dim):
        """Mask of the lanes of a block that meet the box `q`, float32 ``(2*ndim,)``."""
        return types.uint64(bounds, types.intp, q, dim), _block_test("<=")

    @intrinsic
    def inside8(typingctx, bounds, block, q, dim):
        """Mask of the lanes of a block that meet the interior of the box `q`."""
        return types.uint64(bounds, types.intp, q, dim), _block_test("<")

    @intrinsic
    def overlap8x8(typingctx, bounds, a, b, dim):
        """Mask of the lanes of block `b` that meet each lane of block `a`: 8 bits a lane of `a`."""

        def generate(context, builder, signature, args):
            bounds_type, dim = signature.args[0], signature.args[3]
            ndim = len(dim)
            floats, _ = _block_rows(context, builder, bounds_type, args[0], args[1], ndim)
            _, rows = _block_rows(context, builder, bounds_type, args[0], args[2], ndim)
            word = ir.Constant(_I64, 0)
            for lane in range(LANES):
                query = [
                    builder.load(builder.gep(floats, [ir.Constant(_I32, row * LANES + lane)]))
                    for row in range(2 * ndim)
                ]
                mask = builder.zext(_test_rows(builder, "<=", rows, query), _I64)
                word = builder.or_(word, builder.shl(mask, ir.Constant(_I64, LANES * lane)))
            return word

        return types.uint64(bounds, types.intp, types.intp, dim), generate

    @intrinsic
    def lowest_bit(typingctx, mask):
        """Return the position of the lowest set bit of a uint64 that is not zero."""

        def generate(context, builder, signature, args):
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.uint64), generate
