"""Sweeping lanes: pairs, and what is met on the way."""

import numpy as np

from spatialindex.kernels.blocks import later_lanes, pairs_of_blocks, repeat_bits, spread_bits
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import (
    LANES,
    at_least8,
    lane_overlap8,
    lowest_bit,
    overlap8x8,
)
from spatialindex.kernels.sweep.lanes import AXIS, is_unused, pairs_here

__all__ = ["count_meetings", "find_pairs"]


@kernel
def find_pairs(lanes, cover, state, rule, start, stop, out, limit, dim):
    """Find the pairs of which one is in blocks `start` to `stop` and the other behind it.

    Returns the count, or any number beyond `limit` as soon as there are more.
    """
    bounds, slots, exact, starts = lanes.bounds, lanes.slots, lanes.exact, lanes.starts
    row = len(dim) + lanes.meta[AXIS]
    k = 0
    for block in range(start, stop):
        if is_unused(starts, block):
            continue
        word = later_lanes(overlap8x8(bounds, block, block, dim), block, block)
        other = np.int64(block)
        while True:
            if word != 0:
                word &= pairs_here(lanes.first, block, other, dim)
                k = pairs_of_blocks(
                    word, bounds, slots, exact, block, other, cover, state, rule, dim, out, k
                )
            other += 1
            reaching = at_least8(bounds, block, row, starts[np.uint64(other)])
            if reaching == 0:  # all, behind the last block too
                break
            if reaching & (reaching - np.uint64(1)):
                word = overlap8x8(bounds, block, other, dim)
            else:
                # one long box among short ones must not cost as eight
                lane = lowest_bit(reaching)
                word = lane_overlap8(bounds, block, lane, other, dim) << np.uint64(LANES * lane)
        if k > limit:
            return k
    return k


@inner_kernel
def _count_bits(word):
    """Return the number of set bits."""
    count = 0
    while word != 0:
        word &= word - np.uint64(1)
        count += 1
    return count


@inner_kernel
def _filled(slots, block):
    """Return the mask of the lanes of a block that are not empty."""
    mask = np.uint64(0)
    for lane in range(LANES):
        if slots[block, lane] >= 0:
            mask |= np.uint64(1 << lane)
    return mask


@kernel
def count_meetings(lanes, dim):
    """Return (visits, candidates): pairs of entries met, repeats included and distinct."""
    bounds, slots, starts = lanes.bounds, lanes.slots, lanes.starts
    row = len(dim) + lanes.meta[AXIS]
    visits = 0
    candidates = 0
    for block in range(starts.shape[0]):
        if is_unused(starts, block):
            continue
        reaching = _filled(slots, block)
        other = np.int64(block)
        while reaching != 0:
            word = spread_bits(reaching) & repeat_bits(_filled(slots, other))
            word = later_lanes(word, block, other)
            visits += _count_bits(word)
            candidates += _count_bits(word & pairs_here(lanes.first, block, other, dim))
            other += 1
            reaching = at_least8(bounds, block, row, starts[other])
    return visits, candidates
