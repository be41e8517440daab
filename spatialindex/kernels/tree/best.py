"""What is nearest: down the tree, the most promising child first.

The children of a block that are within reach go on the stack in descending order of distance, so
that the nearest comes off first. With each answer the reach shrinks, and what is beyond it by then
is passed over when it comes off the stack. A child *at* the reach is still looked at: of equals the
lower id is the answer.

Source: Roussopoulos, Kelley & Vincent, Nearest Neighbor Queries, 1995.
"""

import numpy as np

from spatialindex.kernels.blocks import nearest_of_block
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import (
    REACH,
    aim_at_point,
    distances8,
    local_floats,
    local_query,
    lowest_bit,
    prefetch_block,
)
from spatialindex.kernels.tree.ask import may_answer
from spatialindex.kernels.tree.nodes import block_at

__all__ = ["nearest"]


@inner_kernel
def _push_in_order(tree, ask, block, mask, values, stack, reaches, top, dim):
    """Put the children in `mask` on the stack so that the one with the least value is on top."""
    bottom = top
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        child = np.int64(tree.items[block, lane])
        if ask.rule != 0 and not may_answer(tree, block_at(child), ask, -1):
            continue
        prefetch_block(tree.bounds, block_at(child), dim)
        value = values[lane]
        at = top
        while at > bottom and reaches[at - 1] < value:
            stack[at] = stack[at - 1]
            reaches[at] = reaches[at - 1]
            at -= 1
        stack[at] = child
        reaches[at] = value
        top += 1
    return top


@kernel
def nearest(tree, ask, order, stack, reaches, start, stop, best, dim):
    """Offer what is near the points of rows ``order[start]`` to ``order[stop]`` to their bests.

    `stack` is int64 and `reaches` float32 scratch of `nodes.STACK`; an empty `order` is that of the
    rows.
    """
    q = local_query()
    out = local_floats()
    for i in range(start, stop):
        row = np.int64(order[i]) if order.shape[0] else i
        aim_at_point(q, ask.exact, row, ask.exact[row, len(dim)], dim)
        stack[0] = 0
        reaches[0] = 0.0
        top = 1
        while top > 0:
            top -= 1
            if reaches[top] > q[REACH]:
                continue
            item = stack[top]
            block = block_at(item)
            if item < 0:
                nearest_of_block(tree.bounds, tree.items, block, q, out, ask, row, best, dim)
            else:
                mask = distances8(tree.bounds, block, q, out, dim)
                top = _push_in_order(tree, ask, block, mask, out, stack, reaches, top, dim)
