"""Sorting lanes again after everything has moved a little, from the order that they are in.

The members of each lane are taken from its blocks, one after the other, and each is put where its
new key belongs: insertion sort, which does nothing but look where the order has not changed. What
came from other lanes is few, is sorted by itself and merged::

    keys of the blocks of a lane   3 5 4 9 | 12 11      shifts: 5 and 12, by one place each
    come from other lanes          7                    merged: 3 4 5 7 9 11 12

Shifts are counted; with more than a few an entry, sorting from scratch is cheaper.
"""

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.sweep.build import key_of, note_range
from spatialindex.kernels.sweep.lanes import (
    AXIS,
    N_LANES,
    SHIFTS,
    is_same_range,
    is_unused,
    write_range,
)

__all__ = ["follow_boxes", "resort_lanes"]


@kernel
def follow_boxes(boxes, slots, n, lanes, low, high, bits, dim, fresh, keys, corners, strays):
    """Write the new key of each slot to ``keys[slot]`` and note its new lanes.

    `slots`, `n`, `low`, `high`, `bits` and `corners` are as in `build.key_boxes`; `fresh` is int16
    scratch for one range, ``(1, 2 * (ndim - 1))``. `strays`, uint64, gets a lane above and a slot
    in the low 32 bits for each lane that a slot has come to. Returns the number of entries and that
    of strays; there are more of these than `strays` has room for as soon as it is too small.
    """
    ndim = len(dim)
    axis, across = lanes.meta[AXIS], lanes.meta[N_LANES + 1]
    top = np.float64((1 << bits) - 1)
    scale = top / (high - low) if high > low else 0.0
    ranges = lanes.ranges
    entries = 0
    n_strays = 0
    for i in range(n):
        slot = np.int64(slots[i]) if slots.shape[0] else i
        keys[slot] = key_of(boxes, slot, axis, low, scale, top, bits)
        entries += write_range(boxes, slot, lanes.frame, lanes.meta, dim, fresh, 0)
        if not is_same_range(ranges, slot, fresh):
            left = np.int64(fresh[0, 2]) if ndim == 3 else 0
            right = np.int64(fresh[0, 2 * ndim - 3]) if ndim == 3 else 0
            for x in range(np.int64(fresh[0, 0]), np.int64(fresh[0, 1]) + 1):
                for y in range(left, right + 1):
                    if not _is_in(ranges, slot, x, y, dim):
                        if n_strays >= strays.shape[0]:
                            return entries, n_strays + 1
                        lane = x * across + y
                        strays[n_strays] = (np.uint64(lane) << np.uint64(32)) | np.uint64(slot)
                        n_strays += 1
            for k in range(fresh.shape[1]):
                ranges[slot, k] = fresh[0, k]
        note_range(ranges, slot, across + 1, corners, dim)
    return entries, n_strays


@inner_kernel
def _is_in(ranges, slot, x, y, dim):
    """Tell if a slot is in the lane with these numbers."""
    ok = (ranges[slot, 0] <= x) & (x <= ranges[slot, 1])
    if len(dim) == 3:
        ok &= (ranges[slot, 2] <= y) & (y <= ranges[slot, 2 * len(dim) - 3])
    return ok


@inner_kernel
def _keyed(keys, ranges, slot, x, y, shift, dim):
    """Return a key above and a member, see `build.deal_lanes`, in the low 32 bits."""
    member = slot | ((1 << shift) if ranges[slot, 0] == x else 0)
    if len(dim) == 3:
        member |= (2 << shift) if ranges[slot, 2] == y else 0
    return (np.uint64(keys[slot]) << np.uint64(32)) | np.uint64(member)


@inner_kernel
def _insert(values, first, end, value):
    """Insert a value into the sorted ones from `first` to `end`; returns by how many places."""
    i = end
    last = value | np.uint64(0xFFFFFFFF)  # equal keys stay in their order
    while i > first and values[i - 1] > last:
        values[i] = values[i - 1]
        i -= 1
    values[i] = value
    return end - i


@kernel
def resort_lanes(lanes, keys, strays, shift, places, most, dim, values, members):
    """List the members of each lane in the order of their new keys, as `build.deal_lanes` does.

    `strays` are sorted by lane; they are overwritten. ``places[lane]`` is where the members of a
    lane begin. `values` is uint64 scratch as long as `members`. Returns the number of shifts, more
    than `most` as soon as there are more; the members mean nothing then.
    """
    across = lanes.meta[N_LANES + 1]
    ranges, starts = lanes.ranges, lanes.starts
    shifts = 0
    s = 0
    for lane in range(places.shape[0]):
        x, y = lane // across, lane % across
        first = places[lane]
        end = first
        block = lanes.offsets[lane]
        # in one lane of reversed order alone work would be quadratic
        while shifts <= most and not is_unused(starts, block):
            for i in range(LANES):
                slot = np.int64(lanes.slots[block, i])
                if slot >= 0 and _is_in(ranges, slot, x, y, dim):
                    value = _keyed(keys, ranges, slot, x, y, shift, dim)
                    shifts += _insert(values, first, end, value)
                    end += 1
            block += 1
        if shifts > most:
            break
        came = s
        while s < strays.shape[0] and np.int64(strays[s] >> np.uint64(32)) == lane:
            slot = np.int64(strays[s] & np.uint64(0xFFFFFFFF))
            value = _keyed(keys, ranges, slot, x, y, shift, dim)
            shifts += _insert(strays, came, s, value)
            s += 1
        # both are in order: from the last on, the higher of the two
        one, two = end - 1, s - 1
        for at in range(end + s - came - 1, first - 1, -1):
            if two >= came and (one < first or strays[two] > values[one]):
                value = strays[two]
                two -= 1
            else:
                value = values[one]
                one -= 1
            members[at] = np.int64(value & np.uint64(0xFFFFFFFF))
    lanes.meta[SHIFTS] += shifts
    return shifts
