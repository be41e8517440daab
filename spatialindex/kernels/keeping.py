"""Kept pairs: rows of the last answer less those of changed objects, merged with those found anew.

Both are in canonical order already, so one pass over both keeps it::

    kept    (1, 2) (1, 5) (4, 5)     marked: 5     found for 5: (3, 5)
    merged  (1, 2) (3, 5)
"""

import numpy as np

from spatialindex.kernels.jit import kernel

__all__ = ["drop_repeats", "merge_kept"]

_NONE = np.iinfo(np.int64).max  # beyond all that is kept; an id that large comes from `found` last


@kernel
def merge_kept(kept, slots, marks, found, out):
    """Merge sorted int64 rows `kept`, without those of marked members, and `found` into `out`.

    `slots`, int32 like `kept`, holds the members' slots, -1 for ids that are gone; it is empty
    where ids are slots. ``marks[slot]``, uint8, is 1 for changed slots, else 0. `out` has room for
    all rows and one more. Returns the number of rows.
    """
    n_found = found.shape[0]
    k = 0
    j = 0
    next_a = found[0, 0] if n_found else _NONE
    next_b = found[0, 1] if n_found else _NONE
    for i in range(kept.shape[0]):
        a = kept[i, 0]
        b = kept[i, 1]
        while next_a < a or (next_a == a and next_b < b):
            out[k, 0] = next_a
            out[k, 1] = next_b
            k += 1
            j += 1
            next_a = found[j, 0] if j < n_found else _NONE
            next_b = found[j, 1] if j < n_found else _NONE
        # written whether it stays or not: that costs less than a branch nobody can foresee
        out[k, 0] = a
        out[k, 1] = b
        if slots.shape[0]:
            one, two = slots[i, 0], slots[i, 1]
            gone = one < 0 or two < 0 or marks[one] != 0 or marks[two] != 0
            k += 0 if gone else 1
        else:
            k += 1 - np.int64(marks[a] | marks[b])
    for i in range(j, n_found):
        out[k, 0] = found[i, 0]
        out[k, 1] = found[i, 1]
        k += 1
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
