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

`distances8` and `cast8` are *at least*: what they compute of a lane is never more than what
`spatialindex.kernels.decide` says of the box in it, so that a lane whose bound is beyond the best
found so far is passed over. A query is prepared once, by `aim_at_point` or `aim_along`, and its
scratch holds how far to look, which shrinks while answers are found. `plane8` computes what
`decide.within_planes` does, in float64, of the lane itself.

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
    "REACH",
    "aim_along",
    "aim_at_point",
    "at_least8",
    "cast8",
    "distances8",
    "down32",
    "equal8",
    "grown32",
    "inside8",
    "lane_overlap8",
    "local_floats",
    "local_ints",
    "local_query",
    "lowest_bit",
    "overlap8",
    "overlap8x8",
    "pack8",
    "plane8",
    "prefetch",
    "shrunk32",
    "surely_meet",
    "union8",
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

REACH = 15
"""Where the scratch of `distances8` and `cast8` holds the distance or time to look up to."""

# of squares: five roundings of 2**-24 each before it, three after it
_SQUARES = np.float32(1.0 - 2.0**-20)
# of times: three roundings before it, two after it
_SOONER = np.float32(1.0 - 2.0**-21)
_LATER = np.float32(1.0 + 2.0**-21)
# what rounding below the normal numbers can add: half a step a product, four of them at most
_STEPS = np.float32(2.0**-147)
# a part that can be squared and summed
_FAR = np.float32(2.0**62)
_LARGEST = np.float32(_F32_MAX)
# less than half a step of the largest: added to it, it makes no infinity
_NEAR = np.float32(2.0**102)


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


@kernel
def aim_at_point(q, points, row, reach, dim):
    """Prepare `q` of `local_query` for `distances8` from a point up to a distance.

    Row `row` of float64 `points` begins with the coordinates.
    """
    for d in range(len(dim)):
        q[d] = up32(points[row, d])
        q[3 + d] = down32(points[row, d])
    q[REACH] = up32(reach)


@kernel
def aim_along(q, exact, row, last, dim):
    """Prepare `q` of `local_query` for `cast8`, a box cast up to a time.

    Row `row` of float64 `exact` begins with the box and its motion in a unit of time. An axis has a
    place each for where the near faces start from and the far ones, rounded so that they meet
    lanes sooner and leave them later, and for the inverses of the speed, rounded likewise. Without
    motion the near faces are met at once or never, and the far ones never left or always.
    """
    ndim = len(dim)
    for d in range(ndim):
        motion = exact[row, 2 * ndim + d]
        lower, upper = down32(exact[row, d]), up32(exact[row, ndim + d])
        if motion == 0.0:
            slowest, fastest = np.float32(np.inf), _LARGEST
        else:
            inverse = 1.0 / abs(motion)
            slowest, fastest = up32(inverse), down32(inverse)
        q[d] = lower if motion < 0.0 else upper
        q[3 + d] = upper if motion < 0.0 else lower
        if abs(q[d]) > _NEAR:
            fastest = np.float32(0.0)  # the way to a lane might overflow: it delays nothing
        q[6 + d] = -fastest if motion < 0.0 else fastest
        q[9 + d] = -slowest if motion < 0.0 else slowest
    q[REACH] = up32(last)


@intrinsic
def _stack_floats(typingctx):
    """Eight float32 on the stack of the calling function, as an array."""
    return types.Array(types.float32, 1, "C")(), _stack_array(ir.FloatType(), 4)


@intrinsic
def _stack_query(typingctx):
    """Sixteen float32 on the stack of the calling function, as an array."""
    return types.Array(types.float32, 1, "C")(), _stack_array(ir.FloatType(), 4, 2 * LANES)


@intrinsic
def _stack_ints(typingctx):
    """Eight int64 on the stack of the calling function, as an array."""
    return types.Array(types.int64, 1, "C")(), _stack_array(ir.IntType(64), 8)


@intrinsic
def _stack_doubles(typingctx):
    """Sixteen float64 on the stack of the calling function, as an array."""
    return types.Array(types.float64, 1, "C")(), _stack_array(ir.DoubleType(), 8, 2 * LANES)


def _stack_array(element, size, n=LANES):
    """Make the code of an array of `n` elements that lives as long as the calling function."""

    def generate(context, builder, signature, args):
        data = cgutils.alloca_once(builder, element, size=ir.Constant(ir.IntType(64), n))
        array = context.make_array(signature.return_type)(context, builder)
        length = context.get_constant(types.intp, n)
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

    def local_doubles():
        """Return scratch for sixteen float64."""
        return np.empty(2 * LANES)

    def local_query():
        """Return scratch for sixteen float32: a query of `distances8` or `cast8`."""
        return np.empty(2 * LANES, np.float32)

else:
    # intrinsics put their code into the caller, whose stack it is; a function would return
    local_floats, local_ints, prefetch = _stack_floats, _stack_ints, _prefetch
    local_doubles, local_query = _stack_doubles, _stack_query


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
    def distances8(bounds, block, q, out, dim):
        """Mask of the lanes of a block that may be within reach of a point, see `aim_at_point`.

        Writes to float32 `out` what each of them is away at least, by `decide.distance_to_box` of
        any box in the lane.
        """
        ndim = len(dim)
        mask = np.uint64(0)
        for lane in range(LANES):
            total = np.float32(0.0)
            for d in range(ndim):
                part = max(bounds[block, d, lane] - q[d], q[3 + d] - bounds[block, ndim + d, lane])
                part = min(max(np.float32(part), np.float32(0.0)), _FAR)
                total = np.float32(total + np.float32(part * part))
            total = np.float32(np.float32(total * _SQUARES) - _STEPS)
            out[lane] = np.sqrt(max(total, np.float32(0.0)))
            # an empty lane is not a number, whatever became of it above
            if out[lane] <= q[REACH] and bounds[block, 0, lane] == bounds[block, 0, lane]:
                mask |= np.uint64(1 << lane)
        return mask

    @kernel
    def cast8(bounds, block, q, out, dim):
        """Mask of the lanes of a block that a moving box may meet in time, see `aim_along`.

        Writes to float32 `out` when each of them is met at the earliest, by `decide.cast_time` of
        any box in the lane.
        """
        ndim = len(dim)
        mask = np.uint64(0)
        for lane in range(LANES):
            first, last = np.float32(0.0), np.float32(np.inf)
            for d in range(ndim):
                near, far = (ndim + d, d) if q[9 + d] < 0.0 else (d, ndim + d)
                enter = np.float32(np.float32(bounds[block, near, lane] - q[d]) * q[6 + d])
                leave = np.float32(np.float32(bounds[block, far, lane] - q[3 + d]) * q[9 + d])
                # written so that what is not a number changes nothing
                if enter > first:
                    first = enter
                if leave < last:
                    last = leave
            first = np.float32(np.float32(min(first, _LARGEST) * _SOONER) - _STEPS)
            last = np.float32(np.float32(last * _LATER) + _STEPS)
            out[lane] = first
            is_met = first <= last and first <= q[REACH]
            if is_met and bounds[block, 0, lane] == bounds[block, 0, lane]:
                mask |= np.uint64(1 << lane)
        return mask

    @kernel
    def plane8(bounds, block, exact, row, at, dim):
        """Mask of the lanes of a block that are not wholly outside of a plane.

        The normal begins in place `at` of the row, the offset follows it, as `decide.within_planes`
        has it. The bits of empty lanes mean nothing.
        """
        ndim = len(dim)
        mask = np.uint64(0)
        for lane in range(LANES):
            total = 0.0
            for d in range(ndim):
                normal = exact[row, at + d]
                corner = bounds[block, d if normal > 0.0 else ndim + d, lane]
                total += normal * np.float64(corner)
            if not total > exact[row, at + ndim]:
                mask |= np.uint64(1 << lane)
        return mask

    @kernel
    def at_least8(bounds, block, row, value):
        """Mask of the lanes of a block whose bound in `row` is `value` or more."""
        mask = np.uint64(0)
        for lane in range(LANES):
            if bounds[block, row, lane] >= value:
                mask |= np.uint64(1 << lane)
        return mask

    @kernel
    def lane_overlap8(bounds, a, lane, b, dim):
        """Mask of the lanes of block `b` that meet one lane of block `a`."""
        ndim = len(dim)
        mask = np.uint64(0)
        for j in range(LANES):
            ok = True
            for d in range(ndim):
                ok &= bounds[a, d, lane] <= bounds[b, ndim + d, j]
                ok &= bounds[b, d, j] <= bounds[a, ndim + d, lane]
            if ok:
                mask |= np.uint64(1 << j)
        return mask

    @kernel
    def union8(bounds, block, q, dim):
        """Write the box around all lanes of a block, one of them at least not empty, to `q`."""
        ndim = len(dim)
        for d in range(ndim):
            lower, upper = np.float32(np.inf), np.float32(-np.inf)
            for lane in range(LANES):
                # written so that what is not a number changes nothing
                if bounds[block, d, lane] < lower:
                    lower = bounds[block, d, lane]
                if bounds[block, ndim + d, lane] > upper:
                    upper = bounds[block, ndim + d, lane]
            q[d] = lower
            q[ndim + d] = upper

    @kernel
    def pack8(bounds, block, boxes, rows, at, n, row_mask, dim):
        """Write up to eight boxes into the lanes of a block, rounded outward.

        Lane `i` below `n` gets the float64 box in row ``rows[at + i] & row_mask``; what is in the
        lanes behind means nothing. Returns the mask of lanes of which no bound had to be rounded.
        """
        ndim = len(dim)
        mask = np.uint64(0)
        for lane in range(LANES):
            i = np.int64(rows[at + min(lane, n - 1)]) & row_mask
            is_exact = True
            for d in range(ndim):
                lower, upper = down32(boxes[i, d]), up32(boxes[i, ndim + d])
                bounds[block, d, lane] = lower
                bounds[block, ndim + d, lane] = upper
                is_exact &= np.float64(lower) == boxes[i, d]
                is_exact &= np.float64(upper) == boxes[i, ndim + d]
            if is_exact:
                mask |= np.uint64(1 << lane)
        return mask

    @kernel
    def equal8(slots, block, slot):
        """Mask of the lanes of a block that hold a slot."""
        mask = np.uint64(0)
        for lane in range(LANES):
            if slots[block, lane] == slot:
                mask |= np.uint64(1 << lane)
        return mask

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

    def _floats(value):
        """Repeat a constant in all lanes."""
        return ir.Constant(_VECTOR, [float(value)] * LANES)

    def _larger(builder, a, b):
        """Return the larger of each lane; `b` where one is not a number."""
        return builder.select(builder.fcmp_ordered(">", a, b), a, b)

    def _smaller(builder, a, b):
        """Return the smaller of each lane; `b` where one is not a number."""
        return builder.select(builder.fcmp_ordered("<", a, b), a, b)

    def _query_floats(context, builder, query_type, query):
        """Return a function that loads a float of a query, and its splat."""
        data = context.make_array(query_type)(context, builder, query).data

        def load(place):
            return builder.load(builder.gep(data, [ir.Constant(_I32, place)]))

        return load

    def _bit_mask(builder, lanes):
        """Return the lanes' bits as an unsigned number."""
        return builder.zext(builder.bitcast(lanes, ir.IntType(LANES)), _I64)

    def _store(context, builder, out_type, out, vector):
        """Write a vector to an array of floats."""
        data = context.make_array(out_type)(context, builder, out).data
        builder.store(vector, builder.bitcast(data, _VECTOR.as_pointer()), align=4)

    @intrinsic
    def distances8(typingctx, bounds, block, q, out, dim):
        """Mask of the lanes of a block that may be within reach of a point, see `aim_at_point`.

        Writes to float32 `out` what each of them is away at least, by `decide.distance_to_box` of
        any box in the lane.
        """

        def generate(context, builder, signature, args):
            bounds_type, _, query_type, out_type, dim = signature.args
            ndim = len(dim)
            _, rows = _block_rows(context, builder, bounds_type, args[0], args[1], ndim)
            load = _query_floats(context, builder, query_type, args[2])
            total = None
            for d in range(ndim):
                below = builder.fsub(rows[d], _splat(builder, load(d)))
                above = builder.fsub(_splat(builder, load(3 + d)), rows[ndim + d])
                part = _larger(builder, _larger(builder, below, above), _floats(0.0))
                part = _smaller(builder, part, _floats(_FAR))
                square = builder.fmul(part, part)
                total = square if total is None else builder.fadd(total, square)
            total = builder.fsub(builder.fmul(total, _floats(_SQUARES)), _floats(_STEPS))
            total = _larger(builder, total, _floats(0.0))
            root = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(_VECTOR, [_VECTOR]), "llvm.sqrt.v8f32"
            )
            distance = builder.call(root, [total])
            _store(context, builder, out_type, args[3], distance)
            within = builder.fcmp_ordered("<=", distance, _splat(builder, load(REACH)))
            return _bit_mask(
                builder, builder.and_(within, builder.fcmp_ordered("ord", rows[0], rows[0]))
            )

        return types.uint64(bounds, types.intp, q, out, dim), generate

    @intrinsic
    def cast8(typingctx, bounds, block, q, out, dim):
        """Mask of the lanes of a block that a moving box may meet in time, see `aim_along`.

        Writes to float32 `out` when each of them is met at the earliest, by `decide.cast_time` of
        any box in the lane.
        """

        def generate(context, builder, signature, args):
            bounds_type, _, query_type, out_type, dim = signature.args
            ndim = len(dim)
            floats, rows = _block_rows(context, builder, bounds_type, args[0], args[1], ndim)
            vectors = builder.bitcast(floats, _VECTOR.as_pointer())
            load = _query_floats(context, builder, query_type, args[2])

            def row(is_back, if_back, if_not):
                place = builder.select(
                    is_back, ir.Constant(_I32, if_back), ir.Constant(_I32, if_not)
                )
                return builder.load(builder.gep(vectors, [place]), align=4)

            first, last = _floats(0.0), _floats(np.inf)
            for d in range(ndim):
                slowest = load(9 + d)
                is_back = builder.fcmp_ordered("<", slowest, ir.Constant(_F32, 0.0))
                enter = builder.fsub(row(is_back, ndim + d, d), _splat(builder, load(d)))
                enter = builder.fmul(enter, _splat(builder, load(6 + d)))
                leave = builder.fsub(row(is_back, d, ndim + d), _splat(builder, load(3 + d)))
                leave = builder.fmul(leave, _splat(builder, slowest))
                first = _larger(builder, enter, first)
                last = _smaller(builder, leave, last)
            first = _smaller(builder, first, _floats(_LARGEST))
            first = builder.fsub(builder.fmul(first, _floats(_SOONER)), _floats(_STEPS))
            last = builder.fadd(builder.fmul(last, _floats(_LATER)), _floats(_STEPS))
            _store(context, builder, out_type, args[3], first)
            last = _smaller(builder, last, _splat(builder, load(REACH)))
            met = builder.fcmp_ordered("<=", first, last)
            return _bit_mask(
                builder, builder.and_(met, builder.fcmp_ordered("ord", rows[0], rows[0]))
            )

        return types.uint64(bounds, types.intp, q, out, dim), generate

    @intrinsic
    def plane8(typingctx, bounds, block, exact, row, at, dim):
        """Mask of the lanes of a block that are not wholly outside of a plane.

        The normal begins in place `at` of the row, the offset follows it, as `decide.within_planes`
        has it. The bits of empty lanes mean nothing.
        """

        def generate(context, builder, signature, args):
            bounds_type, exact_type, dim = signature.args[0], signature.args[2], signature.args[5]
            ndim = len(dim)
            floats, _ = _block_rows(context, builder, bounds_type, args[0], args[1], ndim)
            vectors = builder.bitcast(floats, _VECTOR.as_pointer())
            array = context.make_array(exact_type)(context, builder, args[2])
            stride = builder.extract_value(array.shape, 1)
            start = builder.add(builder.mul(args[3], stride), args[4])
            double = ir.DoubleType()
            wide = ir.VectorType(double, LANES)

            def number(d):
                place = builder.add(start, ir.Constant(start.type, d))
                return builder.load(builder.gep(array.data, [place]))

            def splat(value):
                undefined = ir.Constant(wide, ir.Undefined)
                one = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
                zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
                return builder.shuffle_vector(one, undefined, zeros)

            total = ir.Constant(wide, [0.0] * LANES)
            for d in range(ndim):
                normal = number(d)
                is_ahead = builder.fcmp_ordered(">", normal, ir.Constant(double, 0.0))
                place = builder.select(is_ahead, ir.Constant(_I32, d), ir.Constant(_I32, ndim + d))
                corner = builder.load(builder.gep(vectors, [place]), align=4)
                product = builder.fmul(splat(normal), builder.fpext(corner, wide))
                total = builder.fadd(total, product)
            inner = builder.fcmp_unordered("<=", total, splat(number(ndim)))
            return _bit_mask(builder, inner)

        return types.uint64(bounds, types.intp, exact, types.intp, types.intp, dim), generate

    @intrinsic
    def at_least8(typingctx, bounds, block, row, value):
        """Mask of the lanes of a block whose bound in `row` is `value` or more."""

        def generate(context, builder, signature, args):
            array = context.make_array(signature.args[0])(context, builder, args[0])
            rows = builder.extract_value(array.shape, 1)
            index = builder.add(builder.mul(args[1], rows), args[2])
            vectors = builder.bitcast(array.data, _VECTOR.as_pointer())
            found = builder.load(builder.gep(vectors, [index]), align=4)
            return _bit_mask(builder, builder.fcmp_ordered(">=", found, _splat(builder, args[3])))

        return types.uint64(bounds, types.intp, types.intp, types.float32), generate

    @intrinsic
    def lane_overlap8(typingctx, bounds, a, lane, b, dim):
        """Mask of the lanes of block `b` that meet one lane of block `a`."""

        def generate(context, builder, signature, args):
            bounds_type, dim = signature.args[0], signature.args[4]
            ndim = len(dim)
            floats, _ = _block_rows(context, builder, bounds_type, args[0], args[1], ndim)
            _, rows = _block_rows(context, builder, bounds_type, args[0], args[3], ndim)
            query = [
                builder.load(
                    builder.gep(
                        floats, [builder.add(args[2], ir.Constant(args[2].type, row * LANES))]
                    )
                )
                for row in range(2 * ndim)
            ]
            return builder.zext(_test_rows(builder, "<=", rows, query), _I64)

        return types.uint64(bounds, types.intp, types.intp, types.intp, dim), generate

    @intrinsic
    def union8(typingctx, bounds, block, q, dim):
        """Write the box around all lanes of a block, one of them at least not empty, to `q`."""

        def generate(context, builder, signature, args):
            bounds_type, _, query_type, dim = signature.args
            ndim = len(dim)
            _, rows = _block_rows(context, builder, bounds_type, args[0], args[1], ndim)
            data = context.make_array(query_type)(context, builder, args[2]).data
            for row, vector in enumerate(rows):
                # halves against each other, three times; what is not a number is passed over
                name = "llvm.minnum" if row < ndim else "llvm.maxnum"
                kind = vector.type
                better = cgutils.get_or_insert_function(
                    builder.module, ir.FunctionType(kind, [kind, kind]), f"{name}.v8f32"
                )
                for half in (4, 2, 1):
                    places = [lane ^ half for lane in range(LANES)]
                    other = _join(builder, vector, vector, places)
                    vector = builder.call(better, [vector, other])
                first = builder.extract_element(vector, ir.Constant(_I32, 0))
                builder.store(first, builder.gep(data, [ir.Constant(_I32, row)]))
            return context.get_dummy_value()

        return types.void(bounds, types.intp, q, dim), generate

    def _outward(builder, box, ndim):
        """Round the doubles of a box outward to floats; returns them, and if all were floats."""
        width = 2 * ndim
        wide, narrow = ir.VectorType(ir.DoubleType(), width), ir.VectorType(_F32, width)
        signs = [1.0] * ndim + [-1.0] * ndim

        def constant(kind, values):
            return ir.Constant(kind, [float(value) for value in values])

        # upper bounds are negated, so that all go down; the steps are those of `down32`
        box = builder.fmul(box, constant(wide, signs))
        largest = constant(wide, [_F32_MAX] * width)
        capped = builder.select(builder.fcmp_ordered(">", box, largest), largest, box)
        floats = builder.fptrunc(capped, narrow)
        back = builder.fpext(floats, wide)
        size = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(narrow, [narrow]), f"llvm.fabs.v{width}f32"
        )
        step = builder.fmul(
            builder.call(size, [floats]), constant(narrow, [float(_HALF_STEP)] * width)
        )
        step = builder.fadd(step, constant(narrow, [float(_SUBNORMAL)] * width))
        below = builder.fsub(floats, step)
        rounded = builder.select(builder.fcmp_ordered(">", back, box), below, floats)
        same = builder.bitcast(builder.fcmp_ordered("==", back, box), ir.IntType(width))
        all_set = ir.Constant(ir.IntType(width), (1 << width) - 1)
        is_exact = builder.icmp_unsigned("==", same, all_set)
        return builder.fmul(rounded, constant(narrow, signs)), is_exact

    def _join(builder, one, two, places):
        """Choose elements of two vectors, those of the second numbered on from the first."""
        return builder.shuffle_vector(
            one, two, ir.Constant(ir.VectorType(_I32, len(places)), places)
        )

    def _transposed(builder, boxes, width):
        """Turn eight vectors of `width` floats into `width` vectors of eight."""
        pairs = [
            _join(
                builder,
                boxes[i],
                boxes[i + 1],
                [row + k for row in range(width) for k in (0, width)],
            )
            for i in range(0, LANES, 2)
        ]
        fours = [
            _join(
                builder,
                pairs[i],
                pairs[i + 1],
                [2 * row + k for row in range(width) for k in (0, 1, 2 * width, 2 * width + 1)],
            )
            for i in range(0, LANES // 2, 2)
        ]
        return [
            _join(
                builder,
                *fours,
                [4 * row + k for k in (0, 1, 2, 3)]
                + [4 * width + 4 * row + k for k in (0, 1, 2, 3)],
            )
            for row in range(width)
        ]

    @intrinsic
    def pack8(typingctx, bounds, block, boxes, rows, at, n, row_mask, dim):
        """Write up to eight boxes into the lanes of a block, rounded outward.

        Lane `i` below `n` gets the float64 box in row ``rows[at + i] & row_mask``; what is in the
        lanes behind means nothing. Returns the mask of lanes of which no bound had to be rounded.
        """

        def generate(context, builder, signature, args):
            bounds_type, _, boxes_type, rows_type = signature.args[:4]
            ndim = len(signature.args[7])
            width = 2 * ndim
            data = context.make_array(boxes_type)(context, builder, args[2]).data
            numbers = context.make_array(rows_type)(context, builder, args[3]).data
            last = builder.sub(args[5], ir.Constant(args[5].type, 1))
            mask = ir.Constant(_I64, 0)
            packed = []
            for lane in range(LANES):
                place = ir.Constant(args[5].type, lane)
                place = builder.select(builder.icmp_signed("<", place, last), place, last)
                row = builder.load(builder.gep(numbers, [builder.add(args[4], place)]))
                if row.type != _I64:
                    row = builder.sext(row, _I64)
                row = builder.and_(row, args[6])
                start = builder.gep(data, [builder.mul(row, ir.Constant(_I64, width))])
                wide = ir.VectorType(ir.DoubleType(), width)
                box = builder.load(builder.bitcast(start, wide.as_pointer()), align=8)
                floats, is_exact = _outward(builder, box, ndim)
                packed.append(floats)
                bit = builder.shl(builder.zext(is_exact, _I64), ir.Constant(_I64, lane))
                mask = builder.or_(mask, bit)
            floats, _ = _block_rows(context, builder, bounds_type, args[0], args[1], ndim)
            vectors = builder.bitcast(floats, _VECTOR.as_pointer())
            for row, vector in enumerate(_transposed(builder, packed, width)):
                builder.store(vector, builder.gep(vectors, [ir.Constant(_I32, row)]), align=4)
            return mask

        return (
            types.uint64(bounds, types.intp, boxes, rows, types.intp, types.intp, types.int64, dim),
            generate,
        )

    @intrinsic
    def equal8(typingctx, slots, block, slot):
        """Mask of the lanes of a block that hold a slot."""

        def generate(context, builder, signature, args):
            kind = ir.VectorType(_I32, LANES)
            array = context.make_array(signature.args[0])(context, builder, args[0])
            vectors = builder.bitcast(array.data, kind.as_pointer())
            found = builder.load(builder.gep(vectors, [args[1]]), align=4)
            undefined = ir.Constant(kind, ir.Undefined)
            one = builder.insert_element(undefined, args[2], ir.Constant(_I32, 0))
            wanted = builder.shuffle_vector(one, undefined, ir.Constant(kind, [0] * LANES))
            return _bit_mask(builder, builder.icmp_signed("==", found, wanted))

        return types.uint64(slots, types.intp, types.int32), generate

    @intrinsic
    def lowest_bit(typingctx, mask):
        """Return the position of the lowest set bit of a uint64 that is not zero."""

        def generate(context, builder, signature, args):
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.uint64), generate
