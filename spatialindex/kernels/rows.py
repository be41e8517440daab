"""Rows of boxes checked, and of the object table: found, boxes scattered to them, changes noted.

Each is one pass over a batch, which for a few hundred objects costs a fraction of what as many
array operations do.
"""

import numpy as np

from spatialindex.kernels.jit import kernel

__all__ = ["are_boxes", "find_rows", "move_rows", "take_codes"]


@kernel
def are_boxes(rows, infinite, dim):
    """Tell if all rows ``(n, 2*ndim)`` are boxes, their bounds finite unless they may be not."""
    ndim = len(dim)
    highest = np.inf if infinite else np.finfo(np.float64).max
    ok = True
    for i in range(rows.shape[0]):
        for d in range(ndim):
            lower, upper = rows[i, d], rows[i, ndim + d]
            ok &= (-highest <= lower) & (lower <= upper) & (upper <= highest)
    return ok


@kernel
def find_rows(slot_ids, high, ids, slots):
    """Write the slot of each id to `slots`, -1 where there is none, for ids that are slots.

    All slots in use are below `high`. Returns whether all are there, and whether ids ascend.
    """
    is_there = True
    ascend = True
    for i in range(ids.shape[0]):
        ascend &= i == 0 or ids[i] > ids[i - 1]
        slot = ids[i]
        if slot < 0 or slot >= high or slot_ids[slot] < 0:
            slot = np.int64(-1)
            is_there = False
        slots[i] = slot
    return is_there, ascend


@kernel
def move_rows(boxes, pending, slots, new, mark):
    """Write ``new[i]`` to ``boxes[slots[i]]`` and `mark` to its pending bits, uint8.

    Stops at the first slot of which something is pending already. Returns how many rows are done.
    """
    for i in range(slots.shape[0]):
        slot = slots[i]
        if pending[slot] != 0:
            return i
        pending[slot] = mark
        for c in range(boxes.shape[1]):
            boxes[slot, c] = new[i, c]
    return slots.shape[0]


@kernel
def take_codes(pending, slots, codes):
    """Move what is pending of each slot, uint8, to ``codes[i]``.

    Returns the bits that any of the codes has and those that all of them have, and whether slots
    ascend.
    """
    any_bits = 0
    all_bits = 0xFF
    ascend = True
    before = -1
    for i in range(slots.shape[0]):
        slot = np.int64(slots[i])
        code = np.int64(pending[slot])
        pending[slot] = 0
        codes[i] = code
        any_bits |= code
        all_bits &= code
        ascend &= slot > before
        before = slot
    return any_bits, all_bits, ascend
