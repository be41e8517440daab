"""Kept pairs: rows of the last answer less those of changed objects, merged with those found anew.

Both are in canonical order already, so one pass over both keeps it::

    kept    (1, 2) (1, 5) (4, 5)     marked: 5     found for 5: (3, 5)
    merged  (1, 2) (3, 5)
"""

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel

__all__ = ["drop_repeats", "mark_slots", "merge_kept"]

_LAST = np.iinfo(np.int64).max  # no pair has a first id that large


@inner_kernel
def _stays(a, b, slots, marks, i):
    """Return 1 when both members of the kept row (a, b) are there and not marked, else 0."""
    if slots.shape[0]:
        one, two = slots[i, 0], slots[i, 1]
        gone = one < 0 or two < 0 or marks[one] != 0 or marks[two] != 0
        return np.uint64(0) if gone else np.uint64(1)
    return np.uint64(1) - np.uint64(marks[np.uint64(a)] | marks[np.uint64(b)])


@kernel
def merge_kept(kept, slots, marks, found, out):
    """Merge sorted int64 rows `kept`, without those of marked members, and `found` into `out`.

    `slots`, int32 like `kept`, holds the members' slots, -1 for ids that are gone; it is empty
    where ids are slots. ``marks[slot]``, uint8, is 1 for changed slots, else 0. `out` has room for
    all rows and one more. Returns the number of rows.
    """
    # Places are unsigned: nothing has to be done about negative ones, which is a third of the time.
    n = np.uint64(kept.shape[0])
    i = np.uint64(0)
    k = np.uint64(0)
    for j in range(found.shape[0] + 1):
        next_a = found[j, 0] if j < found.shape[0] else _LAST
        next_b = found[j, 1] if j < found.shape[0] else _LAST
        while i < n:
            a, b = kept[i, 0], kept[i, 1]
            # below 0 where (a, b) comes before: one comparison that is foreseen, instead of two;
            # ids are not negative, so that no difference overflows
            if a - next_a - np.int64(b < next_b) >= 0:
                break
            # written whether it stays or not: that costs less than a branch nobody can foresee
            out[k, 0] = a
            out[k, 1] = b
            k += _stays(a, b, slots, marks, i)
            i += np.uint64(1)
        out[k, 0] = next_a
        out[k, 1] = next_b
        k += np.uint64(1)
    return np.int64(k) - 1  # without the last, which is no row


@kernel
def mark_slots(slots, slot_ids, marks, live):
    """Set ``marks[slot] = 1`` of slots, uint8, and write those that hold an object to `live`.

    Returns how many these are; `live`, int32, has room for all and one more.
    """
    k = 0
    for i in range(slots.shape[0]):
        slot = slots[i]
        marks[slot] = 1
        live[k] = slot
        k += 1 if slot_ids[slot] >= 0 else 0
    return k


@kernel
def drop_repeats(rows, marks, slot_ids):
    """Drop of int32 rows of slots (asked, found) one of the two in which both members have asked.

    ``marks[slot]``, uint8, is 1 for those that have asked. The row that stays has the smaller id
    first. Rows are moved together at the beginning; returns how many there are.
    """
    k = 0
    for i in range(rows.shape[0]):
        one, two = rows[i, 0], rows[i, 1]
        rows[k, 0], rows[k, 1] = one, two
        k += 1 if marks[two] == 0 or slot_ids[one] < slot_ids[two] else 0
    return k
