"""Which part of a split index a slot belongs to, and putting together what the parts answer.

The code of a slot is one byte, so that a pass over many pairs reads little::

    bits 0-1  role      0 free, 1 STATIC, 2 DYNAMIC, 3 COARSE
    bit 2     SLEEPING  asleep and not static
    bit 3     RESTING   static or asleep
    bit 4     SENSOR

Static and sleeping objects have the role STATIC, others DYNAMIC; an object whose longest edge is
above a limit is COARSE instead.
"""

import numpy as np

from spatialindex.kernels.best import beats
from spatialindex.kernels.jit import kernel

__all__ = [
    "COARSE",
    "DYNAMIC",
    "RESTING",
    "ROLE_BITS",
    "SENSOR",
    "SLEEPING",
    "STATIC",
    "longest_edges",
    "merge_best",
    "route_slots",
    "sweep_covers",
]

STATIC, DYNAMIC, COARSE = 1, 2, 3
ROLE_BITS = 3
SLEEPING = 4
RESTING = 8
SENSOR = 16


@kernel
def longest_edges(boxes, slots, dim, edges):
    """Write the longest edge of each slot's box to `edges`, float64; infinite if it overflows."""
    ndim = len(dim)
    for i in range(slots.shape[0]):
        longest = 0.0
        for d in range(ndim):
            longest = max(longest, boxes[slots[i], ndim + d] - boxes[slots[i], d])
        edges[i] = longest


@kernel
def route_slots(slots, boxes, state, limit, sure, present, dim, codes, is_sure):
    """Write the code that flags and extent give each slot to ``codes[i]``, uint8.

    Boxes with an edge longer than `limit` are coarse. ``is_sure[i]``, uint8, is 1 for these, and
    where a box is in the bounds and no longer in any direction than what the part of its role is
    known to hold, float64 ``sure[role]``: lower and upper bounds, and edges. Returns whether
    nothing changes: all are sure, and have their codes in `present` already; the bits that any
    code has, and those that all have.
    """
    ndim = len(dim)
    is_same = True
    any_bits = 0
    all_bits = 0xFF
    for i in range(slots.shape[0]):
        slot = slots[i]
        one = state[slot]
        code = DYNAMIC
        if one["static"] or one["asleep"]:
            code = STATIC | RESTING
            if not one["static"]:
                code |= SLEEPING
        known = sure[code & ROLE_BITS]
        ok = True
        longest = 0.0
        for d in range(ndim):
            lower, upper = boxes[slot, d], boxes[slot, ndim + d]
            ok &= (known[d] <= lower) & (upper <= known[ndim + d])
            ok &= upper - lower <= known[2 * ndim + d]
            longest = max(longest, upper - lower)
        if longest > limit:
            code |= COARSE
            ok = True
        if one["sensor"]:
            code |= SENSOR
        codes[i] = code
        is_sure[i] = ok
        is_same &= ok & (code == present[slot])
        any_bits |= code
        all_bits &= code
    return is_same, any_bits, all_bits


@kernel
def sweep_covers(boxes, covers, is_continuous, slots, dim):
    """Bring ``covers[slot]`` up to date with ``boxes[slot]``: the hull of both where continuous.

    Returns how many of the slots are continuous.
    """
    ndim = len(dim)
    n = 0
    for i in range(slots.shape[0]):
        slot = slots[i]
        if is_continuous[slot]:
            n += 1
            for d in range(ndim):
                covers[slot, d] = min(covers[slot, d], boxes[slot, d])
                covers[slot, ndim + d] = max(covers[slot, ndim + d], boxes[slot, ndim + d])
        else:
            for d in range(2 * ndim):
                covers[slot, d] = boxes[slot, d]
    return n


@kernel
def merge_best(slots, values, more_slots, more_values, slot_ids, best_slots, best_values):
    """Merge the best of two parts, each ``(q, any)`` in order, into the best ``(q, k)`` of both.

    In the order of `kernels.best`; rows are padded with slot -1 and value inf, as the results are.
    """
    for i in range(best_slots.shape[0]):
        one = 0
        two = 0
        for k in range(best_slots.shape[1]):
            has_one = one < slots.shape[1] and slots[i, one] >= 0
            has_two = two < more_slots.shape[1] and more_slots[i, two] >= 0
            if has_one and has_two:
                has_one = beats(
                    *(values[i, one], slots[i, one]),
                    *(more_values[i, two], more_slots[i, two], slot_ids),
                )
            if has_one:
                best_slots[i, k], best_values[i, k] = slots[i, one], values[i, one]
                one += 1
            elif has_two:
                best_slots[i, k], best_values[i, k] = more_slots[i, two], more_values[i, two]
                two += 1
            else:
                best_slots[i, k], best_values[i, k] = -1, np.inf
