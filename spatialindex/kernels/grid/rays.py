"""Rays and box casts in a grid: what is met first, and all that is met.

Cells are walked in the order in which the moving box reaches them, see
`spatialindex.kernels.grid.walk`, so that the first hit is found after a few. Where a walk comes to
more cells than there are blocks, through a world of mostly empty ones, the blocks are scanned
instead.
"""

import numpy as np

from spatialindex.kernels.blocks import first_of_block, hits_of_block
from spatialindex.kernels.grid.cells import USED_BLOCKS, find_cell
from spatialindex.kernels.grid.walk import plan_walk, reached_slab
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import (
    aim_along,
    cast8,
    local_doubles,
    local_floats,
    local_ints,
    local_query,
    lowest_bit,
)

__all__ = [
    "all_hits",
    "first_hits",
    "first_of_all",
    "first_on_walk",
    "hits_of_all",
    "hits_on_walk",
]


@kernel
def first_hits(grid, ask, edge, start, stop, best, dim):
    """Offer what the casts of rows `start` to `stop` meet in the cells to their bests.

    `ask` is of kind `CAST`; a row has one best, which may come with one found elsewhere.
    """
    q = local_query()
    out = local_floats()
    plan = local_doubles()
    span = local_ints()
    for row in range(start, stop):
        aim_along(q, ask.exact, row, _reach(ask, row, best, dim), dim)
        walked = first_on_walk(
            *(grid, grid.meta, edge, 0.0, plan, span, q, out, ask, row, best, dim)
        )
        if walked < 0.0:
            first_of_all(grid, q, out, ask, row, best, dim)


@inner_kernel
def _reach(ask, row, best, dim):
    """Return up to which time a row has to look."""
    reach = ask.exact[row, 3 * len(dim)]
    return min(reach, best.values[row, 0]) if best.counts[row] else reach


@inner_kernel
def first_on_walk(grid, meta, edge, walked, plan, span, q, out, ask, row, best, dim):
    """Offer what a cast meets in the cells along its way to the best of its row.

    Adds the cells it comes to to those walked before; returns -1 as soon as there are more than
    blocks, or when there is no planning: then a scan is called for.
    """
    slabs = plan_walk(ask.exact, row, edge, meta, plan, dim)
    if slabs < 0:
        return -1.0
    for i in range(slabs):
        reach = _reach(ask, row, best, dim)
        cells = reached_slab(i, ask.exact, row, reach, edge, meta, plan, span, dim)
        if cells < 0.0:
            break
        walked += cells + 1.0
        if walked > grid.meta[USED_BLOCKS]:
            return -1.0
        if cells == 0.0:
            continue
        _first_in_cells(grid, meta, span, q, out, ask, row, best, dim)
    return walked


@inner_kernel
def first_of_all(grid, q, out, ask, row, best, dim):
    """Offer what a cast meets in all blocks to the best of its row."""
    for block in range(grid.meta[USED_BLOCKS]):
        first_of_block(grid.bounds, grid.slots, block, q, out, ask, row, best, dim)


@inner_kernel
def _first_in_cells(grid, meta, span, q, out, ask, row, best, dim):
    """Offer what a cast meets in a range of cells to the best of its row."""
    for x in range(span[0], span[3] + 1):
        for y in range(span[1], span[4] + 1):
            for z in range(span[2], span[5] + 1):
                at = find_cell(grid.cells, meta, x, y, z, dim)
                block = np.int64(grid.cells[at, len(dim)]) if at >= 0 else -1
                while block >= 0:
                    first_of_block(grid.bounds, grid.slots, block, q, out, ask, row, best, dim)
                    block = np.int64(grid.link[block])


@kernel
def all_hits(grid, ask, edge, start, stop, seen, counts, out, limit, dim):
    """Answer rows `start` to `stop` of a batch of casts from the cells.

    `seen`, int32 a slot, holds numbers that are no row plus 1, and keeps what was met in several
    cells from being listed again. Adds the answers of each row to ``counts[row]`` unless that is
    empty. Returns the whole count, or any number beyond `limit` as soon as there are more.
    """
    q = local_query()
    soonest = local_floats()
    plan = local_doubles()
    span = local_ints()
    k = 0
    for row in range(start, stop):
        before = k
        aim_along(q, ask.exact, row, ask.exact[row, 3 * len(dim)], dim)
        walked, k = hits_on_walk(
            *(grid, grid.meta, edge, 0.0, plan, span, q, soonest, seen, ask, row, dim, out, k)
        )
        if walked < 0.0:
            k = hits_of_all(grid, q, soonest, seen, ask, row, dim, out, k)
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k


@inner_kernel
def hits_on_walk(grid, meta, edge, walked, plan, span, q, soonest, seen, ask, row, dim, out, k):
    """Answer a cast from the cells along its way.

    Adds the cells it comes to to those walked before, and returns them with the count of answers;
    -1 as soon as there are more than blocks, or when there is no planning: then a scan is called
    for, which passes over what has been seen.
    """
    slabs = plan_walk(ask.exact, row, edge, meta, plan, dim)
    if slabs < 0:
        return -1.0, k
    last = ask.exact[row, 3 * len(dim)]
    for i in range(slabs):
        cells = reached_slab(i, ask.exact, row, last, edge, meta, plan, span, dim)
        if cells < 0.0:
            break
        walked += cells + 1.0
        if walked > grid.meta[USED_BLOCKS]:
            return -1.0, k
        if cells == 0.0:
            continue
        k = _hits_in_cells(grid, meta, span, q, soonest, seen, ask, row, dim, out, k)
    return walked, k


@inner_kernel
def hits_of_all(grid, q, soonest, seen, ask, row, dim, out, k):
    """Answer a cast from all blocks."""
    for block in range(grid.meta[USED_BLOCKS]):
        met = cast8(grid.bounds, block, q, soonest, dim)
        if met != 0:
            k = _hits_in_block(met, grid, block, soonest, seen, ask, row, dim, out, k)
    return k


@inner_kernel
def _hits_in_cells(grid, meta, span, q, soonest, seen, ask, row, dim, out, k):
    """Answer a cast from the members of a range of cells."""
    for x in range(span[0], span[3] + 1):
        for y in range(span[1], span[4] + 1):
            for z in range(span[2], span[5] + 1):
                at = find_cell(grid.cells, meta, x, y, z, dim)
                block = np.int64(grid.cells[at, len(dim)]) if at >= 0 else -1
                while block >= 0:
                    met = cast8(grid.bounds, block, q, soonest, dim)
                    if met != 0:
                        k = _hits_in_block(met, grid, block, soonest, seen, ask, row, dim, out, k)
                    block = np.int64(grid.link[block])
    return k


@inner_kernel
def _hits_in_block(met, grid, block, soonest, seen, ask, row, dim, out, k):
    """Answer a cast from the lanes in `met` of a block that it has not met before."""
    mask = np.uint64(0)
    while met != 0:
        lane = lowest_bit(met)
        met &= met - np.uint64(1)
        slot = grid.slots[block, lane]
        if seen[slot] != row + 1:
            seen[slot] = row + 1
            mask |= np.uint64(1) << np.uint64(lane)
    if mask != 0:
        k = hits_of_block(
            *(mask, grid.bounds, grid.slots, np.uint64(0), block, soonest, ask, row, dim, out, k)
        )
    return k
