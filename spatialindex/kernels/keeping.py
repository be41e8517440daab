"""Kept pairs: rows of the last answer less those of changed objects, merged with those found anew.

Both are in canonical order already, so one pass over both keeps it::

    kept    (1, 2) (1, 5) (4, 5)     marked: 5     found for 5: (3, 5)
    merged  (1, 2) (3, 5)
"""

from spatialindex.kernels.jit import kernel

__all__ = ["merge_kept"]


@kernel
def merge_kept(kept, slots, marks, found, out):
    """Merge sorted int64 rows `kept`, without those of marked members, and `found` into `out`.

    `slots`, int32 like `kept`, holds the members' slots, -1 for ids that are gone; it is empty
    where ids are slots. ``marks[slot]`` is not 0 for changed slots. `out` has room for all rows.
    Returns the number of rows.
    """
    k = 0
    j = 0
    for i in range(kept.shape[0]):
        a = kept[i, 0]
        b = kept[i, 1]
        if slots.shape[0]:
            one, two = slots[i, 0], slots[i, 1]
            if one < 0 or two < 0 or marks[one] != 0 or marks[two] != 0:
                continue
        elif marks[a] != 0 or marks[b] != 0:
            continue
        while j < found.shape[0] and (found[j, 0] < a or (found[j, 0] == a and found[j, 1] < b)):
            out[k, 0] = found[j, 0]
            out[k, 1] = found[j, 1]
            k += 1
            j += 1
        out[k, 0] = a
        out[k, 1] = b
        k += 1
    for i in range(j, found.shape[0]):
        out[k, 0] = found[i, 0]
        out[k, 1] = found[i, 1]
        k += 1
    return k
