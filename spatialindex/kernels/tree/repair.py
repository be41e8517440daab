"""Taking a part of a tree apart, to be built anew: always a bounded amount of work.

A *part* is a block with what is up to `LEVELS` levels below it, at most 512 blocks or objects::

    level 0  the block, which stays where it is and is filled again
    level 1, 2  blocks that are freed
    level 3  the items of the new build, with all that is below them

A leaf that is met on the way is an item too; where all that is below the block is met, the objects
themselves are the items. Done here and there, near the leaves and near the root, this makes a whole
tree anew in small steps.

Source: Kopta et al., Fast, Effective BVH Updates for Animated Scenes, 2012, who repair where it
decays by rotating nodes; here the part is built anew.
"""

import numpy as np

from spatialindex.kernels.jit import kernel
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.tree import nodes

__all__ = ["LEVELS", "MOST_BLOCKS", "MOST_ITEMS", "block_above", "decay", "list_part", "take_apart"]

LEVELS = 3
MOST_ITEMS = LANES**LEVELS
MOST_BLOCKS = 1 + LANES + LANES**2 + LANES**3
"""Blocks of a part, its items included."""


@kernel
def block_above(tree, slot, levels):
    """Return the block so many levels above the leaf of a slot, or the root when that is nearer."""
    block = np.int64(tree.places[slot]) // LANES
    while levels > 0 and block != 0:
        block = np.int64(tree.parent[block]) // LANES
        levels -= 1
    return block


@kernel
def list_part(tree, block, order):
    """Write the blocks of a part to int64 `order`, ``(MOST_BLOCKS, 2)``: block and level.

    Each comes after its parent. Returns how many.
    """
    order[0, 0] = block
    order[0, 1] = 0
    n = 1
    i = 0
    while i < n:
        here, level = order[i, 0], order[i, 1]
        i += 1
        if level < LEVELS and not tree.is_leaf[here]:
            for lane in range(tree.size[here]):
                order[n, 0] = nodes.block_at(tree.items[here, lane])
                order[n, 1] = level + 1
                n += 1
    return n


@kernel
def _has_all(order, n):
    """Tell if a part has all that is below its block, so that objects are its items."""
    return order[n - 1, 1] < LEVELS


@kernel
def decay(tree, order, n, dim):
    """Return the surface of what a new build would replace over what it was when it was built.

    Times the root of how many blocks there are for each that would do: half as full is worse.
    """
    has_all = _has_all(order, n)
    now = 0.0
    home = 0.0
    blocks = 0
    items = 0
    for i in range(1, n):
        block = order[i, 0]
        if tree.is_leaf[block] or order[i, 1] == LEVELS:
            items += np.int64(tree.size[block]) if has_all else 1
            if not has_all:
                continue
        place = np.int64(tree.parent[block])
        now += nodes.lane_surface(tree.bounds, place // LANES, place % LANES, dim)
        home += tree.home[block]
        blocks += 1
    full = tree.meta[nodes.LEAF_SIZE] if has_all else LANES
    needed = 0
    level = items
    while level > 1:
        level = (level + full - 1) // full
        full = LANES
        needed += level
    worn = now / home if home > 0.0 else 1.0
    return worn * np.sqrt((blocks + 1) / max(needed, 1))


@kernel
def take_apart(tree, order, n, work, dim):
    """Write the items of a part and free the blocks between; returns how many items.

    ``work.meta[1]`` tells afterwards if they are blocks.
    """
    has_all = _has_all(order, n)
    work.meta[1] = 0 if has_all else 1
    count = 0
    for i in range(1, n):
        block = order[i, 0]
        is_leaf = tree.is_leaf[block] != 0
        if has_all and is_leaf:
            for lane in range(tree.size[block]):
                for d in range(2 * len(dim)):
                    work.boxes[count, d] = tree.bounds[block, d, lane]
                bit = (np.int64(tree.exact[block]) >> lane) & 1
                work.codes[count] = 2 * np.int64(tree.items[block, lane]) + bit
                count += 1
        elif is_leaf or order[i, 1] == LEVELS:
            place = np.int64(tree.parent[block])
            for d in range(2 * len(dim)):
                work.boxes[count, d] = tree.bounds[place // LANES, d, place % LANES]
            work.codes[count] = ~block if is_leaf else block
            count += 1
    # only now: what hangs where is needed until all is written
    for i in range(1, n):
        block = order[i, 0]
        is_item = tree.is_leaf[block] != 0 or order[i, 1] == LEVELS
        if has_all or not is_item:
            nodes.free_block(tree, block)
    top = order[0, 0]
    for lane in range(tree.size[top]):
        nodes.clear_lane(tree, top, lane, dim)
    tree.size[top] = 0
    return count
