"""Small arrays on the stack, and memory asked for before it is needed.

Kernels do not allocate; these arrays live as long as the kernel that asks for one.
"""

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from spatialindex.kernels.simd.rounding import LANES

__all__ = [
    "local_doubles",
    "local_floats",
    "local_ints",
    "local_query",
    "local_words",
    "prefetch",
    "prefetch_block",
]

WORDS = 3 * 65
"""Numbers in the scratch of `local_words`: 64 words of three numbers, and room for one more."""


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
def _stack_words(typingctx):
    """`WORDS` int64 on the stack of the calling function, as an array."""
    return types.Array(types.int64, 1, "C")(), _stack_array(ir.IntType(64), 8, WORDS)


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
    return types.void(array, types.intp), _ask_for_lines(lambda signature: 1)


@intrinsic
def _prefetch_block(typingctx, bounds, block, dim):
    """Ask for as many cache lines as the bounds of a block are long."""
    return types.void(bounds, types.intp, dim), _ask_for_lines(
        lambda signature: len(signature.args[2])
    )


def _ask_for_lines(count):
    """Make the code that asks for the first lines of a row."""

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
        how = [ir.Constant(i32, 0), ir.Constant(i32, 3), ir.Constant(i32, 1)]
        for line in range(count(signature)):
            builder.call(function, [builder.gep(at, [ir.Constant(i32, 64 * line)]), *how])
        return context.get_dummy_value()

    return generate


if config.DISABLE_JIT:

    def prefetch(array, row):
        """Do nothing: there is no waiting for memory to speak of."""

    def prefetch_block(bounds, block, dim):
        """Do nothing, either."""

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

    def local_words():
        """Return scratch for words of pairs of lanes, see `blocks.note_pairs`."""
        return np.empty(WORDS, np.int64)

else:
    # intrinsics put their code into the caller, whose stack it is; a function would return
    local_floats, local_ints = _stack_floats, _stack_ints
    prefetch, prefetch_block = _prefetch, _prefetch_block
    local_doubles, local_query, local_words = _stack_doubles, _stack_query, _stack_words
