"""Taking a part of a tree apart, to be built anew: a whole tree is made anew in small steps.

A *region* is a block with all below it that has some thousand objects, and hangs in a block that
has more. Its objects become the items of a new build, and all its blocks but itself are freed. What
is above the regions, the *top*, is built anew with regions as items::

    root     [A B C D - - - -]       250 objects; regions of at most 50
    A        [r s t u - - - -]       A has 90, so its children are regions; B has 40 and is one

Source: Kopta et al., Fast, Effective BVH Updates for Animated Scenes, 2012, who repair where it
decays by rotating nodes; here the part is built anew.
"""

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.tree import nodes

__all__ = ["list_part", "take_apart", "wear"]


@kernel
def list_part(tree, block, ends, order):
    """Write a block and all below it to `order`, each after its parent, and return how many.

    What is below a block with a mark in `ends`, uint8 with a place a block, is left out.
    """
    order[0] = block
    n = 1
    i = 0
    while i < n:
        here = order[i]
        i += 1
        if not tree.is_leaf[here] and not ends[here]:
            for lane in range(tree.size[here]):
                order[n] = nodes.block_at(tree.items[here, lane])
                n += 1
    return n


@inner_kernel
def _needed(objects, leaf_size):
    """Return how many blocks the objects of a region need."""
    needed = 1
    level = (objects + leaf_size - 1) // leaf_size
    while level > 1:
        needed += level
        level = (level + LANES - 1) // LANES
    return needed


@kernel
def wear(tree, blocks, ends, order, dim, worn, objects):
    """Write how worn the region of each of some blocks is, and how many objects it has.

    That is the surface of all its blocks over what it was when they were built, times the root of
    how many blocks there are for each that would do: half as full is worse too. No block has a mark
    in `ends`; `order` is scratch with room for all blocks.
    """
    for i in range(blocks.shape[0]):
        n = list_part(tree, blocks[i], ends, order)
        now = 0.0
        home = 0.0
        count = 0
        for j in range(1, n):
            block = np.int64(order[j])
            place = np.int64(tree.parent[block])
            now += nodes.lane_surface(tree.bounds, place // LANES, place % LANES, dim)
            home += tree.home[block]
            if tree.is_leaf[block]:
                count += np.int64(tree.size[block])
        grown = now / home if home > 0.0 else 1.0
        worn[i] = grown * np.sqrt(n / _needed(count, tree.meta[nodes.LEAF_SIZE]))
        objects[i] = count


@kernel
def take_apart(tree, order, n, is_top, ends, work, dim):
    """Write the items of a listed part and free the blocks between; return how many items.

    Those of the top are the blocks in `ends` and leaves that are not below one; else objects.
    """
    work.meta[1] = is_top
    count = 0
    for i in range(1, n):
        block = np.int64(order[i])
        is_leaf = tree.is_leaf[block] != 0
        if is_leaf and not is_top:
            for lane in range(tree.size[block]):
                for d in range(2 * len(dim)):
                    work.boxes[count, d] = tree.bounds[block, d, lane]
                bit = (np.int64(tree.exact[block]) >> lane) & 1
                work.codes[count] = 2 * np.int64(tree.items[block, lane]) + bit
                count += 1
        elif is_leaf or ends[block]:
            place = np.int64(tree.parent[block])
            for d in range(2 * len(dim)):
                work.boxes[count, d] = tree.bounds[place // LANES, d, place % LANES]
            work.codes[count] = ~block if is_leaf else block
            count += 1
    # only now: what hangs where is needed until all is written
    for i in range(1, n):
        block = np.int64(order[i])
        if not is_top or not (tree.is_leaf[block] or ends[block]):
            nodes.free_block(tree, block)
    top = np.int64(order[0])
    for lane in range(tree.size[top]):
        nodes.clear_lane(tree, top, lane, dim)
    tree.size[top] = 0
    return count
