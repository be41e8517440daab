"""Cutting windows of sorted objects at medians, so that runs of them make good leaves and nodes.

Along a curve neighbours are near, but runs of eight are crooked: where the curve jumps, a leaf is
as large as the jump. Within a window of the curve's order, objects are rearranged as a k-d tree
would have them, cut at multiples of full nodes::

    window of 20, leaves of 4, nodes of 8 leaves: 20 objects in 5 leaves
    cut after 8   ->  8 12  ->  4 4  and cut after 4  ->  4 8  ->  4 4 4 4 4

Each cut is at a median along the axis in which centers are spread most. A window that holds all
objects makes the whole tree a k-d tree.

The median is found by quickselect (Hoare, 1961) without branches: a key is the coordinate above the
place in the window, so that no two are equal.
"""

import numpy as np

from spatialindex.kernels.jit import kernel
from spatialindex.kernels.simd import LANES, prefetch
from spatialindex.kernels.tree.packed import ROW_BITS, coordinates

__all__ = ["arrange"]

_AHEAD = 12


@kernel
def _lowest_of(keys, start, stop):
    """Bring the least key of a range to its front."""
    for i in range(start + 1, stop):
        a, b = keys[start], keys[i]
        keys[start], keys[i] = min(a, b), max(a, b)


@kernel
def _select(keys, start, stop, middle):
    """Bring the least ``middle - start`` keys of a range to its front; no two are equal."""
    while stop - start > 8:
        a, b, c = keys[start], keys[(start + stop) >> 1], keys[stop - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        store = start
        for i in range(start, stop):
            key = keys[i]
            keys[i] = keys[store]
            keys[store] = key
            store += key < pivot
        # the pivot itself, and at least one more, is not below it
        if store == middle:
            return
        if store > middle:
            stop = store
        else:
            start = store
    for i in range(start + 1, stop):
        key = keys[i]
        j = i
        while j > start and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key


@kernel
def _cut(points, places, keys, start, stop, middle, dim):
    """Cut places in two at their median along the axis of the widest spread."""
    axis = 0
    widest = np.int64(-1)
    for d in range(len(dim)):
        least, most = np.int64(1) << 40, np.int64(-1)
        for i in range(start, stop):
            value = np.int64(points[d, places[i]])
            least = min(least, value)
            most = max(most, value)
        if most - least > widest:
            widest = most - least
            axis = d
    for i in range(start, stop):
        place = places[i]
        keys[i] = (np.uint64(points[axis, place]) << np.uint64(32)) | np.uint64(place)
    _select(keys, start, stop, middle)
    for i in range(start, stop):
        places[i] = keys[i] & np.uint64(0xFFFFFFFF)


@kernel
def arrange(rows, boxes, frame, window, leaf_size, points, places, keys, old, stack, dim):
    """Rearrange sorted rows within windows.

    `rows` are uint64 with a row of `boxes` in the low `ROW_BITS`, `frame` is that of
    `packed.morton_keys`. Scratch of the length of a window: `points` int32 ``(3, window)``,
    `places` int32, `keys` and `old` uint64; `stack` int64 ``(128, 2)``.
    """
    n = rows.shape[0]
    row_mask = np.uint64((1 << ROW_BITS) - 1)
    for first in range(0, n, window):
        m = min(window, n - first)
        for i in range(m):
            ahead = rows[min(first + i + _AHEAD, n - 1)]
            prefetch(boxes, np.int64(ahead & row_mask))
            coordinates(boxes, np.int64(rows[first + i] & row_mask), frame, points, i, dim)
            places[i] = i
            old[i] = rows[first + i]
        stack[0, 0], stack[0, 1] = 0, m
        top = 1
        while top > 0:
            top -= 1
            start, stop = stack[top, 0], stack[top, 1]
            n_here = stop - start
            if n_here <= leaf_size:
                continue
            full = leaf_size
            while full * LANES < n_here:
                full *= LANES
            units = (n_here + full - 1) // full
            middle = start + full * (units // 2)
            _cut(points, places, keys, start, stop, middle, dim)
            stack[top, 0], stack[top, 1] = start, middle
            stack[top + 1, 0], stack[top + 1, 1] = middle, stop
            top += 2
        for i in range(m):
            rows[first + i] = old[places[i]]
