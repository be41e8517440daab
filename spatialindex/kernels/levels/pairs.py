"""Pairs in a grid of levels: within each cell, and with the cells around it of coarser levels."""

import numpy as np

from spatialindex.kernels.blocks import (
    later_lanes,
    pairs_of_blocks,
    repeat_bits,
    spread_bits,
)
from spatialindex.kernels.grid.ask import count_bits, members_of, of_this_cell
from spatialindex.kernels.grid.cells import USED_BLOCKS, along, find_cell
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.levels.numbering import STRIDE, level_index, number_of
from spatialindex.kernels.simd import (
    LANES,
    lane_overlap8,
    local_floats,
    lowest_bit,
    overlap8,
    overlap8x8,
    prefetch,
    union8,
)

__all__ = ["SEEN_COLUMNS", "count_meetings", "find_pairs"]

SEEN_COLUMNS = 5
"""Of scratch a level: the cell last looked for, its head block or -1, and if there is one."""

_FEW = 3  # members of a block that are tested one by one: quicker than all eight with all eight
_AHEAD = 6  # blocks that ranges are asked for before they are needed
_LANE_0 = np.uint64(0x0101010101010101)  # lane 0 of each byte
_MOST_SHIFT = 55  # beyond all bits of a cell's number: what is left is the sign


@inner_kernel
def _cell_of_block(slots, first, ranges, block, d, dim):
    """Return a coordinate of the cell of a block: its members touch two cells an axis at most."""
    slot = slots[block, 0]
    is_first = first[block, d] & np.uint8(1)
    return np.int64(ranges[slot, d] if is_first else ranges[slot, len(dim) + d])


@inner_kernel
def _words(bounds, block, is_few, slots, dim):
    """Return which lanes of a block overlap one another, as `overlap8x8`."""
    if not is_few:
        return overlap8x8(bounds, block, block, dim)
    word = np.uint64(0)
    for lane in range(_FEW):
        if slots[block, lane] < 0:
            break
        mask = lane_overlap8(bounds, block, lane, block, dim)
        word |= mask << np.uint64(LANES * lane)
    return word


@inner_kernel
def _words_around(bounds, block, other, q, dim):
    """Return which lanes of a block and of one around it overlap, as `overlap8x8`.

    Most boxes around a block touch none of it: what does not overlap `q`, the box around all of it,
    is passed over.
    """
    mask = overlap8(bounds, other, q, dim)
    word = np.uint64(0)
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        # bit i of the lanes of `block` goes to bit 8 * i + lane
        met = spread_bits(lane_overlap8(bounds, other, lane, block, dim))
        word |= met & (_LANE_0 << np.uint64(lane))
    return word


@inner_kernel
def _head_around(cells, meta, numbers, j, k, x, y, z, seen, dim):
    """Return the head block of the cell of level `j` around a cell `k` levels finer, or -1.

    The last cell looked for is remembered a level: the next cell is mostly in the same one.
    """
    x, y, z = x >> k, y >> k, z >> k
    if seen[j, 4] == 0 or seen[j, 0] != x or seen[j, 1] != y or seen[j, 2] != z:
        at = find_cell(cells, meta, x + numbers[j] * STRIDE, y, z, dim)
        seen[j, 0], seen[j, 1], seen[j, 2] = x, y, z
        seen[j, 3] = cells[at, len(dim)] if at >= 0 else -1
        seen[j, 4] = 1
    return seen[j, 3]


@inner_kernel
def _of_these_cells(first, block, other, aligned, dim):
    """Pairs of lanes of a block and one around it that count in their cells and in no other.

    Bit `d` of `aligned` tells if the finer cell is along that axis the first of those that the
    coarser one is made of.
    """
    word = np.uint64(0xFFFFFFFFFFFFFFFF)
    for d in range(len(dim)):
        lanes = spread_bits(np.uint64(first[block, d]))
        if (aligned >> d) & 1:
            lanes |= repeat_bits(np.uint64(first[other, d]))
        word &= lanes
    return word


@inner_kernel
def _aligned(k, x, y, z, dim):
    """Return a bit an axis: if a cell is the first of those that make one `k` levels coarser."""
    bits = 0
    for d in range(len(dim)):
        c = along(d, x, y, z)
        if (c >> k) << k == c:
            bits |= 1 << d
    return bits


@kernel
def find_pairs(grid, numbers, cover, state, rule, start, stop, seen, out, limit, dim):
    """Find the pairs with a member in blocks `start` to `stop` and the other later or coarser.

    `numbers`, int64 ascending, are the levels, and `seen`, int64 ``(levels, SEEN_COLUMNS)`` of
    zeros, is scratch. Returns the count, or any number beyond `limit` as soon as there are more.
    """
    bounds, slots, exact = grid.bounds, grid.slots, grid.exact
    levels = numbers.shape[0]
    q = local_floats()
    index = -1
    k = 0
    for block in range(start, stop):
        slot = slots[block, 0]
        if slot < 0:
            continue  # a free block: its link leads to other free ones
        ahead = slots[min(block + _AHEAD, stop - 1), 0]
        if ahead >= 0:
            prefetch(grid.ranges, np.int64(ahead))
        is_few = slots[block, _FEW] < 0
        union8(bounds, block, q, dim)
        other = np.int64(block)
        while other >= 0:
            if other == block:
                word = later_lanes(_words(bounds, block, is_few, slots, dim), block, other)
            else:
                word = _words_around(bounds, block, other, q, dim)
            if word != 0:
                word &= of_this_cell(grid, block, other, dim)
                k = pairs_of_blocks(
                    word, bounds, slots, exact, block, other, cover, state, rule, dim, out, k
                )
            other = np.int64(grid.link[other])
        x = _cell_of_block(grid.slots, grid.first, grid.ranges, block, 0, dim)
        y = _cell_of_block(grid.slots, grid.first, grid.ranges, block, 1, dim)
        z = (
            _cell_of_block(grid.slots, grid.first, grid.ranges, block, 2, dim)
            if len(dim) == 3
            else 0
        )
        if index < 0 or abs(x - numbers[index] * STRIDE) > STRIDE // 2:
            index = level_index(numbers, number_of(x), index)
        x -= numbers[index] * STRIDE
        for j in range(index + 1, levels):
            finer = min(numbers[j] - numbers[index], _MOST_SHIFT)
            other = _head_around(grid.cells, grid.meta, numbers, j, finer, x, y, z, seen, dim)
            aligned = _aligned(finer, x, y, z, dim) if other >= 0 else 0
            while other >= 0:
                word = _words_around(bounds, block, other, q, dim)
                if word != 0:
                    word &= _of_these_cells(grid.first, block, other, aligned, dim)
                    k = pairs_of_blocks(
                        word, bounds, slots, exact, block, other, cover, state, rule, dim, out, k
                    )
                other = np.int64(grid.link[other])
        if k > limit:
            return k
    return k


@kernel
def count_meetings(grid, numbers, seen, dim):
    """Return (visits, candidates): members that meet in cells, repeats included and distinct.

    What does not overlap the box around several members of a block has not met them.
    """
    visits = 0
    candidates = 0
    levels = numbers.shape[0]
    q = local_floats()
    index = -1
    for block in range(grid.meta[USED_BLOCKS]):
        here = members_of(grid.slots, block)
        if here == 0:
            continue
        here = spread_bits(here)
        is_one = grid.slots[block, 1] < 0
        union8(grid.bounds, block, q, dim)
        other = np.int64(block)
        while other >= 0:
            met = members_of(grid.slots, other)
            if other != block:
                met = overlap8(grid.bounds, other, q, dim)
            word = later_lanes(here & repeat_bits(met), block, other)
            visits += count_bits(word)
            candidates += count_bits(word & of_this_cell(grid, block, other, dim))
            other = np.int64(grid.link[other])
        x = _cell_of_block(grid.slots, grid.first, grid.ranges, block, 0, dim)
        y = _cell_of_block(grid.slots, grid.first, grid.ranges, block, 1, dim)
        z = (
            _cell_of_block(grid.slots, grid.first, grid.ranges, block, 2, dim)
            if len(dim) == 3
            else 0
        )
        index = level_index(numbers, number_of(x), index)
        x -= numbers[index] * STRIDE
        for j in range(index + 1, levels):
            finer = min(numbers[j] - numbers[index], _MOST_SHIFT)
            other = _head_around(grid.cells, grid.meta, numbers, j, finer, x, y, z, seen, dim)
            aligned = _aligned(finer, x, y, z, dim) if other >= 0 else 0
            while other >= 0:
                word = here
                if is_one:
                    word &= repeat_bits(members_of(grid.slots, other))
                else:
                    word &= repeat_bits(overlap8(grid.bounds, other, q, dim))
                visits += count_bits(word)
                word &= _of_these_cells(grid.first, block, other, aligned, dim)
                candidates += count_bits(word)
                other = np.int64(grid.link[other])
    return visits, candidates
