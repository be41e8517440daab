"""The arrays of a loose tree, the geometry of cells, and bounds from leaves to the root."""

from typing import NamedTuple

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES

SMALLEST = -1000
"""Exponent of the finest cells."""

LARGEST = 1022
"""Exponent of the coarsest cells, those that meet at 0."""

ROOT = 1024
"""Exponent that stands for all of space."""

OWN = 255
"""Code of the leaf of what does not go deeper; other codes have a bit an axis, set in the upper."""

MOST_DEPTH = LARGEST - SMALLEST + 3
"""Nodes on a path: from one to the next the exponent falls."""

STACK = 9 * MOST_DEPTH
"""Places of a stack of items: each taken off leaves at most nine."""

PAIR_STACK = 81 * 2 * MOST_DEPTH
"""Places of a stack of pairs of items."""

# columns of `nodes`
PARENT = 0  # 8 * block + lane where a head hangs, -1 of the root; -2 - head of other blocks
SIZE = 1  # lanes in use
EXPONENT = 2  # of the cell
TOTAL = 3  # of a leaf's head: members of all its blocks; -1 of an inner head, -2 of a free block
PATIENCE = 4  # of a leaf: it is divided when it has more members
COLUMNS = 5

# places in `meta`
FREE = 0  # the first free block, -1 when there is none
FREE_BLOCKS = 1  # how many there are
USED_BLOCKS = 2  # blocks ever taken into use: all others are behind them
LEAVES = 3  # nodes, not blocks
ENTRIES = 4
MOVED = 5  # objects that changed their node because they moved
META = 6

_INFINITY = np.float32(np.inf)


class LooseArrays(NamedTuple):
    """The state of a loose tree."""

    bounds: np.ndarray
    """``(blocks, 2*ndim, 8)`` float32, rounded outward; NaN in empty lanes."""
    items: np.ndarray
    """``(blocks, 8)`` int32: slots of a leaf; of an inner node heads, ``~head`` of leaves."""
    codes: np.ndarray
    """``(blocks, 8)`` uint8: which part of the cell each child of an inner node is in, or `OWN`."""
    exact: np.ndarray
    """``(blocks,)`` uint8: of a leaf a bit a lane, set where no bound had to be rounded."""
    link: np.ndarray
    """``(blocks,)`` int32: the next block of the node, or of the list of free blocks; -1 ends."""
    nodes: np.ndarray
    """``(blocks, COLUMNS)`` int32."""
    corners: np.ndarray
    """``(blocks, ndim)`` float64: lower corner of a head's cell."""
    places: np.ndarray
    """``(capacity,)`` int32: 8 * block + lane of each slot, -1 for those that are not here."""
    meta: np.ndarray
    """``(META,)`` int64: counters."""


# -- cells ----------------------------------------------------------------------------------------


@inner_kernel
def power(exponent):
    """Return two to the power of an exponent from -1022 to 1023."""
    return np.int64((exponent + 1023) << 52).view(np.float64)


@inner_kernel
def exponent_above(x):
    """Return an exponent whose power is above a finite `x` >= 0, and no more than twice it."""
    return np.int64((np.float64(x).view(np.int64) >> 52) & 0x7FF) - 1022


@inner_kernel
def corner_of(x, exponent):
    """Return the lower corner of the cell that holds a coordinate."""
    edge = power(exponent)
    k = np.floor(x / edge)
    if k == 0.0 and x < 0.0:
        k = -1.0  # the quotient was too small for a float
    return k * edge


@inner_kernel
def center(boxes, i, d, ndim):
    """Return the center of a box along an axis."""
    return 0.5 * boxes[i, d] + 0.5 * boxes[i, ndim + d]


@inner_kernel
def holds_center(corners, head, exponent, boxes, i, dim):
    """Tell if the cell of a head holds the center of a box."""
    if exponent == ROOT:
        return True
    ndim = len(dim)
    edge = power(exponent)
    ok = True
    for d in range(ndim):
        c = center(boxes, i, d, ndim)
        ok &= (corners[head, d] <= c) & (c < corners[head, d] + edge)
    return ok


@inner_kernel
def fits(corners, head, exponent, boxes, i, looseness, dim):
    """Tell if the loose bounds of a head hold a box."""
    if exponent == ROOT:
        return True
    ndim = len(dim)
    edge = power(exponent)
    margin = 0.5 * (looseness - 1.0) * edge
    ok = True
    for d in range(ndim):
        lower = corners[head, d]
        ok &= (lower - margin <= boxes[i, d]) & (boxes[i, ndim + d] <= lower + edge + margin)
    return ok


@inner_kernel
def _fits_own(exponent, boxes, i, looseness, dim):
    """Tell if the loose bounds of the cell of its center hold a box."""
    ndim = len(dim)
    edge = power(exponent)
    margin = 0.5 * (looseness - 1.0) * edge
    ok = True
    for d in range(ndim):
        lower = corner_of(center(boxes, i, d, ndim), exponent)
        ok &= (lower - margin <= boxes[i, d]) & (boxes[i, ndim + d] <= lower + edge + margin)
    return ok


@inner_kernel
def own_exponent(boxes, i, looseness, dim):
    """Return the exponent that a box belongs to: the least with room for it, or `ROOT`.

    Its size picks it, but no cell is finer than floats are where the box is: a coordinate has less
    than ``2**53`` edges. Rounding can make it one more.
    """
    ndim = len(dim)
    longest = 0.0
    far = 0.0
    for d in range(ndim):
        longest = max(longest, boxes[i, ndim + d] - boxes[i, d])
        far = max(far, max(-boxes[i, d], boxes[i, ndim + d]))
    ratio = longest / (looseness - 1.0)
    most = power(LARGEST)
    if not (far < most and ratio <= most):
        return ROOT
    exponent = max(SMALLEST, exponent_above(far) - 52)
    if ratio > 0.0:
        above = exponent_above(ratio)
        if above > -1022 and power(above - 1) == ratio:
            above -= 1
        exponent = max(exponent, above)
    while exponent <= LARGEST and not _fits_own(exponent, boxes, i, looseness, dim):
        exponent += 1
    return exponent if exponent <= LARGEST else ROOT


@inner_kernel
def code_of(corners, head, exponent, boxes, i, dim):
    """Return the part of the cell of a head that holds the center of a box: a bit an axis."""
    ndim = len(dim)
    code = 0
    for d in range(ndim):
        middle = 0.0
        if exponent != ROOT:
            middle = corners[head, d] + power(exponent - 1)
        if center(boxes, i, d, ndim) >= middle:
            code |= 1 << d
    return code


# -- blocks ---------------------------------------------------------------------------------------


@inner_kernel
def block_at(item):
    """Return the head that an item of an inner node leads to."""
    return np.int64(item) if item >= 0 else np.int64(~item)


@kernel
def head_of(tree, block):
    """Return the head of the node that a block is part of."""
    parent = np.int64(tree.nodes[block, PARENT])
    return -2 - parent if parent < -1 else np.int64(block)


@kernel
def clear_lane(tree, block, lane, dim):
    """Empty a lane."""
    for d in range(2 * len(dim)):
        tree.bounds[block, d, lane] = np.float32(np.nan)
    tree.items[block, lane] = -1


@inner_kernel
def free_blocks(tree):
    """Return how many blocks can be taken."""
    meta = tree.meta
    return meta[FREE_BLOCKS] + tree.link.shape[0] - meta[USED_BLOCKS]


@kernel
def take_block(tree):
    """Take a block into use; there must be one. What is in its lanes means nothing."""
    meta = tree.meta
    block = meta[FREE]
    if block >= 0:
        meta[FREE] = np.int64(tree.link[block])
        meta[FREE_BLOCKS] -= 1
    else:
        block = meta[USED_BLOCKS]
        meta[USED_BLOCKS] += 1
    tree.link[block] = -1
    tree.exact[block] = 0
    tree.nodes[block, SIZE] = 0
    return block


@inner_kernel
def take_empty(tree, dim):
    """Take a block into use and empty all its lanes."""
    block = take_block(tree)
    for lane in range(LANES):
        clear_lane(tree, block, lane, dim)
    return block


@inner_kernel
def free_block(tree, block):
    """Give a block back."""
    meta = tree.meta
    tree.nodes[block, SIZE] = 0
    tree.nodes[block, TOTAL] = -2
    tree.nodes[block, PARENT] = -1
    tree.link[block] = meta[FREE]
    meta[FREE] = block
    meta[FREE_BLOCKS] += 1


@kernel
def new_node(tree, is_leaf, patience, exponent, dim):
    """Take the head of a node, without lanes; the caller writes its corner and hangs it."""
    head = take_empty(tree, dim)
    nodes = tree.nodes
    nodes[head, PARENT] = -1
    nodes[head, EXPONENT] = exponent
    nodes[head, TOTAL] = 0 if is_leaf else -1
    nodes[head, PATIENCE] = patience
    if is_leaf:
        tree.meta[LEAVES] += 1
    return head


@inner_kernel
def put_item(tree, place, head, code):
    """Make a node the child at a place, whose lane is in use; its bounds come later."""
    block, lane = place // LANES, place % LANES
    tree.items[block, lane] = ~head if tree.nodes[head, TOTAL] >= 0 else head
    tree.codes[block, lane] = code
    tree.nodes[head, PARENT] = place


@inner_kernel
def new_place(tree, head, dim):
    """Take one more lane of an inner node into use, in a block of its own if need be."""
    block = np.int64(head)
    while tree.nodes[block, SIZE] == LANES:
        if tree.link[block] < 0:
            more = take_empty(tree, dim)
            tree.nodes[more, PARENT] = -2 - head
            tree.nodes[more, TOTAL] = -1
            tree.link[block] = more
        block = np.int64(tree.link[block])
    lane = np.int64(tree.nodes[block, SIZE])
    tree.nodes[block, SIZE] = lane + 1
    return LANES * block + lane


@inner_kernel
def find_place(tree, head, code):
    """Return the place of the child of that code, -1 when there is none."""
    block = np.int64(head)
    while block >= 0:
        for lane in range(tree.nodes[block, SIZE]):
            if tree.codes[block, lane] == code:
                return LANES * block + lane
        block = np.int64(tree.link[block])
    return np.int64(-1)


# -- bounds ---------------------------------------------------------------------------------------


@inner_kernel
def box_of_node(tree, head, q, dim):
    """Set `q` to the float32 box around all lanes of a node."""
    ndim = len(dim)
    for d in range(ndim):
        lower, upper = _INFINITY, -_INFINITY
        block = np.int64(head)
        while block >= 0:
            for lane in range(LANES):
                # false for the NaN of an empty lane
                low, high = tree.bounds[block, d, lane], tree.bounds[block, ndim + d, lane]
                lower = low if low < lower else lower
                upper = high if high > upper else upper
            block = np.int64(tree.link[block])
        q[d] = lower
        q[ndim + d] = upper


@inner_kernel
def refit_up(tree, head, q, dim):
    """Bring the bounds above a node up to date; stops where nothing changes. `q` is scratch."""
    place = np.int64(tree.nodes[head, PARENT])
    while place >= 0:
        box_of_node(tree, head, q, dim)
        above, lane = place // LANES, place % LANES
        has_changed = False
        for d in range(2 * len(dim)):
            if tree.bounds[above, d, lane] != q[d]:
                tree.bounds[above, d, lane] = q[d]
                has_changed = True
        if not has_changed:
            return
        head = head_of(tree, above)
        place = np.int64(tree.nodes[head, PARENT])


@kernel
def refit_all(tree, q, dim):
    """Write all bounds of inner nodes of a tree whose children come after their parents."""
    for block in range(tree.meta[USED_BLOCKS] - 1, 0, -1):
        place = np.int64(tree.nodes[block, PARENT])
        if place >= 0:
            box_of_node(tree, block, q, dim)
            for d in range(2 * len(dim)):
                tree.bounds[place // LANES, d, place % LANES] = q[d]
