"""Changing a few entries of swept lanes, one by one.

An entry that leaves makes a gap in its block. Where it comes to, the nearest gap behind is moved to
the block that it belongs to, one entry a block: the highest of each goes on to the next::

    lower bounds    [1 2 5 9] [11 12 14 15] [17 - - -]     enter 6
                    [1 2 5 6] [9 11 12 14]  [15 17 - -]

The order of blocks stays as good as it was; motion by less than a block is long changes nothing.
"""

import numpy as np

from spatialindex.kernels.blocks import clear_lane, copy_lane, write_lane
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES, down32
from spatialindex.kernels.sweep.lanes import (
    ABSENT,
    AXIS,
    ENTRIES,
    N_LANES,
    SHIFTS,
    is_same_range,
    is_unused,
    take_block,
    write_range,
)
from spatialindex.kernels.sweep.tree import refresh_path

__all__ = ["NO_ROOM", "add_slots", "move_slots", "remove_slots"]

NO_ROOM = -1
"""What kernels return when a lane is full: build all anew."""


@inner_kernel
def _bits_of(lanes, block, lane, dim):
    """Return the first-lane bits of an entry."""
    bits = (np.int64(lanes.first[block, 0]) >> lane) & 1
    if len(dim) == 3:
        bits |= ((np.int64(lanes.first[block, len(dim) - 2]) >> lane) & 1) << 1
    return bits


@inner_kernel
def _set_bits(lanes, block, lane, bits, dim):
    """Set the first-lane bits of an entry, and remember where it is when it is a home."""
    for k in range(len(dim) - 1):
        others = lanes.first[block, k] & ~np.uint8(1 << lane)
        lanes.first[block, k] = others | np.uint8(((bits >> k) & 1) << lane)
    if bits == (1 << (len(dim) - 1)) - 1:
        lanes.homes[lanes.slots[block, lane]] = LANES * block + lane


@inner_kernel
def _empty_lane(lanes, block, lane, dim):
    """Leave a gap."""
    clear_lane(lanes.bounds, lanes.slots, block, lane, dim)
    lanes.exact[block] &= ~np.uint8(1 << lane)
    for k in range(len(dim) - 1):
        lanes.first[block, k] &= ~np.uint8(1 << lane)


@inner_kernel
def _carry(lanes, block, lane, from_block, from_lane, dim):
    """Move an entry into a gap, and leave one where it was."""
    copy_lane(lanes.bounds, lanes.slots, lanes.exact, block, lane, from_block, from_lane, dim)
    _set_bits(lanes, block, lane, _bits_of(lanes, from_block, from_lane, dim), dim)
    _empty_lane(lanes, from_block, from_lane, dim)


@inner_kernel
def _gap_in(lanes, block):
    """Return the first empty lane of a block, -1 when it is full."""
    if is_unused(lanes.starts, block):
        return 0
    for lane in range(LANES):
        if lanes.slots[block, lane] < 0:
            return lane
    return -1


@inner_kernel
def _highest(bounds, block, axis):
    """Return the lane with the highest lower bound of a block along the sweep axis; -1: empty."""
    found = -1
    highest = np.float32(-np.inf)
    for lane in range(LANES):
        if bounds[block, axis, lane] >= highest:
            highest = bounds[block, axis, lane]
            found = lane
    return found


@inner_kernel
def _last_start(lanes, lane, key):
    """Return the last block of a lane that does not start behind `key`; its first when all do."""
    first = lanes.offsets[lane]
    low, high = first, lanes.offsets[lane + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if lanes.starts[middle] <= key:  # false for blocks not in use
            low = middle + 1
        else:
            high = middle
    return max(low - 1, first)


@inner_kernel
def _find(lanes, lane, slot, key):
    """Return the place of the entry of a slot in a lane, 8 * block + lane; it has to be there."""
    for block in range(_last_start(lanes, lane, key), lanes.offsets[lane] - 1, -1):
        for i in range(LANES):
            if lanes.slots[block, i] == slot:
                return LANES * block + i
    return -1


@inner_kernel
def _start_at(lanes, block, key, dim):
    """Make a block, which is used from now on, start no later than `key`."""
    if is_unused(lanes.starts, block):
        take_block(lanes, block, key, dim)
    elif key < lanes.starts[block]:
        lanes.starts[block] = key


@inner_kernel
def _key(boxes, slot, axis):
    """Return the lower bound of a slot along the sweep axis as its entries have it."""
    return down32(boxes[slot, axis])


@inner_kernel
def _lowest(bounds, block, axis):
    """Return the lane with the lowest lower bound of a full block along the sweep axis."""
    found = 0
    for lane in range(1, LANES):
        if bounds[block, axis, lane] < bounds[block, axis, found]:
            found = lane
    return found


@inner_kernel
def _make_gap_from_before(lanes, tree, lane, block, dim):
    """Make a gap in a full block by moving the lowest of each block back to the one before it."""
    before = block - 1
    while before >= lanes.offsets[lane] and _gap_in(lanes, before) < 0:
        before -= 1
    if before < lanes.offsets[lane]:
        return NO_ROOM
    lowest = 0
    while before < block:
        gap = _gap_in(lanes, before)
        lowest = _lowest(lanes.bounds, before + 1, lanes.meta[AXIS])
        _carry(lanes, before, gap, before + 1, lowest, dim)
        refresh_path(lanes, tree, before, dim)
        lanes.meta[SHIFTS] += 1
        before += 1
    return LANES * block + lowest


@inner_kernel
def _make_gap(lanes, tree, lane, key, dim):
    """Make a gap for an entry with that lower bound; returns its place, `NO_ROOM` for none."""
    axis = lanes.meta[AXIS]
    end = lanes.offsets[lane + 1] - 1  # the last block is never used
    block = _last_start(lanes, lane, key)
    gap = _gap_in(lanes, block)
    if gap >= 0:
        _start_at(lanes, block, key, dim)
        return LANES * block + gap
    behind = block + 1
    while behind < end and not is_unused(lanes.starts, behind):
        if _gap_in(lanes, behind) >= 0:
            break
        behind += 1
    if behind >= end:
        return _make_gap_from_before(lanes, tree, lane, block, dim)
    # the highest of each block moves on, from the gap back to the block
    while True:
        gap = _gap_in(lanes, behind)
        before = behind - 1
        highest = _highest(lanes.bounds, before, axis)
        value = lanes.bounds[before, axis, highest]
        if before == block and value <= key:  # the new one is the highest itself
            _start_at(lanes, behind, key, dim)
            return LANES * behind + gap
        _start_at(lanes, behind, value, dim)
        _carry(lanes, behind, gap, before, highest, dim)
        refresh_path(lanes, tree, behind, dim)
        lanes.meta[SHIFTS] += 1
        behind = before
        if behind == block:
            _start_at(lanes, block, key, dim)
            return LANES * block + highest


@inner_kernel
def _insert(lanes, tree, lane, slot, bits, boxes, dim):
    """Make an entry of a slot in a lane; `NO_ROOM` when that is full."""
    gap = _make_gap(lanes, tree, lane, _key(boxes, slot, lanes.meta[AXIS]), dim)
    if gap < 0:
        return NO_ROOM
    block, at = gap // LANES, gap % LANES
    write_lane(lanes.bounds, lanes.slots, lanes.exact, block, at, slot, boxes, slot, dim)
    _set_bits(lanes, block, at, bits, dim)
    refresh_path(lanes, tree, block, dim)
    lanes.meta[ENTRIES] += 1
    return 0


@inner_kernel
def _take_out(lanes, tree, place, dim):
    """Remove the entry at a place."""
    block, lane = place // LANES, place % LANES
    _empty_lane(lanes, block, lane, dim)
    refresh_path(lanes, tree, block, dim)
    lanes.meta[ENTRIES] -= 1


@inner_kernel
def _rewrite(lanes, tree, place, slot, bits, boxes, dim):
    """Write a new box to an entry if it may stay in its block; tell if it may."""
    block, lane = place // LANES, place % LANES
    key = _key(boxes, slot, lanes.meta[AXIS])
    if not lanes.starts[block] <= key or key > lanes.starts[block + 1]:
        return False
    write_lane(lanes.bounds, lanes.slots, lanes.exact, block, lane, slot, boxes, slot, dim)
    _set_bits(lanes, block, lane, bits, dim)
    refresh_path(lanes, tree, block, dim)
    return True


@inner_kernel
def _leave(lanes, tree, slot, dim):
    """Take a slot out of all its lanes."""
    ndim = len(dim)
    ranges = lanes.ranges
    place = np.int64(lanes.homes[slot])
    key = lanes.bounds[place // LANES, lanes.meta[AXIS], place % LANES]
    low, high = np.int64(ranges[slot, 0]), np.int64(ranges[slot, 1])
    left = np.int64(ranges[slot, 2]) if ndim == 3 else 0
    right = np.int64(ranges[slot, 2 * ndim - 3]) if ndim == 3 else 0
    _take_out(lanes, tree, place, dim)
    for x in range(low, high + 1):
        for y in range(left, right + 1):
            if x > low or y > left:
                place = _find(lanes, x * lanes.meta[N_LANES + 1] + y, slot, key)
                _take_out(lanes, tree, place, dim)
    lanes.homes[slot] = ABSENT


@inner_kernel
def _enter(lanes, tree, slot, boxes, dim):
    """Make a slot an entry of all lanes of its range; `NO_ROOM` when one of these is full."""
    ndim = len(dim)
    ranges = lanes.ranges
    low, high = np.int64(ranges[slot, 0]), np.int64(ranges[slot, 1])
    left = np.int64(ranges[slot, 2]) if ndim == 3 else 0
    right = np.int64(ranges[slot, 2 * ndim - 3]) if ndim == 3 else 0
    for x in range(low, high + 1):
        for y in range(left, right + 1):
            bits = 1 if x == low else 0
            if ndim == 3 and y == left:
                bits |= 2
            lane = x * lanes.meta[N_LANES + 1] + y
            if _insert(lanes, tree, lane, slot, bits, boxes, dim) < 0:
                return NO_ROOM
    return 0


@kernel
def remove_slots(lanes, tree, slots, dim):
    """Take slots out of all their lanes."""
    for i in range(slots.shape[0]):
        _leave(lanes, tree, np.int64(slots[i]), dim)


@kernel
def add_slots(lanes, tree, slots, boxes, dim):
    """Make slots entries of all lanes that they touch; `NO_ROOM` when one of these is full."""
    for i in range(slots.shape[0]):
        slot = np.int64(slots[i])
        write_range(boxes, slot, lanes.frame, lanes.meta, dim, lanes.ranges, slot)
        if _enter(lanes, tree, slot, boxes, dim) < 0:
            return NO_ROOM
    return 0


@kernel
def move_slots(lanes, tree, slots, boxes, dim, fresh):
    """Bring the entries of moved slots up to date; `NO_ROOM` when a lane is full.

    `fresh` is int16 scratch for one range, ``(1, 2 * (ndim - 1))``.
    """
    for i in range(slots.shape[0]):
        slot = np.int64(slots[i])
        count = write_range(boxes, slot, lanes.frame, lanes.meta, dim, fresh, 0)
        if count == 1 and is_same_range(lanes.ranges, slot, fresh):
            bits = (1 << (len(dim) - 1)) - 1
            if _rewrite(lanes, tree, np.int64(lanes.homes[slot]), slot, bits, boxes, dim):
                continue
        _leave(lanes, tree, slot, dim)
        for k in range(fresh.shape[1]):
            lanes.ranges[slot, k] = fresh[0, k]
        if _enter(lanes, tree, slot, boxes, dim) < 0:
            return NO_ROOM
    return 0
