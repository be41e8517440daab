"""The arrays of a tree, taking and freeing blocks, bounds and summaries of lanes."""

from typing import NamedTuple

import numpy as np

from spatialindex.constants import ALL, DEFAULT_LAYER
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES

MOST_DEPTH = 60
"""Blocks on the longest path that traversals have room for."""

WAITING = 64
"""Leaves that wait behind a stack of blocks until they are looked at together."""

FIRST_WAITING = 8 * MOST_DEPTH + 8
"""Where they begin: each block taken off the stack leaves at most seven more than it was.

Of regions that go down together, that many times as far: as many blocks as there are regions are
taken at once, the deepest, so that of each depth there are never more than eight a region.
"""

STACK = FIRST_WAITING + WAITING
"""Places of a stack of blocks and of the leaves that wait, for each region."""

PAIR_STACK = 64 * 2 * MOST_DEPTH + 64
"""Places of a stack of pairs of blocks: a pair leaves at most 63 more and one of it goes down."""

# places in `meta`
FREE = 0  # the first free block, -1 when there is none
FREE_BLOCKS = 1  # how many there are
USED_BLOCKS = 2  # blocks ever taken into use: all others are behind them
LEAVES = 3
ENTRIES = 4  # objects
DEPTH = 5  # no path has more blocks
LEAF_SIZE = 6  # objects that a leaf may hold
META = 8

# bits of `resting`
STATIC = 1  # all below are static
RESTING = 2  # all below are static or asleep

_PLAIN_LAYERS = np.uint64(DEFAULT_LAYER)
_PLAIN_MASKS = np.uint64(ALL)
_ALL_RESTING = np.uint8(STATIC | RESTING)
LARGEST = 1e39  # above all finite float32, and its products are finite


class TreeArrays(NamedTuple):
    """The state of a tree."""

    bounds: np.ndarray
    """``(blocks, 2*ndim, 8)`` float32, rounded outward; NaN in empty lanes."""
    items: np.ndarray
    """``(blocks, 8)`` int32: slots of a leaf; of an inner block children, ``~block`` for leaves."""
    exact: np.ndarray
    """``(blocks,)`` uint8: of a leaf a bit a lane, set where no bound had to be rounded."""
    size: np.ndarray
    """``(blocks,)`` int8: lanes in use; 0 for a free block and an empty root."""
    is_leaf: np.ndarray
    """``(blocks,)`` uint8."""
    parent: np.ndarray
    """``(blocks,)`` int32: 8 * block + lane; -1 of the root; the next block of the free list."""
    layers: np.ndarray
    """``(blocks,)`` uint64: OR of all layers below."""
    masks: np.ndarray
    """``(blocks,)`` uint64: OR of all masks below."""
    resting: np.ndarray
    """``(blocks,)`` uint8: `STATIC` and `RESTING`."""
    home: np.ndarray
    """``(blocks,)`` float64: half the surface of the block when it was built."""
    places: np.ndarray
    """``(capacity,)`` int32: 8 * block + lane of each slot, -1 for those that are not here."""
    meta: np.ndarray
    """``(META,)`` int64: counters."""


@kernel
def clear_lane(tree, block, lane, dim):
    """Empty a lane."""
    for d in range(2 * len(dim)):
        tree.bounds[block, d, lane] = np.float32(np.nan)
    tree.items[block, lane] = -1


@kernel
def take_block(tree, is_leaf, place, dim):
    """Take an empty block into use, to hang at a place; there must be one."""
    meta = tree.meta
    block = meta[FREE]
    if block >= 0:
        meta[FREE] = np.int64(tree.parent[block])
        meta[FREE_BLOCKS] -= 1
    else:
        block = meta[USED_BLOCKS]
        meta[USED_BLOCKS] += 1
    if is_leaf:
        meta[LEAVES] += 1
    tree.is_leaf[block] = is_leaf
    tree.parent[block] = place
    tree.size[block] = 0
    tree.exact[block] = 0
    tree.home[block] = 0.0
    tree.layers[block] = np.uint64(0)
    tree.masks[block] = np.uint64(0)
    tree.resting[block] = _ALL_RESTING
    for lane in range(LANES):
        clear_lane(tree, block, lane, dim)
    return block


@inner_kernel
def free_block(tree, block):
    """Give a block back."""
    meta = tree.meta
    if tree.is_leaf[block]:
        meta[LEAVES] -= 1
    tree.size[block] = 0
    tree.parent[block] = meta[FREE]
    meta[FREE] = block
    meta[FREE_BLOCKS] += 1


@inner_kernel
def block_at(item):
    """Return the block that an item of an inner block leads to."""
    return np.int64(item) if item >= 0 else np.int64(~item)


@inner_kernel
def lanes_in_use(tree, block):
    """Return the mask of the lanes of a block that hold something."""
    return (np.uint64(1) << np.uint64(tree.size[block])) - np.uint64(1)


@kernel
def hang(tree, child, block, lane):
    """Make a block the child in a lane of another."""
    tree.items[block, lane] = ~child if tree.is_leaf[child] else child
    tree.parent[child] = LANES * block + lane


@inner_kernel
def write_bounds(bounds, block, lane, q, dim):
    """Write the bounds of a lane."""
    for d in range(2 * len(dim)):
        bounds[block, d, lane] = q[d]


@inner_kernel
def drop_lane(tree, block, lane, dim):
    """Empty a lane of an inner block; the last lane fills the gap."""
    last = np.int64(tree.size[block]) - 1
    if lane != last:
        for d in range(2 * len(dim)):
            tree.bounds[block, d, lane] = tree.bounds[block, d, last]
        hang(tree, block_at(tree.items[block, last]), block, lane)
    clear_lane(tree, block, last, dim)
    tree.size[block] = last


@inner_kernel
def box_of_block(bounds, block, q, dim):
    """Set `q` to the float32 box around all lanes of a block; inverted when it is empty."""
    ndim = len(dim)
    for d in range(ndim):
        lower = np.float32(np.inf)
        upper = np.float32(-np.inf)
        for lane in range(LANES):
            # false for the NaN of an empty lane
            if bounds[block, d, lane] < lower:
                lower = bounds[block, d, lane]
            if bounds[block, ndim + d, lane] > upper:
                upper = bounds[block, ndim + d, lane]
        q[d] = lower
        q[ndim + d] = upper


@inner_kernel
def half_surface(q, dim):
    """Return half the surface of a float32 box, in 2D half its perimeter; finite, never NaN."""
    ndim = len(dim)
    x = min(np.float64(q[ndim]) - np.float64(q[0]), LARGEST)
    y = min(np.float64(q[ndim + 1]) - np.float64(q[1]), LARGEST)
    if ndim == 2:
        return x + y
    z = min(np.float64(q[2 * ndim - 1]) - np.float64(q[ndim - 1]), LARGEST)
    return x * y + y * z + z * x


@inner_kernel
def lane_surface(bounds, block, lane, dim):
    """Return half the surface of the bounds of a lane."""
    ndim = len(dim)
    x = min(np.float64(bounds[block, ndim, lane]) - np.float64(bounds[block, 0, lane]), LARGEST)
    y = min(np.float64(bounds[block, ndim + 1, lane]) - np.float64(bounds[block, 1, lane]), LARGEST)
    if ndim == 2:
        return x + y
    z = min(
        np.float64(bounds[block, 2 * ndim - 1, lane]) - np.float64(bounds[block, ndim - 1, lane]),
        LARGEST,
    )
    return x * y + y * z + z * x


@inner_kernel
def summarize(tree, block, state):
    """Gather layers, masks and rest of a block from its objects or children; tell if it changed.

    An empty `state` is that of objects of which nobody has said anything.
    """
    layers = np.uint64(0)
    masks = np.uint64(0)
    resting = STATIC | RESTING
    if state.shape[0] == 0:
        layers, masks, resting = _PLAIN_LAYERS, _PLAIN_MASKS, 0
    for lane in range(tree.size[block] if state.shape[0] else 0):
        item = np.int64(tree.items[block, lane])
        if tree.is_leaf[block]:
            one = state[item]
            layers |= one["layer"]
            masks |= one["mask"]
            if not one["static"]:
                resting &= ~STATIC
                if not one["asleep"]:
                    resting = 0
        else:
            child = block_at(item)
            layers |= tree.layers[child]
            masks |= tree.masks[child]
            resting &= np.int64(tree.resting[child])
    has_changed = (
        (layers != tree.layers[block])
        | (masks != tree.masks[block])
        | (resting != np.int64(tree.resting[block]))
    )
    tree.layers[block] = layers
    tree.masks[block] = masks
    tree.resting[block] = resting
    return has_changed


@inner_kernel
def refit_up(tree, block, state, q, dim):
    """Bring bounds and summaries above a changed block up to date; stops where nothing changes.

    `q` is scratch. Returns how many blocks were looked at.
    """
    steps = 0
    while True:
        steps += 1
        has_changed = summarize(tree, block, state)
        place = np.int64(tree.parent[block])
        if place < 0:
            return steps
        above, lane = place // LANES, place % LANES
        box_of_block(tree.bounds, block, q, dim)
        for d in range(2 * len(dim)):
            if tree.bounds[above, d, lane] != q[d]:
                tree.bounds[above, d, lane] = q[d]
                has_changed = True
        if not has_changed:
            return steps
        block = above


@inner_kernel
def depth_of(tree, block):
    """Return how many blocks the path from the root to a block has, both included."""
    depth = 1
    place = np.int64(tree.parent[block])
    while place >= 0:
        depth += 1
        place = np.int64(tree.parent[place // LANES])
    return depth
