"""The k best of what is met: by distance or time, ties by the lower id.

Each row of ``values`` and ``slots``, both ``(q, k)``, is a heap with the worst of the best in front
while a question runs, so that one comparison tells if something new belongs to them; in the end it
is put in order. With k = 3, distances 5, 1, 4 and 2 offered one after the other::

    [5 . .]  [5 1 .]  [5 1 4]  [4 1 2]  in order [1 2 4]

Source: Knuth, The Art of Computer Programming 3, section 5.2.3.
"""

import numpy as np

from spatialindex.kernels.jit import inner_kernel

__all__ = ["beats", "offer", "put_in_order"]


@inner_kernel
def beats(value, slot, other, other_slot, slot_ids):
    """Tell if one value and slot come before another."""
    return value < other or (value == other and slot_ids[slot] < slot_ids[other_slot])


@inner_kernel
def _sink(values, slots, row, n, at, value, slot, slot_ids):
    """Put a value into the place `at` of a heap of `n` or, past its betters, below."""
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        right = child + 1
        if right < n and beats(
            *(values[row, child], slots[row, child]),
            *(values[row, right], slots[row, right], slot_ids),
        ):
            child = right
        if not beats(value, slot, values[row, child], slots[row, child], slot_ids):
            break
        values[row, at] = values[row, child]
        slots[row, at] = slots[row, child]
        at = child
    values[row, at] = value
    slots[row, at] = slot


@inner_kernel
def offer(values, slots, row, count, value, slot, slot_ids):
    """Take a value into the heap of a row when it is among its k best; returns how many it has."""
    k = values.shape[1]
    if count == k:
        if k and beats(value, slot, values[row, 0], slots[row, 0], slot_ids):
            _sink(values, slots, row, count, 0, value, slot, slot_ids)
        return count
    at = count
    while at > 0:
        parent = (at - 1) // 2
        if not beats(values[row, parent], slots[row, parent], value, slot, slot_ids):
            break
        values[row, at] = values[row, parent]
        slots[row, at] = slots[row, parent]
        at = parent
    values[row, at] = value
    slots[row, at] = slot
    return count + 1


@inner_kernel
def put_in_order(values, slots, row, count, slot_ids):
    """Turn the heap of a row into ascending order, padded with inf and slot -1."""
    for n in range(count - 1, 0, -1):
        value, slot = values[row, n], slots[row, n]
        values[row, n] = values[row, 0]
        slots[row, n] = slots[row, 0]
        _sink(values, slots, row, n, 0, value, slot, slot_ids)
    for n in range(count, values.shape[1]):
        values[row, n] = np.inf
        slots[row, n] = -1
