"""The tests of eight lanes as LLVM vector IR, which any CPU runs.

`plain` says the same in loops; what a test means stands there.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from spatialindex.kernels.simd.rounding import (
    F32_MAX,
    FAR,
    HALF_STEP,
    LANES,
    REACH,
    SQUARES,
    STEPS,
    SUBNORMAL,
)

__all__ = [
    "at_least8",
    "bit_mask",
    "block_floats",
    "constant_floats",
    "distances8",
    "equal8",
    "inside8",
    "lane_overlap8",
    "larger",
    "lowest_bit",
    "overlap8",
    "overlap8x8",
    "pack8",
    "plane8",
    "query_floats",
    "rounded_down",
    "smaller",
    "splat",
    "store_floats",
    "union8",
]

_F32, _I32, _I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_F32, LANES)


def splat(builder, value):
    """Repeat a number of any type in all lanes."""
    undefined = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    one = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(one, undefined, zeros)


def block_floats(context, builder, bounds_type, bounds, block, ndim):
    """Return the pointer to a block's floats."""
    array = context.make_array(bounds_type)(context, builder, bounds)
    index = builder.mul(block, ir.Constant(block.type, 2 * ndim * LANES))
    return builder.gep(array.data, [index])


def _block_rows(context, builder, bounds_type, bounds, block, ndim):
    """Return the rows of a block as vectors."""
    floats = block_floats(context, builder, bounds_type, bounds, block, ndim)
    vectors = builder.bitcast(floats, _VECTOR.as_pointer())
    return [
        builder.load(builder.gep(vectors, [ir.Constant(_I32, row)]), align=4)
        for row in range(2 * ndim)
    ]


def _test_rows(builder, operator, rows, query):
    """Compare the rows of a block with the floats of a box; returns an 8-bit mask."""
    ndim = len(rows) // 2
    result = None
    for d in range(ndim):
        for test in (
            builder.fcmp_ordered(operator, rows[d], splat(builder, query[ndim + d])),
            builder.fcmp_ordered(operator, splat(builder, query[d]), rows[ndim + d]),
        ):
            result = test if result is None else builder.and_(result, test)
    return builder.bitcast(result, ir.IntType(LANES))


def _block_test(operator):
    """Make the code of a test of one block against a box with a comparison operator."""

    def generate(context, builder, signature, args):
        bounds_type, _, query_type, dim = signature.args
        rows = _block_rows(context, builder, bounds_type, args[0], args[1], len(dim))
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
        floats = block_floats(context, builder, bounds_type, args[0], args[1], ndim)
        rows = _block_rows(context, builder, bounds_type, args[0], args[2], ndim)
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


def constant_floats(value):
    """Repeat a constant in all lanes."""
    return ir.Constant(_VECTOR, [float(value)] * LANES)


def larger(builder, a, b):
    """Return the larger of each lane; `b` where one is not a number."""
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def smaller(builder, a, b):
    """Return the smaller of each lane; `b` where one is not a number."""
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


def query_floats(context, builder, query_type, query):
    """Return a function that loads a float of a query."""
    data = context.make_array(query_type)(context, builder, query).data

    def load(place):
        return builder.load(builder.gep(data, [ir.Constant(_I32, place)]))

    return load


def bit_mask(builder, lanes):
    """Return the lanes' bits as an unsigned number."""
    return builder.zext(builder.bitcast(lanes, ir.IntType(LANES)), _I64)


def store_floats(context, builder, out_type, out, vector):
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
        rows = _block_rows(context, builder, bounds_type, args[0], args[1], ndim)
        load = query_floats(context, builder, query_type, args[2])
        total = None
        for d in range(ndim):
            below = builder.fsub(rows[d], splat(builder, load(d)))
            above = builder.fsub(splat(builder, load(3 + d)), rows[ndim + d])
            part = larger(builder, larger(builder, below, above), constant_floats(0.0))
            part = smaller(builder, part, constant_floats(FAR))
            square = builder.fmul(part, part)
            total = square if total is None else builder.fadd(total, square)
        total = builder.fsub(builder.fmul(total, constant_floats(SQUARES)), constant_floats(STEPS))
        total = larger(builder, total, constant_floats(0.0))
        root = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR]), "llvm.sqrt.v8f32"
        )
        distance = builder.call(root, [total])
        store_floats(context, builder, out_type, args[3], distance)
        within = builder.fcmp_ordered("<=", distance, splat(builder, load(REACH)))
        return bit_mask(
            builder, builder.and_(within, builder.fcmp_ordered("ord", rows[0], rows[0]))
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
        floats = block_floats(context, builder, bounds_type, args[0], args[1], ndim)
        vectors = builder.bitcast(floats, _VECTOR.as_pointer())
        array = context.make_array(exact_type)(context, builder, args[2])
        stride = builder.extract_value(array.shape, 1)
        start = builder.add(builder.mul(args[3], stride), args[4])
        double = ir.DoubleType()
        wide = ir.VectorType(double, LANES)

        def number(d):
            place = builder.add(start, ir.Constant(start.type, d))
            return builder.load(builder.gep(array.data, [place]))

        total = ir.Constant(wide, [0.0] * LANES)
        for d in range(ndim):
            normal = number(d)
            is_ahead = builder.fcmp_ordered(">", normal, ir.Constant(double, 0.0))
            place = builder.select(is_ahead, ir.Constant(_I32, d), ir.Constant(_I32, ndim + d))
            corner = builder.load(builder.gep(vectors, [place]), align=4)
            product = builder.fmul(splat(builder, normal), builder.fpext(corner, wide))
            total = builder.fadd(total, product)
        inner = builder.fcmp_unordered("<=", total, splat(builder, number(ndim)))
        return bit_mask(builder, inner)

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
        return bit_mask(builder, builder.fcmp_ordered(">=", found, splat(builder, args[3])))

    return types.uint64(bounds, types.intp, types.intp, types.float32), generate


@intrinsic
def lane_overlap8(typingctx, bounds, a, lane, b, dim):
    """Mask of the lanes of block `b` that meet one lane of block `a`."""

    def generate(context, builder, signature, args):
        bounds_type, dim = signature.args[0], signature.args[4]
        ndim = len(dim)
        floats = block_floats(context, builder, bounds_type, args[0], args[1], ndim)
        rows = _block_rows(context, builder, bounds_type, args[0], args[3], ndim)
        query = [
            builder.load(
                builder.gep(floats, [builder.add(args[2], ir.Constant(args[2].type, row * LANES))])
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
        rows = _block_rows(context, builder, bounds_type, args[0], args[1], ndim)
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


def rounded_down(builder, doubles):
    """Round a vector of doubles down to floats as `down32` does; returns them, and which were."""
    wide = doubles.type
    width = wide.count
    narrow = ir.VectorType(_F32, width)

    def constant(kind, value):
        return ir.Constant(kind, [float(value)] * width)

    largest = constant(wide, F32_MAX)
    capped = builder.select(builder.fcmp_ordered(">", doubles, largest), largest, doubles)
    floats = builder.fptrunc(capped, narrow)
    back = builder.fpext(floats, wide)
    size = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(narrow, [narrow]), f"llvm.fabs.v{width}f32"
    )
    step = builder.fmul(builder.call(size, [floats]), constant(narrow, HALF_STEP))
    below = builder.fsub(floats, builder.fadd(step, constant(narrow, SUBNORMAL)))
    rounded = builder.select(builder.fcmp_ordered(">", back, doubles), below, floats)
    return rounded, builder.fcmp_ordered("==", back, doubles)


def _outward(builder, box, ndim):
    """Round the doubles of a box outward to floats; returns them, and if all were floats."""
    width = 2 * ndim
    signs = [1.0] * ndim + [-1.0] * ndim
    # upper bounds are negated, so that all go down
    down = builder.fmul(box, ir.Constant(box.type, signs))
    rounded, same = rounded_down(builder, down)
    all_set = ir.Constant(ir.IntType(width), (1 << width) - 1)
    is_exact = builder.icmp_unsigned("==", builder.bitcast(same, ir.IntType(width)), all_set)
    return builder.fmul(rounded, ir.Constant(rounded.type, signs)), is_exact


def _join(builder, one, two, places):
    """Choose elements of two vectors, those of the second numbered on from the first."""
    return builder.shuffle_vector(one, two, ir.Constant(ir.VectorType(_I32, len(places)), places))


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
            [4 * row + k for k in (0, 1, 2, 3)] + [4 * width + 4 * row + k for k in (0, 1, 2, 3)],
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
        floats = block_floats(context, builder, bounds_type, args[0], args[1], ndim)
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
        return bit_mask(builder, builder.icmp_signed("==", found, splat(builder, args[2])))

    return types.uint64(slots, types.intp, types.int32), generate


@intrinsic
def lowest_bit(typingctx, mask):
    """Return the position of the lowest set bit of a uint64 that is not zero."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
