"""Nearest, casts and planes in a grid of levels: level by level, as in a grid of one.

The best found in one level tells how far to look in the next. When all levels together come to
more cells than there are blocks, the blocks are scanned instead.
"""

import numpy as np

from spatialindex.kernels.blocks import offer_nearest
from spatialindex.kernels.grid.cells import USED_BLOCKS
from spatialindex.kernels.grid.planes import (
    aim_at_cull,
    hits_of_inner,
    inner_cells,
    scan_planes,
)
from spatialindex.kernels.grid.rays import (
    first_of_all,
    first_on_walk,
    hits_of_all,
    hits_on_walk,
)
from spatialindex.kernels.grid.rings import (
    is_searchable,
    place_middle,
    ring_of,
    search_rings,
)
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.levels.numbering import level_index, number_of
from spatialindex.kernels.lists import reach_of
from spatialindex.kernels.simd import (
    REACH,
    aim_along,
    aim_at_point,
    distances8,
    local_doubles,
    local_floats,
    local_ints,
    local_query,
    lowest_bit,
)

__all__ = ["LEFT_COLUMNS", "all_hits", "first_hits", "inside_planes", "nearest"]

LEFT_COLUMNS = 4
"""Of scratch a level: rings searched, or -1 when nothing is left, and the middle of them."""


@kernel
def first_hits(grid, edges, metas, ask, start, stop, best, dim):
    """Offer what the casts of rows `start` to `stop` meet to their bests, of which each has one.

    `ask` is of kind `CAST`. Coarse levels go first: there a walk has the fewest cells.
    """
    q = local_query()
    out = local_floats()
    plan = local_doubles()
    span = local_ints()
    for row in range(start, stop):
        reach = reach_of(best, row, ask.exact[row, 3 * len(dim)])
        aim_along(q, ask.exact, row, reach, dim)
        walked = 0.0
        for j in range(edges.shape[0] - 1, -1, -1):
            walked = first_on_walk(
                *(grid, metas[j], edges[j], walked, plan, span, q, out, ask, row, best, dim)
            )
            if walked < 0.0:
                first_of_all(grid, q, out, ask, row, best, dim)
                break


@kernel
def all_hits(grid, edges, metas, ask, start, stop, seen, counts, out, limit, dim):
    """Answer rows `start` to `stop` of a batch of casts, as `grid.rays.all_hits`."""
    q = local_query()
    soonest = local_floats()
    plan = local_doubles()
    span = local_ints()
    k = 0
    for row in range(start, stop):
        before = k
        aim_along(q, ask.exact, row, ask.exact[row, 3 * len(dim)], dim)
        walked = 0.0
        for j in range(edges.shape[0] - 1, -1, -1):
            walked, k = hits_on_walk(
                *(grid, metas[j], edges[j], walked, plan, span),
                *(q, soonest, seen, ask, row, dim, out, k),
            )
            if walked < 0.0:
                k = hits_of_all(grid, q, soonest, seen, ask, row, dim, out, k)
                break
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k


@kernel
def inside_planes(grid, edges, metas, ask, start, stop, counts, out, limit, dim):
    """Answer rows `start` to `stop` of a batch of regions of planes, as `grid.planes`."""
    q = local_floats()
    span = local_ints()
    inner = local_ints()
    blocks = grid.meta[USED_BLOCKS]
    k = 0
    for row in range(start, stop):
        before = k
        aim_at_cull(q, ask.cull, row, dim)
        cells = 0.0
        for j in range(edges.shape[0] - 1, -1, -1):
            cells += inner_cells(metas[j], blocks, ask, row, edges[j], span, inner, dim)
            if cells > blocks:
                break
        if cells > blocks:
            k = scan_planes(grid, q, ask, row, dim, out, k)
        else:
            for j in range(edges.shape[0]):
                inner_cells(metas[j], blocks, ask, row, edges[j], span, inner, dim)
                k = hits_of_inner(
                    *(grid, metas[j], edges[j], span, inner, q, ask, row, dim, out, k)
                )
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k


@kernel
def nearest(grid, numbers, edges, metas, ask, start, stop, left, best, dim):
    """Offer what is near the points of rows `start` to `stop` to their bests.

    `ask` is of kind `RADIUS`; `left`, int64 ``(levels, LEFT_COLUMNS)``, is scratch. Fine levels go
    first: most objects are there.
    """
    q = local_query()
    out = local_floats()
    span = local_ints()
    middle = local_ints()
    k = best.values.shape[1]
    blocks = grid.meta[USED_BLOCKS]
    for row in range(start, stop):
        reach = reach_of(best, row, ask.exact[row, len(dim)])
        aim_at_point(q, ask.exact, row, reach, dim)
        walked = 0
        is_left = False
        for j in range(edges.shape[0]):
            left[j, 0] = -1
            if not place_middle(metas[j], edges[j], ask, row, span, middle, dim):
                continue
            rings = 0
            if walked <= blocks and is_searchable(grid.meta, metas[j], edges[j], ask, row, k, dim):
                rings, walked = search_rings(
                    *(grid, metas[j], edges[j], walked, span, middle),
                    *(q, out, ask, row, best, dim),
                )
            left[j, 0] = rings
            for d in range(3):
                left[j, 1 + d] = middle[d]
            is_left |= rings >= 0
        if is_left:
            _scan_left(grid, numbers, metas, left, q, out, ask, row, best, dim)


@inner_kernel
def _scan_left(grid, numbers, metas, left, q, out, ask, row, best, dim):
    """Offer what rings have left over, of all levels, to the best of a row."""
    index = 0
    for block in range(grid.meta[USED_BLOCKS]):
        mask = distances8(grid.bounds, block, q, out, dim)
        for d in range(len(dim)):
            mask &= np.uint64(grid.first[block, d])
        while mask != 0:
            lane = lowest_bit(mask)
            mask &= mask - np.uint64(1)
            if out[lane] > q[REACH]:
                continue
            slot = grid.slots[block, lane]
            index = level_index(numbers, number_of(grid.ranges[slot, 0]), index)
            rings = left[index, 0]
            if rings < 0:
                continue
            if (
                rings == 0
                or ring_of(grid.ranges, slot, metas[index], left[index, 1:], dim) >= rings
            ):
                offer_nearest(slot, q, ask, row, best, dim)
