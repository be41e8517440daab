"""A hash map from int64 ids to int32 slots: open addressing, linear probing, no tombstones.

``keys[i]`` is an id or -1, ``slots[i]`` its slot. Removal shifts later entries back into the gap,
so that a map under churn stays as short to search as a fresh one::

    home:  3  3  4         remove the first        3  4
    keys: [a][b][c][-1]    ------------------->   [b][c][-1][-1]

The caller keeps the length a power of two and more than the number of entries.
Source: Knuth, The Art of Computer Programming 3, section 6.4, algorithm R.
"""

from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.mixing import mix

__all__ = ["add_ids", "find_ids", "remove_ids"]


@inner_kernel
def _home(id_, last):
    """Return where the search for an id starts in a map of ``last + 1`` places."""
    return mix(id_, id_ >> 32, 0) & last


@kernel
def find_ids(keys, slots, ids, out):
    """Write the slot of each id to int32 `out`, -1 where there is none, as for negative ones.

    Returns whether all are there, and whether ids ascend.
    """
    last = keys.shape[0] - 1
    is_there = True
    ascend = True
    for i in range(ids.shape[0]):
        ascend &= i == 0 or ids[i] > ids[i - 1]
        at = _home(ids[i], last)
        while keys[at] != ids[i] and keys[at] != -1:
            at = (at + 1) & last
        is_here = keys[at] == ids[i] and ids[i] >= 0
        out[i] = slots[at] if is_here else -1
        is_there &= is_here
    return is_there, ascend


@kernel
def add_ids(keys, slots, ids, new):
    """Add ids with their slots `new`; stops at the first that is there and returns its row, or -1.

    Rows before the returned one have been added.
    """
    last = keys.shape[0] - 1
    for i in range(ids.shape[0]):
        at = _home(ids[i], last)
        while keys[at] != -1:
            if keys[at] == ids[i]:
                return i
            at = (at + 1) & last
        keys[at] = ids[i]
        slots[at] = new[i]
    return -1


@kernel
def remove_ids(keys, slots, ids):
    """Remove ids that are all there."""
    last = keys.shape[0] - 1
    for i in range(ids.shape[0]):
        gap = _home(ids[i], last)
        while keys[gap] != ids[i]:
            gap = (gap + 1) & last
        at = gap
        while True:
            at = (at + 1) & last
            if keys[at] == -1:
                break
            # an entry may move back to the gap unless its home lies between the two
            if ((at - _home(keys[at], last)) & last) >= ((at - gap) & last):
                keys[gap] = keys[at]
                slots[gap] = slots[at]
                gap = at
        keys[gap] = -1
