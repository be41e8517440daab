"""Bringing a whole tree up to date in one pass, and measuring how good it is.

When most objects have moved, their lanes are written first, and then each block tells its parent
what it holds, children before parents::

    order  0 3 7 8 4 ...   every block after its parent; walked from the end

The cost of a tree is the sum, over all blocks but the root, of half their surface over that of the
root: the blocks that a small query is expected to look at.
"""

import numpy as np

from spatialindex.kernels.blocks import write_lane
from spatialindex.kernels.jit import kernel
from spatialindex.kernels.simd import LANES, local_floats
from spatialindex.kernels.tree import nodes

__all__ = ["list_blocks", "refit_all", "refit_slots", "tree_cost", "tree_depth", "write_slots"]


@kernel
def list_blocks(tree, order):
    """Write all blocks to `order`, each after its parent; return how many."""
    order[0] = 0
    n = 1
    i = 0
    while i < n:
        here = order[i]
        i += 1
        if not tree.is_leaf[here]:
            for lane in range(tree.size[here]):
                order[n] = nodes.block_at(tree.items[here, lane])
                n += 1
    return n


@kernel
def write_slots(tree, slots, boxes, dim):
    """Write the box of each slot, its row of `boxes`, to its lane; nothing above is brought up."""
    for i in range(slots.shape[0]):
        slot = np.int64(slots[i])
        place = np.int64(tree.places[slot])
        write_lane(
            *(tree.bounds, tree.items, tree.exact, place // LANES, place % LANES),
            *(slot, boxes, slot, dim),
        )


@kernel
def refit_all(tree, state, order, n, dim):
    """Bring bounds and summaries of all blocks up to date; the lanes of leaves are right."""
    q = local_floats()
    for i in range(n - 1, 0, -1):
        block = np.int64(order[i])
        nodes.summarize(tree, block, state)
        nodes.box_of_block(tree.bounds, block, q, dim)
        place = np.int64(tree.parent[block])
        nodes.write_bounds(tree.bounds, place // LANES, place % LANES, q, dim)
    nodes.summarize(tree, 0, state)


@kernel
def refit_slots(tree, slots, state, dim):
    """Bring what lies above the leaves of slots up to date; returns how many blocks that took."""
    q = local_floats()
    steps = 0
    for i in range(slots.shape[0]):
        leaf = np.int64(tree.places[slots[i]]) // LANES
        steps += nodes.refit_up(tree, leaf, state, q, dim)
    return steps


@kernel
def tree_depth(tree):
    """Return how many blocks the longest path has."""
    deepest = 1
    for block in range(tree.meta[nodes.USED_BLOCKS]):
        if tree.is_leaf[block] and tree.size[block]:
            deepest = max(deepest, nodes.depth_of(tree, block))
    return deepest


@kernel
def tree_cost(tree, dim):
    """Return the cost of the tree, 0 for an empty one."""
    q = local_floats()
    total = 0.0
    for block in range(tree.meta[nodes.USED_BLOCKS]):
        if not tree.is_leaf[block]:
            for lane in range(tree.size[block]):
                total += nodes.lane_surface(tree.bounds, block, lane, dim)
    if tree.size[0] == 0:
        return 0.0
    nodes.box_of_block(tree.bounds, np.int64(0), q, dim)
    surface = nodes.half_surface(q, dim)
    return total / surface if surface > 0.0 else 0.0
