"""Building from the top down: where to cut decides how good the tree is.

The objects of a task are cut in two until no piece is larger than a full subtree can hold, which
makes at most eight pieces, the children of a block. With leaves of 8, 100 objects are more than a
block of leaves holds (64), so they become two to eight pieces of at most 64, and each of those up
to eight leaves::

    100  ->  58 42  ->  58: 8 8 8 8 8 8 8 2    42: 8 8 8 8 8 2

All leaves are equally far from the root, whatever the boxes: nothing can make a tree degenerate,
and identical boxes are cut by their number.

A piece is cut between two of 16 bins along an axis so that the sum over both sides of half the
surface times the number of full subtrees is least, among the cuts that leave few enough pieces: a
box of half the surface is met by half as many queries. Where no such cut leaves few enough, at the
median center along the axis in which centers are spread most.

Items are rows of float32 bounds and a code, moved around so that the items of a task stay side by
side. Where there is no block left the kernel stops between two tasks; the caller makes room and
goes on.

Sources: Wald, On Fast Construction of SAH-based Bounding Volume Hierarchies, 2007 (bins); Lee &
Lee, OMT: Overlap Minimizing Top-down Bulk Loading, 2003 (pieces of full subtrees).
"""

from typing import NamedTuple

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES, down32, local_floats, local_ints, up32
from spatialindex.kernels.tree import nodes

__all__ = ["BINS", "TASKS", "Work", "build_blocks", "list_slots"]

BINS = 16
TASKS = 8 * nodes.MOST_DEPTH + 8
"""Tasks that wait at most: each one done leaves at most seven more than it was."""

_F32_MAX = np.float32(3.4028235e38)
_HALF = np.float32(0.5)


class Work(NamedTuple):
    """What a build works on."""

    boxes: np.ndarray
    """``(n, 2*ndim)`` float32: bounds of the items, rounded outward; reordered."""
    codes: np.ndarray
    """``(n,)`` int64: 2 * slot + 1 for an exact lane, 2 * slot for another; or items of blocks."""
    tasks: np.ndarray
    """``(TASKS, 3)`` int64: first item, end, place to hang the block."""
    meta: np.ndarray
    """``(2,)`` int64: number of tasks, whether items are blocks."""
    bins: np.ndarray
    """``(3, BINS, 6)`` float32."""
    counts: np.ndarray
    """``(3, BINS)`` int64."""
    costs: np.ndarray
    """``(BINS,)`` float64."""


@kernel
def list_slots(work, slots, boxes, dim):
    """Write the items of slots; row `i` of `boxes` is the box of ``slots[i]``."""
    ndim = len(dim)
    for i in range(slots.shape[0]):
        is_exact = True
        for d in range(ndim):
            lower = down32(boxes[i, d])
            upper = up32(boxes[i, ndim + d])
            work.boxes[i, d] = lower
            work.boxes[i, ndim + d] = upper
            is_exact &= np.float64(lower) == boxes[i, d]
            is_exact &= np.float64(upper) == boxes[i, ndim + d]
        work.codes[i] = 2 * np.int64(slots[i]) + (1 if is_exact else 0)


@inner_kernel
def _center(boxes, i, d, ndim):
    """Return the center of an item along an axis, finite whatever its bounds."""
    center = _HALF * boxes[i, d] + _HALF * boxes[i, ndim + d]
    if abs(center) <= _F32_MAX:
        return center
    if center != center:
        return np.float32(0.0)
    return _F32_MAX if center > np.float32(0.0) else -_F32_MAX


@inner_kernel
def _swap(work, i, j, dim):
    """Exchange two items."""
    for d in range(2 * len(dim)):
        kept = work.boxes[i, d]
        work.boxes[i, d] = work.boxes[j, d]
        work.boxes[j, d] = kept
    code = work.codes[i]
    work.codes[i] = work.codes[j]
    work.codes[j] = code


@inner_kernel
def _box_of_items(work, start, stop, q, dim):
    """Set `q` to the box around items."""
    ndim = len(dim)
    for d in range(ndim):
        q[d] = np.float32(np.inf)
        q[ndim + d] = np.float32(-np.inf)
    for i in range(start, stop):
        for d in range(ndim):
            if work.boxes[i, d] < q[d]:
                q[d] = work.boxes[i, d]
            if work.boxes[i, ndim + d] > q[ndim + d]:
                q[ndim + d] = work.boxes[i, ndim + d]


@inner_kernel
def _spread_of_centers(work, start, stop, q, dim):
    """Set `q` to the box around the centers of items; return its longest axis."""
    ndim = len(dim)
    for d in range(ndim):
        q[d] = np.float32(np.inf)
        q[ndim + d] = np.float32(-np.inf)
    for i in range(start, stop):
        for d in range(ndim):
            center = _center(work.boxes, i, d, ndim)
            if center < q[d]:
                q[d] = center
            if center > q[ndim + d]:
                q[ndim + d] = center
    axis = 0
    for d in range(1, ndim):
        if np.float64(q[ndim + d]) - q[d] > np.float64(q[ndim + axis]) - q[axis]:
            axis = d
    return axis


@inner_kernel
def _select(work, start, stop, middle, axis, dim):
    """Bring the items before `middle` in the order of centers before it: Hoare's quickselect."""
    ndim = len(dim)
    low, high = start, stop - 1
    while low < high:
        # the median of three against sorted input
        half = (low + high) >> 1
        a = _center(work.boxes, low, axis, ndim)
        b = _center(work.boxes, half, axis, ndim)
        c = _center(work.boxes, high, axis, ndim)
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while _center(work.boxes, i, axis, ndim) < pivot:
                i += 1
            while pivot < _center(work.boxes, j, axis, ndim):
                j -= 1
            if i <= j:
                _swap(work, i, j, dim)
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@inner_kernel
def _bin(center, lowest, scale):
    """Return the bin of a center."""
    return min(np.int64((np.float64(center) - lowest) * scale), BINS - 1)


@inner_kernel
def _fill_bins(work, start, stop, spread, dim):
    """Count and enclose the items of each bin of each axis."""
    ndim = len(dim)
    for d in range(ndim):
        for b in range(BINS):
            work.counts[d, b] = 0
            for e in range(ndim):
                work.bins[d, b, e] = np.float32(np.inf)
                work.bins[d, b, ndim + e] = np.float32(-np.inf)
    for d in range(ndim):
        lowest = np.float64(spread[d])
        width = np.float64(spread[ndim + d]) - lowest
        if not width > 0.0:
            continue
        scale = BINS / width
        bins = work.bins[d]
        for i in range(start, stop):
            b = _bin(_center(work.boxes, i, d, ndim), lowest, scale)
            work.counts[d, b] += 1
            for e in range(ndim):
                # without branches: which it is cannot be foretold
                lower, upper = work.boxes[i, e], work.boxes[i, ndim + e]
                kept, top = bins[b, e], bins[b, ndim + e]
                bins[b, e] = lower if lower < kept else kept
                bins[b, ndim + e] = upper if upper > top else top


@inner_kernel
def _grow(q, bins, d, b, dim):
    """Enlarge `q` by the box of a bin."""
    ndim = len(dim)
    for e in range(ndim):
        if bins[d, b, e] < q[e]:
            q[e] = bins[d, b, e]
        if bins[d, b, ndim + e] > q[ndim + e]:
            q[ndim + e] = bins[d, b, ndim + e]


@inner_kernel
def _blocks(n, full):
    """Return how many subtrees of `full` objects hold `n`."""
    return (n + full - 1) // full


@inner_kernel
def _best_cut(work, n, full, most, costs, q, dim):
    """Return ``BINS * axis + bin`` of the best cut before a bin, -1 when none leaves few pieces.

    `costs` is float64 scratch ``(BINS,)``.
    """
    ndim = len(dim)
    best = -1
    least = np.inf
    for d in range(ndim):
        for e in range(ndim):
            q[e] = np.float32(np.inf)
            q[ndim + e] = np.float32(-np.inf)
        right = 0
        for b in range(BINS - 1, 0, -1):
            right += work.counts[d, b]
            costs[b] = np.inf
            if right:
                _grow(q, work.bins, d, b, dim)
                costs[b] = nodes.half_surface(q, dim) * _blocks(right, full)
        for e in range(ndim):
            q[e] = np.float32(np.inf)
            q[ndim + e] = np.float32(-np.inf)
        left = 0
        for b in range(1, BINS):
            left += work.counts[d, b - 1]
            if not left or left == n:
                continue
            _grow(q, work.bins, d, b - 1, dim)
            if _blocks(left, full) + _blocks(n - left, full) > most:
                continue
            cost = costs[b] + nodes.half_surface(q, dim) * _blocks(left, full)
            if cost < least:
                least = cost
                best = BINS * d + b
    return best


@inner_kernel
def _partition(work, start, stop, axis, lowest, scale, cut, dim):
    """Bring the items of bins below `cut` to the front; return where the others begin."""
    ndim = len(dim)
    i, j = start, stop - 1
    while True:
        while i <= j and _bin(_center(work.boxes, i, axis, ndim), lowest, scale) < cut:
            i += 1
        while i <= j and _bin(_center(work.boxes, j, axis, ndim), lowest, scale) >= cut:
            j -= 1
        if i >= j:
            return i
        _swap(work, i, j, dim)
        i += 1
        j -= 1


@inner_kernel
def _split(work, start, stop, full, most, spread, q, dim):
    """Cut items in two so that they are at most `most` pieces of `full`; return where."""
    ndim = len(dim)
    n = stop - start
    axis = _spread_of_centers(work, start, stop, spread, dim)
    width = np.float64(spread[ndim + axis]) - spread[axis]
    middle = start + full * (_blocks(n, full) // 2)
    if not width > 0.0:
        return middle
    if n > LANES:
        _fill_bins(work, start, stop, spread, dim)
        cut = _best_cut(work, n, full, most, work.costs, q, dim)
        if cut >= 0:
            axis = cut // BINS
            lowest = np.float64(spread[axis])
            scale = BINS / (np.float64(spread[ndim + axis]) - lowest)
            return _partition(work, start, stop, axis, lowest, scale, cut % BINS, dim)
    _select(work, start, stop, middle, axis, dim)
    return middle


@inner_kernel
def _full_child(n, leaf_size):
    """Return how many items a child of a block of `n` items holds at most: a full subtree."""
    full = leaf_size
    while full * LANES < n:
        full *= LANES
    return full


@inner_kernel
def _cut_pieces(work, start, stop, full, edges, spread, q, dim):
    """Cut items into pieces of at most `full`; write where they end to `edges`; return how many."""
    pieces = 1
    edges[0] = stop
    units = _blocks(stop - start, full)
    i = 0
    first = start
    while i < pieces:
        last = edges[i]
        here = _blocks(last - first, full)
        if last - first <= full:
            first = last
            i += 1
            continue
        # each cut may use up one of the pieces that are to spare
        middle = _split(work, first, last, full, here + LANES - units, spread, q, dim)
        units += _blocks(middle - first, full) + _blocks(last - middle, full) - here
        for j in range(pieces, i, -1):
            edges[j] = edges[j - 1]
        edges[i] = middle
        pieces += 1
    return pieces


@inner_kernel
def _fill_block(tree, work, block, start, stop, state, dim):
    """Put items into the lanes of an empty block."""
    is_leaf = tree.is_leaf[block]
    for i in range(start, stop):
        lane = i - start
        code = work.codes[i]
        for d in range(2 * len(dim)):
            tree.bounds[block, d, lane] = work.boxes[i, d]
        if is_leaf:
            slot = code >> 1
            tree.items[block, lane] = slot
            tree.exact[block] |= np.uint8((code & 1) << lane)
            tree.places[slot] = LANES * block + lane
        else:
            nodes.hang(tree, nodes.block_at(code), block, lane)
    tree.size[block] = stop - start
    nodes.summarize(tree, block, state)
    _tell_above(tree, block)


@inner_kernel
def _tell_above(tree, block):
    """Add the summary of a new block to those above, up to where it is known already."""
    place = np.int64(tree.parent[block])
    while place >= 0:
        above = place // LANES
        layers = tree.layers[above] | tree.layers[block]
        masks = tree.masks[above] | tree.masks[block]
        resting = tree.resting[above] & tree.resting[block]
        is_known = (layers == tree.layers[above]) & (masks == tree.masks[above])
        if is_known and resting == tree.resting[above]:
            return
        tree.layers[above] = layers
        tree.masks[above] = masks
        tree.resting[above] = resting
        block = above
        place = np.int64(tree.parent[block])


@kernel
def build_blocks(tree, work, state, dim):
    """Do the tasks of `work`: blocks for all items, each hung where its task says.

    A task at place ``~block`` fills an inner block, which is there and empty. Returns the number of
    tasks left, which is not 0 only for want of blocks.
    """
    spread = local_floats()
    q = local_floats()
    edges = local_ints()
    holds_blocks = work.meta[1]
    leaf_size = LANES if holds_blocks else tree.meta[nodes.LEAF_SIZE]
    while work.meta[0] > 0:
        top = work.meta[0] - 1
        start, stop, place = work.tasks[top, 0], work.tasks[top, 1], work.tasks[top, 2]
        n = stop - start
        is_last = n <= leaf_size and (place >= 0 or holds_blocks)
        block = ~place
        if place >= 0:
            if tree.meta[nodes.FREE] < 0 and tree.meta[nodes.USED_BLOCKS] == tree.size.shape[0]:
                return top + 1
            block = nodes.take_block(tree, 1 if is_last and not holds_blocks else 0, place, dim)
            nodes.hang(tree, block, place // LANES, place % LANES)
            _box_of_items(work, start, stop, q, dim)
            nodes.write_bounds(tree.bounds, place // LANES, place % LANES, q, dim)
            tree.home[block] = nodes.half_surface(q, dim)
        work.meta[0] = top
        if is_last:
            _fill_block(tree, work, block, start, stop, state, dim)
            continue
        full = _full_child(n, leaf_size)
        pieces = _cut_pieces(work, start, stop, full, edges, spread, q, dim)
        tree.size[block] = pieces
        first = start
        for lane in range(pieces):
            at = work.meta[0]
            work.tasks[at, 0] = first
            work.tasks[at, 1] = edges[lane]
            work.tasks[at, 2] = LANES * block + lane
            work.meta[0] = at + 1
            first = edges[lane]
    return 0
