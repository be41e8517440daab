"""Building in Morton order: sort objects along a curve, fill leaves and then nodes one by one.

Eleven boxes with leaves of four, in the order of the curve; blocks from the root down::

    block 0  [~1 ~2 ~3]      block 1 [a b c d]   block 2 [e f g h]   block 3 [i j k]

The key of a box interleaves the bits of its center, counted from the lowest center along each axis
in steps of the widest range::

    center (5, 3) of a range of 8: x 101, y 011  ->  y1 x1 y2 x2 y3 x3 = 01 10 11

It costs little more than the sort and fills every block. Neighbours on the curve are neighbours in
space, sizes do not count: an object larger than its neighbours makes its leaf large.

Source: Kamel & Faloutsos, On Packing R-trees, 1993.
"""

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES, local_floats, pack8, prefetch
from spatialindex.kernels.tree import nodes

__all__ = [
    "FRAME_BITS",
    "ROW_BITS",
    "coordinates",
    "count_blocks",
    "count_levels",
    "fill_packed",
    "measure",
    "morton_keys",
    "spread2",
    "spread3",
]

ROW_BITS = 31
"""Low bits of a key, for the number of the row."""

FRAME_BITS = 30
"""Bits of a coordinate as integer."""

_STEPS = 2.0**FRAME_BITS
_AHEAD = 12  # rows that a box is asked for before it is needed


@inner_kernel
def spread2(x):
    """Put a zero between all bits of a number of 16 bits."""
    x = (x | (x << 8)) & 0x00FF00FF
    x = (x | (x << 4)) & 0x0F0F0F0F
    x = (x | (x << 2)) & 0x33333333
    return (x | (x << 1)) & 0x55555555


@inner_kernel
def spread3(x):
    """Put two zeros between all bits of a number of 11 bits."""
    x = (x | (x << 16)) & 0x070000FF
    x = (x | (x << 8)) & 0x0700F00F
    x = (x | (x << 4)) & 0x430C30C3
    return (x | (x << 2)) & 0x49249249


@inner_kernel
def _middle(boxes, i, d, ndim):
    """Return half the center of a box along an axis, which cannot overflow; 0 for all of space."""
    middle = 0.25 * boxes[i, d] + 0.25 * boxes[i, ndim + d]
    return middle if middle == middle else 0.0


@kernel
def measure(boxes, dim, frame):
    """Write to float64 `frame`, ``(4,)``: half the lowest centers, and steps a unit of them.

    The widest range of centers along an axis is ``2**FRAME_BITS`` steps. Infinite bounds are legal.
    """
    ndim = len(dim)
    widest = 0.0
    for d in range(ndim):
        least, most = np.inf, -np.inf
        for i in range(boxes.shape[0]):
            middle = _middle(boxes, i, d, ndim)
            least = min(least, middle)
            most = max(most, middle)
        frame[d] = max(least, -1e308)
        widest = max(widest, min(most, 1e308) - frame[d])
    # a range below the normal numbers has an inverse that is none
    frame[3] = min(_STEPS / widest, 1e308) if widest > 0.0 else 0.0


@inner_kernel
def coordinates(boxes, i, frame, points, at, dim):
    """Write the center of a box in steps, 0 to ``2**FRAME_BITS - 1``, to ``points[:, at]``."""
    ndim = len(dim)
    for d in range(ndim):
        value = (_middle(boxes, i, d, ndim) - frame[d]) * frame[3]
        # what is not a number, 0 times infinity, is 0
        points[d, at] = np.int32(min(value, _STEPS - 1.0)) if value > 0.0 else np.int32(0)


@kernel
def morton_keys(boxes, frame, bits, points, dim, keys):
    """Write a key a box, the curve's number above and the row in the low `ROW_BITS`.

    `bits` is how many bits an axis has: at most 16 in 2D and 11 in 3D. `points` is int32 scratch
    of ``(3, 1)`` or more.
    """
    shift = FRAME_BITS - bits
    for i in range(boxes.shape[0]):
        coordinates(boxes, i, frame, points, 0, dim)
        x, y = np.int64(points[0, 0]) >> shift, np.int64(points[1, 0]) >> shift
        if len(dim) == 2:
            key = spread2(x) | (spread2(y) << 1)
        else:
            z = np.int64(points[2, 0]) >> shift
            key = spread3(x) | (spread3(y) << 1) | (spread3(z) << 2)
        keys[i] = (np.uint64(key) << np.uint64(ROW_BITS)) | np.uint64(i)


@kernel
def count_blocks(n, leaf_size):
    """Return how many blocks hold `n` objects in full leaves and nodes, the root included."""
    level = (n + leaf_size - 1) // leaf_size
    total = level
    while True:
        level = (level + LANES - 1) // LANES
        total += level
        if level <= 1:
            return max(total, 1)


@kernel
def count_levels(n, leaf_size):
    """Return how many blocks the way to a leaf of `n` objects in full subtrees has."""
    levels = 2
    full = leaf_size * LANES
    while full < n:
        full *= LANES
        levels += 1
    return levels


@kernel
def fill_packed(tree, slots, boxes, state, keys, dim):
    """Fill an empty tree, with room for all, with slots in the order of sorted keys.

    Row ``i`` of a key is the box in row `i`, of ``slots[i]``.
    """
    n = keys.shape[0]
    leaf_size = tree.meta[nodes.LEAF_SIZE]
    q = local_floats()
    leaves = (n + leaf_size - 1) // leaf_size
    total = count_blocks(n, leaf_size)
    for block in range(1, total):
        is_leaf = 1 if block >= total - leaves else 0
        nodes.take_block(tree, is_leaf, -1, dim)
    row_mask = np.int64((1 << ROW_BITS) - 1)
    k = 0
    for block in range(total - leaves, total):
        size = min(leaf_size, n - k)
        for i in range(k, k + size):
            prefetch(boxes, np.int64(keys[min(i + _AHEAD, n - 1)]) & row_mask)
        tree.exact[block] = pack8(tree.bounds, block, boxes, keys, k, size, row_mask, dim)
        for lane in range(LANES):
            if lane < size:
                slot = np.int64(slots[np.int64(keys[k + lane]) & row_mask])
                tree.items[block, lane] = slot
                tree.places[slot] = LANES * block + lane
            else:
                nodes.clear_lane(tree, block, lane, dim)
        tree.size[block] = size
        k += size
    # each level hangs in the one before it, which ends where this one begins
    first, count = total - leaves, leaves
    while count > 0 and first > 0:
        above = (count + LANES - 1) // LANES
        for i in range(count):
            child = first + i
            block, lane = first - above + i // LANES, i % LANES
            nodes.summarize(tree, child, state)
            nodes.box_of_block(tree.bounds, child, q, dim)
            nodes.write_bounds(tree.bounds, block, lane, q, dim)
            nodes.hang(tree, child, block, lane)
            tree.size[block] = lane + 1
            tree.home[child] = nodes.half_surface(q, dim)
        first -= above
        count = above if first > 0 else 0
    nodes.summarize(tree, 0, state)
    tree.meta[nodes.DEPTH] = count_levels(n, leaf_size)
    tree.meta[nodes.ENTRIES] = n
