"""Changing memberships one by one: entering, leaving and moving between cells."""

import numpy as np

from spatialindex.kernels.blocks import clear_lane, copy_lane, marked_lanes, write_lane
from spatialindex.kernels.grid.cells import (
    ABSENT,
    CELLS,
    ENTRIES,
    FREE,
    FREE_BLOCKS,
    IS_DENSE,
    USED_BLOCKS,
    WALKED,
    WIDE,
    along,
    clear_block,
    delete_cell,
    find_cell,
    new_cell,
)
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES, equal8, local_ints, lowest_bit

__all__ = ["choose_moves", "enter_slots", "leave_slots", "move_slots", "rewrite_lanes"]


@inner_kernel
def _first_bits(grid, block, lane, slot, x, y, z, dim):
    """Set the lane's bits that tell whether the cell is the slot's first along each axis."""
    bit = np.uint8(1 << lane)
    for d in range(len(dim)):
        if grid.ranges[slot, d] == along(d, x, y, z):
            grid.first[block, d] |= bit
        else:
            grid.first[block, d] &= ~bit


@inner_kernel
def _enter(grid, slot, boxes, x, y, z, dim):
    """Make a slot a member of a cell, which is created when it is new. There must be room."""
    ndim = len(dim)
    cells, meta = grid.cells, grid.meta
    at = find_cell(cells, meta, x, y, z, dim)
    if at < 0:
        at = new_cell(grid, x, y, z, dim)
    size = cells[at, ndim + 1]
    lane = size % LANES
    block = np.int64(cells[at, ndim])
    if lane == 0:
        before = block
        if meta[FREE] >= 0:
            block = meta[FREE]
            meta[FREE] = grid.link[block]
            meta[FREE_BLOCKS] -= 1
        else:
            block = meta[USED_BLOCKS]
            meta[USED_BLOCKS] += 1
        grid.link[block] = before
        cells[at, ndim] = block
        clear_block(grid, block, dim)
    write_lane(grid.bounds, grid.slots, grid.exact, block, lane, slot, boxes, slot, dim)
    _first_bits(grid, block, lane, slot, x, y, z, dim)
    cells[at, ndim + 1] = size + 1
    meta[ENTRIES] += 1


@inner_kernel
def _find_member(grid, at, slot, dim):
    """Return 8 * block + lane of a member of the cell in place `at`."""
    block = np.int64(grid.cells[at, len(dim)])
    while True:
        grid.meta[WALKED] += 1
        mask = equal8(grid.slots, block, slot)
        if mask != 0:
            return LANES * block + lowest_bit(mask)
        block = np.int64(grid.link[block])


@inner_kernel
def _leave(grid, slot, x, y, z, dim):
    """End a slot's membership of a cell; an empty cell and an empty block are freed."""
    ndim = len(dim)
    cells, meta = grid.cells, grid.meta
    at = find_cell(cells, meta, x, y, z, dim)
    found = _find_member(grid, at, slot, dim)
    block, lane = found // LANES, found % LANES
    head = np.int64(cells[at, ndim])
    size = cells[at, ndim + 1] - 1
    last = size % LANES
    if block != head or lane != last:
        copy_lane(grid.bounds, grid.slots, grid.exact, block, lane, head, last, dim)
        for d in range(ndim):
            bit = (grid.first[head, d] >> np.uint8(last)) & np.uint8(1)
            kept = grid.first[block, d] & ~np.uint8(1 << lane)
            grid.first[block, d] = kept | np.uint8(bit << np.uint8(lane))
    clear_lane(grid.bounds, grid.slots, head, last, dim)
    cells[at, ndim + 1] = size
    meta[ENTRIES] -= 1
    if last == 0:
        cells[at, ndim] = grid.link[head]
        grid.link[head] = meta[FREE]
        meta[FREE] = head
        meta[FREE_BLOCKS] += 1
        if size == 0:
            delete_cell(cells, meta, at, dim)
            meta[CELLS] -= 1


@inner_kernel
def _has_room(grid, ranges, i, dim):
    """Tell if an object can enter all cells of row `i` of ranges, whatever is in them."""
    covered = 1
    for d in range(len(dim)):
        covered *= np.int64(ranges[i, len(dim) + d]) - np.int64(ranges[i, d]) + 1
    meta = grid.meta
    free = meta[FREE_BLOCKS] + grid.slots.shape[0] - meta[USED_BLOCKS]
    if free < covered:
        return False
    return meta[IS_DENSE] != 0 or 2 * (meta[CELLS] + covered) <= grid.cells.shape[0]


@kernel
def enter_slots(grid, slots, boxes, ranges, start, dim):
    """Make slots members of the cells of their ranges, from row `start` on.

    Row `i` of `ranges` belongs to ``slots[i]``, whose box is in its row of `boxes`. Wide ones are
    only marked. Returns the row it stopped at for want of room, or the number of slots.
    """
    ndim = len(dim)
    for i in range(start, slots.shape[0]):
        slot = slots[i]
        if ranges[i, 0] != WIDE and not _has_room(grid, ranges, i, dim):
            return i
        for c in range(2 * ndim):
            grid.ranges[slot, c] = ranges[i, c]
        if ranges[i, 0] == WIDE:
            continue
        z0 = np.int64(ranges[i, 2]) if ndim == 3 else 0
        z1 = np.int64(ranges[i, 2 * ndim - 1]) if ndim == 3 else 0
        for x in range(np.int64(ranges[i, 0]), np.int64(ranges[i, ndim]) + 1):
            for y in range(np.int64(ranges[i, 1]), np.int64(ranges[i, ndim + 1]) + 1):
                for z in range(z0, z1 + 1):
                    _enter(grid, slot, boxes, x, y, z, dim)
    return slots.shape[0]


@kernel
def leave_slots(grid, slots, dim):
    """Take slots out of all their cells."""
    ndim = len(dim)
    for i in range(slots.shape[0]):
        r = grid.ranges[slots[i]]
        if r[0] != WIDE and r[0] != ABSENT:
            z0 = np.int64(r[2]) if ndim == 3 else 0
            z1 = np.int64(r[2 * ndim - 1]) if ndim == 3 else 0
            for x in range(np.int64(r[0]), np.int64(r[ndim]) + 1):
                for y in range(np.int64(r[1]), np.int64(r[ndim + 1]) + 1):
                    for z in range(z0, z1 + 1):
                        _leave(grid, slots[i], x, y, z, dim)
        r[0] = ABSENT


@inner_kernel
def _holds_cell(r, x, y, z, dim):
    """Tell if a range holds a cell."""
    ndim = len(dim)
    ok = (r[0] <= x) & (x <= r[ndim]) & (r[1] <= y) & (y <= r[ndim + 1])
    if ndim == 3:
        ok &= (r[2] <= z) & (z <= r[2 * ndim - 1])
    return ok


@kernel
def move_slots(grid, slots, boxes, ranges, start, dim):
    """Move slots, all of them in cells, to new ranges that are not wide, from row `start` on.

    A slot leaves the cells it is not in any more, enters the new ones and is rewritten in those it
    stays in. Row `i` of `ranges` belongs to ``slots[i]``, whose box is in its row of `boxes`.
    Returns the row it stopped at for want of room, or the number of slots.
    """
    ndim = len(dim)
    old = local_ints()
    for i in range(start, slots.shape[0]):
        slot = slots[i]
        if not _has_room(grid, ranges, i, dim):
            return i
        new = ranges[i]
        for c in range(2 * ndim):
            old[c] = grid.ranges[slot, c]
            grid.ranges[slot, c] = new[c]
        z0 = np.int64(old[2]) if ndim == 3 else 0
        z1 = np.int64(old[2 * ndim - 1]) if ndim == 3 else 0
        for x in range(np.int64(old[0]), np.int64(old[ndim]) + 1):
            for y in range(np.int64(old[1]), np.int64(old[ndim + 1]) + 1):
                for z in range(z0, z1 + 1):
                    if _holds_cell(new, x, y, z, dim):
                        at = find_cell(grid.cells, grid.meta, x, y, z, dim)
                        found = _find_member(grid, at, slot, dim)
                        block, lane = found // LANES, found % LANES
                        write_lane(
                            *(grid.bounds, grid.slots, grid.exact),
                            *(block, lane, slot, boxes, slot, dim),
                        )
                        _first_bits(grid, block, lane, slot, x, y, z, dim)
                    else:
                        _leave(grid, slot, x, y, z, dim)
        z0 = np.int64(new[2]) if ndim == 3 else 0
        z1 = np.int64(new[2 * ndim - 1]) if ndim == 3 else 0
        for x in range(np.int64(new[0]), np.int64(new[ndim]) + 1):
            for y in range(np.int64(new[1]), np.int64(new[ndim + 1]) + 1):
                for z in range(z0, z1 + 1):
                    if not _holds_cell(old, x, y, z, dim):
                        _enter(grid, slot, boxes, x, y, z, dim)
    return slots.shape[0]


@kernel
def choose_moves(grid, slots, ranges, marks, rows, dim):
    """Write to int64 `rows` which rows of ranges differ from those of their slots, and how many.

    The slots of the others, which stay in all their cells, get a mark: ``marks[slot] = 1``, uint8.
    """
    n = 0
    for i in range(slots.shape[0]):
        stays = True
        for c in range(2 * len(dim)):
            stays &= grid.ranges[slots[i], c] == ranges[i, c]
        marks[slots[i]] = stays
        rows[n] = i
        n += 0 if stays else 1
    return n


@kernel
def rewrite_lanes(grid, marks, boxes, dim):
    """Write the present boxes of marked slots, their rows of `boxes`, to all their lanes.

    One pass over all blocks: where many have moved, that costs less than to look for each of them.
    """
    for block in range(grid.meta[USED_BLOCKS]):
        mask = marked_lanes(grid.slots, block, marks)
        while mask != 0:
            lane = lowest_bit(mask)
            mask &= mask - np.uint64(1)
            slot = grid.slots[block, lane]
            write_lane(grid.bounds, grid.slots, grid.exact, block, lane, slot, boxes, slot, dim)
