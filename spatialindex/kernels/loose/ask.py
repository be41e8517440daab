"""Asking a loose tree about regions, what is nearest and what is met first.

Down from the root, eight children at a time, by the tight bounds of their lanes. For what is best,
the children of a node go on the stack in descending order of distance or time, so that the most
promising comes off first; what is beyond the best by then is passed over, and what is *at* it is
still looked at: of equals the lower id is the answer.

Source: Roussopoulos, Kelley & Vincent, Nearest Neighbor Queries, 1995.
"""

import numpy as np

from spatialindex.kernels.blocks import (
    aim_at_region,
    first_of_block,
    hits_of_block,
    nearest_of_block,
    planes_of_block,
)
from spatialindex.kernels.decide import CAST
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.loose.nodes import SIZE, block_at
from spatialindex.kernels.simd import (
    REACH,
    aim_along,
    aim_at_point,
    cast8,
    distances8,
    local_floats,
    local_query,
    lowest_bit,
    overlap8,
    prefetch,
    prefetch_block,
)

__all__ = ["first_hits", "nearest", "query_regions", "query_slanted"]


@inner_kernel
def _push_lanes(tree, block, mask, stack, top, dim):
    """Put the children in some lanes on the stack."""
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        child = np.int64(tree.items[block, lane])
        prefetch_block(tree.bounds, block_at(child), dim)
        prefetch(tree.items, block_at(child))
        stack[top] = child
        top += 1
    return top


@kernel
def query_regions(tree, ask, order, stack, start, stop, counts, out, limit, dim):
    """Answer rows ``order[start]`` to ``order[stop]`` of a batch of regions.

    Adds the answers of each row to ``counts[row]`` unless that is empty. Returns the whole count,
    or any number beyond `limit` as soon as there are more. An empty `order` is that of the rows;
    `stack` is int32 scratch of `nodes.STACK`.
    """
    q = local_floats()
    q_in = local_floats()
    bounds, items, exact = tree.bounds, tree.items, tree.exact
    k = 0
    for i in range(start, stop):
        row = np.int64(order[i]) if order.shape[0] else i
        before = k
        is_exact = aim_at_region(q, q_in, ask.cull, row, dim)
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            item = np.int64(stack[top])
            block = block_at(item)
            while block >= 0:
                mask = overlap8(bounds, block, q, dim)
                if mask != 0:
                    if item >= 0:
                        top = _push_lanes(tree, block, mask, stack, top, dim)
                    else:
                        sure = is_exact & np.uint64(exact[block])
                        k = hits_of_block(
                            *(mask, bounds, items, sure, block, q_in, ask, row, dim, out, k)
                        )
                block = np.int64(tree.link[block])
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k


@kernel
def query_slanted(tree, ask, order, stack, start, stop, counts, out, limit, dim):
    """Answer casts or planes as `query_regions` answers boxes, by tests made for them."""
    q = local_query()
    soonest = local_floats()
    k = 0
    for i in range(start, stop):
        row = np.int64(order[i]) if order.shape[0] else i
        before = k
        if ask.kind == CAST:
            aim_along(q, ask.exact, row, ask.exact[row, 3 * len(dim)], dim)
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            item = np.int64(stack[top])
            block = block_at(item)
            while block >= 0:
                if ask.kind == CAST:
                    mask = cast8(tree.bounds, block, q, soonest, dim)
                else:
                    used = (np.uint64(1) << np.uint64(tree.nodes[block, SIZE])) - np.uint64(1)
                    mask = planes_of_block(used, tree.bounds, block, ask.exact, row, dim)
                if mask != 0:
                    if item >= 0:
                        top = _push_lanes(tree, block, mask, stack, top, dim)
                    else:
                        k = hits_of_block(
                            *(mask, tree.bounds, tree.items, np.uint64(0), block, soonest),
                            *(ask, row, dim, out, k),
                        )
                block = np.int64(tree.link[block])
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k


@inner_kernel
def _push_in_order(tree, block, mask, values, stack, reaches, bottom, top, dim):
    """Put children on the stack so that from `bottom` on the least value is on top."""
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        value = values[lane]
        at = top
        while at > bottom and reaches[at - 1] < value:
            stack[at] = stack[at - 1]
            reaches[at] = reaches[at - 1]
            at -= 1
        stack[at] = tree.items[block, lane]
        prefetch_block(tree.bounds, block_at(np.int64(stack[at])), dim)
        reaches[at] = value
        top += 1
    return top


@kernel
def nearest(tree, ask, order, stack, reaches, start, stop, best, dim):
    """Offer what is near the points of rows ``order[start]`` to ``order[stop]`` to their bests.

    `stack` is int32 and `reaches` float32 scratch of `nodes.STACK`; an empty `order` is that of the
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
            item = np.int64(stack[top])
            bottom = top
            block = block_at(item)
            while block >= 0:
                if item < 0:
                    nearest_of_block(tree.bounds, tree.items, block, q, out, ask, row, best, dim)
                else:
                    mask = distances8(tree.bounds, block, q, out, dim)
                    top = _push_in_order(tree, block, mask, out, stack, reaches, bottom, top, dim)
                block = np.int64(tree.link[block])


@kernel
def first_hits(tree, ask, order, stack, reaches, start, stop, best, dim):
    """Offer what the casts of rows ``order[start]`` to ``order[stop]`` meet to their bests.

    A row has one best; otherwise as `nearest`.
    """
    q = local_query()
    out = local_floats()
    for i in range(start, stop):
        row = np.int64(order[i]) if order.shape[0] else i
        aim_along(q, ask.exact, row, ask.exact[row, 3 * len(dim)], dim)
        stack[0] = 0
        reaches[0] = 0.0
        top = 1
        while top > 0:
            top -= 1
            if reaches[top] > q[REACH]:
                continue
            item = np.int64(stack[top])
            bottom = top
            block = block_at(item)
            while block >= 0:
                if item < 0:
                    first_of_block(tree.bounds, tree.items, block, q, out, ask, row, best, dim)
                else:
                    mask = cast8(tree.bounds, block, q, out, dim)
                    top = _push_in_order(tree, block, mask, out, stack, reaches, bottom, top, dim)
                block = np.int64(tree.link[block])
