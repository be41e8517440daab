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
from spatialindex.kernels.jit import kernel
from spatialindex.kernels.simd import (
    aim_along,
    cast8,
    local_doubles,
    local_floats,
    local_ints,
    local_query,
    lowest_bit,
)

__all__ = ["all_hits", "first_hits"]


@kernel
def first_hits(grid, ask, edge, start, stop, best, dim):
    """Offer what the casts of rows `start` to `stop` meet in the cells to their bests.

    `ask` is of kind `CAST`; a row has one best, which may come with one found elsewhere.
    """
    ndim = len(dim)
    q = local_query()
    out = local_floats()
    plan = local_doubles()
    span = local_ints()
    blocks = grid.meta[USED_BLOCKS]
    for row in range(start, stop):
        reach = ask.exact[row, 3 * ndim]
        if best.counts[row]:
            reach = min(reach, best.values[row, 0])
        aim_along(q, ask.exact, row, reach, dim)
        slabs = plan_walk(ask.exact, row, edge, grid.meta, plan, dim)
        is_scan = slabs < 0
        walked = 0.0
        for i in range(slabs):
            cells = reached_slab(i, ask.exact, row, reach, edge, grid.meta, plan, span, dim)
            if cells < 0.0:
                break
            walked += cells + 1.0
            is_scan = walked > blocks
            if is_scan:
                break
            if cells == 0.0:
                continue
            _first_in_cells(grid, span, q, out, ask, row, best, dim)
            if best.counts[row]:
                reach = min(reach, best.values[row, 0])
        if is_scan:
            for block in range(blocks):
                first_of_block(grid.bounds, grid.slots, block, q, out, ask, row, best, dim)


@kernel
def _first_in_cells(grid, span, q, out, ask, row, best, dim):
    """Offer what a cast meets in a range of cells to the best of its row."""
    for x in range(span[0], span[3] + 1):
        for y in range(span[1], span[4] + 1):
            for z in range(span[2], span[5] + 1):
                at = find_cell(grid.cells, grid.meta, x, y, z, dim)
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
    ndim = len(dim)
    q = local_query()
    soonest = local_floats()
    plan = local_doubles()
    span = local_ints()
    blocks = grid.meta[USED_BLOCKS]
    k = 0
    for row in range(start, stop):
        before = k
        last = ask.exact[row, 3 * ndim]
        aim_along(q, ask.exact, row, last, dim)
        slabs = plan_walk(ask.exact, row, edge, grid.meta, plan, dim)
        is_scan = slabs < 0
        walked = 0.0
        for i in range(slabs):
            cells = reached_slab(i, ask.exact, row, last, edge, grid.meta, plan, span, dim)
            if cells < 0.0:
                break
            walked += cells + 1.0
            is_scan = walked > blocks
            if is_scan:
                break
            if cells == 0.0:
                continue
            k = _hits_in_cells(grid, span, q, soonest, seen, ask, row, dim, out, k)
        if is_scan:
            for block in range(blocks):
                met = cast8(grid.bounds, block, q, soonest, dim)
                if met != 0:
                    k = _hits_in_block(met, grid, block, soonest, seen, ask, row, dim, out, k)
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k


@kernel
def _hits_in_cells(grid, span, q, soonest, seen, ask, row, dim, out, k):
    """Answer a cast from the members of a range of cells."""
    for x in range(span[0], span[3] + 1):
        for y in range(span[1], span[4] + 1):
            for z in range(span[2], span[5] + 1):
                at = find_cell(grid.cells, grid.meta, x, y, z, dim)
                block = np.int64(grid.cells[at, len(dim)]) if at >= 0 else -1
                while block >= 0:
                    met = cast8(grid.bounds, block, q, soonest, dim)
                    if met != 0:
                        k = _hits_in_block(met, grid, block, soonest, seen, ask, row, dim, out, k)
                    block = np.int64(grid.link[block])
    return k


@kernel
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
