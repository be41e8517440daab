"""Cutting objects at medians, as a k-d tree has them, for leaves and nodes that are all full.

Items are cut at multiples of full nodes, so that what is filled one by one afterwards are pieces::

    20 objects, leaves of 4, nodes of 8 leaves: 5 leaves
    cut after 8   ->  8 12  ->  4 4  and cut after 4  ->  4 8  ->  4 4 4 4 4

Each cut is at a median along the axis in which centers are spread most. The median is looked for in
the one bin of a histogram that holds it, by quickselect (Hoare, 1961) without branches: a key is
the coordinate above the place of the item, so that no two are equal. Items then go from one of two
buffers to their side in the other, read and written in order, which is what caches are good at.

Source: Bentley, Multidimensional Binary Search Trees Used for Associative Searching, 1975.
"""

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.tree.packed import coordinates

__all__ = ["BINS", "STACK", "arrange"]

BINS = 256
STACK = 128
"""Pieces that wait at most: each cut halves what is left, 2**31 objects at most."""

_FEW = 12


@inner_kernel
def _select(keys, stop, middle):
    """Bring the least `middle` of the first `stop` keys to the front; no two are equal."""
    start = 0
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


@inner_kernel
def _widest_axis(items, buffer, start, stop, dim):
    """Return the axis of the widest spread, and the least and the greatest coordinate along it."""
    axis, lowest, widest = 0, np.int32(0), np.int32(-1)
    for d in range(len(dim)):
        least, most = items[buffer, d, start], items[buffer, d, start]
        for i in range(np.uint64(start), np.uint64(stop)):
            value = items[buffer, d, i]
            least = min(least, value)
            most = max(most, value)
        if most - least > widest:
            axis, lowest, widest = d, least, np.int32(most - least)
    return axis, lowest, widest


@inner_kernel
def _bin_shift(width, n):
    """Return the bits by which a difference of coordinates is above the number of its bin."""
    most = min(BINS, n)
    shift = 0
    while (width >> shift) >= most:
        shift += 1
    return shift


@inner_kernel
def _median_key(items, buffer, axis, start, stop, middle, lowest, shift, bins, keys):
    """Return the key below which the items are that belong before `middle`.

    `keys` is uint64 scratch of one place more than there are items, `bins` int64 ``(BINS,)``.
    """
    rank = middle - start
    found = np.uint64(0)
    if stop - start <= _FEW:
        for i in range(np.uint64(start), np.uint64(stop)):
            keys[found] = (np.uint64(items[buffer, axis, i]) << np.uint64(32)) | i
            found += np.uint64(1)
    else:
        for b in range(min(BINS, stop - start)):
            bins[b] = 0
        for i in range(np.uint64(start), np.uint64(stop)):
            bins[np.uint64(items[buffer, axis, i] - lowest) >> np.uint64(shift)] += 1
        wanted = 0
        while bins[wanted] <= rank:
            rank -= bins[wanted]
            wanted += 1
        for i in range(np.uint64(start), np.uint64(stop)):
            value = items[buffer, axis, i]
            keys[found] = (np.uint64(value) << np.uint64(32)) | i
            found += np.uint64((np.int64(value - lowest) >> shift) == wanted)
    n = np.int64(found)
    _select(keys, n, rank)
    least = keys[rank]
    for i in range(rank + 1, n):
        least = min(least, keys[i])
    return least


@inner_kernel
def _cut(items, buffer, start, stop, middle, bins, keys, dim):
    """Copy items of one buffer to their sides of `middle` in the other."""
    ndim = len(dim)
    axis, lowest, width = _widest_axis(items, buffer, start, stop, dim)
    shift = _bin_shift(width, stop - start)
    pivot = _median_key(items, buffer, axis, start, stop, middle, lowest, shift, bins, keys)
    other = 1 - buffer
    left, right = np.uint64(start), np.uint64(middle)
    for i in range(np.uint64(start), np.uint64(stop)):
        is_left = ((np.uint64(items[buffer, axis, i]) << np.uint64(32)) | i) < pivot
        at = left if is_left else right
        for d in range(ndim):
            items[other, d, at] = items[buffer, d, i]
        items[other, ndim, at] = items[buffer, ndim, i]
        left += np.uint64(is_left)
        right += np.uint64(not is_left)


@kernel
def arrange(boxes, frame, leaf_size, items, bins, keys, stack, dim):
    """Write the rows of boxes in the order in which they are packed to the front of `keys`.

    `frame` is that of `packed.measure`. Scratch: `items` int32 ``(2, ndim + 1, n)``, `keys` uint64
    ``(n + 1,)``, `bins` int64 ``(BINS,)``, `stack` int64 ``(STACK, 3)``.
    """
    n, ndim = boxes.shape[0], len(dim)
    for i in range(n):
        coordinates(boxes, i, frame, items[0], i, dim)
        items[0, ndim, i] = i
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, 0
    top = 1
    while top > 0:
        top -= 1
        start, stop, buffer = stack[top, 0], stack[top, 1], stack[top, 2]
        n_here = stop - start
        if n_here <= leaf_size:
            for i in range(start, stop):
                items[0, ndim, i] = items[buffer, ndim, i]
            continue
        full = leaf_size
        while full * LANES < n_here:
            full *= LANES
        units = (n_here + full - 1) // full
        middle = start + full * (units // 2)
        _cut(items, buffer, start, stop, middle, bins, keys, dim)
        stack[top, 0], stack[top, 1], stack[top, 2] = start, middle, 1 - buffer
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = middle, stop, 1 - buffer
        top += 2
    for i in range(n):
        keys[i] = items[0, ndim, i]
