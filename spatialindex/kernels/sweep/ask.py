"""Asking swept lanes: regions, nearest objects and first hits, down the tree over the blocks."""

import numpy as np

from spatialindex.kernels.blocks import (
    aim_at_region,
    first_of_block,
    hits_of_block,
    offer_nearest,
    planes_of_block,
)
from spatialindex.kernels.decide import CAST, PLANES
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.lists import reach_of
from spatialindex.kernels.simd import (
    LANES,
    REACH,
    aim_along,
    aim_at_point,
    cast8,
    distances8,
    local_floats,
    local_query,
    lowest_bit,
    overlap8,
    prefetch_block,
)
from spatialindex.kernels.sweep.lanes import home_mask
from spatialindex.kernels.sweep.tree import LEVEL

__all__ = ["query_regions", "search_first", "search_nearest"]

_INDEX = (1 << LEVEL) - 1


@inner_kernel
def _may_meet(bounds, block, ask, row, q, aim, out, dim):
    """Mask of the lanes of a block or node in which a region's row may accept something."""
    if ask.kind == CAST:
        return cast8(bounds, block, aim, out, dim)
    mask = overlap8(bounds, block, q, dim)
    if ask.kind == PLANES and mask != 0:
        mask = planes_of_block(mask, bounds, block, ask.exact, row, dim)
    return mask


@kernel
def query_regions(lanes, tree, ask, stack, start, stop, counts, out, limit, dim):
    """Answer rows `start` to `stop` of a batch of regions.

    Adds the answers of each row to ``counts[row]`` unless that is empty. Returns the whole count,
    or any number beyond `limit` as soon as there are more. `stack` is int64 scratch of `STACK`.
    """
    q = local_floats()
    q_in = local_floats()
    aim = local_query()
    soonest = local_floats()
    bounds, slots, exact = lanes.bounds, lanes.slots, lanes.exact
    nodes, levels = tree.nodes, tree.levels
    top_level = levels.shape[0] - 1
    is_slanted = ask.kind == CAST or ask.kind == PLANES
    k = 0
    for row in range(start, stop):
        before = k
        is_exact = aim_at_region(q, q_in, ask.cull, row, dim)
        if ask.kind == CAST:
            aim_along(aim, ask.exact, row, ask.exact[row, 3 * len(dim)], dim)
        stack[0] = top_level << LEVEL
        top = 1 if top_level > 0 else 0
        while top > 0:
            top -= 1
            item = stack[top]
            level, i = item >> LEVEL, item & _INDEX
            if level > 0:
                node = levels[level - 1] + i
                mask = _may_meet(nodes, node, ask, row, q, aim, soonest, dim)
                while mask != 0:
                    lane = lowest_bit(mask)
                    mask &= mask - np.uint64(1)
                    child = LANES * i + lane
                    stack[top] = ((level - 1) << LEVEL) | child
                    top += 1
                    if level == 1:
                        prefetch_block(bounds, child, dim)
                    else:
                        prefetch_block(nodes, levels[level - 2] + child, dim)
                continue
            mask = _may_meet(bounds, i, ask, row, q, aim, soonest, dim)
            mask &= home_mask(lanes.first, i, dim)
            if mask != 0:
                sure = np.uint64(0) if is_slanted else is_exact & np.uint64(exact[i])
                k = hits_of_block(mask, bounds, slots, sure, i, q_in, ask, row, dim, out, k)
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k


@inner_kernel
def _push_children(mask, away, level, i, stack, far, top, dim):
    """Put the children in `mask` on the stack, the nearest on top; returns its new height."""
    first = top
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        at = top
        while at > first and far[at - 1] < away[lane]:
            far[at] = far[at - 1]
            stack[at] = stack[at - 1]
            at -= 1
        far[at] = away[lane]
        stack[at] = ((level - 1) << LEVEL) | (LANES * i + lane)
        top += 1
    return top


@kernel
def search_nearest(lanes, tree, ask, stack, far, start, stop, best, dim):
    """Offer what lies near the points of rows `start` to `stop` to their bests.

    `ask` is of kind `RADIUS`; `stack` and `far` are scratch of `STACK`, int64 and float32.
    """
    q = local_query()
    away = local_floats()
    bounds, slots = lanes.bounds, lanes.slots
    nodes, levels = tree.nodes, tree.levels
    for row in range(start, stop):
        aim_at_point(q, ask.exact, row, reach_of(best, row, ask.exact[row, len(dim)]), dim)
        stack[0] = (levels.shape[0] - 1) << LEVEL
        far[0] = np.float32(0.0)
        top = 1 if levels.shape[0] > 1 else 0
        while top > 0:
            top -= 1
            if far[top] > q[REACH]:
                continue
            level, i = stack[top] >> LEVEL, stack[top] & _INDEX
            if level > 0:
                mask = distances8(nodes, levels[level - 1] + i, q, away, dim)
                top = _push_children(mask, away, level, i, stack, far, top, dim)
                continue
            mask = distances8(bounds, i, q, away, dim) & home_mask(lanes.first, i, dim)
            while mask != 0:
                lane = lowest_bit(mask)
                mask &= mask - np.uint64(1)
                if away[lane] <= q[REACH]:
                    offer_nearest(slots[i, lane], q, ask, row, best, dim)


@kernel
def search_first(lanes, tree, ask, stack, far, start, stop, best, dim):
    """Offer what the casts of rows `start` to `stop` meet first to their bests.

    `ask` is of kind `CAST`, otherwise as `search_nearest`. An object met by several of its entries
    is the same one each time.
    """
    q = local_query()
    soonest = local_floats()
    nodes, levels = tree.nodes, tree.levels
    for row in range(start, stop):
        aim_along(q, ask.exact, row, reach_of(best, row, ask.exact[row, 3 * len(dim)]), dim)
        stack[0] = (levels.shape[0] - 1) << LEVEL
        far[0] = np.float32(-np.inf)
        top = 1 if levels.shape[0] > 1 else 0
        while top > 0:
            top -= 1
            if far[top] > q[REACH]:
                continue
            level, i = stack[top] >> LEVEL, stack[top] & _INDEX
            if level > 0:
                mask = cast8(nodes, levels[level - 1] + i, q, soonest, dim)
                top = _push_children(mask, soonest, level, i, stack, far, top, dim)
                continue
            first_of_block(lanes.bounds, lanes.slots, i, q, soonest, ask, row, best, dim)
