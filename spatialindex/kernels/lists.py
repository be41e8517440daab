"""Scanning a list of boxes in consecutive blocks: nearest, first hits, casts and planes.

The list is as in `spatialindex.kernels.blocks`. Every block is tested, eight boxes at a time; what
a block is away at least, or met at the earliest, decides whether its exact boxes are looked at. The
better the best found so far, the fewer are: a search that has found some elsewhere goes on here
with those.
"""

import numpy as np

from spatialindex.kernels.best import put_in_order
from spatialindex.kernels.blocks import (
    first_of_block,
    hits_of_block,
    nearest_of_block,
    planes_of_block,
)
from spatialindex.kernels.decide import CAST
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import (
    LANES,
    aim_along,
    aim_at_point,
    cast8,
    local_floats,
    local_query,
)

__all__ = ["put_best_in_order", "reach_of", "scan_first", "scan_nearest", "scan_slanted"]

_ALL_LANES = np.uint64(255)


@inner_kernel
def reach_of(best, row, reach):
    """Return how far row `row` has to look: up to `reach`, or to the worst of complete bests."""
    if best.counts[row] == best.values.shape[1]:
        return min(reach, best.values[row, 0])
    return reach


@kernel
def scan_nearest(bounds, slots, n, ask, start, stop, best, dim):
    """Offer what a list of `n` boxes has near the points of rows `start` to `stop` to their bests.

    `ask` is of kind `RADIUS`.
    """
    q = local_query()
    out = local_floats()
    blocks = (n + LANES - 1) // LANES
    for row in range(start, stop):
        aim_at_point(q, ask.exact, row, reach_of(best, row, ask.exact[row, len(dim)]), dim)
        for block in range(blocks):
            nearest_of_block(bounds, slots, block, q, out, ask, row, best, dim)


@kernel
def scan_first(bounds, slots, n, ask, start, stop, best, dim):
    """Offer what the casts of rows `start` to `stop` meet in a list of `n` boxes to their bests.

    `ask` is of kind `CAST`; a row has one best.
    """
    q = local_query()
    out = local_floats()
    blocks = (n + LANES - 1) // LANES
    for row in range(start, stop):
        aim_along(q, ask.exact, row, reach_of(best, row, ask.exact[row, 3 * len(dim)]), dim)
        for block in range(blocks):
            first_of_block(bounds, slots, block, q, out, ask, row, best, dim)


@kernel
def put_best_in_order(best, start, stop):
    """Turn the bests of rows `start` to `stop` into ascending order, padded with inf and -1."""
    for row in range(start, stop):
        put_in_order(best.values, best.slots, row, best.counts[row], best.slot_ids)


@kernel
def scan_slanted(bounds, slots, n, ask, start, stop, counts, out, limit, dim):
    """Answer casts or planes as `blocks.scan_regions` answers boxes, by tests made for them.

    Their box would hold far more than they do: that of a long ray across holds everything.
    """
    q = local_query()
    soonest = local_floats()
    blocks = (n + LANES - 1) // LANES
    k = 0
    for row in range(start, stop):
        before = k
        if ask.kind == CAST:
            aim_along(q, ask.exact, row, ask.exact[row, 3 * len(dim)], dim)
        for block in range(blocks):
            if ask.kind == CAST:
                mask = cast8(bounds, block, q, soonest, dim)
            else:
                last = n - block * LANES
                mask = (
                    _ALL_LANES
                    if last >= LANES
                    else (np.uint64(1) << np.uint64(last)) - np.uint64(1)
                )
                mask = planes_of_block(mask, bounds, block, ask.exact, row, dim)
            if mask != 0:
                k = hits_of_block(
                    *(mask, bounds, slots, np.uint64(0), block, soonest, ask, row, dim, out, k)
                )
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k
