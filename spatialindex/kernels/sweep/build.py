"""Building swept lanes in bulk: sort along the sweep axis, deal into lanes, fill blocks.

Three objects, lower bounds along the sweep axis 5, 1 and 3; the first two touch lanes 0 and 1::

    keys     (5, slot 0) (1, slot 1) (3, slot 2)    sorted    slots 1 2 0
    members  lane 0: 1 2 0    lane 1: 1 0           blocks    [1 2 0 - -...]  [1 0 - - ...]

Keys are whole numbers: a bound's place between the ends of the world in so many steps that few
objects share one, so that one or two passes of a radix sort do instead of three. Where objects are
crowded much closer than the world is wide, keys are the bits of float32 bounds.
"""

import numpy as np

from spatialindex.kernels.jit import allocating_kernel, inner_kernel, kernel
from spatialindex.kernels.simd import LANES, down32, pack8, prefetch
from spatialindex.kernels.sorting import sort_keys
from spatialindex.kernels.sweep import choose
from spatialindex.kernels.sweep.lanes import (
    ABSENT,
    AXIS,
    ENTRIES,
    N_LANES,
    write_range,
)

__all__ = [
    "FLOAT_BITS",
    "deal_lanes",
    "fill_lanes",
    "key_boxes",
    "key_of",
    "lay_out",
    "note_range",
    "plan_lanes",
    "sum_counts",
]

FLOAT_BITS = 32
"""Bits of keys that are float32 bounds."""

_KEY_BITS = 12, 22  # one and two passes of the sort
_KEY_SHARE = 8  # objects a key value in the most crowded part, at most: a block of one lane
_FEW = 16384  # objects that half a sample tells enough of

_AHEAD = 16  # members that a box is asked for before it is needed


@inner_kernel
def _float_key(value):
    """Return the bits of a float32 as a number that sorts as it does."""
    bits = np.int64(np.float32(value).view(np.int32))
    return np.uint64(~bits & 0xFFFFFFFF) if bits < 0 else np.uint64(bits | 0x80000000)


@inner_kernel
def key_of(boxes, slot, axis, low, scale, top, bits):
    """Return the key of a box."""
    if bits == FLOAT_BITS:
        return _float_key(down32(boxes[slot, axis]))
    return np.uint64(min(max((boxes[slot, axis] - low) * scale, 0.0), top))


@inner_kernel
def note_range(ranges, slot, stride, corners, dim):
    """Note in `corners` where the range of a slot begins and ends, see `key_boxes`."""
    ndim = len(dim)
    left, right = np.int64(ranges[slot, 0]), np.int64(ranges[slot, 1]) + 1
    if ndim == 2:
        corners[np.uint64(left)] += 1
        corners[np.uint64(right)] -= 1
    else:
        low = np.int64(ranges[slot, 2])
        high = np.int64(ranges[slot, 2 * ndim - 3]) + 1
        corners[np.uint64(left * stride + low)] += 1
        corners[np.uint64(left * stride + high)] -= 1
        corners[np.uint64(right * stride + low)] -= 1
        corners[np.uint64(right * stride + high)] += 1


@inner_kernel
def key_boxes(boxes, slots, n, ranges, frame, meta, low, high, bits, dim, keys, corners):
    """Write a key a box, the place along the sweep axis above and the slot in the low 32 bits.

    Also notes the lanes of each slot, and in `corners` where ranges begin and end, which
    `sum_counts` turns into entries; it has one row and one column more than there are lanes.
    ``slots`` are the rows of `boxes` in use, the first `n` when it is empty; `bits` is how many
    bits keys have between `low` and `high`. Returns the number of entries.
    """
    axis = np.uint64(meta[AXIS])
    stride = meta[N_LANES + 1] + 1
    top = np.float64((1 << bits) - 1)
    scale = top / (high - low) if high > low else 0.0
    entries = 0
    for i in range(n):
        slot = np.uint64(slots[i]) if slots.shape[0] else np.uint64(i)
        key = key_of(boxes, slot, axis, low, scale, top, bits)
        keys[i] = (key << np.uint64(32)) | slot
        entries += write_range(boxes, slot, frame, meta, dim, ranges, slot)
        note_range(ranges, slot, stride, corners, dim)
    return entries


@kernel
def sum_counts(corners, meta, dim, counts):
    """Turn the corners of ranges, see `key_boxes`, into the number of entries of each lane."""
    nx, ny = meta[N_LANES], meta[N_LANES + 1]
    if len(dim) == 2:
        total = 0
        for x in range(nx):
            total += corners[x]
            counts[x] = total
        return
    for x in range(nx):
        total = 0
        for y in range(ny):
            total += corners[x * (ny + 1) + y]
            counts[x * ny + y] = total + (counts[(x - 1) * ny + y] if x > 0 else 0)


@kernel
def lay_out(counts, offsets, places):
    """Give each lane its blocks, some to spare, and its members their places; returns the blocks.

    ``places[lane]`` becomes where its members begin.
    """
    blocks = 0
    members = 0
    for lane in range(counts.shape[0]):
        offsets[lane] = blocks
        places[lane] = members
        members += counts[lane]
        used = (counts[lane] + LANES - 1) // LANES
        blocks += used + used // 8 + 2
    offsets[counts.shape[0]] = blocks
    return blocks


@inner_kernel
def _bits_of_keys(figures, axis, n):
    """Return how many bits keys have: as few passes of the sort as tell objects apart.

    The crowd is an eighth of all objects, where they are closest together. Keys are float32 bounds
    where more than a few of it would share one of other keys.
    """
    length = figures[choose.HIGH + axis] - figures[choose.LOW + axis]
    crowd = figures[choose.DENSEST + axis]
    for bits in _KEY_BITS:
        if crowd * np.float64(1 << bits) * _KEY_SHARE >= length * n / 8:
            return bits
    return FLOAT_BITS


@allocating_kernel
def plan_lanes(boxes, slots, n, present, most, dim, ranges, frame, meta, keys, other):
    """Choose axis, lanes and keys for `n` boxes, at least one, and sort them.

    ``slots`` are the rows of `boxes` in use, the first `n` when it is empty; `present` is the axis
    that was swept so far, or -1; `most` is how many entries there may be: with more, there are
    fewer lanes. Writes to `ranges`, `frame` and `meta`, which are those of `SweptLanes`. `keys` and
    `other` are uint64 scratch of `n`.

    Returns sorted keys, entries and first block of each lane, where its members begin, the numbers
    of entries and blocks, and lowest and highest bound and bits of keys.
    """
    sample = np.empty((choose.SAMPLE if n > _FEW else choose.SAMPLE // 2, 2 * len(dim)))
    values, figures = np.empty(choose.SAMPLE), np.empty(choose.FIGURES)
    cells = np.empty(choose.CELLS, np.int32)
    m = choose.draw_sample(boxes, slots, n, dim, sample)
    choose.measure_sample(sample, m, dim, values, cells, figures)
    choose.choose_lanes(figures, n, present, dim, frame, meta)
    axis = meta[AXIS]
    low, high = figures[choose.LOW + axis], figures[choose.HIGH + axis]
    bits = _bits_of_keys(figures, axis, n)
    while True:
        corners = np.zeros((meta[N_LANES] + 1) * (meta[N_LANES + 1] + 1), np.int32)
        entries = key_boxes(
            boxes, slots, n, ranges, frame, meta, low, high, bits, dim, keys, corners
        )
        if entries <= most:
            break
        # a few large objects that the sample has missed
        c, e = max(meta[N_LANES] // 2, 1), max(meta[N_LANES + 1] // 2, 1)
        choose.set_lanes(figures, np.float64(c), np.float64(e), frame, meta)
    n_lanes = meta[N_LANES] * meta[N_LANES + 1]
    counts, places = np.empty(n_lanes, np.int32), np.empty(n_lanes, np.int64)
    offsets = np.empty(n_lanes + 1, np.int64)
    sum_counts(corners, meta, dim, counts)
    n_blocks = lay_out(counts, offsets, places)
    keys = sort_keys(keys, other, 32, bits)
    return keys, counts, offsets, places, entries, n_blocks, (low, high, bits)


@inner_kernel
def _deal_members(keys, lanes, shift, dim, places, members):
    """List the members of each lane in the order of `keys`, see `deal_lanes`."""
    ndim = len(dim)
    across = lanes.meta[N_LANES + 1]
    ranges = lanes.ranges
    for i in range(keys.shape[0]):
        slot = np.uint64(keys[i] & np.uint64(0xFFFFFFFF))
        low, high = np.int64(ranges[slot, 0]), np.int64(ranges[slot, 1])
        for x in range(low, high + 1):
            member = np.int64(slot) | ((1 << shift) if x == low else 0)
            if ndim == 2:
                at = places[np.uint64(x)]
                places[np.uint64(x)] = at + 1
                members[np.uint64(at)] = member
            else:
                left, right = np.int64(ranges[slot, 2]), np.int64(ranges[slot, 2 * ndim - 3])
                for y in range(left, right + 1):
                    lane = np.uint64(x * across + y)
                    at = places[lane]
                    places[lane] = at + 1
                    members[np.uint64(at)] = member | ((2 << shift) if y == left else 0)


@kernel
def deal_lanes(keys, counts, places, lanes, shift, boxes, dim, members):
    """List the members of each lane in the order of `keys`, and fill the blocks with them.

    A member is a slot with the bits of its first lanes above `shift`. ``places[lane]`` is where the
    first one goes.
    """
    lanes.homes[:] = ABSENT
    _deal_members(keys, lanes, shift, dim, places, members)
    fill_lanes(members, counts, lanes, shift, boxes, dim)


@kernel
def fill_lanes(members, counts, lanes, shift, boxes, dim):
    """Fill the blocks of all lanes with their members."""
    ndim = len(dim)
    slot_mask = (1 << shift) - 1
    every = 1 if ndim == 2 else 3
    bounds, slots, axis = lanes.bounds, lanes.slots, lanes.meta[AXIS]
    end = members.shape[0] - 1
    k = 0
    for lane in range(counts.shape[0]):
        size = np.int64(counts[lane])
        block = lanes.offsets[lane]
        while size > 0:
            n = min(size, LANES)
            for i in range(n):
                row = np.int64(members[min(k + _AHEAD + i, end)]) & slot_mask
                prefetch(boxes, row)
                if ndim == 3:
                    prefetch(boxes, row + 1)  # half of the rows end in another cache line
            lanes.exact[block] = pack8(bounds, block, boxes, members, k, n, slot_mask, dim)
            first, second = 0, 0
            for i in range(n):
                member = np.int64(members[k + i])
                slot = np.uint64(member & slot_mask)
                slots[block, i] = slot
                bits = member >> shift
                first |= (bits & 1) << i
                second |= (bits >> 1) << i
                if bits == every:
                    lanes.homes[slot] = LANES * block + i
            lanes.first[block, 0] = first
            if ndim == 3:
                lanes.first[block, ndim - 2] = second
            if n < LANES:
                lanes.exact[block] &= np.uint8((1 << n) - 1)
                for i in range(n, LANES):
                    slots[block, i] = -1
                    for d in range(2 * ndim):
                        bounds[block, d, i] = np.float32(np.nan)
            lanes.starts[block] = lowest_start(bounds, block, axis)
            block += 1
            k += n
            size -= n
        lanes.starts[block : lanes.offsets[lane + 1]] = np.float32(np.nan)
        settle_starts(lanes.starts, lanes.offsets[lane], block)
    lanes.starts[lanes.offsets[counts.shape[0]] :] = np.float32(np.nan)
    lanes.meta[ENTRIES] = members.shape[0]


@inner_kernel
def lowest_start(bounds, block, axis):
    """Return the lowest lower bound in a block along the sweep axis, inf when it is empty."""
    lowest = np.float32(np.inf)
    for lane in range(LANES):
        if bounds[block, axis, lane] < lowest:
            lowest = bounds[block, axis, lane]
    return lowest


@inner_kernel
def settle_starts(starts, first, end):
    """Lower the starts of the blocks from `first` to `end` to what follows them."""
    for block in range(end - 2, first - 1, -1):
        if starts[block + 1] < starts[block]:
            starts[block] = starts[block + 1]
