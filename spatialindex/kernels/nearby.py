"""Lists of neighbours: who is near each of some slots, in blocks of eight boxes.

Row `r` of the lists has the blocks ``starts[r]`` to ``starts[r + 1]`` (`kernels.blocks`), with all
that touch its box, ``fat[r]``. A slot that is inside of that touches nobody else::

    found for the fat boxes   (0, 7) (2, 4) (0, 3) (2, 7) ... nine of row 2
    starts  [0 1 1 3]         slots  [[7 3 -1 ...] [4 7 ...] [9 -1 ...]]
"""

import numpy as np

from spatialindex.kernels.blocks import aim_at_region, hits_of_block, write_lane
from spatialindex.kernels.jit import kernel
from spatialindex.kernels.simd import LANES, local_floats, overlap8

__all__ = ["begin_lists", "fill_lists", "part_askers", "scan_lists"]


@kernel
def begin_lists(found, starts):
    """Work out where each list begins from rows `found` (row of a list, slot), int32.

    `starts`, int32 with one more than there are lists, is zero before. Returns how many blocks
    there are in all.
    """
    for i in range(found.shape[0]):
        starts[found[i, 0] + 1] += 1
    for row in range(1, starts.shape[0]):
        starts[row] = starts[row - 1] + (starts[row] + LANES - 1) // LANES
    return starts[starts.shape[0] - 1]


@kernel
def fill_lists(found, starts, counts, bounds, slots, exact, boxes, dim):
    """Write the slots of rows `found` with their float64 boxes to the blocks of their lists.

    All lanes are empty, and int32 ``counts[row]`` zero before.
    """
    for i in range(found.shape[0]):
        row, slot = found[i, 0], found[i, 1]
        at = counts[row]
        counts[row] = at + 1
        block = starts[row] + at // LANES
        write_lane(bounds, slots, exact, block, at % LANES, slot, boxes, slot, dim)


@kernel
def part_askers(slots, rows, fat, boxes, dim, listed, stale):
    """Part slots into those whose list in ``rows[slot]`` holds all that they touch, and others.

    That is where float64 ``boxes[slot]`` is inside of the fat box. A slot without a list has the
    row -1, or is beyond the end of `rows`. Writes each to int32 `listed` or `stale`, which have
    room for all, in the order of `slots`; returns how many are listed.
    """
    ndim = len(dim)
    n_listed = 0
    n_stale = 0
    for i in range(slots.shape[0]):
        slot = slots[i]
        row = rows[slot] if slot < rows.shape[0] else -1
        is_inside = row >= 0
        if is_inside:
            for d in range(ndim):
                is_inside &= (fat[row, d] <= boxes[slot, d]) & (
                    boxes[slot, ndim + d] <= fat[row, ndim + d]
                )
        if is_inside:
            listed[n_listed] = slot
            n_listed += 1
        else:
            stale[n_stale] = slot
            n_stale += 1
    return n_listed


@kernel
def scan_lists(bounds, slots, exact, starts, rows, ask, start, stop, out, limit, dim):
    """Answer the askers `start` to `stop` of a batch from their lists.

    Returns the whole count, or any number beyond `limit` as soon as there are more.
    """
    q = local_floats()
    q_in = local_floats()
    k = 0
    for i in range(start, stop):
        row = rows[ask.askers[i]]
        is_exact = aim_at_region(q, q_in, ask.cull, i, dim)
        for block in range(starts[row], starts[row + 1]):
            mask = overlap8(bounds, block, q, dim)
            if mask != 0:
                sure = is_exact & np.uint64(exact[block])
                k = hits_of_block(mask, bounds, slots, sure, block, q_in, ask, i, dim, out, k)
        if k > limit:
            return k
    return k
