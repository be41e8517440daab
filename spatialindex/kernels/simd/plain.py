"""The tests of eight lanes in plain loops: what `vectors` and `casts` compute, with bounds checked.

Used when compilation is off or bounds are checked.
"""

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd.rounding import (
    FAR,
    LANES,
    LARGEST,
    LATER,
    REACH,
    SOONER,
    SQUARES,
    STEPS,
    down32,
    up32,
)
from spatialindex.kernels.simd.scratch import local_floats

__all__ = [
    "at_least8",
    "cast8",
    "cast_keys8",
    "distances8",
    "equal8",
    "inside8",
    "lane_overlap8",
    "lowest_bit",
    "overlap8",
    "overlap8x8",
    "pack8",
    "plane8",
    "union8",
]


@inner_kernel
def overlap8(bounds, block, q, dim):
    """Mask of the lanes of a block that meet the box `q`, float32 ``(2*ndim,)``."""
    ndim = len(dim)
    mask = np.uint64(0)
    for lane in range(LANES):
        ok = True
        for d in range(ndim):
            ok &= bounds[block, d, lane] <= q[ndim + d]
            ok &= q[d] <= bounds[block, ndim + d, lane]
        if ok:
            mask |= np.uint64(1 << lane)
    return mask


@inner_kernel
def inside8(bounds, block, q, dim):
    """Mask of the lanes of a block that meet the interior of the box `q`."""
    ndim = len(dim)
    mask = np.uint64(0)
    for lane in range(LANES):
        ok = True
        for d in range(ndim):
            ok &= bounds[block, d, lane] < q[ndim + d]
            ok &= q[d] < bounds[block, ndim + d, lane]
        if ok:
            mask |= np.uint64(1 << lane)
    return mask


@inner_kernel
def overlap8x8(bounds, a, b, dim):
    """Mask of the lanes of block `b` that meet each lane of block `a`: 8 bits a lane of `a`."""
    ndim = len(dim)
    word = np.uint64(0)
    for i in range(LANES):
        for j in range(LANES):
            ok = True
            for d in range(ndim):
                ok &= bounds[a, d, i] <= bounds[b, ndim + d, j]
                ok &= bounds[b, d, j] <= bounds[a, ndim + d, i]
            if ok:
                word |= np.uint64(1) << np.uint64(LANES * i + j)
    return word


@kernel
def distances8(bounds, block, q, out, dim):
    """Mask of the lanes of a block that may be within reach of a point, see `aim_at_point`.

    Writes to float32 `out` what each of them is away at least, by `decide.distance_to_box` of
    any box in the lane.
    """
    ndim = len(dim)
    mask = np.uint64(0)
    for lane in range(LANES):
        total = np.float32(0.0)
        for d in range(ndim):
            part = max(bounds[block, d, lane] - q[d], q[3 + d] - bounds[block, ndim + d, lane])
            part = min(max(np.float32(part), np.float32(0.0)), FAR)
            total = np.float32(total + np.float32(part * part))
        total = np.float32(np.float32(total * SQUARES) - STEPS)
        out[lane] = np.sqrt(max(total, np.float32(0.0)))
        # an empty lane is not a number, whatever became of it above
        if out[lane] <= q[REACH] and bounds[block, 0, lane] == bounds[block, 0, lane]:
            mask |= np.uint64(1 << lane)
    return mask


@kernel
def cast8(bounds, block, q, out, dim):
    """Mask of the lanes of a block that a moving box may meet in time, see `aim_along`.

    Writes to float32 `out` when each of them is met at the earliest, by `decide.cast_time` of
    any box in the lane.
    """
    ndim = len(dim)
    mask = np.uint64(0)
    for lane in range(LANES):
        first, last = np.float32(0.0), np.float32(np.inf)
        for d in range(ndim):
            near, far = (ndim + d, d) if q[9 + d] < 0.0 else (d, ndim + d)
            enter = np.float32(np.float32(bounds[block, near, lane] - q[d]) * q[6 + d])
            leave = np.float32(np.float32(bounds[block, far, lane] - q[3 + d]) * q[9 + d])
            # written so that what is not a number changes nothing
            if enter > first:
                first = enter
            if leave < last:
                last = leave
        first = np.float32(np.float32(min(first, LARGEST) * SOONER) - STEPS)
        last = np.float32(np.float32(last * LATER) + STEPS)
        out[lane] = first
        is_met = first <= last and first <= q[REACH]
        if is_met and bounds[block, 0, lane] == bounds[block, 0, lane]:
            mask |= np.uint64(1 << lane)
    return mask


@kernel
def cast_keys8(bounds, items, block, q, mark, keys, dim):
    """Mask of the lanes of a block that a moving box may meet in time, as `cast8`.

    Writes to int64 `keys` when and what: above, the bits of the time, of which the last is `mark`,
    0 or 1; below, the 32 bits of the item of the lane.
    """
    times = local_floats()
    mask = cast8(bounds, block, q, times, dim)
    for lane in range(LANES):
        # an empty lane has none, and its key means nothing
        time = times[lane] if times[lane] > 0.0 else np.float32(0.0)
        above = (np.int64(np.float32(time).view(np.int32)) & 0x7FFFFFFE) | mark
        keys[lane] = (above << 32) | (np.int64(items[block, lane]) & 0xFFFFFFFF)
    return mask


@inner_kernel
def plane8(bounds, block, exact, row, at, dim):
    """Mask of the lanes of a block that are not wholly outside of a plane.

    The normal begins in place `at` of the row, the offset follows it, as `decide.within_planes`
    has it. The bits of empty lanes mean nothing.
    """
    ndim = len(dim)
    mask = np.uint64(0)
    for lane in range(LANES):
        total = 0.0
        for d in range(ndim):
            normal = exact[row, at + d]
            corner = bounds[block, d if normal > 0.0 else ndim + d, lane]
            total += normal * np.float64(corner)
        if not total > exact[row, at + ndim]:
            mask |= np.uint64(1 << lane)
    return mask


@inner_kernel
def at_least8(bounds, block, row, value):
    """Mask of the lanes of a block whose bound in `row` is `value` or more."""
    mask = np.uint64(0)
    for lane in range(LANES):
        if bounds[block, row, lane] >= value:
            mask |= np.uint64(1 << lane)
    return mask


@inner_kernel
def lane_overlap8(bounds, a, lane, b, dim):
    """Mask of the lanes of block `b` that meet one lane of block `a`."""
    ndim = len(dim)
    mask = np.uint64(0)
    for j in range(LANES):
        ok = True
        for d in range(ndim):
            ok &= bounds[a, d, lane] <= bounds[b, ndim + d, j]
            ok &= bounds[b, d, j] <= bounds[a, ndim + d, lane]
        if ok:
            mask |= np.uint64(1 << j)
    return mask


@kernel
def union8(bounds, block, q, dim):
    """Write the box around all lanes of a block, one of them at least not empty, to `q`."""
    ndim = len(dim)
    for d in range(ndim):
        lower, upper = np.float32(np.inf), np.float32(-np.inf)
        for lane in range(LANES):
            # written so that what is not a number changes nothing
            if bounds[block, d, lane] < lower:
                lower = bounds[block, d, lane]
            if bounds[block, ndim + d, lane] > upper:
                upper = bounds[block, ndim + d, lane]
        q[d] = lower
        q[ndim + d] = upper


@kernel
def pack8(bounds, block, boxes, rows, at, n, row_mask, dim):
    """Write up to eight boxes into the lanes of a block, rounded outward.

    Lane `i` below `n` gets the float64 box in row ``rows[at + i] & row_mask``; what is in the
    lanes behind means nothing. Returns the mask of lanes of which no bound had to be rounded.
    """
    ndim = len(dim)
    mask = np.uint64(0)
    for lane in range(LANES):
        i = np.int64(rows[at + min(lane, n - 1)]) & row_mask
        is_exact = True
        for d in range(ndim):
            lower, upper = down32(boxes[i, d]), up32(boxes[i, ndim + d])
            bounds[block, d, lane] = lower
            bounds[block, ndim + d, lane] = upper
            is_exact &= np.float64(lower) == boxes[i, d]
            is_exact &= np.float64(upper) == boxes[i, ndim + d]
        if is_exact:
            mask |= np.uint64(1 << lane)
    return mask


@inner_kernel
def equal8(slots, block, slot):
    """Mask of the lanes of a block that hold a slot."""
    mask = np.uint64(0)
    for lane in range(LANES):
        if slots[block, lane] == slot:
            mask |= np.uint64(1 << lane)
    return mask


@inner_kernel
def lowest_bit(mask):
    """Return the position of the lowest set bit of a uint64 that is not zero."""
    position = 0
    while not (mask >> np.uint64(position)) & np.uint64(1):
        position += 1
    return position
